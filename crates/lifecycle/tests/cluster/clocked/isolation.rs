//! A vCenter that does not answer does not slow the others.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use slipway_engine::progress::{Event, Listener};
use slipway_engine::{Id, Options};
use slipway_lifecycle::install::Purpose;
use tokio::sync::Notify;

use crate::bench::{Bench, TIMEOUTS, process};

const RUNS: usize = 5;

/// Waits until nothing more will happen to some resources.
struct Watch {
    open: Mutex<BTreeSet<Id>>,
    settled: Notify,
}

impl Listener for Watch {
    fn tell(&self, event: &Event<'_>) {
        let Event::Settled { resource, end } = event else { return };
        let mut open = self.open.lock().unwrap();
        if open.remove(resource) {
            assert_eq!(*end, "done", "{resource}");
        }
        if open.is_empty() {
            self.settled.notify_one();
        }
    }
}

/// How long the first and the third vCenter take, the second being frozen or not.
fn others_take(bench: &Bench, frozen: bool) -> Duration {
    let silent = bench.vcenters[1].address();
    let took = process(async {
        let mut project = bench.open(Purpose::Create).unwrap();
        let planned = project.plan(Purpose::Create, &[]).await.unwrap();
        let others = planned.world.iter().map(|(id, _)| id).filter(|id| id.endpoint.as_str() != silent);
        let watch = Watch { open: Mutex::new(others.cloned().collect()), settled: Notify::new() };
        assert!(watch.open.lock().unwrap().len() > 10);
        let options = Options { grace: Duration::ZERO, ..planned.options(&[], TIMEOUTS) };
        for vcenter in &*bench.vcenters {
            let slow = json!({"on": {}, "fault": {"delay_ms": 200}});
            vcenter.control("POST", "/faults", &slow).unwrap();
        }
        if frozen {
            bench.vcenters[1].control("POST", "/freeze", &Value::Null).unwrap();
        }
        let began = Instant::now();
        let outcome = project.apply_with(planned, &options, &watch, watch.settled.notified()).await.unwrap();
        let took = began.elapsed();
        let performed = |step: &slipway_engine::apply::Performed| step.resource.endpoint.as_str() == silent;
        assert_eq!(outcome.performed.iter().any(performed), !frozen, "the second is frozen or not");
        took
    });
    for vcenter in &*bench.vcenters {
        vcenter.control("POST", "/thaw", &Value::Null).unwrap();
        vcenter.control("DELETE", "/faults", &Value::Null).unwrap();
    }
    bench.destroy();
    took
}

#[test]
fn a_frozen_vcenter_slows_nobody_else() {
    let median = |frozen: bool| {
        let bench = Bench::new(3);
        let mut times: Vec<Duration> = (0..RUNS).map(|_| others_take(&bench, frozen)).collect();
        times.sort();
        times[RUNS / 2]
    };
    // Side by side, so that both are slowed by the same neighbours.
    let (usual, with_one_frozen) = std::thread::scope(|scope| {
        let (usual, frozen) = (scope.spawn(|| median(false)), scope.spawn(|| median(true)));
        (usual.join().unwrap(), frozen.join().unwrap())
    });
    assert!(with_one_frozen < usual.mul_f64(1.3), "{with_one_frozen:?} instead of {usual:?}");
}

/// A plan asks every vCenter: one that is silent from the start costs the time of one call, and leaves the others' part
/// whole.
#[test]
fn a_vcenter_that_is_silent_from_the_start_is_waited_for_once() {
    let mut bench = Bench::new(3);
    let silent = bench.vcenters[1].address();
    let of_others = |plan: &slipway_engine::Plan<_>| {
        plan.steps.iter().filter(|planned| planned.step.resource.endpoint.as_str() != silent).count()
    };
    let usual = bench.plan(Purpose::Create).unwrap().plan;
    bench.patience.call = Duration::from_secs(1);
    bench.vcenters[1].control("POST", "/freeze", &Value::Null).unwrap();
    let (plan, took) = process(async {
        // With names that are not new, machines of the others could be on the silent one.
        let mut project = bench.open(Purpose::Create).unwrap().with_new_names(true);
        let began = Instant::now();
        let plan = project.plan(Purpose::Create, &[]).await.unwrap().plan;
        (plan, began.elapsed())
    });
    assert_eq!(of_others(&plan), of_others(&usual));
    assert!(plan.unknown.iter().all(|stop| stop.resource.endpoint.as_str() == silent), "{:?}", plan.unknown);
    assert!(
        plan.unknown.iter().any(|stop| stop.cause.message.contains("no answer within 1s")),
        "{:?}",
        plan.unknown
    );
    assert!(took < Duration::from_secs(2), "{took:?}");
    let error = bench.plan(Purpose::Destroy).unwrap_err();
    assert!(error.to_string().contains("no answer within 1s"), "{error}");
}

/// Stops answering when the first machine is cloned.
struct Freeze<'a>(&'a Bench, OnceLock<Instant>);

impl Listener for Freeze<'_> {
    fn tell(&self, event: &Event<'_>) {
        if matches!(event, Event::Started { verb: "clone", .. }) {
            self.1.get_or_init(|| {
                self.0.vcenters[0].control("POST", "/freeze", &Value::Null).unwrap();
                Instant::now()
            });
        }
    }
}

/// However many calls a step makes, one that is not answered is enough: the time that a vCenter may be silent counts from
/// its last answer.
#[test]
fn silence_is_borne_as_long_as_was_said() {
    let mut bench = Bench::new(1);
    bench.patience.call = Duration::from_secs(2);
    bench.patience.silence = Duration::from_secs(4);
    let took = process(async {
        let mut project = bench.open(Purpose::Create).unwrap();
        let planned = project.plan(Purpose::Create, &[]).await.unwrap();
        let options = planned.options(&[], bench.patience);
        let freeze = Freeze(&bench, OnceLock::new());
        let outcome = project.apply_with(planned, &options, &freeze, std::future::pending()).await.unwrap();
        assert!(!outcome.is_done());
        let began = freeze.1.get().expect("a machine is cloned");
        project.close().await;
        began.elapsed()
    });
    bench.vcenters[0].control("POST", "/thaw", &Value::Null).unwrap();
    // Four seconds of silence, and a short goodbye that is not answered either.
    assert!(took > Duration::from_secs(4) && took < Duration::from_secs(8), "{took:?}");
    bench.patience = TIMEOUTS;
    bench.create();
}
