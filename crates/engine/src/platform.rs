//! What a platform offers the engine.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::feed::{Changes, Followed};
use crate::journal::Task;
use crate::reason::{Cause, Reason};
use crate::resource::{Endpoint, Resource};
use crate::step::Next;
use crate::world::{Observation, Observed};

/// How a failure is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// It may pass: look again, and try again, not before `after` if the server named a time.
    Transient { after: Option<Duration> },
    /// There is no answer: the endpoint is left alone for a while.
    Unreachable,
    /// It will fail again.
    Permanent,
}

/// What the engine has to know of an error.
pub trait Failure: std::error::Error + Send + Sync + 'static {
    fn severity(&self) -> Severity;

    /// The same word for the same kind of error.
    fn reason(&self) -> Reason;

    /// How long there had been no answer when it was noticed.
    fn silence(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether a task that was started before may still be running.
    fn leaves_task_running(&self) -> bool {
        self.severity() == Severity::Unreachable
    }

    /// What can be done about it.
    fn remedy(&self) -> Option<String> {
        None
    }
}

/// A resource to look at, with what the journal knows of it: how it was when it was made here.
#[derive(Debug)]
pub struct Query<'a, W, S> {
    pub resource: &'a Arc<Resource<W>>,
    pub made: Option<&'a S>,
}

/// A platform: its kinds of resources, the steps between their states, and the calls that make them.
pub trait Platform: Send + Sync + 'static {
    /// What is wanted of a resource, and how it is recognised.
    type Desired: Send + Sync + 'static;
    /// How a resource is. Nothing secret: it is kept in the journal and in saved plans.
    type State: Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What a step does. Nothing secret, for the same reason.
    type Action: Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static;
    type Error: Failure;

    /// The next step, from what is wanted and what is there. Pure.
    fn next(
        &self,
        resource: &Resource<Self::Desired>,
        observed: &Observed<Self::State>,
    ) -> Next<Self::Action>;

    /// How the resource will be when the action has succeeded. Pure.
    fn predict(
        &self,
        resource: &Resource<Self::Desired>,
        observed: &Observed<Self::State>,
        action: &Self::Action,
    ) -> Option<Self::State>;

    /// A state without what comes and goes by itself: a saved plan is still good when only that has changed. Pure.
    fn steady(&self, state: &Self::State) -> Self::State {
        state.clone()
    }

    /// What has to be wanted of a resource so that it gets to this state, which it had before. `None`: it cannot. Pure.
    fn restore(&self, resource: &Resource<Self::Desired>, state: &Self::State) -> Option<Self::Desired> {
        let _ = (resource, state);
        None
    }

    /// Looks at resources of one endpoint, all at once; the answers are in the order of the queries. What the journal
    /// knows to have been made and cannot be seen is `Unknown`, unless it is proven that it is gone.
    fn observe(
        &self,
        endpoint: &Endpoint,
        queries: &[Query<'_, Self::Desired, Self::State>],
    ) -> impl Future<Output = Result<Vec<Observation<Self::State>>, Self::Error>> + Send;

    /// Does it, and says how the resource is then. Doing it again after an unknown outcome must do no harm. What takes long
    /// writes down the task it has started before it waits for it, and says how far it has come.
    fn perform(
        &self,
        resource: &Resource<Self::Desired>,
        observed: &Observed<Self::State>,
        action: &Self::Action,
        context: &Context,
    ) -> impl Future<Output = Result<Option<Self::State>, Self::Error>> + Send;

    /// Waits for a task that an earlier run or attempt has started, and says what became of it.
    fn resume(
        &self,
        resource: &Resource<Self::Desired>,
        task: &Task,
        context: &Context,
    ) -> impl Future<Output = Result<Resumed<Self::State>, Self::Error>> + Send {
        let _ = (resource, task, context);
        std::future::ready(Ok(Resumed::Over))
    }

    /// The endpoint's feed of changes: tells which of some resources may be other than they were seen, until all are, or
    /// until it is dropped. One that fails, or never says anything, costs time only: what is waited for is looked at
    /// anyway, now and then.
    fn follow(
        &self,
        endpoint: &Endpoint,
        resources: &[Followed<Self::Desired, Self::State>],
        changes: &Changes,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        let _ = (endpoint, resources, changes);
        std::future::pending()
    }
}

/// What became of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resumed<S> {
    /// It succeeded, and the resource is like this now; `None`: it is gone.
    Done(Option<S>),
    /// It failed, and why.
    Failed(Cause),
    /// It is over, or the endpoint does not know it any more: how the resource is has to be seen.
    Over,
}

impl<S> Resumed<S> {
    pub(crate) fn map<T>(self, change: impl FnOnce(S) -> T) -> Resumed<T> {
        match self {
            Resumed::Done(state) => Resumed::Done(state.map(change)),
            Resumed::Failed(cause) => Resumed::Failed(cause),
            Resumed::Over => Resumed::Over,
        }
    }
}
