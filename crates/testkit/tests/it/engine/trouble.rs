//! What goes wrong because a test says so, and only then.

use serde_json::json;
use slipway_testkit::engine::inventory::Inventory;
use slipway_testkit::engine::{Engine, Fault};

use super::client::{Wire, machine};

#[test]
fn faults_meet_the_requests_they_are_for() {
    let engine = Engine::start(&Inventory::default()).unwrap();
    let wire = Wire::new(&engine);
    engine.fault(Fault::new("POST", "/vms").status(409).detail("[Cannot add VM. Not now.]"));
    engine.fault(Fault::new("GET", "/vms/*/nics").times(2).status(502).html());
    let body = machine("a").to_string();
    assert_eq!(wire.get("/vms"), json!({}));
    let refused = wire.ask("POST", "/vms", &body).unwrap();
    assert_eq!(
        (refused.status, refused.json()["detail"].as_str().unwrap()),
        (409, "[Cannot add VM. Not now.]")
    );
    let vm = wire.post("/vms", &machine("a"))["id"].as_str().unwrap().to_owned();
    for status in [502, 502, 200] {
        let answer = wire.ask("GET", &format!("/vms/{vm}/nics"), "").unwrap();
        assert_eq!((answer.status, answer.kind.starts_with("text/html")), (status, status == 502));
    }
}

#[test]
fn an_answer_that_is_lost_was_carried_out_and_a_request_that_is_cut_was_not() {
    let engine = Engine::start(&Inventory::default()).unwrap();
    let wire = Wire::new(&engine);
    engine.fault(Fault::new("POST", "/vms").lose_answer());
    engine.fault(Fault::new("POST", "/vms").cut());
    assert!(wire.ask("POST", "/vms", &machine("lost").to_string()).is_none());
    assert!(wire.ask("POST", "/vms", &machine("cut").to_string()).is_none());
    assert!(engine.id("vms", "lost").is_some() && engine.id("vms", "cut").is_none());
}

#[test]
fn events_that_are_lost_leave_a_gap() {
    let engine = Engine::start(&Inventory::default()).unwrap();
    let wire = Wire::new(&engine);
    wire.post("/vms", &machine("a"));
    engine.lose_events(1);
    wire.post("/vms", &machine("b"));
    wire.post("/vms", &machine("c"));
    let indices: Vec<_> = engine.list("/events").iter().map(|event| event["index"].clone()).collect();
    assert_eq!(indices, ["3", "1"]);
}
