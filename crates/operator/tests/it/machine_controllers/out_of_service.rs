//! A node whose virtual machine is off: Kubernetes is told, and told again when it is back.

use serde_json::{Value, json};

use super::harness::{Place, machine};

/// What the kubelet and the hypervisor say.
fn said(place: &Place, ready: &str, state: &str, exists: &str) {
    let node = format!("{}-worker", place.namespace);
    // Kubernetes' own controller takes it for a heartbeat.
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let ready = json!({"type": "Ready", "status": ready, "reason": "Test", "lastHeartbeatTime": now});
    place.status("node", &node, &json!({"conditions": [ready]}));
    let exists =
        json!({"type": "InstanceExists", "status": exists, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let state = json!({"machine.openshift.io/instance-state": state});
    place.patch("machine", "worker", &json!({"metadata": {"annotations": state}}));
    let status = json!({"nodeRef": {"kind": "Node", "name": node}, "conditions": [exists]});
    place.status("machine", "worker", &status);
}

fn is_tainted(place: &Place) -> bool {
    let node = place.get("node", &format!("{}-worker", place.namespace));
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    taints.iter().any(|taint| taint["key"] == "node.kubernetes.io/out-of-service")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_node_is_out_of_service_until_it_is_back() {
    let place = Place::new();
    let running = place.start("out-of-service").await;
    tokio::task::block_in_place(|| {
        let node = format!("{}-worker", place.namespace);
        place.apply(&[
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}),
            machine("worker", &json!({})),
        ]);
        // A vCenter that cannot be asked proves nothing. That it was looked at shows in what comes after it.
        said(&place, "Unknown", "poweredOff", "Unknown");
        said(&place, "Unknown", "poweredOff", "True");
        place.wait("the taint", || is_tainted(&place).then_some(()));
        assert_eq!(place.events("worker"), ["OutOfService"]);
        said(&place, "True", "poweredOn", "True");
        place.wait("it is back", || (!is_tainted(&place)).then_some(()));
        let mark = place.get("node", &node)["metadata"]["annotations"]["slipway.dev/out-of-service"].clone();
        assert_eq!(mark, Value::Null);
        place.run(&["delete", "node", &node]);
    });
    running.stop().await;
}
