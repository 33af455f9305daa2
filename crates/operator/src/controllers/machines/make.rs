//! Making a machine: one engine run over the virtual machine and its power.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use slipway_api::openshift::Machine;
use slipway_engine::progress::{Event, Listener};
use slipway_engine::resource::GraphError;
use slipway_engine::{Graph, Observation, Reason, apply, observe};
use slipway_providers::vsphere::kinds::{Desired, Kind, State};
use slipway_providers::vsphere::machine_spec::Identity;

use super::boot;
use super::journal::{Kept, StatusJournal};
use super::problem::{MISSING, Problem};
use super::subject::Subject;
use super::vcenters::VCenter;
use super::worker::Worker;
use crate::runtime::stop::stopped;

/// Another vCenter answers than the one the machine was begun on.
const ANOTHER_VCENTER: Reason = Reason::new("AnotherVCenter");

/// Logs what a run does.
pub(super) struct Told<'a> {
    pub(super) machine: &'a str,
}

impl Listener for Told<'_> {
    fn tell(&self, event: &Event<'_>) {
        let machine = self.machine;
        match event {
            Event::Started { sentence, attempt, .. } => tracing::info!(machine, attempt, "{sentence}"),
            Event::Retrying { verb, error, .. } => tracing::warn!(machine, verb, error, "it is tried again"),
            Event::Waiting { why, .. } => tracing::debug!(machine, why, "waiting"),
            _ => {}
        }
    }
}

/// A Machine at work: its vCenter, and its journal.
pub(super) struct Site<'a> {
    pub(super) subject: &'a Subject,
    pub(super) vcenter: Arc<VCenter>,
    pub(super) journal: StatusJournal,
}

impl<'a> Site<'a> {
    pub(super) async fn open(
        worker: &Worker,
        machine: &Machine,
        subject: &'a Subject,
    ) -> Result<Self, Problem> {
        let vcenter = worker.vcenters.of(subject).await?;
        let mut journal = StatusJournal::open(worker.machines.clone(), machine, vcenter.endpoint())?;
        check_instance(journal.kept(), &vcenter)?;
        journal.begin_on(vcenter.instance());
        Ok(Site { subject, vcenter, journal })
    }

    pub(super) fn identity(&self) -> Identity<'_> {
        let Subject { name, uuid, infra_id, .. } = self.subject;
        Identity { endpoint: self.vcenter.endpoint(), name, uuid: *uuid, infra_id }
    }

    /// A copy that was begun, and whose task is not known, may still be running: a look would not see it.
    pub(super) async fn wait_for_copies(&self, worker: &Worker) -> Result<(), Problem> {
        if !self.journal.kept().is_unresolved() {
            return Ok(());
        }
        let known = worker.tasks();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let platform = self.vcenter.platform();
        match platform.platform().is_copying(self.vcenter.endpoint(), &known).await {
            Ok(false) => Ok(()),
            Ok(true) => {
                let message = "a copy that was begun before may still be running";
                Err(Problem::blind(Reason::TASK_RUNNING, message).again_after(worker.pace.first))
            }
            Err(error) => Err(Problem::blind(Reason::UNREACHABLE, error)),
        }
    }

    /// How the virtual machine is now, by its id alone.
    pub(super) async fn look(&self) -> Result<Option<State>, Problem> {
        let resource = self.subject.spec.adopted(&self.identity());
        let (id, given) = (resource.id.clone(), resource.depends_on.clone());
        let graph = Graph::with_given(vec![resource], given).map_err(|error| unusable(&error))?;
        let world = observe(&self.vcenter.platform(), &graph, &self.journal, &BTreeMap::new()).await;
        match world.get(&id) {
            Observation::Known(state) => Ok(state),
            Observation::Unknown(cause) => Err(Problem::blind(cause.reason, cause.message)),
        }
    }

    /// Whether it is gone: two looks, some time apart, find nothing. `Some`: it is there, like this.
    pub(super) async fn look_twice(&self, worker: &Worker) -> Result<Option<State>, Problem> {
        if let Some(state) = self.look().await? {
            return Ok(Some(state));
        }
        tokio::time::sleep(worker.pace.second_look).await;
        self.look().await
    }

    /// It was made, and the vCenter that has it says twice that it has not.
    pub(super) fn missing(&self) -> Problem {
        let Subject { name, uuid, .. } = self.subject;
        let message = format!(
            "the virtual machine `{name}` ({uuid}) was created and is gone from {}. It is not made again: delete the Machine, its set makes \
             another",
            self.vcenter.endpoint()
        );
        Problem::terminal(MISSING, message)
    }
}

pub(super) fn unusable(error: &GraphError) -> Problem {
    Problem::new(Reason::new("ResourcesUnclear"), error.to_string())
}

fn check_instance(kept: &Kept, vcenter: &VCenter) -> Result<(), Problem> {
    match kept.vcenter.as_deref().filter(|known| !known.is_empty()) {
        Some(known) if known != vcenter.instance() => {
            let message = format!(
                "another vCenter answers at {} than the one the machine was created on (it was {known}, it is {}). Nothing is done",
                vcenter.endpoint(),
                vcenter.instance()
            );
            Err(Problem::blind(ANOTHER_VCENTER, message))
        }
        _ => Ok(()),
    }
}

/// Makes a machine, or goes on where an earlier run stopped.
pub(super) async fn make(worker: &Worker, machine: &Machine, subject: &Subject) -> Result<(), Problem> {
    let mut site = Site::open(worker, machine, subject).await?;
    if subject.is_adopted {
        return adopt(worker, machine, site).await;
    }
    site.wait_for_copies(worker).await?;
    let claimed = boot::claimed(&worker.client, subject, worker.pace).await?;
    let ignition = boot::ignition(&worker.client, subject).await?;
    let shared = subject.spec.site(site.vcenter.endpoint(), &subject.infra_id);
    let given: Vec<_> = shared.resources.iter().map(|resource| resource.id.clone()).collect();
    let settled = Box::pin(site.vcenter.settle(shared)).await?;
    let resources = subject.spec.present(&site.identity(), Some(ignition), &claimed);
    let graph = Graph::with_given(resources.into(), given).map_err(|error| unusable(&error))?;
    match run(worker, &mut site, &graph, Some(settled)).await {
        Err(problem) if problem.reason == Reason::VANISHED => match site.look_twice(worker).await? {
            None => Err(site.missing()),
            Some(_) => Err(problem),
        },
        Err(problem) => {
            site.vcenter.doubt(&problem);
            Err(problem)
        }
        Ok(state) => {
            let id = Kind::Machine.id(site.vcenter.endpoint(), &subject.name);
            let state = state
                .ok_or_else(|| Problem::blind(Reason::NOT_OBSERVED, "the new machine was not visible"))?;
            Ok(site.journal.settle(&id, state, Timestamp::now()).await?)
        }
    }
}

/// Applies a graph of one Machine. Returns how the virtual machine is then.
pub(super) async fn run(
    worker: &Worker,
    site: &mut Site<'_>,
    graph: &Graph<Desired>,
    settled: Option<slipway_engine::World<State>>,
) -> Result<Option<State>, Problem> {
    let platform = site.vcenter.platform();
    let mut world = observe(&platform, graph, &site.journal, &BTreeMap::new()).await;
    world.extend(settled.unwrap_or_default());
    let options = site.vcenter.options(site.subject.spec.compute_cluster(), graph).await;
    let told = Told { machine: &site.subject.name };
    let mut stop = worker.stop.clone();
    let ended =
        Box::pin(apply(&platform, graph, world, &mut site.journal, &told, &options, stopped(&mut stop)));
    let outcome = ended.await?;
    if let Some(problem) = Problem::of_ends(&outcome.ends) {
        return Err(problem);
    }
    let id = Kind::Machine.id(site.vcenter.endpoint(), &site.subject.name);
    Ok(outcome.world.get(&id).state().cloned())
}

/// Takes a virtual machine as it is, by its mark. It is neither made nor changed.
async fn adopt(worker: &Worker, machine: &Machine, mut site: Site<'_>) -> Result<(), Problem> {
    let id = Kind::Machine.id(site.vcenter.endpoint(), &site.subject.name);
    if let Some(state) = site.look_twice(worker).await? {
        tracing::info!(machine = site.subject.name, "the virtual machine is taken as it is");
        return Ok(site.journal.settle(&id, state, Timestamp::now()).await?);
    }
    if machine.spec.provider_id.is_some() {
        return Err(site.missing());
    }
    let message = format!(
        "no virtual machine on {} carries the mark {} of this Machine. The installer makes it; it is not made here",
        site.vcenter.endpoint(),
        site.subject.uuid
    );
    Err(Problem::new(Reason::new("InstanceNotFound"), message))
}
