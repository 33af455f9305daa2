//! One look for several runs: what they ask of an endpoint at the same moment is asked once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;

use crate::batch::{Batch, BatchError, Turn};
use crate::context::Context;
use crate::feed::{Changes, Followed};
use crate::journal::Task;
use crate::platform::{Failure, Platform, Query, Resumed, Severity};
use crate::reason::Reason;
use crate::resource::{Endpoint, Resource};
use crate::step::Next;
use crate::world::{Observation, Observed};

/// What one run asks: resources, and what its journal knows of them.
type Question<P> = Vec<(Arc<Resource<<P as Platform>::Desired>>, Option<<P as Platform>::State>)>;

type Looks<P> = Batch<Question<P>, Vec<Observation<<P as Platform>::State>>, <P as Platform>::Error>;

/// A platform whose looks are shared between runs. Three hundred machines that are looked at together cost what one costs.
pub struct Observer<P: Platform> {
    platform: Arc<P>,
    looks: Mutex<BTreeMap<Endpoint, Arc<Looks<P>>>>,
}

/// Why something did not succeed: alone, or for all that asked together.
#[derive(Debug, Error)]
pub enum ObserverError<E: std::error::Error + 'static> {
    #[error(transparent)]
    Own(E),
    #[error(transparent)]
    Shared(BatchError<E>),
}

impl<E: Failure> ObserverError<E> {
    fn inner(&self) -> Option<&E> {
        match self {
            ObserverError::Own(error) => Some(error),
            ObserverError::Shared(BatchError::Failed(error)) => Some(error),
            ObserverError::Shared(BatchError::Lost) => None,
        }
    }
}

impl<E: Failure> Failure for ObserverError<E> {
    fn severity(&self) -> Severity {
        self.inner().map_or(Severity::Transient { after: None }, Failure::severity)
    }

    fn reason(&self) -> Reason {
        self.inner().map_or(Reason::NOT_OBSERVED, Failure::reason)
    }

    fn silence(&self) -> Duration {
        self.inner().map_or(Duration::ZERO, Failure::silence)
    }

    fn leaves_task_running(&self) -> bool {
        self.inner().is_none_or(Failure::leaves_task_running)
    }

    fn remedy(&self) -> Option<String> {
        self.inner().and_then(Failure::remedy)
    }
}

impl<P: Platform> fmt::Debug for Observer<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(endpoints.keys()).finish()
    }
}

impl<P: Platform> Observer<P> {
    pub fn new(platform: Arc<P>) -> Self {
        Observer { platform, looks: Mutex::default() }
    }

    pub fn platform(&self) -> &Arc<P> {
        &self.platform
    }

    fn looks(&self, endpoint: &Endpoint) -> Arc<Looks<P>> {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.entry(endpoint.clone()).or_default().clone()
    }
}

/// Looks for all runs, and gives each its part of the answer.
async fn look<P: Platform>(
    platform: Arc<P>,
    endpoint: Endpoint,
    turn: Turn<Question<P>, Vec<Observation<P::State>>, P::Error>,
) {
    let queries: Vec<_> =
        turn.requests().flatten().map(|(resource, made)| Query { resource, made: made.as_ref() }).collect();
    match platform.observe(&endpoint, &queries).await {
        Ok(observations) => {
            let mut observations = observations.into_iter();
            let answers: Vec<Vec<_>> = turn
                .requests()
                .map(|question| observations.by_ref().take(question.len()).collect())
                .collect();
            turn.answer_each(answers);
        }
        Err(error) => turn.fail(error),
    }
}

impl<P: Platform> Platform for Observer<P> {
    type Desired = P::Desired;
    type State = P::State;
    type Action = P::Action;
    type Error = ObserverError<P::Error>;

    fn next(&self, resource: &Resource<P::Desired>, observed: &Observed<P::State>) -> Next<P::Action> {
        self.platform.next(resource, observed)
    }

    fn predict(
        &self,
        resource: &Resource<P::Desired>,
        observed: &Observed<P::State>,
        action: &P::Action,
    ) -> Option<P::State> {
        self.platform.predict(resource, observed, action)
    }

    fn steady(&self, state: &P::State) -> P::State {
        self.platform.steady(state)
    }

    fn restore(&self, resource: &Resource<P::Desired>, state: &P::State) -> Option<P::Desired> {
        self.platform.restore(resource, state)
    }

    async fn observe(
        &self,
        endpoint: &Endpoint,
        queries: &[Query<'_, P::Desired, P::State>],
    ) -> Result<Vec<Observation<P::State>>, Self::Error> {
        let question = queries.iter().map(|query| (query.resource.clone(), query.made.cloned())).collect();
        let (platform, asked) = (self.platform.clone(), endpoint.clone());
        let detach = |work| drop(tokio::spawn(work));
        let answer = self.looks(endpoint).ask(question, detach, |turn| look(platform, asked, turn)).await;
        answer.map_err(ObserverError::Shared)
    }

    async fn perform(
        &self,
        resource: &Resource<P::Desired>,
        observed: &Observed<P::State>,
        action: &P::Action,
        context: &Context,
    ) -> Result<Option<P::State>, Self::Error> {
        self.platform.perform(resource, observed, action, context).await.map_err(ObserverError::Own)
    }

    async fn resume(
        &self,
        resource: &Resource<P::Desired>,
        task: &Task,
        context: &Context,
    ) -> Result<Resumed<P::State>, Self::Error> {
        self.platform.resume(resource, task, context).await.map_err(ObserverError::Own)
    }

    async fn follow(
        &self,
        endpoint: &Endpoint,
        resources: &[Followed<P::Desired, P::State>],
        changes: &Changes,
    ) -> Result<(), Self::Error> {
        self.platform.follow(endpoint, resources, changes).await.map_err(ObserverError::Own)
    }
}
