//! Health checks, with nodes whose conditions the test writes.

use serde_json::{Value, json};

use super::harness::{Place, machine};

const CHECKS: &str = "machine-health-checks";

/// How a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Well,
    Ill,
}

/// A machine of a set, and its node, which is so since an hour.
fn with_node(place: &Place, name: &str, zone: &str, how: Node) {
    let node = format!("{}-{name}", place.namespace);
    let mut own = machine(name, &json!({}));
    let set = place.get("machineset", "set");
    own["metadata"]["labels"] = json!({
        "checked": "yes", "machine.openshift.io/region": "r", "machine.openshift.io/zone": zone,
    });
    own["metadata"]["finalizers"] = json!(["test/keep"]);
    if name != "alone" {
        own["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "set", "controller": true,
            "uid": set["metadata"]["uid"],
        }]);
    }
    place.apply(&[json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}), own]);
    condition(place, name, how);
    place.status("machine", name, &json!({"nodeRef": {"kind": "Node", "name": node}}));
}

/// A condition that no controller of Kubernetes writes: nodes that no kubelet keeps are not ready after a while.
fn condition(place: &Place, name: &str, how: Node) {
    let hour_ago = (jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1)).to_string();
    let status = if how == Node::Ill { "True" } else { "False" };
    let condition = json!({
        "type": "KernelDeadlock", "status": status, "reason": "Test", "lastTransitionTime": hour_ago,
        "lastHeartbeatTime": hour_ago,
    });
    place.status("node", &format!("{}-{name}", place.namespace), &json!({"conditions": [condition]}));
}

fn check(max: &Value) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck", "metadata": {"name": "check"},
        "spec": {
            "selector": {"matchLabels": {"checked": "yes"}}, "maxUnhealthy": max,
            "unhealthyConditions": [{"type": "KernelDeadlock", "status": "True", "timeout": "30m"}],
        },
    })
}

fn is_going(place: &Place, name: &str) -> bool {
    place.get("machine", name)["metadata"]["deletionTimestamp"].is_string()
}

fn set() -> Value {
    let mut set = super::harness::set("set", 0);
    // Its own controller does not run here.
    set["metadata"]["annotations"] = json!({});
    set
}

#[tokio::test(flavor = "multi_thread")]
async fn unhealthy_machines_are_replaced_within_the_budgets() {
    let place = Place::new();
    tokio::task::block_in_place(|| {
        place.apply(&[set()]);
        with_node(&place, "well", "a", Node::Well);
        with_node(&place, "ill", "a", Node::Ill);
        with_node(&place, "alone", "a", Node::Ill);
        // A zone that is down as a whole.
        with_node(&place, "dark-0", "b", Node::Ill);
        with_node(&place, "dark-1", "b", Node::Ill);
        place.apply(&[check(&json!(1))]);
    });
    let running = place.start(CHECKS).await;
    tokio::task::block_in_place(|| {
        let told = place.condition("machinehealthcheck", "check", "RemediationAllowed", "TooManyUnhealthy");
        assert!(told["message"].as_str().unwrap().starts_with("4 of 5 machines"), "{told}");
        place.wait("the count", || {
            running.counts(r#"slipway_machine_health_check_machines{check="check",state="held"} 4"#)
        });
        let allowed = |yes: u8| {
            running.counts(&format!(r#"slipway_machine_health_check_allowed{{check="check"}} {yes}"#))
        };
        place.wait("it is not allowed", || allowed(0));
        let status = place.get("machinehealthcheck", "check")["status"].clone();
        assert_eq!((&status["expectedMachines"], &status["currentHealthy"]), (&json!(5), &json!(1)));

        place.patch("machinehealthcheck", "check", &json!({"spec": {"maxUnhealthy": "100%"}}));
        place.condition("machinehealthcheck", "check", "RemediationAllowed", "WithinBudget");
        place.wait("the ill one goes", || is_going(&place, "ill").then_some(()));
        place.wait("it is allowed", || allowed(1));
        let deleted = r#"slipway_machine_health_check_remediations_total{check="check",result="deleted"} 1"#;
        place.wait("the count", || running.counts(deleted));
        let told = place.condition("machinehealthcheck", "check", "FailureDomainsUp", "FailureDomainDown");
        assert!(told["message"].as_str().unwrap().contains("r/b"), "{told}");
        place.wait("told why", || {
            let events = place.events("alone");
            events.contains(&"SkippedNoController".to_owned()).then_some(())
        });
        for name in ["well", "alone", "dark-0", "dark-1"] {
            assert!(!is_going(&place, name), "{name}");
        }
        assert!(place.events("ill").contains(&"MachineDeleted".to_owned()));

        // One of the two is back: the place is up, and the other is a machine like any other.
        condition(&place, "dark-0", Node::Well);
        place.wait("the other goes", || is_going(&place, "dark-1").then_some(()));
        assert!(!is_going(&place, "dark-0"));
    });
    running.stop().await;
}

/// Pauses: of the check, and while the set is rolled out; and a machine that is to be kept.
#[tokio::test(flavor = "multi_thread")]
async fn pauses_and_kept_machines() {
    let place = Place::new();
    tokio::task::block_in_place(|| {
        let until = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1)).to_string();
        let mut set = set();
        set["metadata"]["annotations"] = json!({"slipway.dev/rollout": until});
        place.apply(&[set]);
        with_node(&place, "well", "a", Node::Well);
        with_node(&place, "ill", "a", Node::Ill);
        let mut paused = check(&json!("100%"));
        paused["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
        place.apply(&[paused]);
        place.patch(
            "machine",
            "ill",
            &json!({"metadata": {"annotations": {"slipway.dev/delete-policy": "Retain"}}}),
        );
    });
    let running = place.start(CHECKS).await;
    tokio::task::block_in_place(|| {
        place.condition("machinehealthcheck", "check", "RemediationAllowed", "Paused");
        let annotations = json!({"cluster.x-k8s.io/paused": null});
        place.patch("machinehealthcheck", "check", &json!({"metadata": {"annotations": annotations}}));
        place.wait("told why", || place.events("ill").contains(&"RolloutRunning".to_owned()).then_some(()));
        assert!(!is_going(&place, "ill"));
        place.patch(
            "machineset",
            "set",
            &json!({"metadata": {"annotations": {"slipway.dev/rollout": null}}}),
        );
        place.wait("it leaves its set", || {
            let metadata = place.get("machine", "ill")["metadata"].clone();
            metadata["annotations"]["slipway.dev/retained"].is_string().then_some(())
        });
        let metadata = place.get("machine", "ill")["metadata"].clone();
        assert_eq!(
            (&metadata["ownerReferences"], &metadata["deletionTimestamp"]),
            (&Value::Null, &Value::Null)
        );
    });
    running.stop().await;
}
