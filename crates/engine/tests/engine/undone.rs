//! The way back.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use slipway_engine::journal::{Before, MemoryJournal};
use slipway_engine::progress::Nobody;
use slipway_engine::undo::{before, undo};
use slipway_engine::{Goal, Graph, Options, Resource, apply, observe, plan};

use crate::toy::{Act, Aim, Thing, Toy};
use crate::{id, virtual_time};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

async fn run_at(second: i64, toy: &Arc<Toy>, graph: &Graph<Aim>, journal: &mut MemoryJournal<Thing>) {
    let options = Options::new(move || at(second));
    let world = observe(toy, graph, journal, &BTreeMap::new()).await;
    let end = std::future::pending();
    let outcome = apply(toy, graph, world, journal, &Nobody, &options, end).await.unwrap();
    assert!(outcome.is_done(), "{:?}", outcome.ends);
}

/// A run changes one thing, makes one and removes one. Undone, all is as it was before that run, and what it did not touch
/// was not touched.
#[test]
fn a_run_can_be_undone() {
    virtual_time(async {
        let (toy, mut journal) = (Arc::new(Toy::default()), MemoryJournal::default());
        let thing = |name, goal, on| {
            let desired = Aim { on, ..Aim::default() };
            let needs = if name == 2 { vec![id("vc1", 3)] } else { Vec::new() };
            Resource { id: id("vc1", name), goal, desired, depends_on: needs, rank: 1, hold: None }
        };
        let first = Graph::new(vec![
            thing(0, Goal::Present, false),
            thing(1, Goal::Present, true),
            thing(3, Goal::Present, true),
        ]);
        run_at(100, &toy, &first.unwrap(), &mut journal).await;
        let before_it = toy.server().things.clone();
        let second = Graph::new(vec![
            thing(0, Goal::Present, true),
            thing(1, Goal::Absent, true),
            thing(2, Goal::Present, true),
            thing(3, Goal::Present, true),
        ]);
        let second = second.unwrap();
        run_at(200, &toy, &second, &mut journal).await;
        assert_ne!(toy.server().things, before_it);
        assert_eq!(before(&journal.entries, at(200))[&id("vc1", 2)], Before::Absent);

        let back = undo(&*toy, &second, &journal.entries, at(200)).unwrap();
        let world = observe(&toy, &second, &journal, &BTreeMap::new()).await;
        let plan = plan(&*toy, &back, &world, &journal, &[].into());
        let mut steps: Vec<(&str, Act)> =
            plan.steps.iter().map(|planned| (&*planned.step.resource.name, planned.step.action)).collect();
        steps.sort_unstable();
        let desired = [
            ("t0", Act::SwitchOff),
            ("t1", Act::Make),
            ("t1", Act::SwitchOn),
            ("t2", Act::SwitchOff),
            ("t2", Act::Remove),
        ];
        assert_eq!(steps, desired);
        let options = Options::new(|| at(300));
        let end = std::future::pending();
        let outcome = apply(&toy, &back, world, &mut journal, &Nobody, &options, end).await.unwrap();
        assert!(outcome.is_done(), "{:?}", outcome.ends);
        assert_eq!(toy.server().things, before_it);
    });
}
