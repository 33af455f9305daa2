//! All steps, before the first is made.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::apply::{is_vanished, vanished};
use crate::journal::{Journal, Task};
use crate::platform::Platform;
use crate::reason::{Cause, Reason};
use crate::resource::{Goal, Graph, Id, Resource};
use crate::step::{Next, Step};
use crate::world::{Observation, World};

/// A resource that needs more steps than this does not know where it is going.
const MAX_STEPS: usize = 64;

/// The format of saved plans.
pub const VERSION: u32 = 4;

/// What applying would do, in an order in which each step comes after what it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan<A> {
    pub version: u32,
    pub steps: Vec<Planned<A>>,
    /// Resources that cannot go on by themselves, and why.
    pub stops: Vec<Stop>,
    /// What happens by itself and will be waited for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub waits: Vec<Stop>,
    /// Resources that could not be looked at: what happens to them is not known.
    pub unknown: Vec<Stop>,
    /// Every resource, with a hash of how it was when the plan was made.
    #[serde(rename = "seen")]
    pub observed: BTreeMap<String, String>,
}

/// A step and the steps it waits for, by position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned<A> {
    #[serde(flatten)]
    pub step: Step<A>,
    pub after: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    pub resource: Id,
    #[serde(flatten)]
    pub cause: Cause,
    /// It only waits for this one, which has a reason of its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits_for: Option<Id>,
}

impl Stop {
    fn new(resource: &Id, cause: Cause) -> Self {
        Stop { resource: resource.clone(), cause, waits_for: None }
    }
}

/// The world is not as it was when a plan was made.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("something has changed since the plan was saved: {}", differences.join("; "))]
pub struct PlanOutdated {
    pub differences: Vec<String>,
}

/// Folds `next` over a simulated world, until nothing is left to do. What was made before, is not there now and is not among
/// those to `recreate`, stops.
pub fn plan<P: Platform>(
    platform: &P,
    graph: &Graph<P::Desired>,
    world: &World<P::State>,
    journal: &impl Journal<P::State>,
    recreate: &BTreeSet<Id>,
) -> Plan<P::Action> {
    foresee(platform, graph, world, journal, recreate).0
}

/// A plan, and the world as it will be then.
pub fn foresee<P: Platform>(
    platform: &P,
    graph: &Graph<P::Desired>,
    world: &World<P::State>,
    journal: &impl Journal<P::State>,
    recreate: &BTreeSet<Id>,
) -> (Plan<P::Action>, World<P::State>) {
    let mut plan = Plan {
        version: VERSION,
        steps: Vec::new(),
        stops: Vec::new(),
        waits: Vec::new(),
        unknown: Vec::new(),
        observed: fingerprints(platform, graph, world),
    };
    let mut world = world.clone();
    // For each resource that gets where it should: its last step, or those it waits for where it has none of its own.
    let mut last: BTreeMap<Id, Vec<usize>> = BTreeMap::new();
    for resource in graph.iter() {
        let id = &resource.id;
        let mut after: Vec<usize> =
            graph.waits_for(id).iter().filter_map(|first| last.get(first)).flatten().copied().collect();
        after.sort_unstable();
        after.dedup();
        let stuck = |first: &&Id| !last.contains_key(*first);
        let missing = graph.missing_given(resource, &world);
        if let Some(first) = graph.waits_for(id).iter().find(stuck).or(missing) {
            let waits_for = Some(first.clone());
            let cause = Cause::new(Reason::BLOCKED, format!("it waits for {first}"));
            plan.stops.push(Stop { waits_for, ..Stop::new(id, cause) });
            continue;
        }
        if let Some(cause) = &resource.hold {
            plan.stops.push(Stop::new(id, cause.clone()));
            continue;
        }
        let observation = world.get(id);
        if let Observation::Unknown(cause) = observation {
            plan.unknown.push(Stop::new(id, cause));
            continue;
        }
        let task = journal.task(id);
        if let Some(Task { verb, reference }) = task {
            let message =
                format!("for the {verb} of `{}` that an earlier run started ({reference})", id.name);
            plan.waits.push(Stop::new(id, Cause::new(Reason::TASK_RUNNING, message)));
        } else if is_vanished(resource, &observation, journal.made(id), recreate) {
            plan.stops.push(Stop::new(id, vanished(id)));
            continue;
        }
        let mut reached = false;
        for count in 0.. {
            let observed = world.observed(id, &resource.depends_on);
            match platform.next(resource, &observed) {
                Next::Done => {
                    reached = true;
                    break;
                }
                Next::Step(step) if count < MAX_STEPS => {
                    let state = platform.predict(resource, &observed, &step.action);
                    world.set(id.clone(), Observation::Known(state));
                    if count == 0 && task.is_some_and(|task| task.verb == step.verb) {
                        continue;
                    }
                    plan.steps.push(Planned { step: *step, after });
                    after = vec![plan.steps.len() - 1];
                }
                Next::Step(step) => {
                    let message = format!("it would need more than {MAX_STEPS} steps: {}", step.sentence);
                    plan.stops.push(Stop::new(id, Cause::new(Reason::TOO_MANY_STEPS, message)));
                    break;
                }
                Next::Wait(wait) => {
                    plan.waits.push(Stop::new(id, Cause::new(wait.reason, wait.sentence)));
                    reached = true;
                    break;
                }
                // How it is when the task has ended is seen then.
                Next::Stop(_) if task.is_some() => {
                    reached = true;
                    break;
                }
                Next::Stop(cause) => {
                    plan.stops.push(Stop::new(id, cause));
                    break;
                }
            }
        }
        if reached {
            last.insert(id.clone(), after);
        }
    }
    (plan, world)
}

impl<A: PartialEq> Plan<A> {
    pub fn is_empty(&self) -> bool {
        let Plan { version: _, steps, stops, waits, unknown, observed: _ } = self;
        steps.is_empty() && stops.is_empty() && waits.is_empty() && unknown.is_empty()
    }

    /// Whether this plan, made now, is still the one that was saved.
    pub fn same_as(&self, saved: &Plan<A>) -> Result<(), PlanOutdated> {
        let mut differences = Vec::new();
        if saved.version != self.version {
            differences.push(format!("the plan has format {}, this is {}", saved.version, self.version));
        }
        if !saved.observed.is_empty()
            && !self.observed.keys().any(|resource| saved.observed.contains_key(resource))
        {
            let differences =
                vec!["it is about other resources, as if it were of another cluster".to_owned()];
            return Err(PlanOutdated { differences });
        }
        for (resource, now) in &self.observed {
            match saved.observed.get(resource) {
                Some(then) if then == now => {}
                Some(_) => differences.push(format!("{resource} is not as it was")),
                None => differences.push(format!("{resource} is new")),
            }
        }
        let gone = saved.observed.keys().filter(|resource| !self.observed.contains_key(*resource));
        differences.extend(gone.map(|resource| format!("{resource} is no longer part of it")));
        if differences.is_empty() && (&self.steps, &self.stops) != (&saved.steps, &saved.stops) {
            differences.push("the steps are other ones".to_owned());
        }
        if differences.is_empty() { Ok(()) } else { Err(PlanOutdated { differences }) }
    }
}

fn fingerprints<P: Platform>(
    platform: &P,
    graph: &Graph<P::Desired>,
    world: &World<P::State>,
) -> BTreeMap<String, String> {
    let print = |resource: &Resource<P::Desired>| {
        let goal = if resource.goal == Goal::Present { "present" } else { "absent" };
        let observation = match world.get(&resource.id) {
            Observation::Known(Some(state)) => Observation::Known(Some(platform.steady(&state))),
            other => other,
        };
        let observation = serde_json::to_vec(&observation).unwrap_or_default();
        let hash = Sha256::new().chain_update(goal).chain_update(observation).finalize();
        (resource.id.to_string(), hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    };
    graph.iter().map(|resource| print(resource)).collect()
}
