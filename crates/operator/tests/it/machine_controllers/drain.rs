//! Drains, with pods that run on kwok's nodes, and budgets that keep them there.

use serde_json::{Value, json};

use super::harness::{Place, machine};

/// A machine that stays until its finalizer is taken off, and its node, on which pods run.
fn with_node(place: &Place, name: &str, labels: &Value) -> String {
    let node = format!("{}-{name}", place.namespace);
    let mut own = machine(name, &json!({}));
    own["metadata"]["finalizers"] = json!(["machine.machine.openshift.io"]);
    place.apply(&[
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": node, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            // Nothing else is to run there.
            "spec": {"taints": [{"key": "test", "value": place.namespace, "effect": "NoSchedule"}]},
        }),
        own,
    ]);
    place.status("machine", name, &json!({"nodeRef": {"kind": "Node", "name": node}}));
    place.wait("kwok has the node", || {
        let conditions = place.get("node", &node)["status"]["conditions"].clone();
        let mut conditions = conditions.as_array().cloned().unwrap_or_default().into_iter();
        conditions.any(|one| one["type"] == "Ready" && one["status"] == "True").then_some(())
    });
    node
}

fn pod(name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "nodeName": node, "containers": [{"name": "c", "image": "none"}], "terminationGracePeriodSeconds": 1,
            "tolerations": [{"operator": "Exists"}],
        },
    })
}

fn daemons(node: &str) -> Value {
    let labels = json!({"app": "daemon"});
    let pod = json!({
        "nodeSelector": {"kubernetes.io/hostname": node}, "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "c", "image": "none"}],
    });
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "daemon"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    })
}

fn names(place: &Place) -> Vec<String> {
    place.list("pods").iter().map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_holds_a_drain_and_the_machine_says_so() {
    let place = Place::new();
    let running = place.start("drain").await;
    tokio::task::block_in_place(|| {
        let hostname = json!({"kubernetes.io/hostname": format!("{}-worker", place.namespace)});
        let node = with_node(&place, "worker", &hostname);
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "shop"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "shop"}}},
        });
        place.apply(&[pod("shop", &node), pod("plain", &node), daemons(&node), budget]);
        place.wait("the budget counts its pod", || {
            let status = place.get("poddisruptionbudget", "shop")["status"].clone();
            (status["currentHealthy"] == 1).then_some(())
        });
        place.wait("the daemon runs", || {
            names(&place).iter().any(|name| name.starts_with("daemon")).then_some(())
        });
        // Nothing happens to a machine that stays.
        assert_eq!(place.get("node", &node)["spec"]["unschedulable"], Value::Null);

        place.run(&["delete", "machine", "worker", "--wait=false"]);
        let told = place.condition("machine", "worker", "Drained", "PodsBlocked");
        let message = told["message"].as_str().unwrap();
        assert!(message.contains(&format!("pod `{}/shop`", place.namespace)), "{message}");
        assert!(message.contains("disruption budget shop") && message.contains("no deadline"), "{message}");
        assert_eq!((&told["status"], &told["severity"]), (&json!("False"), &json!("Warning")));
        assert_eq!(place.get("node", &node)["spec"]["unschedulable"], true);
        place.wait("the count", || running.counts(r#"slipway_drain_machines{reason="PodsBlocked"} 1"#));
        place.wait("the other pod is gone", || (!names(&place).contains(&"plain".to_owned())).then_some(()));
        assert!(names(&place).contains(&"shop".to_owned()), "{:?}", names(&place));

        place.patch("poddisruptionbudget", "shop", &json!({"spec": {"minAvailable": 0}}));
        place.condition("machine", "worker", "Drained", "NodeDrained");
        place.wait("nothing is open", || {
            let open = running.counts(r#"slipway_drain_machines{reason="PodsBlocked"} 1"#);
            open.is_none().then_some(())
        });
        let left = names(&place);
        assert!(left.len() == 1 && left[0].starts_with("daemon"), "{left:?}");
        assert!(place.events("worker").contains(&"PodsBlocked".to_owned()));
        place.run(&["delete", "daemonset", "daemon"]);
    });
    running.stop().await;
}

/// A deadline that the machine names, a hook, the annotation that says not to, and a machine without a node.
#[tokio::test(flavor = "multi_thread")]
async fn a_drain_ends_where_the_machine_says() {
    let place = Place::new();
    let running = place.start("drain").await;
    tokio::task::block_in_place(|| {
        let late = with_node(&place, "late", &json!({}));
        let skipped = with_node(&place, "skipped", &json!({}));
        let held = with_node(&place, "held", &json!({}));
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "shop"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "shop"}}},
        });
        place.apply(&[pod("shop", &late), pod("skips", &skipped), pod("holds", &held), budget]);
        place.wait("the budget counts its pod", || {
            let status = place.get("poddisruptionbudget", "shop")["status"].clone();
            (status["currentHealthy"] == 1).then_some(())
        });
        let annotate = |name: &str, key: &str, value: &str| {
            place.patch("machine", name, &json!({"metadata": {"annotations": {key: value}}}));
        };
        annotate("late", "slipway.dev/drain-timeout", "1s");
        annotate("skipped", "machine.openshift.io/exclude-node-draining", "");
        let hooks = json!([{"name": "quorum-guard", "owner": "etcd"}]);
        place.patch("machine", "held", &json!({"spec": {"lifecycleHooks": {"preDrain": hooks}}}));
        let mut nodeless = machine("nodeless", &json!({}));
        nodeless["metadata"]["finalizers"] = json!(["machine.machine.openshift.io"]);
        place.apply(&[nodeless]);
        for name in ["late", "skipped", "held", "nodeless"] {
            place.run(&["delete", "machine", name, "--wait=false"]);
        }
        let told = place.condition("machine", "late", "Drained", "DrainTimeout");
        assert!(told["status"] == "True" && told["message"].as_str().unwrap().contains("/shop`"), "{told}");
        place.condition("machine", "skipped", "Drained", "DrainExcluded");
        place.condition("machine", "nodeless", "Drained", "NoNode");
        let told = place.condition("machine", "held", "Drainable", "HookPresent");
        assert!(told["message"].as_str().unwrap().contains("`quorum-guard` of `etcd`"), "{told}");
        assert_eq!(place.get("node", &held)["spec"]["unschedulable"], Value::Null);
        assert!(names(&place).contains(&"skips".to_owned()) && names(&place).contains(&"holds".to_owned()));

        place.patch("machine", "held", &json!({"spec": {"lifecycleHooks": null}}));
        place.condition("machine", "held", "Drained", "NodeDrained");
        place.run(&["delete", "node", &late, &skipped, &held]);
    });
    running.stop().await;
}

/// Two machines of the control plane at once: the second waits until the node of the first is gone.
#[tokio::test(flavor = "multi_thread")]
async fn the_control_plane_is_drained_one_by_one() {
    let place = Place::new();
    let running = place.start("drain").await;
    tokio::task::block_in_place(|| {
        let role = json!({"node-role.kubernetes.io/control-plane": ""});
        let first = with_node(&place, "first", &role);
        let second = with_node(&place, "second", &role);
        for name in ["first", "second"] {
            let label = json!({"machine.openshift.io/cluster-api-machine-role": "master"});
            place.patch("machine", name, &json!({"metadata": {"labels": label}}));
        }
        place.run(&["delete", "machine", "first", "--wait=false"]);
        place.condition("machine", "first", "Drained", "NodeDrained");
        place.run(&["delete", "machine", "second", "--wait=false"]);
        let told = place.condition("machine", "second", "Drained", "WaitingForControlPlane");
        assert!(told["message"].as_str().unwrap().contains(&format!("`{first}`")), "{told}");
        assert_eq!(place.get("node", &second)["spec"]["unschedulable"], Value::Null);
        place.run(&["delete", "node", &first]);
        place.condition("machine", "second", "Drained", "NodeDrained");
        place.run(&["delete", "node", &second]);
    });
    running.stop().await;
}
