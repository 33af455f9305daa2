//! Work that takes as long as a test says, and formats that say the same.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_testkit::engine::inventory::{Inventory, Template};
use slipway_testkit::engine::{Engine, Work};

use super::client::{Wire, machine};

fn inventory() -> Inventory {
    Inventory { templates: vec![Template::new("rhcos", "Default", "data1")], ..Inventory::default() }
}

fn of_template(name: &str) -> Value {
    json!({"name": name, "cluster": {"name": "Default"}, "template": {"name": "rhcos"},
           "initialization": {"host_name": name, "custom_script": "{\"ignition\":{},\"storage\":{\"disks\":[]}}"}})
}

#[test]
fn work_ends_by_the_engines_clock() {
    let engine = Engine::start(&inventory()).unwrap();
    let wire = Wire::new(&engine);
    // The clock moves for tokens, too.
    engine.idle_limit(Duration::from_secs(1_000_000));
    engine.pace(Work::Clone, Duration::from_hours(1));
    let vm = wire.post("/vms", &of_template("a"))["id"].as_str().unwrap().to_owned();
    engine.advance(Duration::from_secs(3500));
    assert_eq!(engine.vm_status("a").unwrap(), "image_locked");
    let refused = wire.ask("POST", &format!("/vms/{vm}/start"), "{}").unwrap();
    assert_eq!((refused.status, refused.json()["status"].as_str().unwrap()), (409, "failed"));
    assert_eq!(wire.ask("DELETE", &format!("/vms/{vm}"), "").unwrap().status, 409);
    engine.advance(Duration::from_secs(101));
    assert_eq!(engine.vm_status("a").unwrap(), "down");

    engine.freeze();
    wire.post(&format!("/vms/{vm}/start"), &json!({}));
    assert_eq!(engine.vm_status("a").unwrap(), "wait_for_launch");
    engine.advance(Duration::from_secs(9999));
    assert_eq!(engine.vm_status("a").unwrap(), "wait_for_launch");
    engine.thaw();
    assert_eq!(engine.vm_status("a").unwrap(), "up");
}

/// As a real engine rewrites it: a version is added, a host name as well, and storage without files is lost.
#[test]
fn the_script_of_a_machine_is_rewritten_like_the_engine_does_it() {
    let engine = Engine::start(&inventory()).unwrap();
    let wire = Wire::new(&engine);
    let vm = wire.post("/vms", &of_template("a"))["id"].as_str().unwrap().to_owned();
    assert_eq!(engine.user_data("a"), None);
    wire.post(&format!("/vms/{vm}/start"), &json!({}));
    let found: Value = serde_json::from_str(&engine.user_data("a").unwrap()).unwrap();
    let file = json!({"filesystem": "root", "path": "/etc/hostname", "mode": 420, "contents": {"source": "data:,a"}});
    assert_eq!(found, json!({"ignition": {"version": "2.3.0"}, "storage": {"files": [file]}}));
}

#[test]
fn addresses_are_those_that_the_guest_agent_reports() {
    let engine = Engine::start(&inventory()).unwrap();
    let wire = Wire::new(&engine);
    let vm = wire.post("/vms", &of_template("a"))["id"].as_str().unwrap().to_owned();
    let profile = engine.id("vnicprofiles", "ovirtmgmt").unwrap();
    wire.post(&format!("/vms/{vm}/nics"), &json!({"name": "nic1", "vnic_profile": {"id": profile}}));
    wire.post(&format!("/vms/{vm}/start"), &json!({}));
    assert_eq!(wire.get(&format!("/vms/{vm}/reporteddevices")), json!({}));
    engine.guest_reports("a", &["10.0.0.5", "fd00::5"]);
    let devices = wire.get(&format!("/vms/{vm}/reporteddevices"));
    let ips = &devices["reported_device"][0]["ips"]["ip"];
    assert_eq!(
        ips,
        &json!([{"address": "10.0.0.5", "version": "v4"}, {"address": "fd00::5", "version": "v6"}])
    );
    wire.post(&format!("/vms/{vm}/stop"), &json!({}));
    assert_eq!(wire.get(&format!("/vms/{vm}/reporteddevices")), json!({}));
}

#[test]
fn enforced_rules_keep_machines_apart() {
    let engine = Engine::start(&inventory()).unwrap();
    let wire = Wire::new(&engine);
    let cluster = engine.id("clusters", "Default").unwrap();
    let rule = json!({"enabled": true, "enforcing": true, "positive": false});
    let group = wire
        .post(&format!("/clusters/{cluster}/affinitygroups"), &json!({"name": "apart", "vms_rule": rule}));
    let members = format!("/clusters/{cluster}/affinitygroups/{}/vms", group["id"].as_str().unwrap());
    let mut hosts = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let vm = wire.post("/vms", &machine(name))["id"].as_str().unwrap().to_owned();
        wire.post(&members, &json!({"id": vm}));
        let started = wire.ask("POST", &format!("/vms/{vm}/start"), "{}").unwrap();
        // There are three hosts.
        assert_eq!(started.status, if name == "d" { 409 } else { 200 }, "{}", started.text);
        hosts.push(wire.get(&format!("/vms/{vm}"))["host"]["id"].clone());
    }
    hosts.truncate(3);
    hosts.sort_by_key(Value::to_string);
    hosts.dedup();
    assert_eq!(hosts.len(), 3);
}

#[test]
fn disks_that_are_kept_outlive_their_machine() {
    let engine = Engine::start(&inventory()).unwrap();
    let wire = Wire::new(&engine);
    let [kept, gone] = ["kept", "gone"].map(|name| {
        wire.post("/vms", &of_template(name));
        let vm = engine.id("vms", name).unwrap();
        let disk = engine.list(&format!("/vms/{vm}/diskattachments"))[0]["id"].as_str().unwrap().to_owned();
        let only = if name == "kept" { "?detach_only=true" } else { "" };
        assert_eq!(wire.ask("DELETE", &format!("/vms/{vm}{only}"), "").unwrap().status, 200);
        disk
    });
    assert!(engine.get(&format!("/disks/{kept}")).is_some());
    assert!(engine.get(&format!("/disks/{gone}")).is_none());
}

#[test]
fn xml_and_json_say_the_same() {
    let engine = Engine::start(&inventory()).unwrap();
    let wire = Wire::new(&engine);
    let body = "<vm><name>a</name><cluster id=\"CLUSTER\"/><template><name>rhcos</name></template><memory>2147483648</memory></vm>";
    let body = body.replace("CLUSTER", &engine.id("clusters", "Default").unwrap());
    let xml = [("accept", "application/xml"), ("content-type", "application/xml")];
    let made = wire.ask_with("POST", "/vms", &body, &xml).unwrap();
    assert_eq!(made.status, 202, "{}", made.text);
    let vm = engine.id("vms", "a").unwrap();
    let (seen, read) =
        (wire.ask_with("GET", &format!("/vms/{vm}"), "", &xml).unwrap(), wire.get(&format!("/vms/{vm}")));
    assert!(seen.kind.starts_with("application/xml") && read["memory"] == "2147483648");
    for part in [
        format!("<vm href=\"/ovirt-engine/api/vms/{vm}\" id=\"{vm}\">"),
        "<memory>2147483648</memory>".to_owned(),
        "<status>down</status>".to_owned(),
    ] {
        assert!(seen.text.contains(&part), "{part} is not in {}", seen.text);
    }
    // Times are numbers in one and texts in the other.
    assert!(read["creation_time"].is_number() && seen.text.contains("<creation_time>20"));
    let refused = wire.ask_with("POST", "/vms", &body, &xml).unwrap();
    assert!(
        refused.status == 409 && refused.text.contains("<fault><detail>[Cannot add VM."),
        "{}",
        refused.text
    );
}
