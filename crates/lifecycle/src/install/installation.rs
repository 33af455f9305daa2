//! A cluster without the types of its platform: what commands see.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::pin::Pin;

use serde_json::Value;
use slipway_config::ids::InfraId;
use slipway_engine::apply::Performed;
use slipway_engine::plan::Planned;
use slipway_engine::progress::Listener;
use slipway_engine::{End, Endpoint, Id, Observation, Outcome, Plan, Platform, Step, World};
use slipway_providers::provider::{Kept, NotVisible, Provider, Surplus, View, Words};

use super::addresses::Misaddressed;
use super::{Error, PlannedRun, Purpose, Run, Timeouts};
use crate::platform::{ClusterSpec, NeededImage};

/// What an [`Installation`] answers with, some time later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What would be done, and how everything is.
#[derive(Debug)]
pub struct Preview {
    /// Actions are as the platform writes them.
    pub plan: Plan<Value>,
    pub resources: Vec<ResourceView>,
    /// What should be known about it.
    pub notes: Vec<String>,
    /// What was made and is not seen now: it cannot be said to be gone.
    pub unseen: Vec<NotVisible>,
    /// What stays when the cluster goes.
    pub kept: Vec<Kept>,
    /// Machines that run with other addresses than they were given.
    pub misaddressed: Vec<Misaddressed>,
    /// Something stands in the way of every machine that is still to be made or started.
    pub is_futile: bool,
}

/// A resource, as it was last observed.
#[derive(Debug, Clone)]
pub struct ResourceView {
    pub id: Id,
    /// It says whether a machine runs: part of that machine, for people.
    pub is_power: bool,
    pub view: StateView,
    /// As the platform writes it.
    pub state: Value,
}

/// What an observation found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateView {
    Absent,
    Present(View),
    /// It could not be looked at, and why.
    Unknown(String),
}

/// A machine, as it was last observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub name: String,
    pub endpoint: Endpoint,
    pub on: bool,
    pub addresses: Vec<IpAddr>,
}

/// How applying a plan ended.
#[derive(Debug)]
pub struct Applied {
    pub ends: BTreeMap<Id, End>,
    /// Steps that succeeded, in the order in which they ended.
    pub performed: Vec<Performed>,
    pub cancelled: bool,
    pub machines: Vec<Machine>,
    /// Machines that run with other addresses than they were given.
    pub misaddressed: Vec<Misaddressed>,
}

impl Applied {
    pub fn is_done(&self) -> bool {
        self.ends.values().all(End::is_done)
    }
}

/// A cluster on whatever platform.
pub trait Installation: Send {
    fn cluster(&self) -> &str;

    fn infra_id(&self) -> &InfraId;

    /// What the platform's endpoints are called.
    fn words(&self) -> Words;

    /// What people should know about how the cluster's files are kept; once.
    fn take_warnings(&mut self) -> Vec<String>;

    /// Looks at everything and says what would be done. What it says last is what [`Self::apply`] does.
    fn plan<'a>(&'a mut self, purpose: Purpose, recreate: &'a [String]) -> Later<'a, Result<Preview, Error>>;

    /// Machines of the cluster that are not in its files, or not any more.
    fn surplus(&self) -> Later<'_, Vec<Surplus>>;

    /// The image that the plan needs, whether it is on this machine already or not.
    fn needed_image(&self) -> Option<NeededImage<'_>>;

    /// Downloads the image, or makes sure that the one that is there is what it should be.
    fn fetch_image(&self) -> Later<'_, Result<(), Error>>;

    /// Does what was planned last. Whatever happens, running it again goes on from there.
    fn apply<'a>(
        &'a mut self,
        recreate: &'a [String],
        timeouts: Timeouts,
        listener: &'a dyn Listener,
        cancelled: Later<'a, ()>,
    ) -> Later<'a, Result<Applied, Error>>;

    /// Ends all sessions.
    fn close(self: Box<Self>) -> Later<'static, ()>;
}

/// A run and what it planned last.
#[derive(Debug)]
pub struct AnyRun<S: ClusterSpec> {
    run: Run<S>,
    planned: Option<PlannedRun<S::Provider>>,
}

impl<S: ClusterSpec + 'static> AnyRun<S> {
    pub fn boxed(run: Run<S>) -> Box<dyn Installation> {
        Box::new(AnyRun { run, planned: None })
    }
}

impl<S: ClusterSpec + 'static> Installation for AnyRun<S> {
    fn cluster(&self) -> &str {
        &self.run.cluster
    }

    fn infra_id(&self) -> &InfraId {
        &self.run.infra_id
    }

    fn words(&self) -> Words {
        S::Provider::WORDS
    }

    fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.run.warnings)
    }

    fn plan<'a>(&'a mut self, purpose: Purpose, recreate: &'a [String]) -> Later<'a, Result<Preview, Error>> {
        Box::pin(async move {
            let planned = self.run.plan(purpose, recreate).await?;
            let preview = Preview {
                plan: without_types(&planned.plan),
                resources: observed::<S::Provider>(&planned.world),
                notes: planned.notes.clone(),
                unseen: planned.unseen.clone(),
                kept: planned.kept.clone(),
                misaddressed: self.run.misaddressed(&planned.world),
                is_futile: planned.is_futile(),
            };
            self.planned = Some(planned);
            Ok(preview)
        })
    }

    fn surplus(&self) -> Later<'_, Vec<Surplus>> {
        Box::pin(async move {
            match &self.planned {
                Some(planned) => self.run.surplus(planned).await,
                None => Vec::new(),
            }
        })
    }

    fn needed_image(&self) -> Option<NeededImage<'_>> {
        self.run.needed_image(self.planned.as_ref()?)
    }

    fn fetch_image(&self) -> Later<'_, Result<(), Error>> {
        Box::pin(self.run.fetch_image())
    }

    fn apply<'a>(
        &'a mut self,
        recreate: &'a [String],
        timeouts: Timeouts,
        listener: &'a dyn Listener,
        cancelled: Later<'a, ()>,
    ) -> Later<'a, Result<Applied, Error>> {
        Box::pin(async move {
            let planned = self.planned.take().ok_or(Error::NotPlanned)?;
            let outcome = self.run.apply(planned, recreate, timeouts, &listener, cancelled).await?;
            let misaddressed = self.run.misaddressed(&outcome.world);
            let machines = machines::<S::Provider>(&outcome.world);
            let Outcome { ends, performed, cancelled, .. } = outcome;
            Ok(Applied { ends, performed, cancelled, machines, misaddressed })
        })
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(self.run.close())
    }
}

fn without_types<A: serde::Serialize>(plan: &Plan<A>) -> Plan<Value> {
    let untyped = |planned: &Planned<A>| {
        let Planned { step, after } = planned;
        let Step { resource, action, verb, sentence, undo, costs, privileges, mark, limit } = step;
        let step = Step {
            resource: resource.clone(),
            action: serde_json::to_value(action).unwrap_or_default(),
            verb: verb.clone(),
            sentence: sentence.clone(),
            undo: undo.clone(),
            costs: costs.clone(),
            privileges: privileges.clone(),
            mark: *mark,
            limit: *limit,
        };
        Planned { step, after: after.clone() }
    };
    Plan {
        version: plan.version,
        steps: plan.steps.iter().map(untyped).collect(),
        stops: plan.stops.clone(),
        waits: plan.waits.clone(),
        unknown: plan.unknown.clone(),
        observed: plan.observed.clone(),
    }
}

fn observed<P: Provider>(world: &World<<P as Platform>::State>) -> Vec<ResourceView> {
    let observed = |(id, observation): (&Id, &Observation<P::State>)| {
        let view = match observation {
            Observation::Known(None) => StateView::Absent,
            Observation::Known(Some(state)) => StateView::Present(P::view(state)),
            Observation::Unknown(cause) => StateView::Unknown(cause.message.clone()),
        };
        let state = match observation {
            Observation::Known(state) => serde_json::to_value(state).unwrap_or_default(),
            Observation::Unknown(cause) => serde_json::json!({"unknown": cause}),
        };
        let is_power = P::is_machine(id) && *id != P::machine_id(&id.endpoint, &id.name);
        ResourceView { id: id.clone(), is_power, view, state }
    };
    world.iter().map(observed).collect()
}

/// Sorted by name.
fn machines<P: Provider>(world: &World<<P as Platform>::State>) -> Vec<Machine> {
    let machine = |(id, observation): (&Id, &Observation<P::State>)| {
        let view = P::view(observation.state()?).machine?;
        Some(Machine {
            name: id.name.to_string(),
            endpoint: id.endpoint.clone(),
            on: view.on,
            addresses: view.addresses,
        })
    };
    let mut machines: Vec<Machine> = world.iter().filter_map(machine).collect();
    machines.sort_by(|one, other| one.name.cmp(&other.name));
    machines
}
