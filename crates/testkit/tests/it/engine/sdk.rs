//! The official Python client, which speaks XML, takes a machine through its whole life.

use std::process::Command;

use serde_json::{Value, json};
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
    let told_in_full = json!({
        "version": "4.5.8-1.el9",
        "made": ["image_locked", "down", 4_294_967_296_u64, 2, "node-0"],
        "disks": [["etcd", 8, "raw", "ok"], ["rhcos_Disk1", 32, "cow", "ok"]],
        "nic": ["nic1", "56:6f:1a:2b:00:00", true],
        "by tag": ["node-0"],
        "by nothing": [],
        "group": ["apart", [true]],
        "up": ["up", "h1", true],
        "refused": [409, "Operation Failed", "[Cannot remove VM. VM is running.]"],
        "down": "down",
        "jobs": [
            "Creating VM node-0 in Cluster Default",
            "Extending disk rhcos_Disk1",
            "Adding Disk etcd",
            "Launching VM node-0",
            "Shutting down VM node-0",
        ],
        "events": [
            [61, "VM node-0 is down.  "],
            [73, "VM shutdown initiated by admin@internal-authz on VM node-0 (Host: h1)."],
            [32, "VM node-0 started on Host h1"],
            [153, "VM node-0 was started by admin@internal-authz (Host: h1)."],
        ],
        "gone": 404,
    });
    assert_eq!(told, told_in_full);
    // It has logged out, and nothing of the machine is left.
    assert_eq!(engine.token_count(), 0);
    assert!(engine.list("/vms").is_empty() && engine.id("tags", "cluster-abc").is_none());
}
