//! A platform in memory: things that are made in two steps, on servers that fail on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use slipway_engine::platform::Query;
use slipway_engine::{
    Cost, Endpoint, Failure, Goal, Id, Meter, Next, Platform, Resource, Seen, Severity, Sight, Step,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Thing {
    pub(crate) on: bool,
}

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
    fn severity(&self) -> Severity {
        match self.trouble {
            Trouble::Before | Trouble::After | Trouble::Hang => Severity::Unreachable,
            Trouble::Busy => Severity::Passing { after: None },
            Trouble::Refused => Severity::Lasting,
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
    /// Endpoints that answer, and show nothing.
    pub(crate) blank: BTreeSet<Endpoint>,
    pub(crate) running: u32,
    pub(crate) peak: u32,
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
                server.things.insert(id.clone(), Thing { on: false });
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

impl Platform for Toy {
    type Wanted = ();
    type State = Thing;
    type Action = Act;
    type Error = ToyError;

    fn next(&self, resource: &Resource<()>, seen: &Seen<Thing>) -> Next<Act> {
        let action = match (resource.goal, seen.own) {
            (Goal::Present, None) => Act::Make,
            (Goal::Present, Some(Thing { on: false })) => Act::SwitchOn,
            (Goal::Present, Some(_)) | (Goal::Absent, None) => return Next::Done,
            (Goal::Absent, Some(Thing { on: true })) => Act::SwitchOff,
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
            needs: Vec::new(),
            mark: None,
            limit: Duration::from_mins(1),
        }))
    }

    fn predict(&self, _: &Resource<()>, _: &Seen<Thing>, action: &Act) -> Option<Thing> {
        match action {
            Act::Make | Act::SwitchOff => Some(Thing { on: false }),
            Act::SwitchOn => Some(Thing { on: true }),
            Act::Remove => None,
        }
    }

    async fn observe(
        &self,
        endpoint: &Endpoint,
        queries: &[Query<'_, ()>],
    ) -> Result<Vec<Sight<Thing>>, ToyError> {
        tokio::time::sleep(CALL).await;
        let server = self.server();
        if server.dead.contains(endpoint) {
            return Err(ToyError { trouble: Trouble::Before });
        }
        let blank = server.blank.contains(endpoint);
        let sight = |query: &Query<'_, ()>| match server.things.get(&query.resource.id) {
            Some(thing) if !blank => Sight::Known(Some(*thing)),
            _ => Sight::Known(None),
        };
        Ok(queries.iter().map(sight).collect())
    }

    async fn perform(
        &self,
        resource: &Resource<()>,
        seen: &Seen<Thing>,
        action: &Act,
        meter: &Meter,
    ) -> Result<Option<Thing>, ToyError> {
        meter.percent(50);
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
        tokio::time::sleep(CALL).await;
        self.server().running -= 1;
        match trouble {
            Some(Trouble::After) => {
                self.act(&resource.id, *action)?;
                Err(ToyError { trouble: Trouble::After })
            }
            Some(trouble) => Err(ToyError { trouble }),
            None => {
                self.act(&resource.id, *action)?;
                Ok(self.predict(resource, seen, action))
            }
        }
    }
}
