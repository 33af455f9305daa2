use std::time::Duration;

use serde_json::json;
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::kubectl::Kubectl;
use slipway_testkit::process::eventually;

const TIMEOUT: Duration = Duration::from_mins(1);

fn node(name: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": {"kubernetes.io/os": "linux"}},
    })
}

fn available(kubectl: &Kubectl, namespace: &str) -> anyhow::Result<Option<()>> {
    let deployment = kubectl.json(&["get", "deployment", "web", "--namespace", namespace])?;
    Ok((deployment["status"]["availableReplicas"] == 2).then_some(()))
}

#[test]
fn a_deployment_becomes_available() {
    let plane = ControlPlane::shared();
    let kubectl = plane.kubectl();
    let namespace = plane.namespace().unwrap();
    kubectl.apply_value(&node("kwok-node")).unwrap();
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]},
            },
        },
    });
    // The namespace's service account comes a moment after the namespace.
    eventually("the deployment is accepted", TIMEOUT, || Ok(Some(kubectl.apply_value(&deployment)?)))
        .unwrap();
    eventually("the deployment is available", TIMEOUT, || available(kubectl, &namespace)).unwrap();
}

#[test]
fn a_misspelt_field_is_refused() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace().unwrap();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}, "dta": {}});
    let error = plane.kubectl().apply_value(&map).unwrap_err().to_string();
    assert!(error.contains("dta"), "{error}");
}

#[test]
fn rights_are_those_of_rbac() {
    let plane = ControlPlane::shared();
    let kubeconfig = plane.kubeconfig_for("somebody", Some("visitors")).unwrap();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let kubectl = plane.kubectl();
    assert_eq!(kubectl.run(&["auth", "can-i", "list", "secrets"]).unwrap().trim(), "yes");
    let refused = kubectl.run(&["--kubeconfig", kubeconfig, "get", "secrets"]).unwrap_err().to_string();
    assert!(refused.contains("forbidden") && refused.contains("somebody"), "{refused}");
}

/// The real definitions of others: what they accept is accepted, what they do not know is refused.
#[test]
fn real_resource_definitions_judge_manifests() {
    let plane = ControlPlane::shared();
    plane
        .install_definitions(&[
            "openshift/machinesets.machine.openshift.io",
            "kubevirt/virtualmachines.kubevirt.io",
            "containerized-data-importer/datavolumes.cdi.kubevirt.io",
            "multus/network-attachment-definitions.k8s.cni.cncf.io",
        ])
        .unwrap();
    let namespace = plane.namespace().unwrap();
    let set = |field: &str| {
        json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "MachineSet",
            "metadata": {"name": "workers", "namespace": namespace},
            "spec": {field: 2, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}},
        })
    };
    plane.kubectl().apply_value(&set("replicas")).unwrap();
    let refused = plane.kubectl().apply_value(&set("replica")).unwrap_err().to_string();
    assert!(refused.contains("replica"), "{refused}");
}
