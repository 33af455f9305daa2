//! A cluster on its platform.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use slipway_config::ids::InfraId;
use slipway_engine::budget::Budgets;
use slipway_engine::progress::Listener;
use slipway_engine::{
    End, FileJournal, Graph, Id, Lanes, Observation, Options, Outcome, Plan, World, apply, observe, plan,
};
use slipway_providers::provider::{Kept, Memory, NotVisible, Provider, Search, Surplus, Unreachable};
use uuid::Uuid;

use super::addresses::{Misaddressed, misaddressed};
use super::forgotten::Forgotten;
use super::journal::{Directly, NOT_ALLOWED, NOT_SEEN, Through, advise};
use super::sweep::{self, BUSY_INTERVAL, BUSY_TIMEOUT, CLEAN_SEARCHES, MAX_SWEEPS, SEARCH_INTERVAL};
use super::{Error, Purpose, Timeouts, bootstrap, locations, remembered};
use crate::platform::{ClusterSpec, DesiredOf, NeededImage, PlannedMachine, StateOf};
use crate::store::{self, Store};

/// Everything a run is made from.
#[derive(Debug)]
pub struct Target<S: ClusterSpec> {
    /// The name of the cluster.
    pub cluster: String,
    pub infra_id: InfraId,
    pub spec: S,
    /// Why the spec has nothing of the cluster's files, where that must not matter.
    pub unread: Option<Error>,
    pub platform: S::Provider,
    pub journal: FileJournal<StateOf<S>>,
    /// A journal that is only needed until all is gone.
    pub temporary_journal: Option<PathBuf>,
    /// The asset directory is ours alone as long as this lives.
    pub store: Option<Store>,
    /// The bootstrap machine has done its work, and is not needed any more.
    pub bootstrapped: bool,
    /// What people should know about how the cluster's files are kept.
    pub warnings: Vec<String>,
}

/// A cluster and its endpoints.
#[derive(Debug)]
pub struct Run<S: ClusterSpec> {
    pub cluster: String,
    pub infra_id: InfraId,
    pub warnings: Vec<String>,
    spec: S,
    unread: Option<Error>,
    platform: Arc<S::Provider>,
    journal: FileJournal<StateOf<S>>,
    temporary_journal: Option<PathBuf>,
    store: Option<Store>,
    bootstrapped: bool,
    /// Its names were drawn by this very command: nothing can have been made anywhere.
    untouched: bool,
    keep_volumes: bool,
    forgotten: Forgotten,
}

/// What would be done, and everything it was decided from.
#[derive(Debug)]
pub struct PlannedRun<P: Provider> {
    pub plan: Plan<P::Action>,
    pub world: World<P::State>,
    /// What should be known about it.
    pub notes: Vec<String>,
    /// What was made and is not seen now: it cannot be said to be gone.
    pub unseen: Vec<NotVisible>,
    /// What stays when the cluster goes.
    pub kept: Vec<Kept>,
    purpose: Purpose,
    graph: Graph<P::Desired>,
    budgets: Budgets,
}

impl<P: Provider> PlannedRun<P> {
    /// How it is applied.
    pub fn options(&self, recreate: &[String], timeouts: Timeouts) -> Options {
        Options { patience: timeouts.silence, ..options(&self.graph, recreate, self.budgets.clone()) }
    }

    /// Whether something stands in the way of every machine that is still to be made or started: then there is no sense
    /// in making what they need.
    pub fn is_futile(&self) -> bool {
        let Plan { stops, unknown, steps, .. } = &self.plan;
        let blocked = stops.iter().chain(unknown).any(|stop| P::is_machine(&stop.resource));
        blocked && !steps.iter().any(|planned| P::is_machine(&planned.step.resource))
    }
}

impl<S: ClusterSpec> Run<S> {
    pub fn new(target: Target<S>) -> Self {
        let Target {
            cluster,
            infra_id,
            spec,
            unread,
            platform,
            journal,
            temporary_journal,
            store,
            bootstrapped,
            warnings,
        } = target;
        Run {
            cluster,
            infra_id,
            warnings,
            spec,
            unread,
            platform: Arc::new(platform),
            journal,
            temporary_journal,
            store,
            bootstrapped,
            untouched: false,
            keep_volumes: false,
            forgotten: Forgotten::default(),
        }
    }

    /// The names of this cluster were drawn just now, so nothing of it can be on an endpoint that does not answer.
    #[must_use]
    pub fn with_new_names(self, untouched: bool) -> Self {
        Run { untouched, ..self }
    }

    /// Volumes of the cluster's storage driver, and their storage policy, stay when it goes.
    #[must_use]
    pub fn with_volumes_kept(self, keep_volumes: bool) -> Self {
        Run { keep_volumes, ..self }
    }

    /// What was made and is not seen is taken for gone: by the name of a resource, or everything of an endpoint. The journal
    /// forgets it when the rest is gone.
    #[must_use]
    pub fn with_forgotten(self, forgotten: Vec<String>) -> Self {
        Run { forgotten: Forgotten(forgotten), ..self }
    }

    /// Looks at everything and says what would be done. An endpoint that does not answer is waited for once.
    pub async fn plan(
        &mut self,
        purpose: Purpose,
        recreate: &[String],
    ) -> Result<PlannedRun<S::Provider>, Error> {
        let accounts = self.platform.log_in().await;
        let mut silent: Unreachable = accounts
            .iter()
            .filter_map(|(endpoint, user)| Some((endpoint.clone(), user.clone().err()?)))
            .collect();
        if purpose == Purpose::Destroy && !silent.is_empty() {
            return Err(Error::blind(&silent));
        }
        remembered::check_twins(&*self.platform, &silent).await?;
        let mut notes = self.follow_renamed().await?;
        self.end_tasks(&silent).await?;
        let (resources, unseen) = match purpose {
            Purpose::Create => {
                let resources = self.desired(&mut silent, recreate, &mut notes).await;
                (self.platform.without_optional(&accounts, resources, &mut notes).await, Vec::new())
            }
            Purpose::DestroyBootstrap => self.departing_bootstrap(&silent).await?,
            Purpose::Destroy => self.discovered(&mut notes).await?,
        };
        let graph = Graph::new(resources)?;
        check_names(&graph, recreate)?;
        let world = observe(&self.platform, &graph, &self.journal, &silent).await;
        if purpose == Purpose::Destroy && unseen.is_empty() && !is_anything_seen(&world) {
            self.check_found().await?;
        }
        let missed = self.platform.hold_for_unseen(&graph, &world, &unseen);
        let graph = graph.with_holds(&NOT_SEEN, &missed);
        if purpose != Purpose::Create {
            check_seen(&world)?;
        }
        notes.extend(
            recreate
                .iter()
                .filter(|name| is_seen(name, &graph, &world))
                .map(|name| format!("`{name}` is there, so `--recreate {name}` does nothing")),
        );
        let options = options(&graph, recreate, Budgets::default());
        let planned =
            |graph: &Graph<_>| plan(&*self.platform, graph, &world, &self.journal, &options.recreate);
        let first = planned(&graph);
        let holds = self.platform.unmet(&accounts, &first, &world).await;
        if purpose != Purpose::Create && !holds.is_empty() {
            return Err(Error::Lacking(holds));
        }
        let (mut plan, graph) = if holds.is_empty() {
            (first, graph)
        } else {
            let graph = graph.with_holds(&NOT_ALLOWED, &holds);
            (planned(&graph), graph)
        };
        plan.stops.iter_mut().for_each(|stop| advise(&stop.resource, &mut stop.cause));
        let budgets = self.platform.budgets(&graph, &silent).await;
        let kept = self.platform.kept(&graph, &world);
        Ok(PlannedRun { plan, world, notes, unseen, kept, purpose, graph, budgets })
    }

    /// What was made on an endpoint that has another name now is known by the new one.
    async fn follow_renamed(&mut self) -> Result<Vec<String>, Error> {
        let mut notes = Vec::new();
        for (old, new, known_by) in remembered::renamed(&*self.platform, &self.journal).await {
            let word = S::Provider::WORDS.endpoint;
            notes.push(format!("{old} is called {new} now: the same {word}, by its own id"));
            self.journal.rename(Timestamp::now(), &old, &new, |id| *id == known_by).await?;
        }
        Ok(notes)
    }

    /// Of tasks that earlier runs began, only those that still run are waited for; what the others did is seen.
    async fn end_tasks(&mut self, silent: &Unreachable) -> Result<(), Error> {
        let mut over = BTreeSet::new();
        for endpoint in self.platform.endpoints().iter().filter(|endpoint| !silent.contains_key(*endpoint)) {
            let here = self.journal.tasks().filter(|(id, _)| id.endpoint == *endpoint);
            let here: Vec<(&Id, &str)> = here.map(|(id, task)| (id, task.reference.as_str())).collect();
            if !here.is_empty() {
                over.extend(self.platform.over(endpoint, &here).await);
            }
        }
        Ok(self.journal.end_tasks(Timestamp::now(), &over).await?)
    }

    async fn desired(
        &mut self,
        silent: &mut Unreachable,
        recreate: &[String],
        notes: &mut Vec<String>,
    ) -> Vec<DesiredOf<S>> {
        if self.bootstrapped && !self.bootstrap_machine().is_some_and(|one| recreate.contains(&one.name)) {
            self.spec.leave_out_bootstrap();
        }
        let (spec, platform, journal) = (&self.spec, &*self.platform, &self.journal);
        let locations = locations::locations(spec, platform, journal, silent, recreate, self.untouched).await;
        notes.extend(locations::notes(&locations, &self.spec.machines()));
        self.spec.desired(&locations)
    }

    async fn departing_bootstrap(
        &mut self,
        silent: &Unreachable,
    ) -> Result<(Vec<DesiredOf<S>>, Vec<NotVisible>), Error> {
        if let Some(error) = self.unread.take() {
            return Err(error);
        }
        let Some(machine) = self.bootstrap_machine() else { return Ok((Vec::new(), Vec::new())) };
        let found = bootstrap::find(&self.spec, &*self.platform, &machine, &self.journal, silent).await?;
        let mut unseen = found.unseen;
        self.forgotten.check(&unseen)?;
        unseen.retain(|one| !self.forgotten.has(&one.resource));
        Ok((found.resources, unseen))
    }

    async fn discovered(
        &self,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<DesiredOf<S>>, Vec<NotVisible>), Error> {
        let strays = remembered::strays(&*self.platform, &self.journal);
        let (forgotten, left): (Vec<NotVisible>, Vec<NotVisible>) =
            strays.into_iter().partition(|stray| self.forgotten.has(&stray.resource));
        if !left.is_empty() {
            return Err(Error::Strays { strays: left, words: S::Provider::WORDS });
        }
        let planned = self.spec.machines();
        let machines: BTreeSet<Uuid> = planned.iter().map(|machine| machine.uuid).collect();
        let search = Search {
            infra_id: &self.infra_id,
            machines: &machines,
            places: &self.spec.places(),
            memory: &self.memory(),
            keep_volumes: self.keep_volumes,
        };
        let found = self.platform.discover(&search).await?;
        self.forgotten.check(found.unseen.iter().chain(&forgotten))?;
        notes.extend(found.notes);
        let unseen = found.unseen.into_iter().filter(|one| !self.forgotten.has(&one.resource)).collect();
        let mut resources = found.resources;
        let control_plane: BTreeSet<String> =
            planned.into_iter().filter(|machine| !machine.is_bootstrap).map(|machine| machine.name).collect();
        sweep::stop_control_plane_first::<S::Provider>(&mut resources, &control_plane, &self.infra_id);
        Ok((resources, unseen))
    }

    /// An id that was typed, with no journal to confirm it, may be mistyped: that nothing of it is there says nothing then.
    async fn check_found(&self) -> Result<(), Error> {
        let Some(journal) = self.temporary_journal.as_ref().filter(|_| self.journal.entries().is_empty())
        else {
            return Ok(());
        };
        fs_err::remove_file(journal).map_err(store::Error::from)?;
        let similar = self.platform.clusters().await;
        let similar = similar.into_iter().filter(|other| is_similar(&self.infra_id, other)).collect();
        Err(Error::NothingFound { infra_id: self.infra_id.clone(), similar, words: S::Provider::WORDS })
    }

    fn memory(&self) -> Memory<StateOf<S>> {
        remembered::memory::<S::Provider>(&self.journal)
    }

    fn bootstrap_machine(&self) -> Option<PlannedMachine> {
        self.spec.machines().into_iter().find(|machine| machine.is_bootstrap)
    }

    /// Machines of the cluster that are not in its files, or not any more.
    pub async fn surplus(&self, planned: &PlannedRun<S::Provider>) -> Vec<Surplus> {
        self.platform.surplus(&self.infra_id, &planned.graph, &self.memory()).await
    }

    /// Machines that run, report addresses, and lack one they were given.
    pub fn misaddressed(&self, world: &World<StateOf<S>>) -> Vec<Misaddressed> {
        misaddressed::<S::Provider>(&self.spec.machines(), world)
    }

    /// The image that a plan needs, whether it is on this machine already or not.
    pub fn needed_image(&self, planned: &PlannedRun<S::Provider>) -> Option<NeededImage<'_>> {
        self.spec.needed_image(&planned.plan)
    }

    /// Downloads the image, or makes sure that the one that is there is what it should be.
    pub async fn fetch_image(&self) -> Result<(), Error> {
        self.spec.fetch_image().await
    }

    /// Does it. Whatever happens, running it again goes on from there.
    pub async fn apply(
        &mut self,
        planned: PlannedRun<S::Provider>,
        recreate: &[String],
        timeouts: Timeouts,
        listener: &impl Listener,
        cancelled: impl Future<Output = ()> + Send,
    ) -> Result<Outcome<StateOf<S>>, Error> {
        let options = planned.options(recreate, timeouts);
        let purpose = planned.purpose;
        let mut cancelled = std::pin::pin!(cancelled);
        let mut outcome = self.apply_with(planned, &options, listener, cancelled.as_mut()).await?;
        if purpose == Purpose::Destroy {
            if !outcome.performed.is_empty() {
                self.sweep(&mut outcome, timeouts, listener, cancelled).await?;
            }
            if outcome.is_done()
                && let Some(journal) = self.temporary_journal.take()
            {
                fs_err::remove_file(journal).map_err(store::Error::from)?;
            }
        }
        Ok(outcome)
    }

    /// Searches again until nothing is found several times in a row, and removes what appeared meanwhile.
    async fn sweep(
        &mut self,
        outcome: &mut Outcome<StateOf<S>>,
        timeouts: Timeouts,
        listener: &impl Listener,
        mut cancelled: std::pin::Pin<&mut (impl Future<Output = ()> + Send)>,
    ) -> Result<(), Error> {
        if outcome.is_done() {
            // The journal knows it no longer, so there is nothing to take for gone.
            self.forgotten = Forgotten::default();
        }
        let began = Instant::now();
        let (mut clean, mut sweeps) = (0, 0);
        while clean < CLEAN_SEARCHES && !outcome.cancelled {
            let planned = tokio::select! {
                planned = self.plan(Purpose::Destroy, &[]) => planned?,
                () = cancelled.as_mut() => {
                    outcome.cancelled = true;
                    return Ok(());
                }
            };
            let pause = if !planned.plan.steps.is_empty() {
                sweeps += 1;
                if !sweep::is_new(&planned.plan, outcome) || sweeps > MAX_SWEEPS {
                    return Ok(());
                }
                let options = planned.options(&[], timeouts);
                let later = self.apply_with(planned, &options, listener, cancelled.as_mut()).await?;
                sweep::join(outcome, later);
                clean = 0;
                continue;
            } else if began.elapsed() < BUSY_TIMEOUT && !sweep::busy(&*self.platform).await.is_empty() {
                clean = 0;
                BUSY_INTERVAL
            } else {
                clean += 1;
                SEARCH_INTERVAL
            };
            if clean < CLEAN_SEARCHES {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = cancelled.as_mut() => outcome.cancelled = true,
                }
            }
        }
        Ok(())
    }

    /// [`Self::apply`] with other options than it would have taken.
    pub async fn apply_with(
        &mut self,
        planned: PlannedRun<S::Provider>,
        options: &Options,
        listener: &impl Listener,
        cancelled: impl Future<Output = ()> + Send,
    ) -> Result<Outcome<StateOf<S>>, Error> {
        self.apply_through(&Directly, planned, options, listener, cancelled).await
    }

    /// [`Self::apply_with`], with something between the run and the journal.
    pub async fn apply_through(
        &mut self,
        through: &impl Through<StateOf<S>>,
        planned: PlannedRun<S::Provider>,
        options: &Options,
        listener: &impl Listener,
        cancelled: impl Future<Output = ()> + Send,
    ) -> Result<Outcome<StateOf<S>>, Error> {
        let PlannedRun { world, graph, purpose, unseen, .. } = planned;
        if purpose == Purpose::Create && self.bootstrapped && self.bootstrap_machine().is_some() {
            // It was asked for by name; a run that is cut off goes on with it.
            self.remember_bootstrapped(false)?;
        }
        let mut journal = through.journal(&mut self.journal);
        let mut outcome =
            apply(&self.platform, &graph, world, &mut journal, listener, options, cancelled).await?;
        drop(journal);
        for (id, end) in &mut outcome.ends {
            if let End::Stopped(cause) = end {
                advise(id, cause);
            }
        }
        let made: Vec<&Id> =
            options.recreate.iter().filter(|id| outcome.ends.get(*id).is_some_and(End::is_done)).collect();
        if purpose == Purpose::Create && !made.is_empty() {
            // The one that was given up is not missed any more.
            let given_up = |id: &Id| {
                made.iter()
                    .any(|new| (&new.kind, &new.name) == (&id.kind, &id.name) && new.endpoint != id.endpoint)
            };
            self.journal.forget(Timestamp::now(), given_up).await?;
        }
        if outcome.is_done() {
            self.settle(purpose, &unseen, !outcome.performed.is_empty()).await?;
        }
        Ok(outcome)
    }

    /// Remembers what later runs have to know.
    async fn settle(&mut self, purpose: Purpose, unseen: &[NotVisible], acted: bool) -> Result<(), Error> {
        match purpose {
            Purpose::Create => return Ok(()),
            Purpose::Destroy => {
                // What went before a crash, or by another hand, would be missed when the cluster is made again.
                self.journal
                    .forget(Timestamp::now(), |id| !unseen.iter().any(|one| one.resource == *id))
                    .await?;
            }
            Purpose::DestroyBootstrap => {
                // It may still run somewhere.
                if !unseen.is_empty() {
                    return Ok(());
                }
                let is_machine = |id: &Id| *id == S::Provider::machine_id(&id.endpoint, &id.name);
                // A cluster of which nothing was made yet will need one.
                if !acted && !self.journal.records().any(|(id, _)| is_machine(id)) {
                    return Ok(());
                }
                let name = self.bootstrap_machine().map(|machine| machine.name).unwrap_or_default();
                self.journal.forget(Timestamp::now(), |id| *id.name == *name).await?;
            }
        }
        self.remember_bootstrapped(purpose == Purpose::DestroyBootstrap)
    }

    fn remember_bootstrapped(&mut self, bootstrapped: bool) -> Result<(), Error> {
        self.bootstrapped = bootstrapped;
        // A state that cannot be read was not needed to get here.
        if let Some(store) = &mut self.store
            && let Ok(Some(mut state)) = store.state()
        {
            state.bootstrapped = bootstrapped;
            store.save(&state)?;
        }
        Ok(())
    }

    /// Ends all sessions.
    pub async fn close(self) {
        self.platform.log_out().await;
        drop(self.store);
    }
}

/// Whether an endpoint shows anything of the cluster, or may do so where it could not be looked at.
fn is_anything_seen<S: Clone>(world: &World<S>) -> bool {
    world.iter().any(|(_, observation)| match observation {
        Observation::Known(state) => state.is_some(),
        Observation::Unknown(_) => true,
    })
}

/// Whether one id may have been typed instead of the other: of the same name or the same letters at the end, or with two
/// letters at most that differ.
fn is_similar(typed: &InfraId, other: &InfraId) -> bool {
    let (typed, other) = (typed.as_str(), other.as_str());
    let parts = typed.rsplit_once('-').zip(other.rsplit_once('-'));
    let same_part = parts.is_some_and(|(one, two)| one.0 == two.0 || one.1 == two.1);
    let differing = typed.chars().zip(other.chars()).filter(|(one, two)| one != two).count();
    same_part || (typed.len() == other.len() && differing <= 2)
}

/// What was found and cannot be looked at keeps everything from being removed.
fn check_seen<S: Clone>(world: &World<S>) -> Result<(), Error> {
    let reason = |(id, observation): (&Id, &Observation<S>)| match observation {
        Observation::Unknown(cause) => Some(format!("{} ({cause})", id.endpoint)),
        Observation::Known(_) => None,
    };
    let blind: BTreeSet<String> = world.iter().filter_map(reason).collect();
    if blind.is_empty() { Ok(()) } else { Err(Error::Unreadable { endpoints: blind.into_iter().collect() }) }
}

/// A name that is given to be made again has to be one of the cluster's.
fn check_names<W>(graph: &Graph<W>, recreate: &[String]) -> Result<(), Error> {
    let unknown = recreate.iter().find(|name| !graph.iter().any(|resource| *resource.id.name == ***name));
    match unknown {
        Some(name) => Err(Error::NoResource { name: name.clone() }),
        None => Ok(()),
    }
}

/// Whether every resource of this name is there.
fn is_seen<W, S: Clone>(name: &str, graph: &Graph<W>, world: &World<S>) -> bool {
    let mut named = graph.iter().filter(|resource| *resource.id.name == *name);
    named.all(|resource| world.get(&resource.id).state().is_some())
}

fn options<W>(graph: &Graph<W>, recreate: &[String], budgets: Budgets) -> Options {
    let chosen = graph.iter().filter(|resource| recreate.iter().any(|name| **name == *resource.id.name));
    let recreate = chosen.map(|resource| resource.id.clone()).collect();
    Options { lanes: Lanes::new(budgets), recreate, ..Options::new(Timestamp::now) }
}
