//! What controllers need of the engine: waiting without a step, tasks that outlive the process, lanes and looks that runs
//! share, and things that are settled elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use slipway_engine::apply::Performed;
use slipway_engine::journal::{Journal, MemoryJournal, Task};
use slipway_engine::observer::Observer;
use slipway_engine::progress::{Event, Listener, Nobody};
use slipway_engine::{
    End, Endpoint, Goal, Graph, Id, Observation, Options, Reason, Resource, World, apply, observe, plan,
};
use tokio::time::Instant;

use crate::mortal::{Moment, Mortal};
use crate::toy::{Act, Aim, CALL, COLD, Thing, Toy, WARM_INTERVAL, WARM_TIMEOUT};
use crate::{id, options, planned, run, virtual_time};

fn one(aim: Aim) -> Graph<Aim> {
    let (desired, needs) = (aim, Vec::new());
    let resource =
        Resource { id: id("vc1", 0), goal: Goal::Present, desired, depends_on: needs, rank: 1, hold: None };
    Graph::new(vec![resource]).unwrap()
}

const WARM: Aim = Aim { on: true, warm: true, slow: false };
const SLOW: Aim = Aim { on: true, warm: false, slow: true };

/// Gets a thing warm when it has been on for some time.
async fn warm_up(toy: &Toy, after: Duration) {
    tokio::time::sleep(after).await;
    toy.server().things.values_mut().for_each(|thing| thing.warm = thing.on);
    std::future::pending::<()>().await;
}

/// Remembers what resources were said to wait for.
#[derive(Default)]
struct Heard(Mutex<Vec<(Reason, String)>>);

impl Listener for Heard {
    fn tell(&self, event: &Event<'_>) {
        if let Event::Waiting { reason, why, .. } = event {
            self.0.lock().unwrap().push(((*reason).clone(), (*why).to_owned()));
        }
    }
}

/// Waiting is no step: it is in no journal, a plan notes it, listeners hear of it, and a feed ends it at once.
#[test]
fn what_happens_by_itself_is_waited_for() {
    for (feed, looks, latest) in [(true, 2, CALL * 4), (false, 3, WARM_INTERVAL)] {
        virtual_time(async {
            let (toy, mut journal) = (Arc::new(Toy::default()), MemoryJournal::default());
            toy.server().feed = feed;
            let desired = one(WARM);
            let plan = planned(&toy, &desired, &journal).await;
            assert_eq!(plan.steps.len(), 2);
            assert_eq!(plan.waits[0].cause.reason, COLD);
            let world = observe(&toy, &desired, &journal, &BTreeMap::new()).await;
            let (heard, warm_after) = (Heard::default(), Duration::from_secs(70));
            let begin = Instant::now();
            let warm = warm_up(&toy, warm_after);
            let outcome = apply(&toy, &desired, world, &mut journal, &heard, &options(), warm).await.unwrap();
            assert!(outcome.is_done(), "{:?}", outcome.ends);
            assert!(begin.elapsed() <= warm_after + latest, "feed {feed}: {:?}", begin.elapsed());
            let done: Vec<&str> = outcome.performed.iter().map(|Performed { verb, .. }| &**verb).collect();
            assert_eq!(done, ["make", "switchon"]);
            assert!(journal.entries.iter().all(|entry| ["make", "switchon"].contains(&&*entry.verb)));
            assert_eq!(*heard.0.lock().unwrap(), [(COLD, "until thing `t0` on vc1 is warm".to_owned())]);
            assert!(toy.server().looks[&Endpoint::from("vc1")] <= looks + 2, "feed {feed}");
        });
    }
}

/// It has an end: what takes too long fails by its reason, and cancelling does not wait for it.
#[test]
fn waiting_has_an_end() {
    virtual_time(async {
        let (toy, mut journal) = (Arc::new(Toy::default()), MemoryJournal::default());
        let (desired, begin) = (one(WARM), Instant::now());
        let outcome = run(&toy, &desired, &mut journal, &options()).await;
        let end = &outcome.ends[&id("vc1", 0)];
        assert_eq!(end.reason(), Some(COLD));
        assert!(matches!(end, End::Failed { error, .. } if error == "it stays cold"), "{end:?}");
        assert!(begin.elapsed() >= WARM_TIMEOUT && begin.elapsed() < WARM_TIMEOUT + WARM_INTERVAL);

        let (begin, soon) = (Instant::now(), tokio::time::sleep(Duration::from_secs(5)));
        let world = observe(&toy, &desired, &journal, &BTreeMap::new()).await;
        let outcome = apply(&toy, &desired, world, &mut journal, &Nobody, &options(), soon).await.unwrap();
        assert!(outcome.cancelled && begin.elapsed() < Duration::from_secs(6));
        assert_eq!(outcome.ends[&id("vc1", 0)], End::Unfinished);
    });
}

/// The process dies while the server works on its task. The next one waits for that task: it calls nothing a second time.
#[test]
fn a_task_that_outlives_its_process_is_waited_for() {
    virtual_time(async {
        let (toy, mut journal) = (Arc::new(Toy::default()), MemoryJournal::default());
        let desired = one(SLOW);
        let world = observe(&toy, &desired, &journal, &BTreeMap::new()).await;
        let mut mortal = Mortal::new(&mut journal, 0, Moment::Begun);
        let end = std::future::pending();
        let died = apply(&toy, &desired, world, &mut mortal, &Nobody, &options(), end).await;
        assert!(died.is_err());
        let task = Task { verb: "make".into(), reference: "task-0".to_owned() };
        assert_eq!(journal.task(&id("vc1", 0)), Some(&task));

        let plan = planned(&toy, &desired, &journal).await;
        let verbs: Vec<&str> = plan.steps.iter().map(|planned| &*planned.step.verb).collect();
        assert_eq!(verbs, ["switchon"], "it is being created already");
        assert_eq!(plan.waits[0].cause.reason, Reason::TASK_RUNNING);

        let ends = async {
            tokio::time::sleep(Duration::from_mins(3)).await;
            toy.server().end_tasks();
            std::future::pending::<()>().await;
        };
        let world = observe(&toy, &desired, &journal, &BTreeMap::new()).await;
        let outcome = apply(&toy, &desired, world, &mut journal, &Nobody, &options(), ends).await.unwrap();
        assert!(outcome.is_done(), "{:?}", outcome.ends);
        let made = toy.server().calls.iter().filter(|(_, act)| *act == Act::Make).count();
        assert_eq!(made, 1, "one call ever");
        assert_eq!(journal.task(&id("vc1", 0)), None);
    });
}

/// A step that takes longer than it may leaves its task behind: the same run goes on with that.
#[test]
fn a_task_that_takes_long_is_not_begun_again() {
    virtual_time(async {
        let (toy, mut journal) = (Arc::new(Toy::default()), MemoryJournal::default());
        let desired = one(SLOW);
        let ends = async {
            tokio::time::sleep(Duration::from_mins(4)).await;
            toy.server().end_tasks();
            std::future::pending::<()>().await;
        };
        let world = observe(&toy, &desired, &journal, &BTreeMap::new()).await;
        let outcome = apply(&toy, &desired, world, &mut journal, &Nobody, &options(), ends).await.unwrap();
        assert!(outcome.is_done(), "{:?}", outcome.ends);
        assert_eq!(toy.server().calls.iter().filter(|(_, act)| *act == Act::Make).count(), 1);
    });
}

/// Runs of a controller: one thing each, which needs a thing that another run has settled.
fn machine(number: usize, needs: Vec<Id>) -> Graph<Aim> {
    let (id, desired) = (id("vc1", number), Aim::default());
    let given: Vec<Id> = needs.clone();
    let resource = Resource { id, goal: Goal::Present, desired, depends_on: needs, rank: 1, hold: None };
    Graph::with_given(vec![resource], given).unwrap()
}

#[test]
fn what_is_settled_elsewhere_can_be_needed() {
    virtual_time(async {
        let toy = Arc::new(Toy::default());
        let folder = id("vc1", 100);
        let desired = machine(1, vec![folder.clone()]);
        let (journal, recreate) = (MemoryJournal::default(), BTreeSet::new());
        let known: [(Option<Observation<Thing>>, bool); 3] = [
            (None, false),
            (Some(Observation::Known(None)), false),
            (Some(Observation::Known(Some(Thing::default()))), true),
        ];
        for (observation, goes_on) in known {
            let mut world = observe(&toy, &desired, &journal, &BTreeMap::new()).await;
            let mut given = World::default();
            if let Some(observation) = observation {
                given.set(folder.clone(), observation);
            }
            world.extend(given);
            let plan = plan(&*toy, &desired, &world, &journal, &recreate);
            assert_eq!(plan.steps.is_empty(), !goes_on);
            let end = std::future::pending();
            let mut journal = MemoryJournal::default();
            let outcome = apply(&toy, &desired, world, &mut journal, &Nobody, &options(), end).await.unwrap();
            if goes_on {
                assert!(outcome.is_done());
            } else {
                assert_eq!(outcome.ends[&id("vc1", 1)], End::Blocked { by: folder.clone() });
            }
        }
        assert!(!toy.server().calls.iter().any(|(called, _)| *called == folder), "it is another's");
    });
}

/// Many runs at once, with the same options.
async fn runs(toy: &Arc<Observer<Toy>>, count: usize, options: &Options) -> Vec<bool> {
    let mut all = tokio::task::JoinSet::new();
    for number in 0..count {
        let (toy, options) = (toy.clone(), options.clone());
        all.spawn(async move {
            let (desired, mut journal) = (machine(number, Vec::new()), MemoryJournal::default());
            let world = observe(&toy, &desired, &journal, &BTreeMap::new()).await;
            let world = match world.get(&id("vc1", number)) {
                Observation::Known(_) => world,
                // Seen before, and dead now: the run finds out.
                Observation::Unknown(_) => {
                    let mut observed = World::default();
                    observed.set(id("vc1", number), Observation::Known(None));
                    observed
                }
            };
            let end = std::future::pending();
            apply(&toy, &desired, world, &mut journal, &Nobody, &options, end).await.unwrap().is_done()
        });
    }
    all.join_all().await
}

/// Runs of a moment look together, and share what may go on at once.
#[test]
fn runs_share_looks_and_budgets() {
    virtual_time(async {
        let toy = Arc::new(Toy::default());
        let mut options = options();
        options.lanes.budgets.limit(&Endpoint::from("vc1"), "slots", 4);
        let observer = Arc::new(Observer::new(toy.clone()));
        assert!(runs(&observer, 300, &options).await.into_iter().all(|done| done));
        assert_eq!(toy.server().things.len(), 300);
        assert_eq!(toy.server().looks[&Endpoint::from("vc1")], 1, "one look for all");
        assert_eq!(toy.server().peak, 4, "of all runs together");
    });
}

/// An endpoint that is dead for one run is dead for all: they do not each find out for themselves.
#[test]
fn runs_share_breakers() {
    let looks = |shared: bool| {
        virtual_time(async move {
            let toy = Arc::new(Toy::default());
            toy.server().dead.insert(Endpoint::from("vc1"));
            let options = Options { patience: Duration::from_secs(20), attempts: 100, ..options() };
            let mut all = tokio::task::JoinSet::new();
            for number in 0..30 {
                let own = Options { lanes: slipway_engine::Lanes::default(), ..options.clone() };
                let (toy, options) = (toy.clone(), if shared { options.clone() } else { own });
                all.spawn(async move {
                    let (desired, mut journal) = (machine(number, Vec::new()), MemoryJournal::default());
                    let mut world = World::default();
                    world.set(id("vc1", number), Observation::Known(None));
                    let end = std::future::pending();
                    apply(&toy, &desired, world, &mut journal, &Nobody, &options, end).await.unwrap()
                });
            }
            assert!(all.join_all().await.iter().all(|outcome| !outcome.is_done()));
            toy.server().looks[&Endpoint::from("vc1")]
        })
    };
    let (alone, together) = (looks(false), looks(true));
    assert!(together * 5 < alone, "{together} looks instead of {alone}");
}

/// The endpoint comes back: all runs go on, the one that probed and those that waited.
#[test]
fn runs_go_on_together_when_an_endpoint_is_back() {
    virtual_time(async {
        let toy = Arc::new(Toy::default());
        let vcenter = Endpoint::from("vc1");
        toy.server().dead.insert(vcenter.clone());
        let observer = Arc::new(Observer::new(toy.clone()));
        let options = options();
        let revive = async {
            tokio::time::sleep(Duration::from_secs(40)).await;
            toy.server().dead.remove(&vcenter);
        };
        let (done, ()) = tokio::join!(runs(&observer, 30, &options), revive);
        assert!(done.into_iter().all(|done| done));
        assert_eq!(toy.server().things.len(), 30);
        assert!(toy.server().made.values().all(|count| *count == 1));
    });
}
