//! Two platforms as one: machines of a vCenter and objects of a cluster in one plan and one run.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::context::Context;
use crate::feed::{Changes, Followed};
use crate::journal::Task;
use crate::platform::{Failure, Platform, Query, Resumed, Severity};
use crate::reason::Reason;
use crate::resource::{Endpoint, Id, Resource};
use crate::step::{Next, Step};
use crate::world::{Observation, Observed};

/// Of the one platform, or of the other. In journals and plans nothing says which: a journal that one of them wrote alone is
/// read as before, so the states of the two have to differ in form, as those with a `kind` do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Either<A, B> {
    One(A),
    Other(B),
}

impl<A, B> Either<A, B> {
    pub fn one(&self) -> Option<&A> {
        match self {
            Either::One(one) => Some(one),
            Either::Other(_) => None,
        }
    }

    pub fn other(&self) -> Option<&B> {
        match self {
            Either::One(_) => None,
            Either::Other(other) => Some(other),
        }
    }
}

/// What is wanted of a resource: the resource as its own platform knows it.
pub type EitherDesired<A, B> =
    Either<Arc<Resource<<A as Platform>::Desired>>, Arc<Resource<<B as Platform>::Desired>>>;

/// Two platforms. A resource of one may need resources of the other: then it comes after them, and does not see how they are.
#[derive(Debug)]
pub struct Both<A, B> {
    pub one: Arc<A>,
    pub other: Arc<B>,
}

/// Why a step of one of them did not succeed.
#[derive(Debug, Error)]
pub enum BothError<A: std::error::Error + 'static, B: std::error::Error + 'static> {
    #[error(transparent)]
    One(A),
    #[error(transparent)]
    Other(B),
    #[error("{0} is of the other platform")]
    Mixed(Id),
}

impl<A: Platform, B: Platform> Both<A, B> {
    /// A resource of the one, among those of both.
    pub fn one(resource: Resource<A::Desired>) -> Resource<EitherDesired<A, B>> {
        wrap(resource, Either::One)
    }

    /// A resource of the other, among those of both.
    pub fn other(resource: Resource<B::Desired>) -> Resource<EitherDesired<A, B>> {
        wrap(resource, Either::Other)
    }
}

fn wrap<W, E>(resource: Resource<W>, side: impl FnOnce(Arc<Resource<W>>) -> E) -> Resource<E> {
    let whole = resource.with_desired(());
    let desired = side(Arc::new(resource));
    whole.with_desired(desired)
}

/// What one platform can see of what is there.
fn part<S, T: Clone>(observed: &Observed<S>, side: impl Fn(&S) -> Option<&T>) -> Observed<T> {
    Observed {
        own: observed.own.as_ref().and_then(&side).cloned(),
        dependencies: observed
            .dependencies
            .iter()
            .filter_map(|(id, state)| Some((id.clone(), side(state)?.clone())))
            .collect(),
    }
}

fn step_of<A, E>(next: Next<A>, side: impl FnOnce(A) -> E) -> Next<E> {
    match next {
        Next::Done => Next::Done,
        Next::Wait(wait) => Next::Wait(wait),
        Next::Stop(cause) => Next::Stop(cause),
        Next::Step(step) => {
            let Step { resource, action, verb, sentence, undo, costs, privileges, mark, limit } = *step;
            let action = side(action);
            Next::Step(Box::new(Step {
                resource,
                action,
                verb,
                sentence,
                undo,
                costs,
                privileges,
                mark,
                limit,
            }))
        }
    }
}

/// A resource as its own platform knows it, with the goal that it has among those of both.
fn own<W: Clone, E>(resource: &Resource<E>, inner: &Arc<Resource<W>>) -> Arc<Resource<W>> {
    if inner.goal == resource.goal {
        return inner.clone();
    }
    Arc::new(Resource { goal: resource.goal, ..(**inner).clone() })
}

impl<A: Platform<Desired: Clone>, B: Platform<Desired: Clone>> Platform for Both<A, B> {
    type Desired = EitherDesired<A, B>;
    type State = Either<A::State, B::State>;
    type Action = Either<A::Action, B::Action>;
    type Error = BothError<A::Error, B::Error>;

    fn next(
        &self,
        resource: &Resource<Self::Desired>,
        observed: &Observed<Self::State>,
    ) -> Next<Self::Action> {
        match &resource.desired {
            Either::One(one) => {
                step_of(self.one.next(&own(resource, one), &part(observed, Either::one)), Either::One)
            }
            Either::Other(other) => {
                step_of(self.other.next(&own(resource, other), &part(observed, Either::other)), Either::Other)
            }
        }
    }

    fn predict(
        &self,
        resource: &Resource<Self::Desired>,
        observed: &Observed<Self::State>,
        action: &Self::Action,
    ) -> Option<Self::State> {
        match (&resource.desired, action) {
            (Either::One(one), Either::One(action)) => {
                self.one.predict(&own(resource, one), &part(observed, Either::one), action).map(Either::One)
            }
            (Either::Other(other), Either::Other(action)) => self
                .other
                .predict(&own(resource, other), &part(observed, Either::other), action)
                .map(Either::Other),
            _ => observed.own.clone(),
        }
    }

    fn steady(&self, state: &Self::State) -> Self::State {
        match state {
            Either::One(state) => Either::One(self.one.steady(state)),
            Either::Other(state) => Either::Other(self.other.steady(state)),
        }
    }

    fn restore(&self, resource: &Resource<Self::Desired>, state: &Self::State) -> Option<Self::Desired> {
        match (&resource.desired, state) {
            (Either::One(one), Either::One(state)) => {
                let desired = self.one.restore(one, state)?;
                Some(Either::One(Arc::new(one.with_desired(desired))))
            }
            (Either::Other(other), Either::Other(state)) => {
                let desired = self.other.restore(other, state)?;
                Some(Either::Other(Arc::new(other.with_desired(desired))))
            }
            _ => None,
        }
    }

    async fn observe(
        &self,
        endpoint: &Endpoint,
        queries: &[Query<'_, Self::Desired, Self::State>],
    ) -> Result<Vec<Observation<Self::State>>, Self::Error> {
        let (mut ones, mut others) = (Vec::new(), Vec::new());
        for query in queries {
            match &query.resource.desired {
                Either::One(one) => {
                    ones.push((own(query.resource, one), query.made.and_then(Either::one)));
                }
                Either::Other(other) => {
                    others.push((own(query.resource, other), query.made.and_then(Either::other)));
                }
            }
        }
        let ones: Vec<_> = ones.iter().map(|(resource, made)| Query { resource, made: *made }).collect();
        let others: Vec<_> = others.iter().map(|(resource, made)| Query { resource, made: *made }).collect();
        let one = async {
            if ones.is_empty() {
                return Ok(Vec::new());
            }
            self.one.observe(endpoint, &ones).await.map_err(BothError::One)
        };
        let other = async {
            if others.is_empty() {
                return Ok(Vec::new());
            }
            self.other.observe(endpoint, &others).await.map_err(BothError::Other)
        };
        let (ones, others) = tokio::try_join!(one, other)?;
        let (mut ones, mut others) = (ones.into_iter(), others.into_iter());
        let observation = |query: &Query<'_, Self::Desired, Self::State>| match query.resource.desired {
            Either::One(_) => ones.next().map(|observation| observation.map(Either::One)),
            Either::Other(_) => others.next().map(|observation| observation.map(Either::Other)),
        };
        Ok(queries.iter().filter_map(observation).collect())
    }

    async fn perform(
        &self,
        resource: &Resource<Self::Desired>,
        observed: &Observed<Self::State>,
        action: &Self::Action,
        context: &Context,
    ) -> Result<Option<Self::State>, Self::Error> {
        match (&resource.desired, action) {
            (Either::One(one), Either::One(action)) => {
                let done = self
                    .one
                    .perform(&own(resource, one), &part(observed, Either::one), action, context)
                    .await;
                done.map(|state| state.map(Either::One)).map_err(BothError::One)
            }
            (Either::Other(other), Either::Other(action)) => {
                let done = self
                    .other
                    .perform(&own(resource, other), &part(observed, Either::other), action, context)
                    .await;
                done.map(|state| state.map(Either::Other)).map_err(BothError::Other)
            }
            _ => Err(BothError::Mixed(resource.id.clone())),
        }
    }

    async fn resume(
        &self,
        resource: &Resource<Self::Desired>,
        task: &Task,
        context: &Context,
    ) -> Result<Resumed<Self::State>, Self::Error> {
        match &resource.desired {
            Either::One(one) => {
                let resumed =
                    self.one.resume(&own(resource, one), task, context).await.map_err(BothError::One)?;
                Ok(resumed.map(Either::One))
            }
            Either::Other(other) => {
                let resumed = self
                    .other
                    .resume(&own(resource, other), task, context)
                    .await
                    .map_err(BothError::Other)?;
                Ok(resumed.map(Either::Other))
            }
        }
    }

    async fn follow(
        &self,
        endpoint: &Endpoint,
        resources: &[Followed<Self::Desired, Self::State>],
        changes: &Changes,
    ) -> Result<(), Self::Error> {
        let (mut ones, mut others) = (Vec::new(), Vec::new());
        for Followed { resource, observed } in resources {
            match &resource.desired {
                Either::One(one) => {
                    let observed = observed.as_ref().and_then(Either::one).cloned();
                    ones.push(Followed { resource: own(resource, one), observed });
                }
                Either::Other(other) => {
                    let observed = observed.as_ref().and_then(Either::other).cloned();
                    others.push(Followed { resource: own(resource, other), observed });
                }
            }
        }
        let one = async {
            if ones.is_empty() {
                return Ok(());
            }
            self.one.follow(endpoint, &ones, changes).await.map_err(BothError::One)
        };
        let other = async {
            if others.is_empty() {
                return Ok(());
            }
            self.other.follow(endpoint, &others, changes).await.map_err(BothError::Other)
        };
        tokio::try_join!(one, other).map(drop)
    }
}

impl<A: Failure, B: Failure> Failure for BothError<A, B> {
    fn severity(&self) -> Severity {
        match self {
            BothError::One(error) => error.severity(),
            BothError::Other(error) => error.severity(),
            BothError::Mixed(_) => Severity::Permanent,
        }
    }

    fn reason(&self) -> Reason {
        match self {
            BothError::One(error) => error.reason(),
            BothError::Other(error) => error.reason(),
            BothError::Mixed(_) => Reason::new("Mixed"),
        }
    }

    fn silence(&self) -> Duration {
        match self {
            BothError::One(error) => error.silence(),
            BothError::Other(error) => error.silence(),
            BothError::Mixed(_) => Duration::ZERO,
        }
    }

    fn leaves_task_running(&self) -> bool {
        match self {
            BothError::One(error) => error.leaves_task_running(),
            BothError::Other(error) => error.leaves_task_running(),
            BothError::Mixed(_) => false,
        }
    }

    fn remedy(&self) -> Option<String> {
        match self {
            BothError::One(error) => error.remedy(),
            BothError::Other(error) => error.remedy(),
            BothError::Mixed(_) => None,
        }
    }
}
