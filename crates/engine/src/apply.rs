//! The executor: the same fold as a plan, over the real world.

mod end;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::JoinSet;

pub use self::end::{End, Outcome, Performed};
use self::run::Run;
use crate::journal::{Journal, Written};
use crate::lanes::Lanes;
use crate::platform::{Failure, Platform, Query};
use crate::progress::Listener;
use crate::reason::{Cause, Reason};
use crate::resource::{Endpoint, Goal, Graph, Id, Resource};
use crate::retry::Pauses;
use crate::world::{Observation, World};

/// Says what time it is, for the journal.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Clock(Arc::new(now))
    }

    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

/// How to apply.
#[derive(Debug, Clone)]
pub struct Options {
    pub clock: Clock,
    pub lanes: Lanes,
    /// How often a step is tried before its resource fails.
    pub attempts: u32,
    pub pauses: Pauses,
    /// How long an endpoint may be silent before what is left there fails.
    pub patience: Duration,
    /// How long running steps may go on after the run was cancelled.
    pub grace: Duration,
    /// Resources that were made before, are not seen now, and may be made again.
    pub recreate: BTreeSet<Id>,
}

impl Options {
    /// The usual ones.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Options {
            clock: Clock::new(now),
            lanes: Lanes::default(),
            attempts: 5,
            pauses: Pauses::default(),
            patience: Duration::from_mins(10),
            grace: Duration::from_secs(10),
            recreate: BTreeSet::new(),
        }
    }
}

/// Whether a resource that was made before is not there now, and was not given up: making it again could make a second one,
/// if it is only out of observation.
pub fn is_vanished<W, S>(
    resource: &Resource<W>,
    observation: &Observation<S>,
    made: Option<&Written<S>>,
    recreate: &BTreeSet<Id>,
) -> bool {
    let gone = matches!(observation, Observation::Known(None)) && made.is_some();
    resource.goal == Goal::Present && gone && !recreate.contains(&resource.id)
}

/// What is said of a resource that vanished.
pub(crate) fn vanished(id: &Id) -> Cause {
    let message = format!("the {} `{}` was created before and is not there now", id.kind, id.name);
    Cause::new(Reason::VANISHED, message)
}

/// Looks at everything, at all endpoints at the same time. One that cannot be asked leaves its part unknown, and so does one
/// that is known to be `silent`, and why: it is not asked.
pub async fn observe<P: Platform>(
    platform: &Arc<P>,
    graph: &Graph<P::Desired>,
    journal: &impl Journal<P::State>,
    silent: &BTreeMap<Endpoint, String>,
) -> World<P::State> {
    let mut looks = JoinSet::new();
    let mut world = World::default();
    for endpoint in graph.endpoints() {
        if let Some(message) = silent.get(&endpoint) {
            let cause = Cause::new(Reason::UNREACHABLE, message);
            for resource in graph.iter().filter(|resource| resource.id.endpoint == endpoint) {
                world.set(resource.id.clone(), Observation::Unknown(cause.clone()));
            }
            continue;
        }
        let questions = Questions::new(graph, journal, |id| id.endpoint == endpoint);
        looks.spawn(look(platform.clone(), endpoint, questions));
    }
    while let Some(result) = looks.join_next().await {
        let Ok(Look { ids, unreadable, result, .. }) = result else { continue };
        for (id, cause) in unreadable {
            world.set(id, Observation::Unknown(cause));
        }
        match result {
            Ok(observations) => {
                for (id, observation) in ids.into_iter().zip(observations) {
                    world.set(id, observation);
                }
            }
            Err(error) => {
                let cause = Cause::new(error.reason(), explain(&error));
                for id in ids {
                    world.set(id, Observation::Unknown(cause.clone()));
                }
            }
        }
    }
    world
}

/// Resources to look at.
struct Questions<W, S> {
    /// With what the journal knows of them.
    resources: Vec<(Arc<Resource<W>>, Option<S>)>,
    /// Those that are not looked at, as what the journal knows of them cannot be read.
    unreadable: Vec<(Id, Cause)>,
}

impl<W, S: Clone> Questions<W, S> {
    fn new(graph: &Graph<W>, journal: &impl Journal<S>, chosen: impl Fn(&Id) -> bool) -> Self {
        let mut questions = Questions { resources: Vec::new(), unreadable: Vec::new() };
        for resource in graph.iter().filter(|resource| chosen(&resource.id)) {
            let made = match journal.made(&resource.id) {
                None => None,
                Some(Written::State(state)) => Some(state.clone()),
                Some(Written::Unreadable(value)) => {
                    let message =
                        format!("it was created by another version, which wrote in the journal: {value}");
                    let cause = Cause::new(Reason::JOURNAL_UNREADABLE, message);
                    questions.unreadable.push((resource.id.clone(), cause));
                    continue;
                }
            };
            questions.resources.push((resource.clone(), made));
        }
        questions
    }
}

/// What a look at some resources of an endpoint found.
struct Look<P: Platform> {
    endpoint: Endpoint,
    ids: Vec<Id>,
    unreadable: Vec<(Id, Cause)>,
    result: Result<Vec<Observation<P::State>>, P::Error>,
}

async fn look<P: Platform>(
    platform: Arc<P>,
    endpoint: Endpoint,
    questions: Questions<P::Desired, P::State>,
) -> Look<P> {
    let Questions { resources, unreadable } = questions;
    let queries: Vec<_> =
        resources.iter().map(|(resource, made)| Query { resource, made: made.as_ref() }).collect();
    let result = platform.observe(&endpoint, &queries).await;
    let ids = resources.iter().map(|(resource, _)| resource.id.clone()).collect();
    Look { endpoint, ids, unreadable, result }
}

/// Makes the world as it is wanted, from `world`, which was seen just now. Ends when nothing is left to do, or when
/// `cancelled` is ready; whatever happens, running it again goes on from there.
pub async fn apply<P: Platform, J: Journal<P::State>>(
    platform: &Arc<P>,
    graph: &Graph<P::Desired>,
    world: World<P::State>,
    journal: &mut J,
    listener: &impl Listener,
    options: &Options,
    cancelled: impl Future<Output = ()> + Send,
) -> Result<Outcome<P::State>, J::Error> {
    Run::new(platform.clone(), graph, world, journal, listener, options).finish(cancelled).await
}

/// An error and its causes, in one line.
fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
