//! Two platforms in one run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use slipway_engine::compose::{Both, Either};
use slipway_engine::journal::MemoryJournal;
use slipway_engine::progress::Nobody;
use slipway_engine::{Goal, Graph, Id, Resource, apply, observe, plan};

use crate::toy::{Act, Aim, Toy};
use crate::{id, options, virtual_time};

type Pair = Both<Toy, Toy>;

fn thing(endpoint: &str, name: usize, goal: Goal, needs: &[Id]) -> Resource<Aim> {
    let (id, desired, needs) = (id(endpoint, name), Aim::default(), needs.to_vec());
    Resource { id, goal, desired, depends_on: needs, rank: 1, hold: None }
}

/// One needs the other, across platforms: one plan, one run, one journal, in order, there and back.
#[test]
fn two_platforms_are_one() {
    virtual_time(async {
        let pair = Arc::new(Both { one: Arc::new(Toy::default()), other: Arc::new(Toy::default()) });
        let desired = |goal| {
            Graph::new(vec![
                Pair::other(thing("cluster", 2, goal, &[id("vc1", 1)])),
                Pair::one(thing("vc1", 1, goal, &[])),
                // Of the one platform, and on the endpoint of the other.
                Pair::one(thing("cluster", 3, goal, &[id("cluster", 2)])),
            ])
            .unwrap()
        };
        let mut journal = MemoryJournal::default();
        for (goal, order) in [(Goal::Present, ["t1", "t2", "t3"]), (Goal::Absent, ["t3", "t2", "t1"])] {
            let graph = desired(goal);
            let world = observe(&pair, &graph, &journal, &BTreeMap::new()).await;
            let plan = plan(&*pair, &graph, &world, &journal, &BTreeSet::new());
            let end = std::future::pending();
            let outcome = apply(&pair, &graph, world, &mut journal, &Nobody, &options(), end).await.unwrap();
            assert!(outcome.is_done(), "{:?}", outcome.ends);
            let planned: Vec<&str> = plan.steps.iter().map(|planned| &*planned.step.resource.name).collect();
            let done: Vec<&str> = outcome.performed.iter().map(|step| &*step.resource.name).collect();
            assert_eq!(planned, done);
            let mut names = done;
            names.dedup();
            assert_eq!(names, order);
            let left = if goal == Goal::Present { (2, 1) } else { (0, 0) };
            assert_eq!((pair.one.server().things.len(), pair.other.server().things.len()), left);
        }
        let makes = |toy: &Toy| toy.server().calls.iter().filter(|(_, act)| *act == Act::Make).count();
        assert_eq!((makes(&pair.one), makes(&pair.other)), (2, 1));
        assert_eq!(journal.records().count(), 0);
    });
}

/// What one platform wrote alone is read by both.
#[test]
fn a_journal_of_one_is_read_by_both() {
    let alone = serde_json::json!({"on": true, "warm": false});
    let read: Either<crate::toy::Thing, String> = serde_json::from_value(alone.clone()).unwrap();
    assert!(read.one().is_some_and(|thing| thing.on));
    assert_eq!(serde_json::to_value(&read).unwrap(), alone);
}
