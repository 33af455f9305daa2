//! Upgrades: forward, taken back, and carried on by another copy of the operator.

use std::time::Duration;

use serde_json::{Value, json};

use slipway_testkit::process::eventually;

use super::estate::{Estate, NORTH, SOUTH, TIMEOUT, condition_of};

const CONFIG: &str = "apiVersion: slipway.dev/v1alpha1
kind: VDOConfig
metadata: {name: cluster}
spec: {storageProvider: {connections: [north]}, cloudProvider: {connections: [north]}}
";

/// What a step may take that is to succeed, and one that cannot.
const LONG: Duration = Duration::from_mins(1);
const SHORT: Duration = Duration::from_secs(2);

/// What an upgrade replaces, in this order.
const STEPS: [&str; 3] = ["vsphere-csi-controller", "vsphere-csi-node", "vsphere-csi-webhook"];

/// No pod of this workload can be made with this version, as if its image could not be pulled.
fn forbid(estate: &Estate, workload: &str, version: &str) {
    let of_workload = format!("object.metadata.?labels.app.orValue('') == '{workload}'");
    let of_version = format!("object.spec.containers.exists(one, one.image.endsWith(':v{version}'))");
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "forbid"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
            ]},
            "validations": [{
                "expression": format!("!({of_workload} && {of_version})"), "message": format!("not a {workload}"),
            }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "forbid"}, "spec": {"policyName": "forbid", "validationActions": ["Deny"]},
    });
    estate.plane.kubectl().apply_all([&policy, &binding]).unwrap();
    // It takes a moment to be in force.
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "probe", "namespace": "default", "labels": {"app": workload}},
        "spec": {"containers": [{"name": "x", "image": format!("registry.k8s.io/csi-vsphere/driver:v{version}")}]},
    });
    let file = estate.plane.scratch().write("probe.json", pod.to_string()).unwrap();
    eventually("the policy is in force", TIMEOUT, || {
        let tried =
            estate.plane.kubectl().run(&["create", "--dry-run=server", "--filename", file.to_str().unwrap()]);
        Ok(tried.err().filter(|error| error.to_string().contains(&format!("not a {workload}"))).map(drop))
    })
    .unwrap();
}

fn allow(estate: &Estate) {
    estate.plane.kubectl().run(&["delete", "validatingadmissionpolicybinding", "forbid"]).unwrap();
}

/// Says once more what is wanted, so that what failed is tried again.
fn renew(estate: &Estate, volumes: u32) {
    estate.patch("vdo", "cluster", &json!({"spec": {"storageProvider": {"maxVolumesPerNode": volumes}}}));
}

/// Objects of the user's beside the driver's own, copied from those with their labels. Not a StorageClass: the driver's webhook judges those, and pods here
/// only pretend to run.
fn belongings() -> [Value; 2] {
    let labels = json!({"slipway.dev/driver": "storage-provider", "slipway.dev/driver-version": "3.6.0"});
    let metadata = json!({"name": "precious", "namespace": "vmware-system-csi", "labels": labels});
    [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"a": "b"}}),
    ]
}

/// Ids and versions of the user's objects, which nobody else changes.
fn identities(estate: &Estate) -> [Value; 2] {
    ["configmap", "secret"].map(|kind| {
        let metadata = &estate.get(kind, "vmware-system-csi", "precious")["metadata"];
        assert!(metadata["uid"].is_string(), "the {kind} is gone");
        json!([metadata["uid"], metadata["resourceVersion"]])
    })
}

/// Pods of every part of both drivers are available, by kubectl and not by what the operator says.
fn assert_serves(estate: &Estate) {
    for (kind, field, namespace, name) in [
        ("deployment", "availableReplicas", "vmware-system-csi", STEPS[0]),
        ("daemonset", "numberAvailable", "vmware-system-csi", STEPS[1]),
        ("deployment", "availableReplicas", "vmware-system-csi", STEPS[2]),
        ("daemonset", "numberAvailable", "kube-system", "vsphere-cloud-controller-manager"),
    ] {
        let status = &estate.get(kind, namespace, name)["status"];
        assert!(status[field].as_u64() > Some(0), "{name}: {status:#}");
    }
}

/// Waits for something, and looks all the time whether the drivers serve.
fn wait_in_service(estate: &Estate, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    estate.wait_until(what, |config| {
        let available = &condition_of(&config["status"], "Available")["status"];
        assert_eq!(available, "True", "{:#}", config["status"]);
        is(config)
    })
}

#[test]
fn an_upgrade_ends_well_or_is_taken_back() {
    let mut estate = Estate::new();
    estate.node("north", NORTH, Some(&format!("vsphere://{NORTH}")), true);
    estate.node("south", SOUTH, Some(&format!("vsphere://{SOUTH}")), true);
    // 3.5 goes with Kubernetes up to 1.33: 3.6 is the oldest that fits here.
    estate.matrix("3.6.0");
    estate.plane.kubectl().apply(CONFIG).unwrap();
    estate.operate(LONG);
    estate.wait_for("Available", "True");
    let config = estate.wait_for("Progressing", "False");
    assert_eq!(config["status"]["storageProvider"]["deployedVersion"], "3.6.0");
    estate.plane.kubectl().apply_all(&belongings()).unwrap();
    let before = identities(&estate);

    for (volumes, step) in (50..).zip(STEPS) {
        forbid(&estate, step, "3.7.0");
        estate.matrix("3.7.0");
        renew(&estate, volumes);
        is_taken_back(&mut estate, step);
    }
    // With the obstacles gone, one after the other, and the wish renewed it works.
    forbid(&estate, STEPS[0], "3.7.0");
    renew(&estate, 53);
    ends_well(&mut estate);
    assert_eq!(identities(&estate), before);
    assert!(estate.stop().is_some());
    sick_pods_are_replaced(&mut estate);
}

/// Pods of the new version never get well at one step: the old ones serve all the time, and are back afterwards.
fn is_taken_back(estate: &mut Estate, step: &str) {
    let upgrade = |config: &Value| config["status"]["storageProvider"]["upgrade"].clone();
    wait_in_service(estate, "the step", |config| upgrade(config)["step"] == step);
    // Whoever goes on has only the status.
    estate.kill();
    estate.operate(SHORT);
    let config = wait_in_service(estate, "the way back", |config| {
        config["status"]["storageProvider"]["rollback"].is_object()
    });
    assert_serves(estate);
    let rollback = &config["status"]["storageProvider"]["rollback"];
    let (from, to) = (rollback["from"].as_str(), rollback["to"].as_str());
    assert_eq!((from, to), (Some("3.7.0"), Some("3.6.0")), "{rollback:#}");
    assert!(rollback["message"].as_str().unwrap().contains(step), "{rollback:#}");
    let config = wait_in_service(estate, "all is as before", |config| {
        condition_of(&config["status"], "Progressing")["status"] == "False" && upgrade(config).is_null()
    });
    assert_eq!(config["status"]["storageProvider"]["deployedVersion"], "3.6.0");
    assert_eq!(condition_of(&config["status"], "Degraded")["reason"], "RolledBack");
    assert_eq!(condition_of(&config["status"], "Upgradeable")["status"], "False");
    estate.kill();
    estate.operate(LONG);
}

/// At every step, which cannot be left meanwhile, the API server goes away. The operator loses its lease and ends; its
/// Deployment starts it again.
fn ends_well(estate: &mut Estate) {
    for (number, step) in STEPS.into_iter().enumerate() {
        wait_in_service(estate, "the step", |config| {
            config["status"]["storageProvider"]["upgrade"]["step"] == step
        });
        estate.plane.restart_api_server().unwrap();
        estate.kill();
        assert_serves(estate);
        estate.operate(LONG);
        match STEPS.get(number + 1) {
            Some(next) => forbid(estate, next, "3.7.0"),
            None => allow(estate),
        }
    }
    let config = wait_in_service(estate, "the end", |config| {
        config["status"]["storageProvider"]["deployedVersion"] == "3.7.0"
    });
    assert!(config["status"]["storageProvider"]["rollback"].is_null(), "{:#}", config["status"]);
    estate.wait_for("Degraded", "False");
    estate.wait_for("Progressing", "False");
}

/// Pods that cannot become well for long are replaced, once in a while, by a change of their template.
fn sick_pods_are_replaced(estate: &mut Estate) {
    let webhook = |estate: &Estate| estate.get("deployment", "vmware-system-csi", "vsphere-csi-webhook");
    let annotation = "slipway.dev/redeployed";
    let replaced =
        |estate: &Estate| webhook(estate)["spec"]["template"]["metadata"]["annotations"][annotation].clone();
    assert_eq!(replaced(estate), Value::Null);
    // What is deleted does not come back. A cordon would not do: the scheduler may hear of it after the pods.
    forbid(estate, STEPS[2], "3.7.0");
    estate
        .plane
        .kubectl()
        .run(&["delete", "pods", "--namespace=vmware-system-csi", "--selector=app=vsphere-csi-webhook"])
        .unwrap();
    estate.operate(Duration::from_secs(1));
    estate.wait_until("it is not healthy", |config| {
        config["status"]["failures"].to_string().contains("NotHealthy")
    });
    eventually("new pods", TIMEOUT, || Ok(replaced(estate).is_string().then_some(()))).unwrap();
    // Nor are they replaced again before they had time to become well.
    estate.kill();
    estate.operate(LONG);
    allow(estate);
    estate.wait_for("Degraded", "False");
    assert!(estate.stop().is_some());
}
