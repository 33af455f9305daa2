//! Upgrades: forward, taken back, and carried on by another copy of the operator.

use std::time::Duration;

use serde_json::json;

use slipway_testkit::process::eventually;

use super::estate::{Estate, NORTH, PATIENCE, SOUTH, condition_of};

const CONFIG: &str = "apiVersion: slipway.dev/v1alpha1
kind: VDOConfig
metadata: {name: cluster}
spec: {storageProvider: {connections: [north]}, cloudProvider: {connections: [north]}}
";

/// No pod with an image of this version can be made, as if its image could not be pulled.
fn forbid(estate: &Estate, version: &str) {
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "forbid"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
            ]},
            "validations": [{
                "expression": format!("!object.spec.containers.exists(one, one.image.endsWith('csi-vsphere/driver:v{version}'))"),
            }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "forbid"}, "spec": {"policyName": "forbid", "validationActions": ["Deny"]},
    });
    estate.plane.kubectl().apply_value(&policy).unwrap();
    estate.plane.kubectl().apply_value(&binding).unwrap();
    // It takes a moment to be in force.
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": "default"},
        "spec": {"containers": [{"name": "x", "image": format!("registry.k8s.io/csi-vsphere/driver:v{version}")}]},
    });
    let file = estate.plane.scratch().write("probe.json", pod.to_string()).unwrap();
    eventually("the policy is in force", PATIENCE, || {
        let tried =
            estate.plane.kubectl().run(&["create", "--dry-run=server", "--filename", file.to_str().unwrap()]);
        Ok(tried.err().filter(|error| error.to_string().contains("forbid")).map(drop))
    })
    .unwrap();
}

#[test]
fn an_upgrade_ends_well_or_is_taken_back() {
    let mut estate = Estate::new();
    estate.node("north", NORTH, Some(&format!("vsphere://{NORTH}")), true);
    estate.node("south", SOUTH, Some(&format!("vsphere://{SOUTH}")), true);
    // 3.5 goes with Kubernetes up to 1.33: 3.6 is the oldest that fits here.
    estate.matrix("3.6.0");
    estate.plane.kubectl().apply(CONFIG).unwrap();
    estate.operate(Duration::from_secs(6));
    estate.wait_for("Available", "True");
    let config = estate.wait_for("Progressing", "False");
    assert_eq!(config["status"]["storageProvider"]["deployedVersion"], "3.6.0");

    // The new version never gets well: the old one serves all the time, and is back afterwards.
    forbid(&estate, "3.7.0");
    estate.matrix("3.7.0");
    estate.wait_until("an upgrade", |config| config["status"]["storageProvider"]["upgrade"].is_object());
    // Whoever goes on has only the status.
    estate.kill();
    estate.operate(Duration::from_secs(6));
    let config = estate.wait_until("the way back", |config| {
        assert_eq!(condition_of(&config["status"], "Available")["status"], "True", "{:#}", config["status"]);
        config["status"]["storageProvider"]["rollback"].is_object()
    });
    let rollback = &config["status"]["storageProvider"]["rollback"];
    assert_eq!(
        (rollback["from"].as_str(), rollback["to"].as_str()),
        (Some("3.7.0"), Some("3.6.0")),
        "{rollback:#}"
    );
    let config = estate.wait_until("all is as before", |config| {
        condition_of(&config["status"], "Progressing")["status"] == "False"
            && config["status"]["storageProvider"]["upgrade"].is_null()
    });
    assert_eq!(config["status"]["storageProvider"]["deployedVersion"], "3.6.0");
    assert_eq!(condition_of(&config["status"], "Degraded")["reason"], "RolledBack");
    assert_eq!(condition_of(&config["status"], "Upgradeable")["status"], "False");

    // With the obstacle gone and the wish renewed it works.
    estate.plane.kubectl().run(&["delete", "validatingadmissionpolicybinding", "forbid"]).unwrap();
    let renewed = json!({"spec": {"storageProvider": {"maxVolumesPerNode": 50}}});
    estate.patch("vdo", "cluster", &renewed);
    estate.wait_until("an upgrade", |config| config["status"]["storageProvider"]["upgrade"].is_object());
    // The API server goes in the middle of it. The operator loses its lease and ends; its Deployment starts it again.
    estate.plane.restart_api_server().unwrap();
    estate.kill();
    estate.operate(Duration::from_secs(20));
    let config = estate.wait_until("the upgrade is done", |config| {
        assert_eq!(condition_of(&config["status"], "Available")["status"], "True", "{:#}", config["status"]);
        config["status"]["storageProvider"]["deployedVersion"] == "3.7.0"
    });
    assert!(config["status"]["storageProvider"]["rollback"].is_null(), "{:#}", config["status"]);
    estate.wait_for("Degraded", "False");
    estate.wait_for("Progressing", "False");
    assert!(estate.stop().is_some());
    sick_pods_are_replaced(&mut estate);
}

/// Pods that cannot become well for long are replaced, once in a while, by a change of their template.
fn sick_pods_are_replaced(estate: &mut Estate) {
    let webhook = |estate: &Estate| estate.get("deployment", "vmware-system-csi", "vsphere-csi-webhook");
    let annotation = "slipway.dev/redeployed";
    let replaced =
        |estate: &Estate| webhook(estate)["spec"]["template"]["metadata"]["annotations"][annotation].clone();
    assert_eq!(replaced(estate), serde_json::Value::Null);
    // A node that takes no pods: what is deleted does not come back.
    let kubectl = estate.plane.kubectl();
    kubectl.run(&["cordon", "north", "south"]).unwrap();
    kubectl
        .run(&["delete", "pods", "--namespace=vmware-system-csi", "--selector=app=vsphere-csi-webhook"])
        .unwrap();
    estate.operate(Duration::from_secs(1));
    estate.wait_until("it is not healthy", |config| {
        config["status"]["failures"].to_string().contains("NotHealthy")
    });
    eventually("new pods", PATIENCE, || Ok(replaced(estate).is_string().then_some(()))).unwrap();
    estate.plane.kubectl().run(&["uncordon", "north", "south"]).unwrap();
    estate.wait_for("Degraded", "False");
    assert!(estate.stop().is_some());
}
