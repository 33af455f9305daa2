//! A platform in memory: things that are made in two steps, on servers that fail on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use slipway_engine::feed::{Changes, Followed};
use slipway_engine::journal::Task;
use slipway_engine::platform::Query;
use slipway_engine::{
    Context, Cost, Endpoint, Failure, Goal, Id, Next, Observation, Observed, Platform, Reason, Resource,
    Resumed, Severity, Step, Wait,
};
use thiserror::Error;

/// What the server does instead of answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The connection breaks, and the server has not acted.
    Before,
    /// The connection breaks, and the server has acted.
    After,
    /// The server says that it is busy.
    Busy,
    /// The server refuses for good.
    Refused,
    /// Nothing ever comes back.
    Hang,
}

/// What is wanted of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aim {
    pub(crate) on: bool,
    /// It has to get warm, which it does by itself.
    pub(crate) warm: bool,
    /// It is made in a task.
    pub(crate) slow: bool,
}

impl Default for Aim {
    fn default() -> Self {
        Aim { on: true, warm: false, slow: false }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Thing {
    pub(crate) on: bool,
    #[serde(default)]
    pub(crate) warm: bool,
}

/// How long a thing may take to get warm.
pub(crate) const WARM_TIMEOUT: Duration = Duration::from_mins(5);
pub(crate) const WARM_INTERVAL: Duration = Duration::from_mins(1);
pub(crate) const COLD: Reason = Reason::new("Cold");

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Act {
    Make,
    SwitchOn,
    SwitchOff,
    Remove,
}

#[derive(Debug, Error)]
#[error("{trouble:?}")]
pub(crate) struct ToyError {
    trouble: Trouble,
}

impl Failure for ToyError {
    fn reason(&self) -> Reason {
        match self.trouble {
            Trouble::Before | Trouble::After | Trouble::Hang => Reason::UNREACHABLE,
            Trouble::Busy => Reason::new("Busy"),
            Trouble::Refused => Reason::new("Refused"),
        }
    }

    fn severity(&self) -> Severity {
        match self.trouble {
            Trouble::Before | Trouble::After | Trouble::Hang => Severity::Unreachable,
            Trouble::Busy => Severity::Transient { after: None },
            Trouble::Refused => Severity::Permanent,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Server {
    pub(crate) things: BTreeMap<Id, Thing>,
    /// How often each was made.
    pub(crate) made: BTreeMap<Id, u32>,
    /// What was done, in order.
    pub(crate) calls: Vec<(Id, Act)>,
    /// What happens to the next calls.
    pub(crate) troubles: Vec<Option<Trouble>>,
    pub(crate) dead: BTreeSet<Endpoint>,
    /// How much longer than others a call to a dead one takes.
    pub(crate) timeout: Duration,
    /// Endpoints that answer, and show nothing.
    pub(crate) blank: BTreeSet<Endpoint>,
    pub(crate) running: u32,
    pub(crate) peak: u32,
    /// How often each endpoint was looked at.
    pub(crate) looks: BTreeMap<Endpoint, u32>,
    /// Tasks that were accepted: what each makes, and whether it has ended.
    pub(crate) tasks: Vec<(Id, bool)>,
    /// Whether the endpoint tells of changes.
    pub(crate) feed: bool,
}

impl Server {
    /// All tasks come to their end.
    pub(crate) fn end_tasks(&mut self) {
        for (id, ended) in &mut self.tasks {
            if !std::mem::replace(ended, true) {
                self.things.insert(id.clone(), Thing::default());
                *self.made.entry(id.clone()).or_default() += 1;
            }
        }
    }
}

/// How long a call takes.
pub(crate) const CALL: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(crate) struct Toy {
    server: Mutex<Server>,
}

impl Toy {
    pub(crate) fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn act(&self, id: &Id, act: Act) -> Result<(), ToyError> {
        let mut server = self.server();
        server.calls.push((id.clone(), act));
        match act {
            // As a vCenter does: a second object of the same name is refused.
            Act::Make if server.things.contains_key(id) => return Err(ToyError { trouble: Trouble::Busy }),
            Act::Make => {
                server.things.insert(id.clone(), Thing::default());
                *server.made.entry(id.clone()).or_default() += 1;
            }
            Act::SwitchOn | Act::SwitchOff => {
                if let Some(thing) = server.things.get_mut(id) {
                    thing.on = act == Act::SwitchOn;
                }
            }
            Act::Remove => {
                server.things.remove(id);
            }
        }
        Ok(())
    }
}

impl Toy {
    fn timeout(&self, endpoint: &Endpoint) -> Duration {
        let server = self.server();
        if server.dead.contains(endpoint) { server.timeout } else { Duration::ZERO }
    }

    /// As long as the server works on a task.
    async fn wait_for(&self, task: usize) -> Thing {
        while !self.server().tasks[task].1 {
            tokio::time::sleep(CALL).await;
        }
        Thing::default()
    }
}

impl Platform for Toy {
    type Desired = Aim;
    type State = Thing;
    type Action = Act;
    type Error = ToyError;

    fn next(&self, resource: &Resource<Aim>, observed: &Observed<Thing>) -> Next<Act> {
        let Aim { on: desired, warm, .. } = resource.desired;
        let action = match (resource.goal, observed.own) {
            (Goal::Present, None) => Act::Make,
            (Goal::Present, Some(Thing { on: false, .. })) if desired => Act::SwitchOn,
            (Goal::Present, Some(Thing { on: true, .. })) if !desired => Act::SwitchOff,
            (Goal::Present, Some(Thing { warm: false, .. })) if warm => {
                return Next::Wait(Box::new(Wait {
                    reason: COLD,
                    sentence: format!("until {} is warm", resource.id),
                    look_again: WARM_INTERVAL,
                    limit: WARM_TIMEOUT,
                    overdue: "it stays cold".to_owned(),
                    remedy: None,
                }));
            }
            (Goal::Present, Some(_)) | (Goal::Absent, None) => return Next::Done,
            (Goal::Absent, Some(Thing { on: true, .. })) => Act::SwitchOff,
            (Goal::Absent, Some(_)) => Act::Remove,
        };
        let verb = format!("{action:?}").to_lowercase();
        Next::Step(Box::new(Step {
            resource: resource.id.clone(),
            action,
            sentence: format!("{verb} {}", resource.id),
            verb: verb.into(),
            undo: None,
            costs: vec![Cost { budget: "slots".into(), units: 1 }],
            privileges: Vec::new(),
            mark: None,
            limit: Duration::from_mins(1),
        }))
    }

    fn predict(&self, _: &Resource<Aim>, _: &Observed<Thing>, action: &Act) -> Option<Thing> {
        match action {
            Act::Make | Act::SwitchOff => Some(Thing::default()),
            Act::SwitchOn => Some(Thing { on: true, warm: false }),
            Act::Remove => None,
        }
    }

    fn restore(&self, resource: &Resource<Aim>, state: &Thing) -> Option<Aim> {
        Some(Aim { on: state.on, ..resource.desired })
    }

    async fn observe(
        &self,
        endpoint: &Endpoint,
        queries: &[Query<'_, Aim, Thing>],
    ) -> Result<Vec<Observation<Thing>>, ToyError> {
        tokio::time::sleep(CALL + self.timeout(endpoint)).await;
        let mut server = self.server();
        *server.looks.entry(endpoint.clone()).or_default() += 1;
        if server.dead.contains(endpoint) {
            return Err(ToyError { trouble: Trouble::Before });
        }
        let blank = server.blank.contains(endpoint);
        let observation = |query: &Query<'_, Aim, Thing>| match server.things.get(&query.resource.id) {
            Some(thing) if !blank => Observation::Known(Some(*thing)),
            _ => Observation::Known(None),
        };
        Ok(queries.iter().map(observation).collect())
    }

    async fn perform(
        &self,
        resource: &Resource<Aim>,
        observed: &Observed<Thing>,
        action: &Act,
        context: &Context,
    ) -> Result<Option<Thing>, ToyError> {
        context.percent(50);
        let trouble = {
            let mut server = self.server();
            server.running += 1;
            server.peak = server.peak.max(server.running);
            let due = if server.troubles.is_empty() { None } else { server.troubles.remove(0) };
            if server.dead.contains(&resource.id.endpoint) { Some(Trouble::Before) } else { due }
        };
        if trouble == Some(Trouble::Hang) {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(CALL + self.timeout(&resource.id.endpoint)).await;
        self.server().running -= 1;
        match trouble {
            Some(Trouble::After) => {
                self.act(&resource.id, *action)?;
                Err(ToyError { trouble: Trouble::After })
            }
            Some(trouble) => Err(ToyError { trouble }),
            None if *action == Act::Make && resource.desired.slow => {
                let task = {
                    let mut server = self.server();
                    server.calls.push((resource.id.clone(), Act::Make));
                    server.tasks.push((resource.id.clone(), false));
                    server.tasks.len() - 1
                };
                context.task(format!("task-{task}")).await;
                Ok(Some(self.wait_for(task).await))
            }
            None => {
                self.act(&resource.id, *action)?;
                Ok(self.predict(resource, observed, action))
            }
        }
    }

    async fn resume(&self, _: &Resource<Aim>, task: &Task, _: &Context) -> Result<Resumed<Thing>, ToyError> {
        let number = task.reference.strip_prefix("task-").and_then(|number| number.parse().ok());
        match number.filter(|number| *number < self.server().tasks.len()) {
            Some(number) => Ok(Resumed::Done(Some(self.wait_for(number).await))),
            None => Ok(Resumed::Over),
        }
    }

    async fn follow(
        &self,
        _: &Endpoint,
        resources: &[Followed<Aim, Thing>],
        changes: &Changes,
    ) -> Result<(), ToyError> {
        let mut open: Vec<&Followed<Aim, Thing>> = resources.iter().collect();
        while !open.is_empty() {
            tokio::time::sleep(CALL).await;
            let server = self.server();
            if server.feed {
                open.retain(|followed| {
                    let same = server.things.get(&followed.resource.id) == followed.observed.as_ref();
                    if !same {
                        changes.tell(&followed.resource.id);
                    }
                    same
                });
            }
        }
        Ok(())
    }
}
