//! The executor: the same fold as a plan, over the real world.

mod end;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;

pub use self::end::{End, Outcome, Performed};
use self::run::Run;
use crate::budget::Budgets;
use crate::journal::{Journal, JournalError};
use crate::platform::{Platform, Query};
use crate::progress::Listener;
use crate::resource::{Endpoint, Goal, Graph, Id, Resource};
use crate::retry::Pauses;
use crate::world::{Sight, World};

/// A moment at which a test ends the run as if the process had died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The intent is in the journal, the call is not made.
    Intended,
    /// The call is made, and its outcome is not in the journal.
    Performed,
}

/// Whether to die at a moment of a step, by its number in this run.
pub type Fate = dyn Fn(usize, Moment) -> bool + Send + Sync;

/// How to apply.
#[derive(Clone)]
pub struct Options {
    pub budgets: Budgets,
    /// How often a step is tried before its resource fails.
    pub attempts: u32,
    pub pauses: Pauses,
    /// How long an endpoint may be silent before what is left there fails.
    pub patience: Duration,
    /// How long running steps may go on after the run was cancelled.
    pub grace: Duration,
    /// Resources that were made before, are not seen now, and may be made again.
    pub recreate: BTreeSet<Id>,
    /// For tests.
    pub fate: Option<Arc<Fate>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            budgets: Budgets::default(),
            attempts: 5,
            pauses: Pauses::default(),
            patience: Duration::from_mins(10),
            grace: Duration::from_secs(10),
            recreate: BTreeSet::new(),
            fate: None,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Options { budgets, attempts, pauses, patience, grace, recreate, fate: _ } = self;
        f.debug_struct("Options")
            .field("budgets", budgets)
            .field("attempts", attempts)
            .field("pauses", pauses)
            .field("patience", patience)
            .field("grace", grace)
            .field("recreate", recreate)
            .finish_non_exhaustive()
    }
}

/// What was made before and is not there now is not made again unasked: who lost sight of a machine would have two.
pub fn doubt<W, S>(
    resource: &Resource<W>,
    sight: &Sight<S>,
    made: Option<&Value>,
    recreate: &BTreeSet<Id>,
) -> Option<String> {
    let gone = matches!(sight, Sight::Known(None)) && made.is_some();
    (resource.goal == Goal::Present && gone && !recreate.contains(&resource.id)).then(|| {
        format!(
            "the {} `{}` was made before and is not there now. If it was removed on purpose and should be made again, \
             say so with `--recreate {}`",
            resource.id.kind, resource.id.name, resource.id.name
        )
    })
}

/// Looks at everything, at all endpoints at the same time. One that cannot be asked leaves its part unknown, and so does one
/// that is known to be `silent`, and why: it is not asked.
pub async fn observe<P: Platform>(
    platform: &Arc<P>,
    graph: &Graph<P::Wanted>,
    journal: &impl Journal,
    silent: &BTreeMap<Endpoint, String>,
) -> World<P::State> {
    let mut looks = JoinSet::new();
    let mut world = World::default();
    for endpoint in graph.endpoints() {
        if let Some(reason) = silent.get(&endpoint) {
            for resource in graph.iter().filter(|resource| resource.id.endpoint == endpoint) {
                world.set(resource.id.clone(), Sight::Unknown(reason.clone()));
            }
            continue;
        }
        let (resources, made) = queries(graph, journal, |id| id.endpoint == endpoint);
        looks.spawn(look(platform.clone(), endpoint, resources, made));
    }
    while let Some(result) = looks.join_next().await {
        let Ok(Look { ids, result, .. }) = result else { continue };
        match result {
            Ok(sights) => {
                for (id, sight) in ids.into_iter().zip(sights) {
                    world.set(id, sight);
                }
            }
            Err(error) => {
                let reason = explain(&error);
                for id in ids {
                    world.set(id, Sight::Unknown(reason.clone()));
                }
            }
        }
    }
    world
}

type Resources<W> = Vec<Arc<Resource<W>>>;

fn queries<W>(
    graph: &Graph<W>,
    journal: &impl Journal,
    wanted: impl Fn(&Id) -> bool,
) -> (Resources<W>, Vec<Option<Value>>) {
    let chosen = graph.iter().filter(|resource| wanted(&resource.id));
    chosen.map(|resource| (resource.clone(), journal.made(&resource.id).cloned())).unzip()
}

/// What a look at some resources of an endpoint found.
struct Look<P: Platform> {
    endpoint: Endpoint,
    ids: Vec<Id>,
    result: Result<Vec<Sight<P::State>>, P::Error>,
}

async fn look<P: Platform>(
    platform: Arc<P>,
    endpoint: Endpoint,
    resources: Resources<P::Wanted>,
    made: Vec<Option<Value>>,
) -> Look<P> {
    let queries: Vec<Query<'_, P::Wanted>> =
        resources.iter().zip(&made).map(|(resource, made)| Query { resource, made: made.as_ref() }).collect();
    let result = platform.observe(&endpoint, &queries).await;
    Look { endpoint, ids: resources.iter().map(|resource| resource.id.clone()).collect(), result }
}

/// Makes the world as it is wanted, from `world`, which was seen just now. Ends when nothing is left to do, or when
/// `cancelled` is ready; whatever happens, running it again goes on from there.
pub async fn apply<P: Platform>(
    platform: &Arc<P>,
    graph: &Graph<P::Wanted>,
    world: World<P::State>,
    journal: &mut impl Journal,
    listener: &impl Listener,
    options: &Options,
    cancelled: impl Future<Output = ()> + Send,
) -> Result<Outcome<P::State>, JournalError> {
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
