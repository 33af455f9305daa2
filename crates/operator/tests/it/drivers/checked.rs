//! Health checks in a cluster: made when something changes, written down, counted, told once, and silent where that is wanted.

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_testkit::process::eventually;

use super::estate::{Estate, NAMESPACE, TIMEOUT, condition_of};

const OLD: &str = "42166f45-6f10-6d46-4b2d-7f7e4f5b7a0d";

fn pause(config: &Value) -> i64 {
    let time = |name: &str| config["status"]["checks"][name].as_str().unwrap().parse::<Timestamp>().unwrap();
    time("nextRound").duration_since(time("lastRound")).as_secs()
}

/// Waits until the checks say so about the storage driver.
fn checks_say(estate: &Estate, condition: &str, status: &str, reason: &str) -> Value {
    estate.wait_until(&format!("{condition} is {status} for the checks"), |config| {
        let found = condition_of(&config["status"]["checks"], condition);
        (found["status"].as_str(), found["reason"].as_str()) == (Some(status), Some(reason))
    })
}

fn series(estate: &Estate, name: &str, node: &str) -> Vec<i64> {
    let all = estate.metrics.board().series();
    let of_node = |labels: &[(&str, String)]| labels.iter().any(|label| *label == ("node", node.to_owned()));
    all.iter().filter(|one| one.name == name && of_node(&one.labels)).map(|one| one.value).collect()
}

fn events(estate: &Estate, reason: &str) -> usize {
    let events =
        estate.plane.kubectl().json(&["get", "events.events.k8s.io", "--namespace=default"]).unwrap();
    let items = events["items"].as_array().unwrap();
    items
        .iter()
        .filter(|event| event["reason"] == reason && event["regarding"]["kind"] == "VDOConfig")
        .count()
}

/// The cluster is well: two nodes on two vCenters, and one that is skipped.
pub(super) fn checks_follow_the_cluster(estate: &Estate) {
    let config = checks_say(estate, "Upgradeable", "True", "AsExpected");
    let config = if config["status"]["checks"]["failures"] == 0 {
        config
    } else {
        estate.wait_until("no check fails", |config| config["status"]["checks"]["failures"] == 0)
    };
    assert_eq!(pause(&config), 3600, "{:#}", config["status"]["checks"]);
    eventually("series of the nodes", TIMEOUT, || {
        let errors = |node| series(estate, "vsphere_node_check_errors", node);
        Ok((!errors("north").is_empty() && !errors("south").is_empty()).then_some(()))
    })
    .unwrap();
    assert_eq!(series(estate, "vsphere_node_check_total", "metal"), Vec::<i64>::new(), "skipped");

    // A machine whose hardware is too old becomes a node.
    let machine = json!({"datacenters": [{"name": "north", "vms": [{
        "name": "old", "cluster": "compute", "datastore": "fast", "power": "on", "hostname": "old", "ips": ["10.0.0.9"],
        "uuid": OLD, "networks": ["net"], "hardware_version": "vmx-13", "extra_config": {"disk.EnableUUID": "TRUE"},
    }]}]});
    estate.north.control("POST", "/inventory/apply", &machine).unwrap();
    estate.node("old", OLD, Some(&format!("vsphere://{OLD}")), true);
    let config = checks_say(estate, "Degraded", "True", "check_deprecated_hw_version");
    assert_eq!(pause(&config), 60);
    let finding = &config["status"]["checks"]["findings"][0];
    let said = ["outcome", "check"].map(|key| finding[key].as_str().unwrap());
    assert_eq!(said, ["failure", "node-hardware"], "{finding:#}");
    assert_eq!(finding["nodeNames"], json!(["old"]));
    assert!(finding["remedy"].as_str().unwrap().contains("upgrade its compatibility"), "{finding:#}");
    let config = estate.wait_for("Degraded", "True");
    let status = &config["status"];
    assert_eq!(condition_of(status, "Degraded")["reason"], "check_deprecated_hw_version", "{status:#}");
    assert_eq!(condition_of(&status["storageProvider"], "Upgradeable")["status"], "False");
    assert_eq!(condition_of(status, "Available")["status"], "True");
    assert!(series(estate, "vsphere_node_check_errors", "old").contains(&1));
    eventually("an event", TIMEOUT, || {
        Ok((events(estate, "FailedVSphereCollectNodeHWVersion") == 1).then_some(()))
    })
    .unwrap();

    // Silence, and its end. Codes that do not exist are refused.
    let silence = |codes: Value| json!({"spec": {"checks": {"silenced": codes}}});
    let patch = silence(json!(["node-hardwear"])).to_string();
    let arguments =
        ["patch", "vdo", "cluster", "--namespace", NAMESPACE, "--type", "merge", "--patch", &patch];
    let refused = estate.plane.kubectl().run(&arguments).unwrap_err();
    assert!(refused.to_string().contains("Unsupported value"), "{refused:#}");
    estate.patch("vdo", "cluster", &silence(json!(["node-hardware"])));
    checks_say(estate, "Degraded", "False", "AsExpected");
    estate.wait_for("Degraded", "False");
    assert!(!series(estate, "vsphere_node_check_errors", "old").contains(&1));
    estate.patch("vdo", "cluster", &silence(Value::Null));
    checks_say(estate, "Degraded", "True", "check_deprecated_hw_version");
    estate.patch("vdo", "cluster", &json!({"spec": {"checks": {"enabled": false}}}));
    estate.wait_until("nothing is said", |config| config["status"]["checks"].is_null());
    assert_eq!(estate.metrics.board().series(), []);
    estate.patch("vdo", "cluster", &json!({"spec": {"checks": null}}));
    checks_say(estate, "Degraded", "True", "check_deprecated_hw_version");

    // What is gone is gone everywhere.
    estate.plane.kubectl().run(&["delete", "node", "old"]).unwrap();
    let config = checks_say(estate, "Degraded", "False", "AsExpected");
    assert_eq!(pause(&config), 3600);
    assert_eq!(series(estate, "vsphere_node_check_errors", "old"), Vec::<i64>::new());
    estate.wait_for("Degraded", "False");
}
