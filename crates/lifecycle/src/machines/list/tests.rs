use k8s_openapi::api::core::v1::Node;
use rstest::rstest;
use serde_json::{Value, json};
use slipway_api::openshift::Machine;

use super::overview;

fn machine(name: &str, metadata: &Value, status: &Value) -> Machine {
    let mut all = json!({"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"});
    for (key, value) in metadata.as_object().unwrap() {
        all[key] = value.clone();
    }
    serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": all,
        "spec": {"providerSpec": {"value": {}}}, "status": status,
    }))
    .unwrap()
}

fn node(name: &str, ready: &str) -> Node {
    let condition = json!({"type": "Ready", "status": ready, "reason": "r", "message": "kubelet stopped"});
    serde_json::from_value(json!({"metadata": {"name": name}, "status": {"conditions": [condition]}}))
        .unwrap()
}

fn condition(about: &str, severity: &str, message: &str) -> Value {
    json!({"type": about, "status": "False", "severity": severity, "message": message})
}

const NODE: &str = r#""nodeRef": {"kind": "Node", "name": "n"}"#;

#[rstest]
#[case::new(json!({}), json!({}), "pending")]
#[case::made(json!({}), json!({"phase": "Provisioning"}), "provisioning")]
#[case::waits(
    json!({}), json!({"phase": "Provisioning", "conditions": [condition("InstanceExists", "Warning", "no such datastore")]}),
    "provisioning: no such datastore"
)]
#[case::there(json!({}), json!({"phase": "Provisioned"}), "provisioned")]
#[case::failed(json!({}), json!({"phase": "Failed", "errorMessage": "no CPU"}), "failed: no CPU")]
#[case::going(
    json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    json!({"conditions": [condition("Drained", "Warning", "pod `a/b`: budget `b`")]}), "deleting: pod `a/b`: budget `b`"
)]
#[case::retained(
    json!({"annotations": {"slipway.dev/retained": "worker-0 since then"}}), json!({"phase": "Provisioned"}),
    "provisioned: left set worker-0 since then"
)]
fn states_without_a_node(#[case] metadata: Value, #[case] status: Value, #[case] expected: &str) {
    assert_eq!(told(&machine("m", &metadata, &status), &[]), expected);
}

#[rstest]
#[case::well(&[node("n", "True")], "running")]
#[case::unwell(&[node("n", "Unknown")], "not ready: kubelet stopped")]
#[case::gone(&[], "node gone")]
fn states_with_a_node(#[case] nodes: &[Node], #[case] expected: &str) {
    let status = serde_json::from_str(&format!("{{{NODE}}}")).unwrap();
    assert_eq!(told(&machine("m", &json!({}), &status), nodes), expected);
}

fn told(machine: &Machine, nodes: &[Node]) -> String {
    let overview = overview(std::slice::from_ref(machine), nodes);
    let row = &overview.machines[0];
    let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{}{reason}", row.state.as_str())
}

#[test]
fn nodes_without_a_machine_are_named() {
    let status = serde_json::from_str(&format!("{{{NODE}}}")).unwrap();
    let found = overview(&[machine("m", &json!({}), &status)], &[node("n", "True"), node("metal-0", "True")]);
    assert_eq!(found.other_nodes, ["metal-0"]);
}
