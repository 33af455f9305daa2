//! The engine over a platform in memory: whatever happens, it converges, and makes nothing twice.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod controllers;
mod mortal;
mod pairs;
mod toy;
mod undone;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use mortal::{Moment, Mortal};
use proptest::prelude::*;
use slipway_engine::journal::{Entry, Event, MemoryJournal, Written};
use slipway_engine::progress::Nobody;
use slipway_engine::{
    End, Endpoint, Goal, Graph, Id, Journal, Options, Outcome, Plan, Reason, Resource, apply, observe, plan,
};
use tokio::time::Instant;
use toy::{Act, Aim, CALL, Thing, Toy, Trouble};

const ENDPOINTS: [&str; 3] = ["vc1", "vc2", "vc3"];

fn id(endpoint: &str, name: usize) -> Id {
    Id::new(&Endpoint::from(endpoint), "thing", &format!("t{name}"))
}

/// Things in layers: each needs some of those before it, on any endpoint.
fn graph(needs: &[Vec<usize>], goal: Goal) -> Graph<Aim> {
    let name = |index: usize| id(ENDPOINTS[index % 3], index);
    let resource = |(index, needs): (usize, &Vec<usize>)| {
        let mut needs: Vec<Id> =
            needs.iter().filter(|_| index > 0).map(|need| name(need % index.max(1))).collect();
        needs.sort();
        needs.dedup();
        Resource { id: name(index), goal, desired: Aim::default(), depends_on: needs, rank: 1, hold: None }
    };
    Graph::new(needs.iter().enumerate().map(resource).collect()).unwrap()
}

fn options() -> Options {
    Options::new(|| Timestamp::UNIX_EPOCH)
}

fn virtual_time<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(test)
}

async fn run(
    toy: &Arc<Toy>,
    graph: &Graph<Aim>,
    journal: &mut MemoryJournal<Thing>,
    options: &Options,
) -> Outcome<Thing> {
    let world = observe(toy, graph, journal, &BTreeMap::new()).await;
    apply(toy, graph, world, journal, &Nobody, options, std::future::pending()).await.unwrap()
}

async fn planned(toy: &Arc<Toy>, graph: &Graph<Aim>, journal: &MemoryJournal<Thing>) -> Plan<Act> {
    let world = observe(toy, graph, journal, &BTreeMap::new()).await;
    plan(&**toy, graph, &world, journal, &BTreeSet::new())
}

fn arbitrary_needs() -> impl Strategy<Value = Vec<Vec<usize>>> {
    proptest::collection::vec(proptest::collection::vec(0_usize..100, 0..3), 1..14)
}

fn arbitrary_troubles() -> impl Strategy<Value = Vec<Option<Trouble>>> {
    let trouble = prop_oneof![
        3 => Just(None),
        1 => Just(Some(Trouble::Before)),
        1 => Just(Some(Trouble::After)),
        1 => Just(Some(Trouble::Busy)),
        1 => Just(Some(Trouble::Hang)),
    ];
    proptest::collection::vec(trouble, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn converges_whatever_passes(needs in arbitrary_needs(), troubles in arbitrary_troubles()) {
        virtual_time(async {
            let (toy, mut journal) = (Arc::new(Toy::default()), MemoryJournal::default());
            toy.server().troubles = troubles;
            let options = Options { attempts: 40, ..options() };
            let desired = graph(&needs, Goal::Present);
            let outcome = run(&toy, &desired, &mut journal, &options).await;
            prop_assert!(outcome.is_done(), "{:?}", outcome.ends);
            prop_assert_eq!(toy.server().things.len(), desired.len());
            prop_assert!(toy.server().things.values().all(|thing| thing.on));
            prop_assert!(toy.server().made.values().all(|count| *count == 1));
            let again = run(&toy, &desired, &mut journal, &options).await;
            prop_assert!(again.performed.is_empty(), "there was nothing left to do");
            let outcome = run(&toy, &graph(&needs, Goal::Absent), &mut journal, &options).await;
            prop_assert!(outcome.is_done() && toy.server().things.is_empty(), "{:?}", outcome.ends);
            Ok(())
        })?;
    }

    #[test]
    fn does_what_the_plan_says(needs in arbitrary_needs(), start in proptest::collection::vec(0_u8..3, 14), down: bool) {
        virtual_time(async {
            let (toy, mut journal) = (Arc::new(Toy::default()), MemoryJournal::default());
            let goal = if down { Goal::Absent } else { Goal::Present };
            let desired = graph(&needs, goal);
            for (resource, kind) in desired.iter().zip(start) {
                if kind > 0 {
                    toy.server().things.insert(resource.id.clone(), Thing { on: kind == 2, warm: false });
                }
            }
            let plan = planned(&toy, &desired, &journal).await;
            let outcome = run(&toy, &desired, &mut journal, &options()).await;
            prop_assert!(outcome.is_done());
            let mut said: Vec<(Id, Act)> =
                plan.steps.iter().map(|planned| (planned.step.resource.clone(), planned.step.action)).collect();
            let mut done = toy.server().calls.clone();
            said.sort();
            done.sort();
            prop_assert_eq!(said, done);
            for (index, planned) in plan.steps.iter().enumerate() {
                prop_assert!(planned.after.iter().all(|first| *first < index));
            }
            Ok(())
        })?;
    }
}

/// The process dies before and after every call of a run, and is started again.
#[test]
fn a_crash_anywhere_loses_nothing() {
    let needs = [vec![], vec![0], vec![0], vec![1, 2], vec![], vec![3]];
    for goal in [Goal::Present, Goal::Absent] {
        for at in 0..12 {
            for moment in [Moment::Intended, Moment::Performed] {
                virtual_time(async {
                    let (toy, mut journal) = (Arc::new(Toy::default()), MemoryJournal::default());
                    let desired = graph(&needs, goal);
                    if goal == Goal::Absent {
                        run(&toy, &graph(&needs, Goal::Present), &mut journal, &options()).await;
                    }
                    let world = observe(&toy, &desired, &journal, &BTreeMap::new()).await;
                    let mut mortal = Mortal::new(&mut journal, at, moment);
                    let end = std::future::pending();
                    let cut = apply(&toy, &desired, world, &mut mortal, &Nobody, &options(), end).await;
                    assert!(cut.is_err(), "step {at}, {moment:?}");
                    let outcome = run(&toy, &desired, &mut journal, &options()).await;
                    assert!(outcome.is_done(), "step {at}, {moment:?}: {:?}", outcome.ends);
                    let left = if goal == Goal::Present { 6 } else { 0 };
                    assert_eq!(toy.server().things.len(), left);
                    assert!(toy.server().made.values().all(|count| *count == 1), "step {at}, {moment:?}");
                });
            }
        }
    }
}

/// One of three endpoints is dead: the others take as long as ever, and what it holds up is named.
#[test]
fn a_dead_endpoint_slows_nobody_else() {
    virtual_time(async {
        let needs = vec![vec![]; 9];
        let alone = [Arc::new(Toy::default()), Arc::new(Toy::default())];
        alone[1].server().dead.insert(Endpoint::from("vc2"));
        let mut ends = Vec::new();
        for toy in &alone {
            let options = Options { patience: Duration::from_secs(30), ..options() };
            let desired = graph(&needs, Goal::Present);
            let mut journal = MemoryJournal::default();
            // The look is part of the run: a dead endpoint is unknown from the start.
            let world = observe(toy, &desired, &journal, &BTreeMap::new()).await;
            let outcome =
                apply(toy, &desired, world, &mut journal, &Nobody, &options, std::future::pending());
            let outcome = outcome.await.unwrap();
            let others: Vec<_> =
                outcome.performed.iter().filter(|step| step.resource.endpoint.as_str() != "vc2").collect();
            ends.push(others.iter().map(|step| step.started + step.took).max().unwrap());
            assert_eq!(others.len(), 12);
            let unknown = outcome.ends.iter().filter(|(_, end)| matches!(end, End::Unknown(_)));
            assert!(unknown.into_iter().all(|(id, _)| id.endpoint.as_str() == "vc2"));
        }
        assert_eq!(ends[0], ends[1]);
    });
}

/// Silence is borne for exactly as long as was said, whatever is under way then. A call that was sent is not repeated: what
/// became of it is seen when the endpoint is back.
#[test]
fn an_endpoint_is_given_up_in_time() {
    virtual_time(async {
        let (timeout, patience) = (Duration::from_secs(4), Duration::from_secs(9));
        for count in [1, 30] {
            let toy = Arc::new(Toy::default());
            let desired = graph(&vec![vec![]; count], Goal::Present);
            let mut journal = MemoryJournal::default();
            let world = observe(&toy, &desired, &journal, &BTreeMap::new()).await;
            toy.server().timeout = timeout;
            toy.server().dead.insert(Endpoint::from("vc1"));
            let options = Options { patience, ..options() };
            let began = Instant::now();
            let end = std::future::pending();
            let outcome = apply(&toy, &desired, world, &mut journal, &Nobody, &options, end).await.unwrap();
            // It counts from the first call that failed.
            assert_eq!(began.elapsed(), CALL + timeout + patience, "{count}");
            for (id, end) in &outcome.ends {
                let silent = id.endpoint.as_str() == "vc1";
                assert_eq!(matches!(end, End::Unknown(_)), silent, "{id}: {end:?}");
                assert_eq!(end.is_done(), !silent, "{id}: {end:?}");
            }
            toy.server().dead.clear();
            assert!(run(&toy, &desired, &mut journal, &options).await.is_done());
            assert!(toy.server().made.values().all(|count| *count == 1));
        }
    });
}

/// It dies in the middle and comes back: everything is finished, nothing is made twice.
#[test]
fn an_endpoint_may_come_back() {
    virtual_time(async {
        let toy = Arc::new(Toy::default());
        let desired = graph(&vec![vec![]; 9], Goal::Present);
        let mut journal = MemoryJournal::default();
        let world = observe(&toy, &desired, &journal, &BTreeMap::new()).await;
        let vcenter = Endpoint::from("vc2");
        toy.server().dead.insert(vcenter.clone());
        let revive = async {
            tokio::time::sleep(Duration::from_secs(45)).await;
            toy.server().dead.remove(&vcenter);
            std::future::pending::<()>().await;
        };
        let outcome = apply(&toy, &desired, world, &mut journal, &Nobody, &options(), revive).await.unwrap();
        assert!(outcome.is_done(), "{:?}", outcome.ends);
        assert!(toy.server().made.values().all(|count| *count == 1));
    });
}

#[test]
fn budgets_are_kept_and_filled() {
    virtual_time(async {
        let toy = Arc::new(Toy::default());
        let desired = graph(&vec![vec![]; 30], Goal::Present);
        let mut usual = options();
        for endpoint in ENDPOINTS {
            usual.lanes.budgets.limit(&Endpoint::from(endpoint), "slots", 2);
        }
        let begin = Instant::now();
        let outcome = run(&toy, &desired, &mut MemoryJournal::default(), &usual).await;
        assert!(outcome.is_done());
        assert_eq!(toy.server().peak, 6, "two on each of three");
        // 20 calls on each endpoint, two at a time, after one look.
        assert_eq!(begin.elapsed(), CALL * 11);
    });
}

#[test]
fn what_fails_for_good_holds_up_only_what_needs_it() {
    virtual_time(async {
        let toy = Arc::new(Toy::default());
        toy.server().troubles = vec![Some(Trouble::Refused)];
        let desired = graph(&[vec![], vec![0], vec![], vec![1]], Goal::Present);
        let outcome = run(&toy, &desired, &mut MemoryJournal::default(), &options()).await;
        let ends: BTreeMap<&str, &End> = outcome.ends.iter().map(|(id, end)| (&*id.name, end)).collect();
        assert!(matches!(ends["t0"], End::Failed { .. }));
        assert_eq!(ends["t0"].reason(), Some(Reason::new("Refused")));
        assert_eq!(*ends["t1"], End::Blocked { by: id("vc1", 0) });
        assert_eq!(*ends["t3"], End::Blocked { by: id("vc2", 1) });
        assert!(ends["t2"].is_done());
    });
}

/// The endpoint answers everything but one call: that one is given up, however patient one is with silence.
#[test]
fn a_call_that_never_gets_through_is_given_up() {
    virtual_time(async {
        let toy = Arc::new(Toy::default());
        toy.server().troubles = vec![Some(Trouble::Before); 50];
        let desired = graph(&[vec![]], Goal::Present);
        let outcome = run(&toy, &desired, &mut MemoryJournal::default(), &options()).await;
        assert!(matches!(outcome.ends[&id("vc1", 0)], End::Failed { .. }), "{:?}", outcome.ends);
        assert_eq!(toy.server().troubles.len(), 45, "five attempts");
    });
}

/// An endpoint that answers and shows nothing: nothing of what was made is made again.
#[test]
fn an_empty_inventory_is_not_believed() {
    virtual_time(async {
        let (toy, mut journal) = (Arc::new(Toy::default()), MemoryJournal::default());
        let desired = graph(&vec![vec![]; 6], Goal::Present);
        assert!(run(&toy, &desired, &mut journal, &options()).await.is_done());
        toy.server().blank.insert(Endpoint::from("vc1"));
        let plan = planned(&toy, &desired, &journal).await;
        assert!(plan.steps.is_empty() && plan.stops.len() == 2, "{plan:?}");
        let outcome = run(&toy, &desired, &mut journal, &options()).await;
        assert!(outcome.performed.is_empty());
        let stopped = outcome.ends.values().filter(|end| end.reason() == Some(Reason::VANISHED)).count();
        assert_eq!(stopped, 2);
        toy.server().blank.clear();
        toy.server().things.remove(&id("vc1", 0));
        let recreate = [id("vc1", 0)].into();
        let options = Options { recreate, ..options() };
        assert!(run(&toy, &desired, &mut journal, &options).await.is_done());
        assert_eq!(toy.server().things.len(), 6);
    });
}

#[test]
fn cancelled_it_stops_and_goes_on_later() {
    virtual_time(async {
        let (toy, mut journal) = (Arc::new(Toy::default()), MemoryJournal::default());
        let desired = graph(&[vec![], vec![0], vec![1], vec![2]], Goal::Present);
        let world = observe(&toy, &desired, &journal, &BTreeMap::new()).await;
        let soon = tokio::time::sleep(CALL * 3 + CALL / 2);
        let outcome = apply(&toy, &desired, world, &mut journal, &Nobody, &options(), soon).await.unwrap();
        assert!(outcome.cancelled);
        assert_eq!(outcome.performed.len(), 4, "the one that was running ends");
        assert_eq!(outcome.ends[&id("vc1", 3)], End::Unfinished);
        assert!(run(&toy, &desired, &mut journal, &options()).await.is_done());
        assert!(toy.server().made.values().all(|count| *count == 1));
    });
}

/// A plan that was saved is only good for the world it was made for.
#[test]
fn a_saved_plan_is_refused_when_the_world_has_moved() {
    virtual_time(async {
        let (toy, journal) = (Arc::new(Toy::default()), MemoryJournal::default());
        let desired = graph(&[vec![], vec![0]], Goal::Present);
        let saved = serde_json::to_string(&planned(&toy, &desired, &journal).await).unwrap();
        let saved: Plan<Act> = serde_json::from_str(&saved).unwrap();
        planned(&toy, &desired, &journal).await.same_as(&saved).unwrap();
        toy.server().things.insert(id("vc1", 0), Thing { on: true, warm: false });
        let moved = planned(&toy, &desired, &journal).await.same_as(&saved).unwrap_err();
        assert_eq!(moved.differences, ["thing `t0` on vc1 is not as it was"]);
        let mut other = saved.clone();
        other.observed = other
            .observed
            .into_values()
            .zip(7..)
            .map(|(observed, number)| (id("vc2", number).to_string(), observed))
            .collect();
        let moved = planned(&toy, &desired, &journal).await.same_as(&other).unwrap_err();
        assert_eq!(moved.differences, ["it is about other resources, as if it were of another cluster"]);
    });
}

/// Another build wrote what this one cannot read: what it is about is left alone, and said so.
#[test]
fn what_the_journal_says_in_another_form_is_left_alone() {
    virtual_time(async {
        let (toy, mut journal) = (Arc::new(Toy::default()), MemoryJournal::default());
        let desired = graph(&[vec![], vec![], vec![]], Goal::Present);
        let state = Some(Written::Unreadable(serde_json::json!({"size": "XL"})));
        let (at, verb) = (Timestamp::UNIX_EPOCH, "make".into());
        let entry = Entry { at, resource: id("vc2", 1), verb, event: Event::Done { state } };
        journal.append(vec![entry]).await.unwrap();
        let plan = planned(&toy, &desired, &journal).await;
        assert_eq!(plan.unknown.len(), 1);
        assert_eq!(plan.unknown[0].cause.reason, Reason::JOURNAL_UNREADABLE);
        let outcome = run(&toy, &desired, &mut journal, &options()).await;
        assert_eq!(outcome.ends[&id("vc2", 1)].reason(), Some(Reason::JOURNAL_UNREADABLE));
        assert_eq!(toy.server().things.len(), 2, "the others are created");
    });
}
