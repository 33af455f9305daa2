//! Which node is which machine.

use serde_json::{Value, json};

use super::harness::{Place, machine};

/// A node that no kubelet keeps.
fn node(place: &Place, name: &str, id: Option<&str>, address: &str) -> String {
    let name = format!("{}-{name}", place.namespace);
    let id = id.map(|id| format!("vsphere://{}-{id}", place.namespace));
    place.apply(&[json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"providerID": id},
    })]);
    let addresses = json!([{"type": "InternalIP", "address": address}]);
    place.status("node", &name, &json!({"addresses": addresses}));
    name
}

fn has(place: &Place, name: &str, id: Option<&str>, address: &str, spec: &Value) {
    let mut spec = spec.clone();
    if let Some(id) = id {
        spec["providerID"] = json!(format!("vsphere://{}-{id}", place.namespace));
    }
    place.apply(&[machine(name, &spec)]);
    place.status("machine", name, &json!({"addresses": [{"type": "InternalIP", "address": address}]}));
}

/// The node that is written down.
fn linked(place: &Place, machine: &str) -> Option<String> {
    place.get("machine", machine)["status"]["nodeRef"]["name"].as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_linked_by_id_and_address_and_never_by_guess() {
    let place = Place::new();
    let running = place.start("node-links").await;
    tokio::task::block_in_place(|| {
        let taint = json!({"key": "gpu", "value": "yes", "effect": "NoSchedule"});
        let promised = json!({"metadata": {"labels": {"pool": "gpu"}}, "taints": [taint]});
        let by_id = node(&place, "by-id", Some("1"), "192.0.2.1");
        let by_address = node(&place, "by-address", None, "192.0.2.2");
        let metal = node(&place, "metal", None, "192.0.2.99");
        has(&place, "one", Some("1"), "192.0.2.11", &promised);
        has(&place, "two", None, "192.0.2.2", &json!({}));
        place.wait("the link by id", || linked(&place, "one").filter(|name| *name == by_id));
        place.wait("the link by address", || linked(&place, "two").filter(|name| *name == by_address));
        let handed = place.wait("what the machine says", || {
            let node = place.get("node", &by_id);
            node["metadata"]["labels"]["pool"].is_string().then_some(node)
        });
        let own = format!("{}/one", place.namespace);
        assert_eq!(handed["metadata"]["annotations"]["machine.openshift.io/machine"], json!(own));
        assert!(handed["spec"]["taints"].as_array().unwrap().iter().any(|one| one["key"] == "gpu"));

        // A second node with the id of the first machine's, and a machine that could be either of two.
        node(&place, "twin-0", Some("3"), "192.0.2.3");
        node(&place, "twin-1", Some("3"), "192.0.2.4");
        has(&place, "three", Some("3"), "192.0.2.3", &json!({}));
        let told = place.condition("machine", "three", "NodeLinked", "AmbiguousNode");
        assert!(told["message"].as_str().unwrap().contains("all have the provider ID"), "{told}");
        assert_eq!(linked(&place, "three"), None);
        place.wait("the counts", || running.counts(r#"slipway_node_links{state="ambiguous"} 1"#));
        place.wait("the counts", || running.counts(r#"slipway_node_links{state="linked"} 2"#));
        place.run(&["delete", "node", &format!("{}-twin-1", place.namespace)]);
        place.wait("the doubt is gone", || linked(&place, "three"));
        place.wait("the condition is gone", || {
            let conditions = place.get("machine", "three")["status"]["conditions"].clone();
            conditions.as_array().is_none_or(Vec::is_empty).then_some(())
        });

        // A link stays when its node is gone, and a host without a machine is left alone.
        place.run(&["delete", "node", &by_address]);
        let metal = place.get("node", &metal);
        assert_eq!(metal["metadata"]["annotations"]["machine.openshift.io/machine"], Value::Null);
        assert_eq!(linked(&place, "two"), Some(by_address));
    });
    running.stop().await;
}
