//! Nothing is removed or made on doubt.

use serde_json::json;
use slipway_lifecycle::install::{Directly, Error, Purpose};
use slipway_testkit::engine::Fault;

use crate::bench::Bench;
use crate::directory::Subject;
use crate::doubt::{self, Meddled};

impl Meddled for Bench {
    fn machine_name(&self, role: &str) -> String {
        self.name(role)
    }

    fn lose_marks(&self, role: &str) {
        let path = format!("vms/{}", self.machine(role)["id"].as_str().unwrap());
        self.put(&path, &json!({"comment": "", "name": "renamed"}));
    }

    fn vanish(&self, role: &str) {
        let path = format!("vms/{}", self.machine(role)["id"].as_str().unwrap());
        self.post(&format!("{path}/stop"), &json!({}));
        self.delete(&path);
    }

    fn take_a_name(&self) -> String {
        let name = self.name("master-0");
        let others = json!({
            "name": name, "cluster": {"name": "Default"}, "template": {"name": "Blank"}, "comment": "mine",
        });
        self.post("vms", &others);
        name
    }
}

#[test]
fn a_machine_without_its_marks_keeps_everything_from_going() {
    doubt::a_machine_without_marks_keeps_everything_from_going(&Bench::new("barge"));
}

#[test]
fn a_name_that_is_taken_is_left_alone() {
    let bench = Bench::new("barge");
    doubt::a_name_that_is_taken_is_left_alone(&bench);
    assert_eq!(bench.machine("master-0")["comment"], "mine");
}

#[test]
fn a_machine_that_vanished_is_not_made_again_unasked() {
    doubt::a_machine_that_vanished_is_not_made_again_unasked(&Bench::new("barge"));
}

#[test]
fn an_engine_that_does_not_answer_takes_nothing_away() {
    let bench = Bench::new("barge");
    bench.run(Purpose::Create);
    let before = bench.contents();
    bench.engine.go_down();
    let error = bench.run_with(Purpose::Destroy, &Directly).unwrap_err();
    assert!(matches!(error, Error::Unreadable { .. }), "{error}");
    bench.engine.come_up();
    assert_eq!(bench.contents(), before);
}

#[test]
fn a_protected_machine_is_said_and_stays() {
    let bench = Bench::new("barge");
    bench.run(Purpose::Create);
    let machine = bench.machine("master-2");
    let path = format!("vms/{}", machine["id"].as_str().unwrap());
    bench.put(&path, &json!({"delete_protected": true}));
    let planned = bench.plan(Purpose::Destroy).unwrap();
    let told = planned.plan.stops.iter().any(|stop| stop.cause.message.contains("Delete Protection"));
    assert!(told, "{:#?}", planned.plan.stops);
}

/// The engine made it and the answer was lost: it is found, and not made twice.
#[test]
fn an_answer_that_is_lost_makes_no_second_machine() {
    let bench = Bench::new("barge");
    for path in ["/tags", "/vms", "/clusters/*/affinitygroups"] {
        bench.engine.fault(Fault::new("POST", path).lose_answer());
    }
    bench.run(Purpose::Create);
    let machines = bench.contents().iter().filter(|name| name.starts_with("vms/")).count();
    assert_eq!(machines, 4);
}

#[test]
fn a_token_that_expires_is_renewed() {
    let bench = Bench::new("barge");
    bench.run(Purpose::Create);
    bench.engine.fault(Fault::new("GET", "/tags").times(1).status(401).html());
    assert_eq!(bench.run(Purpose::Create), 0);
}
