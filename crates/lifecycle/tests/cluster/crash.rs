//! The process ends at every moment of a run, and is started again.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use slipway_engine::journal::{Entry, Event, Journal, JournalError, Record, Task};
use slipway_engine::plan::{Planned, Stop};
use slipway_engine::progress::Nobody;
use slipway_engine::{FileJournal, Id, Reason};
use slipway_lifecycle::install::{Directly, Error, Purpose, Through};
use slipway_providers::vsphere::kinds::{Action, State};
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::VCenter;

use crate::bench::{Bench, Moment, assert_done, assert_same, process, requests, settle};

/// Machines as they should be, each made once.
fn assert_made_once(bench: &Bench, context: &str) {
    let all: Vec<String> = (0..bench.vcenters.len()).flat_map(|position| bench.machines(position)).collect();
    let mut desired: Vec<String> =
        ["bootstrap", "master-0", "master-1", "master-2"].iter().map(|role| bench.name(role)).collect();
    let mut found = all;
    found.sort();
    desired.sort();
    assert_eq!(found, desired, "{context}");
    // As nothing was destroyed, what is there is all that was ever made.
    let destroyed = |request: &Value| {
        request["method"] == "Destroy_Task"
            && request["object"].as_str().is_some_and(|object| object.starts_with("VirtualMachine"))
    };
    for vcenter in &*bench.vcenters {
        assert!(!requests(vcenter).iter().any(destroyed), "{context}");
    }
}

/// A journal that does not get to write tasks down: the process dies between the call and the entry.
struct Gap;

struct Unwritten<'j>(&'j mut FileJournal<State>);

impl Through<State> for Gap {
    fn journal<'j>(
        &self,
        own: &'j mut FileJournal<State>,
    ) -> impl Journal<State, Error = JournalError> + use<'j> {
        Unwritten(own)
    }
}

impl Journal<State> for Unwritten<'_> {
    type Error = JournalError;

    async fn append(&mut self, entries: Vec<Entry<State>>) -> Result<(), JournalError> {
        if entries.iter().any(|entry| matches!(entry.event, Event::Task { .. }) && &*entry.verb == "clone") {
            std::future::pending::<()>().await;
        }
        self.0.append(entries).await
    }

    fn record(&self, id: &Id) -> Option<&Record<State>> {
        self.0.record(id)
    }

    fn task(&self, id: &Id) -> Option<&Task> {
        self.0.task(id)
    }
}

fn control_clones(bench: &Bench, path: &str) {
    for vcenter in &*bench.vcenters {
        vcenter.control("POST", path, &json!({"kind": "task", "method": "CloneVM_Task"})).unwrap();
    }
}

/// Runs `create` until something is so, and dies then.
fn create_until(bench: &Bench, through: &impl Through<State>, is_so: impl Fn() -> bool) {
    process(async {
        let mut project = bench.open(Purpose::Create).unwrap();
        let planned = project.plan(Purpose::Create, &[]).await.unwrap();
        let options = planned.options(&[], bench.patience);
        let until = async {
            while !is_so() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            outcome = project.apply_through(through, planned, &options, &Nobody, std::future::pending()) => {
                panic!("copies that do not end ended: {outcome:?}")
            }
            () = until => {}
        }
    });
}

/// The process dies while vCenter copies machines, and is started again while the copies go on: it waits for the tasks it
/// has written down and never calls a second time, and where the files now place the machines elsewhere, it leaves them alone.
#[test]
fn a_clone_that_outlives_its_process_is_waited_for() {
    let bench = Bench::new(2);
    let empty = bench.snapshot();
    control_clones(&bench, "/freeze");
    let written = || {
        let journal = fs_err::read_to_string(bench.path(".slipway/journal.jsonl")).unwrap_or_default();
        journal.lines().filter(|line| line.contains("\"clone\"") && line.contains("\"task\"")).count()
    };
    create_until(&bench, &Directly, || written() == 4);
    let is_clone = |planned: &&Planned<Action>| &*planned.step.verb == "clone";
    for order in [[1, 0], [0, 1]] {
        bench.change(&order, |text| text);
        let plan = bench.plan(Purpose::Create).unwrap().plan;
        assert_eq!(plan.steps.iter().filter(is_clone).count(), 0, "{order:?}: {:?}", plan.steps);
        let (moved, under_way) = if order == [1, 0] { (4, 0) } else { (0, 4) };
        let elsewhere = |stop: &&Stop| stop.cause.message.contains("it is being created on");
        assert_eq!(plan.stops.iter().filter(elsewhere).count(), moved, "{order:?}: {:?}", plan.stops);
        let running = |wait: &&Stop| wait.cause.reason == Reason::TASK_RUNNING;
        assert_eq!(plan.waits.iter().filter(running).count(), under_way, "{order:?}: {:?}", plan.waits);
    }
    assert_eq!(bench.changes().get("CloneVM_Task"), Some(&4));
    bench.forget_requests();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| bench.run(Purpose::Create).unwrap());
        // It waits for the tasks: nothing else keeps it.
        for vcenter in &*bench.vcenters {
            eventually("a wait for tasks", Duration::from_mins(1), || {
                let waits = requests(vcenter).iter().any(|request| request["method"] == "ModifyListView");
                Ok(waits.then_some(()))
            })
            .unwrap();
        }
        control_clones(&bench, "/thaw");
        assert_done(&run.join().unwrap());
    });
    assert_made_once(&bench, "when the copies have ended");
    assert_eq!(bench.changes().get("CloneVM_Task"), None, "each was asked for once");
    assert!(bench.plan(Purpose::Create).unwrap().plan.is_empty());
    bench.destroy();
    assert_same(&empty, &bench.snapshot(), "after destroy");
}

/// The process dies after the call and before the task is written down, and is started again before the copy is there: it is
/// neither made again, wherever the files place it now, nor called gone.
#[test]
fn a_copy_that_is_still_under_way_is_waited_for() {
    let bench = Bench::new(2);
    let empty = bench.snapshot();
    control_clones(&bench, "/freeze");
    let running =
        |vcenter: &VCenter| vcenter.control("GET", "/stats", &Value::Null).unwrap()["running_tasks"].as_u64();
    create_until(&bench, &Gap, || bench.vcenters.iter().all(|vcenter| running(vcenter) > Some(0)));
    for order in [[0, 1], [1, 0]] {
        bench.change(&order, |text| text);
        let plan = bench.plan(Purpose::Create).unwrap().plan;
        assert!(
            !plan.steps.iter().any(|planned| &*planned.step.verb == "clone"),
            "{order:?}: {:?}",
            plan.steps
        );
        let is_waiting = |reason: &str| reason.contains("still making machines");
        assert!(plan.stops.iter().any(|stop| is_waiting(&stop.cause.message)), "{order:?}: {:?}", plan.stops);
    }
    let Err(error @ Error::Unreadable { .. }) = bench.run(Purpose::Destroy) else {
        panic!("it was called gone")
    };
    assert!(error.to_string().contains("still being copied"), "{error}");
    control_clones(&bench, "/thaw");
    bench.vcenters.iter().for_each(settle);
    assert_done(&bench.run(Purpose::Create).unwrap());
    assert_made_once(&bench, "when the copies have ended");
    bench.destroy();
    assert_same(&empty, &bench.snapshot(), "after destroy");
}

/// Every step of `create` and of `destroy`; the steps of both take turns so that one estate serves both. What is made by then
/// does not stand in the way of the preflight that the next `create cluster` begins with.
#[rstest]
#[case::before_the_call(Moment::Intended)]
#[case::after_the_call(Moment::Performed)]
fn a_crash_at_any_step_loses_nothing(#[case] moment: Moment) {
    let bench = Bench::new(2);
    let before = bench.snapshot();
    let steps = bench.plan(Purpose::Create).unwrap().plan.steps.len();
    // Waiting for the addresses of the four machines is not a step.
    assert!(steps >= 19, "{steps}");
    let mut ends = 0;
    for at in 0..steps {
        let context = format!("create, step {at}, {moment:?}");
        bench.forget_requests();
        assert!(bench.die_at(Purpose::Create, (at, moment)), "{context}");
        assert_eq!(bench.obstacles(), Vec::<String>::new(), "{context}");
        let outcome = bench.run(Purpose::Create).unwrap();
        assert!(outcome.is_done(), "{context}: {:?}", outcome.ends);
        assert_made_once(&bench, &context);
        assert!(bench.plan(Purpose::Create).unwrap().plan.is_empty(), "{context}");

        let steps = bench.plan(Purpose::Destroy).unwrap().plan.steps.len();
        if at < steps {
            ends += 1;
            assert!(bench.die_at(Purpose::Destroy, (at, moment)), "destroy, step {at}, {moment:?}");
        }
        let outcome = bench.run(Purpose::Destroy).unwrap();
        assert!(outcome.is_done(), "destroy, step {at}, {moment:?}: {:?}", outcome.ends);
        assert_same(&before, &bench.snapshot(), &format!("destroy, step {at}, {moment:?}"));
    }
    assert_eq!(ends, 15, "all steps of destroy");
}

/// A process that ends with the first call it made gets there too.
#[test]
fn a_short_life_is_enough() {
    let bench = Bench::new(2);
    let before = bench.snapshot();
    for purpose in [Purpose::Create, Purpose::Destroy] {
        bench.forget_requests();
        let mut runs = 0;
        while bench.die_at(purpose, (0, Moment::Performed)) {
            runs += 1;
            assert!(runs < 60, "{purpose:?} continues for ever");
        }
        assert!(runs > 2, "{runs}");
        if purpose == Purpose::Create {
            assert_made_once(&bench, "short lives");
        }
    }
    assert_same(&before, &bench.snapshot(), "afterwards");
}

/// The directory is lost after a crash: the id is enough to remove what was made.
#[rstest]
#[case(7)]
#[case(12)]
#[case(19)]
fn the_id_is_enough_to_remove_what_is_left(#[case] at: usize) {
    let bench = Bench::new(2);
    let before = bench.snapshot();
    bench.die_at(Purpose::Create, (at, Moment::Performed));
    let lost = Bench::on(Arc::clone(&bench.vcenters), "harbour");
    fs_err::remove_dir_all(lost.path(".slipway")).unwrap();
    let outcome = process(async {
        let mut project = lost.open_by_id(&bench.infra_id).unwrap();
        let planned = project.plan(Purpose::Destroy, &[]).await.unwrap();
        assert!(!planned.plan.steps.is_empty());
        let options = planned.options(&[], crate::bench::TIMEOUTS);
        let nobody = Nobody;
        project.apply_with(planned, &options, &nobody, std::future::pending()).await.unwrap()
    });
    assert_done(&outcome);
    assert_same(&before, &bench.snapshot(), "afterwards");
}
