//! What a platform offers the engine.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::progress::Meter;
use crate::resource::{Endpoint, Resource};
use crate::step::Next;
use crate::world::{Seen, Sight};

/// How a failure is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// It may pass: look again, and try again, not before `after` if the server named a time.
    Passing { after: Option<Duration> },
    /// Nobody answers: the endpoint is left alone for a while.
    Unreachable,
    /// It will fail again.
    Lasting,
}

/// What the engine has to know of an error.
pub trait Failure: std::error::Error + Send + Sync + 'static {
    fn severity(&self) -> Severity;

    /// How long nobody had answered when it was noticed.
    fn silence(&self) -> Duration {
        Duration::ZERO
    }

    /// What can be done about it.
    fn remedy(&self) -> Option<String> {
        None
    }
}

/// A resource to look at, with what the journal knows of it: how it was when it was made here.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a, W> {
    pub resource: &'a Resource<W>,
    pub made: Option<&'a Value>,
}

/// A platform: its kinds of resources, the steps between their states, and the calls that make them.
pub trait Platform: Send + Sync + 'static {
    /// What is wanted of a resource, and how it is recognised.
    type Wanted: Send + Sync + 'static;
    /// How a resource is. Nothing secret: it is kept in the journal and in saved plans.
    type State: Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What a step does. Nothing secret, for the same reason.
    type Action: Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static;
    type Error: Failure;

    /// The next step, from what is wanted and what is there. Pure.
    fn next(&self, resource: &Resource<Self::Wanted>, seen: &Seen<Self::State>) -> Next<Self::Action>;

    /// How the resource will be when the action has succeeded. Pure.
    fn predict(
        &self,
        resource: &Resource<Self::Wanted>,
        seen: &Seen<Self::State>,
        action: &Self::Action,
    ) -> Option<Self::State>;

    /// A state without what comes and goes by itself: a saved plan is still good when only that has changed. Pure.
    fn steady(&self, state: &Self::State) -> Self::State {
        state.clone()
    }

    /// Looks at resources of one endpoint, all at once; the answers are in the order of the queries. What the journal
    /// knows to have been made and cannot be seen is `Unknown`, unless it is proven that it is gone.
    fn observe(
        &self,
        endpoint: &Endpoint,
        queries: &[Query<'_, Self::Wanted>],
    ) -> impl Future<Output = Result<Vec<Sight<Self::State>>, Self::Error>> + Send;

    /// Does it, and says how the resource is then. Doing it again after an unknown outcome must do no harm. What
    /// takes long says on the meter how far it has come.
    fn perform(
        &self,
        resource: &Resource<Self::Wanted>,
        seen: &Seen<Self::State>,
        action: &Self::Action,
        meter: &Meter,
    ) -> impl Future<Output = Result<Option<Self::State>, Self::Error>> + Send;
}
