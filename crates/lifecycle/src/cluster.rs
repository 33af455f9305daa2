//! Clusters on vCenters: what should be there, what is there, and the way between.
//!
//! | module | what it holds |
//! |---|---|
//! | `addresses` | machines that report other addresses than they were given |
//! | `blueprint` | the machines, as the files in `cluster-api/` say |
//! | `bootstrap` | the bootstrap machine, to go |
//! | `wanted` | from there to resources of the engine |
//! | `image` | the image templates are made from |
//! | `journal` | the cluster's journal, and what its words mean to the user |
//! | `kept` | what stays when a cluster goes |
//! | `residence` | where machines live, whatever the files say now |
//! | `remembered` | what the journal says was made, beside what is seen |
//! | `ground` | whether what the steps need is there and allowed |
//! | `needs` | which privileges the steps need |
//! | `rules` | rules that may be left out |
//! | `surplus` | machines that its files do not know, or not any more |
//! | `scan` | what a cluster has left on its vCenters, to be removed |

mod addresses;
mod blueprint;
mod bootstrap;
mod error;
mod ground;
mod image;
mod journal;
mod kept;
pub(crate) mod needs;
mod remembered;
mod residence;
mod rules;
mod scan;
mod surplus;
mod wanted;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use slipway_assets::{Credentials, Login, Named};
use slipway_config::ids::InfraId;
use slipway_config::install_config::vsphere::VCenter;
use slipway_config::install_config::{InstallConfig, Platform as AnyPlatform};
use slipway_engine::budget::Budgets;
use slipway_engine::progress::Listener;
use slipway_engine::{End, Endpoint, Graph, Id, Lanes, Options, Outcome, Plan, World, apply, observe, plan};
use slipway_providers::vsphere::kinds::{Action, Image, Kind, State, VSphere, Wanted};
use slipway_providers::vsphere::{self, Client};

pub use self::addresses::{Misaddressed, StaticAddresses};
pub use self::blueprint::BrokenFile;
pub(crate) use self::blueprint::{Blueprint, Boot, Planned};
pub use self::error::Error;
pub use self::image::{ImageError, NeededImage};
pub use self::journal::{Directly, FileJournal, Through};
use self::journal::{NOT_ALLOWED, NOT_SEEN, UNCLEAR, advise};
pub use self::kept::Kept;
use self::remembered::Remembered;
pub use self::remembered::Unseen;
use self::residence::Homes;
pub use self::surplus::Surplus;
pub(crate) use self::wanted::compute_cluster;
use crate::create::{self, Loaded, Request};
use crate::store::{self, Store};

/// Where the intents of a cluster are.
const JOURNAL: &str = "journal.jsonl";

/// What is to become of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Create,
    /// The bootstrap machine goes, the rest stays.
    DestroyBootstrap,
    Destroy,
}

/// A cluster and its vCenters. The asset directory is ours alone as long as this lives.
#[derive(Debug)]
pub struct Project {
    pub cluster: String,
    pub infra_id: InfraId,
    /// What people should know about how the cluster's files are kept.
    pub warnings: Vec<String>,
    config: InstallConfig,
    store: Option<Store>,
    blueprint: Blueprint,
    /// Why the blueprint is empty, where that must not matter.
    unread: Option<Error>,
    platform: Arc<VSphere>,
    journal: FileJournal,
    image: Option<Arc<Image>>,
    /// A journal that is only wanted until all is gone.
    passing: Option<PathBuf>,
    /// The bootstrap machine has done its work, and is not wanted any more.
    bootstrapped: bool,
    /// Its names were drawn by this very command: nothing can have been made anywhere.
    untouched: bool,
    /// Volumes of its storage driver stay when it goes.
    keep_volumes: bool,
    /// What the user says is gone: names of resources, and of vCenters.
    forgotten: Vec<String>,
}

/// What would be done, and everything it was decided from.
#[derive(Debug)]
pub struct Prospect {
    pub plan: Plan<Action>,
    pub world: World<State>,
    /// What should be known about it.
    pub notes: Vec<String>,
    /// What was made and is not seen now: it cannot be said to be gone.
    pub unseen: Vec<Unseen>,
    /// What stays when the cluster goes.
    pub kept: Vec<Kept>,
    purpose: Purpose,
    graph: Graph<Wanted>,
    budgets: Budgets,
}

impl Prospect {
    /// How it is applied.
    pub fn options(&self, recreate: &[String], patience: Patience) -> Options {
        Options { patience: patience.silence, ..options(&self.graph, recreate, self.budgets.clone()) }
    }

    /// Whether something stands in the way of every machine that is still to be made or started: then there is no sense
    /// in making what they need.
    pub fn is_futile(&self) -> bool {
        let is_machine = |id: &Id| Kind::Machine.is(id) || Kind::Power.is(id);
        let blocked = self.plan.stops.iter().chain(&self.plan.unknown).any(|stop| is_machine(&stop.resource));
        blocked && !self.plan.steps.iter().any(|planned| is_machine(&planned.step.resource))
    }
}

/// What may be asked of vCenters.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a call.
    pub call: Duration,
    /// For a machine to get an address.
    pub address: Duration,
    /// For a vCenter that does not answer.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            call: Duration::from_mins(1),
            address: Duration::from_mins(15),
            silence: Duration::from_mins(10),
        }
    }
}

impl Project {
    /// Whether machines of this cluster can be made at all; asks for no password.
    pub fn check(request: &Request<'_>) -> Result<(), Error> {
        match create::read(request)?.platform {
            AnyPlatform::VSphere(_) => Ok(()),
            other => Err(Error::Platform(other.name())),
        }
    }

    /// [`Self::check`], and whether the install-config says everything machines are made from.
    pub fn check_to_create(request: &Request<'_>) -> Result<(), Error> {
        Self::check(request)?;
        let missing = create::read(request)?.missing_for_machines();
        if missing.is_empty() { Ok(()) } else { Err(Error::Missing(missing)) }
    }

    /// A cluster whose machines are to be made, or looked at: reads `cluster-api/` and the Ignition configurations as
    /// they are on disk. They have to be there.
    pub fn open(request: &Request<'_>, patience: Patience) -> Result<Self, Error> {
        Self::check(request)?;
        let Loaded { config, credentials, warnings, .. } = create::load(request)?;
        let store = Store::open(request.directory, request.command, request.now)?;
        let journal = FileJournal::open(&store.own_file(JOURNAL))?;
        let state =
            store.state()?.ok_or_else(|| Error::NoFiles { directory: request.directory.to_owned() })?;
        state.check_cluster(&config, request.directory)?;
        let named = Named { config, identity: state.identity };
        let blueprint = Blueprint::read(request.directory, &named, Boot::Needed)?;
        let Named { config, identity } = named;
        let image = image::plan(&config, request.environment)?;
        Ok(Project {
            store: Some(store),
            warnings,
            blueprint,
            image,
            bootstrapped: state.bootstrapped,
            ..Self::by_id(config, credentials, identity.infra_id, journal, patience)?
        })
    }

    /// A cluster that is to go. Its directory may be lost: the install-config and its id are enough.
    pub fn open_to_destroy(
        request: &Request<'_>,
        infra_id: Option<InfraId>,
        patience: Patience,
    ) -> Result<Self, Error> {
        Self::check(request)?;
        let Loaded { config, credentials, warnings, .. } = create::load(request)?;
        if let Some(infra_id) = infra_id {
            // The state may be damaged, and the journal whole: what it knows is missed if it is not seen.
            if store::own_path(request.directory, JOURNAL).exists() {
                let store = Store::open(request.directory, request.command, request.now)?;
                let journal = FileJournal::open(&store.own_file(JOURNAL))?;
                if journal.records().any(|(id, _)| id.name.contains(infra_id.as_str())) {
                    let project = Self::by_id(config, credentials, infra_id, journal, patience)?;
                    return Ok(Project { store: Some(store), warnings, ..project });
                }
            }
            let journal = request.directory.join(format!(".slipway-{infra_id}-{JOURNAL}"));
            let opened = FileJournal::open_alone(&journal)?;
            let project = Self::by_id(config, credentials, infra_id, opened, patience)?;
            return Ok(Project { passing: Some(journal), warnings, ..project });
        }
        let store = Store::open(request.directory, request.command, request.now)?;
        let journal = FileJournal::open(&store.own_file(JOURNAL))?;
        let state =
            store.state()?.ok_or_else(|| Error::Unknown { directory: request.directory.to_owned() })?;
        state.check_cluster(&config, request.directory)?;
        // What is on disk may be broken or gone: what is on the vCenters counts.
        let named = Named { config, identity: state.identity };
        let (blueprint, unread) = match Blueprint::read(request.directory, &named, Boot::NotNeeded) {
            Ok(blueprint) => (blueprint, None),
            Err(error) => (Blueprint::default(), Some(error)),
        };
        let Named { config, identity } = named;
        Ok(Project {
            store: Some(store),
            warnings,
            blueprint,
            unread,
            ..Self::by_id(config, credentials, identity.infra_id, journal, patience)?
        })
    }

    /// A cluster of which nothing is known but its id.
    fn by_id(
        config: InstallConfig,
        credentials: Credentials,
        infra_id: InfraId,
        journal: FileJournal,
        patience: Patience,
    ) -> Result<Self, Error> {
        let (AnyPlatform::VSphere(platform), Credentials::VSphere(logins)) = (&config.platform, credentials)
        else {
            return Err(Error::Platform(config.platform.name()));
        };
        let mut clients = Vec::new();
        for (vcenter, login) in platform.vcenters.iter().zip(logins) {
            clients.push((endpoint_of(vcenter), client(vcenter, login, patience.call)?));
        }
        let mut vsphere = VSphere::new(clients);
        vsphere.address_limit = patience.address;
        Ok(Project {
            cluster: config.name.to_string(),
            infra_id,
            warnings: Vec::new(),
            config,
            store: None,
            blueprint: Blueprint::default(),
            unread: None,
            platform: Arc::new(vsphere),
            journal,
            image: None,
            passing: None,
            bootstrapped: false,
            untouched: false,
            keep_volumes: false,
            forgotten: Vec::new(),
        })
    }

    /// The names of this cluster were drawn just now, so nothing of it can be on a vCenter that does not answer.
    #[must_use]
    pub fn with_new_names(self) -> Self {
        Project { untouched: true, ..self }
    }

    /// Volumes of the cluster's storage driver, and their storage policy, stay when it goes.
    #[must_use]
    pub fn with_volumes_kept(self, keep_volumes: bool) -> Self {
        Project { keep_volumes, ..self }
    }

    /// Looks at everything and says what would be done. A vCenter that does not answer is waited for once.
    pub async fn survey(&mut self, purpose: Purpose, recreate: &[String]) -> Result<Prospect, Error> {
        let mut notes = Vec::new();
        let users = self.platform.greet().await;
        let mut silent: BTreeMap<Endpoint, String> = users
            .iter()
            .filter_map(|(endpoint, user)| Some((endpoint.clone(), user.clone().err()?)))
            .collect();
        if purpose == Purpose::Destroy && !silent.is_empty() {
            return Err(Error::blind(&silent));
        }
        self.check_twins(&silent).await?;
        for (old, new) in remembered::renamed(&self.platform, &self.journal).await {
            notes.push(format!("{old} is called {new} now: the same vCenter, by its own id"));
            self.journal.rename(Timestamp::now(), &old, &new, |id| Kind::Tag.is(id)).await?;
        }
        self.end_tasks(&silent).await?;
        let mut unseen = Vec::new();
        let resources = match purpose {
            Purpose::Create => {
                if self.bootstrapped {
                    let again = |machine: &Planned| !machine.is_bootstrap || recreate.contains(&machine.name);
                    self.blueprint.machines.retain(again);
                }
                let homes = self.homes(&mut silent, recreate).await;
                notes.extend(residence::notes(&homes, &self.blueprint));
                let image = self.image.as_ref();
                let resources = wanted::resources(&self.blueprint, &homes, &self.infra_id, image);
                rules::without_forbidden(&self.platform, &users, resources, &mut notes).await
            }
            Purpose::DestroyBootstrap => {
                if let Some(error) = self.unread.take() {
                    return Err(error);
                }
                match self.bootstrap_machine() {
                    Some(machine) => {
                        let found = bootstrap::find(&self.platform, machine, &self.journal, &silent).await?;
                        unseen = found.unseen;
                        self.check_forgotten(&unseen)?;
                        unseen.retain(|one| !self.is_forgotten(&one.resource));
                        found.resources
                    }
                    None => Vec::new(),
                }
            }
            Purpose::Destroy => {
                let remembered = self.remembered()?;
                let found = scan::resources(
                    &self.platform,
                    &self.config,
                    &self.infra_id,
                    &self.blueprint,
                    &remembered,
                    self.keep_volumes,
                );
                let mut found = found.await?;
                let strays = self.strays();
                self.check_forgotten(&found.unseen.iter().chain(&strays).cloned().collect::<Vec<_>>())?;
                found.unseen.retain(|one| !self.is_forgotten(&one.resource));
                unseen = found.unseen;
                notes.extend(found.notes);
                found.resources
            }
        };
        let graph = Graph::new(resources)?;
        check_names(&graph, recreate)?;
        let world = observe(&self.platform, &graph, &self.journal, &silent).await;
        let missed = scan::holds(&graph, &world, &unseen);
        let graph = graph.with_holds(&NOT_SEEN, &missed);
        if purpose != Purpose::Create {
            scan::check_seen(&world)?;
        }
        notes.extend(
            recreate
                .iter()
                .filter(|name| is_seen(name, &graph, &world))
                .map(|name| format!("`{name}` is there, so `--recreate {name}` does nothing")),
        );
        let options = options(&graph, recreate, Budgets::default());
        let planned =
            |graph: &Graph<Wanted>| plan(&*self.platform, graph, &world, &self.journal, &options.recreate);
        let first = planned(&graph);
        let holds = ground::holds(&self.platform, &users, &first, &world).await;
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
        let kept = kept::kept(&graph, &world);
        Ok(Prospect { plan, world, notes, unseen, kept, purpose, graph, budgets })
    }

    async fn homes(&self, silent: &mut BTreeMap<Endpoint, String>, recreate: &[String]) -> Homes {
        let (platform, blueprint) = (&self.platform, &self.blueprint);
        residence::homes(platform, blueprint, &self.journal, silent, recreate, self.untouched).await
    }

    /// What was made, by vCenter. All of them have to be vCenters that can be asked.
    fn remembered(&self) -> Result<BTreeMap<Endpoint, Vec<Remembered>>, Error> {
        let mut strays = self.strays();
        strays.retain(|stray| !self.is_forgotten(&stray.resource));
        if strays.is_empty() { Ok(remembered::remembered(&self.journal)) } else { Err(Error::Strays(strays)) }
    }

    /// What was made on vCenters that the install-config does not name any more.
    fn strays(&self) -> Vec<Unseen> {
        let known = self.platform.endpoints();
        let remembered = remembered::remembered(&self.journal).into_iter();
        let elsewhere = remembered.filter(|(endpoint, _)| !known.contains(endpoint));
        elsewhere.flat_map(|(_, all)| all).map(|one| one.unseen()).collect()
    }

    /// What was made and is not seen is taken for gone: by the name of a resource, or everything of a vCenter. The journal
    /// forgets it when the rest is gone.
    #[must_use]
    pub fn with_forgotten(self, forgotten: Vec<String>) -> Self {
        Project { forgotten, ..self }
    }

    fn is_forgotten(&self, id: &Id) -> bool {
        self.forgotten.iter().any(|name| is_meant(name, id))
    }

    /// Only what is not seen can be forgotten.
    fn check_forgotten(&self, unseen: &[Unseen]) -> Result<(), Error> {
        let meant = |name: &&String| unseen.iter().any(|one| is_meant(name, &one.resource));
        match self.forgotten.iter().find(|name| !meant(name)) {
            Some(name) => Err(Error::NotRemembered { name: name.clone() }),
            None => Ok(()),
        }
    }

    fn bootstrap_machine(&self) -> Option<&Planned> {
        self.blueprint.machines.iter().find(|machine| machine.is_bootstrap)
    }

    /// A vCenter under two names would have every machine twice.
    async fn check_twins(&self, silent: &BTreeMap<Endpoint, String>) -> Result<(), Error> {
        let mut instances = BTreeMap::new();
        for other in self.platform.endpoints().into_iter().filter(|endpoint| !silent.contains_key(endpoint)) {
            let Some(instance) = self.platform.instance(&other).await else { continue };
            if let Some(one) = instances.insert(instance, other.clone()) {
                return Err(Error::Twins { one, other });
            }
        }
        Ok(())
    }

    /// Machines of the cluster that are not in its files, or not any more.
    pub async fn surplus(&self, prospect: &Prospect) -> Vec<Surplus> {
        surplus::find(&self.platform, &self.infra_id, &prospect.graph, &self.journal).await
    }

    /// What machines should report once they run.
    pub fn static_addresses(&self) -> StaticAddresses {
        StaticAddresses::of(&self.blueprint)
    }

    /// The image that a plan needs, whether it is on this machine already or not.
    pub fn needed_image(&self, prospect: &Prospect) -> Option<NeededImage<'_>> {
        let imports = prospect.plan.steps.iter().any(|planned| planned.step.action == Action::Import);
        let image = self.image.as_ref().filter(|_| imports)?;
        Some(NeededImage { url: image::url(&self.config)?, cached: image.path.exists() })
    }

    /// Downloads the image, or makes sure that the one that is there is what it should be.
    pub async fn fetch_image(&self) -> Result<(), Error> {
        match &self.image {
            Some(image) => Ok(image::fetch(&self.config, &image.path).await?),
            None => Ok(()),
        }
    }

    /// Does it. Whatever happens, running it again goes on from there.
    pub async fn apply(
        &mut self,
        prospect: Prospect,
        recreate: &[String],
        patience: Patience,
        listener: &impl Listener,
        cancelled: impl Future<Output = ()> + Send,
    ) -> Result<Outcome<State>, Error> {
        let options = prospect.options(recreate, patience);
        self.apply_with(prospect, &options, listener, cancelled).await
    }

    /// [`Self::apply`] with other options than it would have taken.
    pub async fn apply_with(
        &mut self,
        prospect: Prospect,
        options: &Options,
        listener: &impl Listener,
        cancelled: impl Future<Output = ()> + Send,
    ) -> Result<Outcome<State>, Error> {
        self.apply_through(&Directly, prospect, options, listener, cancelled).await
    }

    /// [`Self::apply_with`], with something between the run and the journal.
    pub async fn apply_through(
        &mut self,
        through: &impl Through,
        prospect: Prospect,
        options: &Options,
        listener: &impl Listener,
        cancelled: impl Future<Output = ()> + Send,
    ) -> Result<Outcome<State>, Error> {
        let Prospect { world, graph, purpose, unseen, .. } = prospect;
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
    async fn settle(&mut self, purpose: Purpose, unseen: &[Unseen], acted: bool) -> Result<(), Error> {
        if purpose == Purpose::Create {
            return Ok(());
        }
        if purpose == Purpose::Destroy {
            // What went before a crash, or by another hand, would be missed when the cluster is made again.
            self.journal.forget(Timestamp::now(), |id| !unseen.iter().any(|one| one.resource == *id)).await?;
            if let Some(journal) = self.passing.take() {
                fs_err::remove_file(journal).map_err(store::Error::from)?;
            }
        }
        if purpose == Purpose::DestroyBootstrap {
            // It may still run somewhere.
            if !unseen.is_empty() {
                return Ok(());
            }
            // A cluster of which nothing was made yet will need one.
            if !acted && !self.journal.records().any(|(id, _)| Kind::Machine.is(id)) {
                return Ok(());
            }
            let name = self.bootstrap_machine().map(|machine| machine.name.clone()).unwrap_or_default();
            self.journal.forget(Timestamp::now(), |id| *id.name == *name).await?;
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

    /// Ends the sessions on all vCenters.
    pub async fn close(self) {
        self.platform.logout().await;
        drop(self.store);
    }
}

/// Whether a name that was given means a resource: it is its own, or that of its vCenter, with or without the port.
fn is_meant(name: &str, id: &Id) -> bool {
    let endpoint = id.endpoint.as_str();
    let host = endpoint.rsplit_once(':').map_or(endpoint, |(host, _)| host);
    *id.name == *name || endpoint == name || host == name
}

/// A name that is given to be made again has to be one of the cluster's.
fn check_names(graph: &Graph<Wanted>, recreate: &[String]) -> Result<(), Error> {
    let unknown = recreate.iter().find(|name| !graph.iter().any(|resource| *resource.id.name == ***name));
    match unknown {
        Some(name) => Err(Error::NoResource { name: name.clone() }),
        None => Ok(()),
    }
}

/// Whether every resource of this name is there.
fn is_seen(name: &str, graph: &Graph<Wanted>, world: &World<State>) -> bool {
    let mut named = graph.iter().filter(|resource| *resource.id.name == *name);
    named.all(|resource| world.get(&resource.id).state().is_some())
}

fn options(graph: &Graph<Wanted>, recreate: &[String], budgets: Budgets) -> Options {
    let chosen = graph.iter().filter(|resource| recreate.iter().any(|name| **name == *resource.id.name));
    let recreate = chosen.map(|resource| resource.id.clone()).collect();
    Options { lanes: Lanes::new(budgets), recreate, ..Options::new(Timestamp::now) }
}

/// How the engine and the files name a vCenter: its server, with the port where that is not the usual one.
pub(crate) fn endpoint_of(vcenter: &VCenter) -> Endpoint {
    match vcenter.port.get() {
        443 => Endpoint::from(vcenter.server.to_string().as_str()),
        port => Endpoint::from(format!("{}:{port}", vcenter.server).as_str()),
    }
}

fn client(vcenter: &VCenter, login: Login, timeout: Duration) -> Result<Client, Error> {
    let mut endpoint = vsphere::Endpoint::new(&vcenter.server.to_string(), vcenter.port.get(), &vcenter.tls);
    endpoint.timeout = timeout;
    let login = vsphere::Login { user: login.user, password: login.password };
    Ok(Client::new(endpoint, login)?)
}
