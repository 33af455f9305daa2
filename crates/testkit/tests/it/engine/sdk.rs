//! The official Python client, which speaks XML, takes a machine through its whole life.

use std::process::Command;

use serde_json::Value;
use slipway_testkit::engine::inventory::{Inventory, Template};
use slipway_testkit::engine::{ADMIN, Engine};
use slipway_testkit::python;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/engine/life.py");

#[test]
fn the_official_client_takes_a_machine_through_its_life() {
    let templates = vec![Template::new("rhcos", "Default", "data1")];
    let engine = Engine::start(&Inventory { templates, ..Inventory::default() }).unwrap();
    let output = Command::new(python::find().unwrap())
        .arg(SCRIPT)
        .args([&engine.url(), ADMIN.0, ADMIN.1])
        .arg(engine.ca_file())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&told).unwrap(), @"");
    // It has logged out, and nothing of the machine is left.
    assert_eq!(engine.token_count(), 0);
    assert!(engine.list("/vms").is_empty() && engine.id("tags", "cluster-abc").is_none());
}
