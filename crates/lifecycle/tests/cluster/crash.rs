//! The process ends at every moment of a run, and is started again.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use slipway_engine::apply::Moment;
use slipway_engine::progress::Nobody;
use slipway_lifecycle::install::{Error, Purpose};
use slipway_testkit::vcenter::VCenter;

use crate::bench::{Bench, assert_done, assert_same, process, requests, settle};

/// Machines as they should be, each made once.
fn assert_made_once(bench: &Bench, context: &str) {
    let all: Vec<String> = (0..bench.vcenters.len()).flat_map(|position| bench.machines(position)).collect();
    let mut wanted: Vec<String> =
        ["bootstrap", "master-0", "master-1", "master-2"].iter().map(|role| bench.name(role)).collect();
    let mut found = all;
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted, "{context}");
    // As nothing was destroyed, what is there is all that was ever made.
    let destroyed = |request: &Value| {
        request["method"] == "Destroy_Task"
            && request["object"].as_str().is_some_and(|object| object.starts_with("VirtualMachine"))
    };
    for vcenter in &*bench.vcenters {
        assert!(!requests(vcenter).iter().any(destroyed), "{context}");
    }
}

/// The process dies while vCenter copies a machine, and is started again before the copy is there: it is neither made again,
/// wherever the files place it now, nor called gone.
#[test]
fn a_copy_that_is_still_under_way_is_waited_for() {
    let bench = Bench::new(2);
    let empty = bench.snapshot();
    let control = |path: &str| {
        for vcenter in &*bench.vcenters {
            vcenter.control("POST", path, &json!({"kind": "task", "method": "CloneVM_Task"})).unwrap();
        }
    };
    control("/freeze");
    process(async {
        let mut project = bench.open(Purpose::Create).unwrap();
        let prospect = project.plan(Purpose::Create, &[]).await.unwrap();
        let copying = async {
            let running = |vcenter: &VCenter| {
                vcenter.control("GET", "/stats", &Value::Null).unwrap()["running_tasks"].as_u64()
            };
            while !bench.vcenters.iter().all(|vcenter| running(vcenter) > Some(0)) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            outcome = project.apply(prospect, &[], bench.patience, &Nobody, std::future::pending()) => {
                panic!("copies that do not end ended: {outcome:?}")
            }
            () = copying => {}
        }
    });
    for order in [[0, 1], [1, 0]] {
        bench.change(&order, |text| text);
        let plan = bench.plan(Purpose::Create).unwrap().plan;
        assert!(
            !plan.steps.iter().any(|planned| &*planned.step.verb == "clone"),
            "{order:?}: {:?}",
            plan.steps
        );
        let is_waiting = |reason: &str| reason.contains("still making machines");
        assert!(plan.stops.iter().any(|stop| is_waiting(&stop.reason)), "{order:?}: {:?}", plan.stops);
    }
    let Err(error @ Error::Blind { .. }) = bench.run(Purpose::Destroy) else { panic!("it was called gone") };
    assert!(error.to_string().contains("still being copied"), "{error}");
    control("/thaw");
    bench.vcenters.iter().for_each(settle);
    assert_done(&bench.run(Purpose::Create).unwrap());
    assert_made_once(&bench, "when the copies have ended");
    bench.destroy();
    assert_same(&empty, &bench.snapshot(), "after destroy");
}

/// Every step of `create` and of `destroy`; the steps of both take turns so that one estate serves both.
#[rstest]
#[case::before_the_call(Moment::Intended)]
#[case::after_the_call(Moment::Performed)]
fn a_crash_at_any_step_loses_nothing(#[case] moment: Moment) {
    let bench = Bench::new(2);
    let before = bench.snapshot();
    let steps = bench.plan(Purpose::Create).unwrap().plan.steps.len();
    assert!(steps >= 23, "{steps}");
    let mut ends = 0;
    for at in 0..steps {
        let context = format!("create, step {at}, {moment:?}");
        bench.forget_requests();
        let cut = bench.die_at(Purpose::Create, (at, moment));
        assert!(cut.cancelled && !cut.is_done(), "{context}");
        let outcome = bench.run(Purpose::Create).unwrap();
        assert!(outcome.is_done(), "{context}: {:?}", outcome.ends);
        assert_made_once(&bench, &context);
        assert!(bench.plan(Purpose::Create).unwrap().plan.is_empty(), "{context}");

        let steps = bench.plan(Purpose::Destroy).unwrap().plan.steps.len();
        if at < steps {
            ends += 1;
            let cut = bench.die_at(Purpose::Destroy, (at, moment));
            assert!(cut.cancelled && !cut.is_done(), "destroy, step {at}, {moment:?}");
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
        while bench.die_at(purpose, (0, Moment::Performed)).cancelled {
            runs += 1;
            assert!(runs < 60, "{purpose:?} goes on for ever");
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
        let prospect = project.plan(Purpose::Destroy, &[]).await.unwrap();
        assert!(!prospect.plan.steps.is_empty());
        let options = prospect.options(&[], crate::bench::PATIENCE);
        let nobody = Nobody;
        project.apply_with(prospect, &options, &nobody, std::future::pending()).await.unwrap()
    });
    assert_done(&outcome);
    assert_same(&before, &bench.snapshot(), "afterwards");
}
