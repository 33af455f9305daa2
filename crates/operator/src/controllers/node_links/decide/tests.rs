use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use slipway_api::openshift::Machine;

use super::{Found, lacking, links};
use crate::controllers::machine_objects::NodeObject;

/// `name`, `name=id`, `name@address`, `name=id@address`, and `>node` for what is linked.
fn machine(text: &str) -> Machine {
    let (text, linked) = text.split_once('>').map_or((text, None), |(text, node)| (text, Some(node)));
    let (text, address) = text.split_once('@').map_or((text, None), |(text, at)| (text, Some(at)));
    let (name, id) = text.split_once('=').map_or((text, None), |(name, id)| (name, Some(id)));
    let address = address.map(|address| json!({"type": "InternalIP", "address": address}));
    serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": name, "namespace": "openshift-machine-api"}, "spec": {"providerID": id},
        "status": {
            "addresses": address.into_iter().collect::<Vec<_>>(),
            "nodeRef": linked.map(|node| json!({"kind": "Node", "name": node})),
        },
    }))
    .unwrap()
}

fn node(text: &str) -> Arc<NodeObject> {
    let (text, address) = text.split_once('@').map_or((text, None), |(text, at)| (text, Some(at)));
    let (name, id) = text.split_once('=').map_or((text, None), |(name, id)| (name, Some(id)));
    let address = address.map(|address| json!({"type": "InternalIP", "address": address}));
    let object = json!({
        "metadata": {"name": name, "uid": "u", "resourceVersion": "7"}, "spec": {"providerID": id},
        "status": {"addresses": address.into_iter().collect::<Vec<_>>()},
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

#[rstest]
#[case::by_id(&["a=vsphere://AB"], &["n=vsphere://ab"], &["n"])]
#[case::by_address(&["a=vsphere://1@10.0.0.1"], &["n@10.0.0.1"], &["n"])]
#[case::id_before_address(&["a=v://1@10.0.0.1"], &["n@10.0.0.1", "m=v://1"], &["m"])]
#[case::address_of_another_machine(&["a=v://1@10.0.0.1"], &["n=v://2@10.0.0.1"], &["-"])]
#[case::bare_metal_is_left_alone(&["a=v://1@10.0.0.1"], &["metal@10.0.0.9"], &["-"])]
#[case::two_ids(&["a=v://1"], &["n=v://1", "m=v://1"], &["nodes `m`, `n` all have the provider ID `v://1`"])]
#[case::two_addresses(
    &["a@10.0.0.1"], &["n@10.0.0.1", "m@10.0.0.1"], &["nodes `m`, `n` all have an address of this machine"]
)]
#[case::two_machines(
    &["a@10.0.0.1", "b@10.0.0.1"], &["n@10.0.0.1"],
    &["node `n` could be this machine or `b`", "node `n` could be this machine or `a`"]
)]
#[case::an_id_wins_over_an_address(
    &["a@10.0.0.1", "b=v://1"], &["n=v://1@10.0.0.1"], &["node `n` could be this machine or `b`", "n"]
)]
#[case::a_link_wins(
    &["a@10.0.0.1>n", "b=v://1@10.0.0.1"], &["n=v://1@10.0.0.1"], &["n", "node `n` could be this machine or `a`"]
)]
#[case::linked_and_gone(&["a=v://1>old"], &["n=v://1"], &["n"])]
#[case::linked_and_silent(&["a=v://1>old"], &["old"], &["-"])]
#[case::linked_elsewhere(
    &["a=v://1>old"], &["old", "n=v://1"], &["it is linked to node `old`, and looks like node `n`"]
)]
#[case::nothing_known(&["a"], &["n"], &["-"])]
fn certain_or_told(#[case] machines: &[&str], #[case] nodes: &[&str], #[case] expected: &[&str]) {
    let machines: Vec<Machine> = machines.iter().map(|text| machine(text)).collect();
    let nodes: Vec<Arc<NodeObject>> = nodes.iter().map(|text| node(text)).collect();
    let told = links(&machines, &nodes).into_iter().map(|found| match found {
        Found::Nothing => "-".to_owned(),
        Found::Node(at) => nodes[at].name().to_owned(),
        Found::Ambiguous(words) => words,
    });
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

fn promising(metadata: &Value, taints: &Value) -> Machine {
    let mut machine = machine("a");
    machine.spec.metadata = serde_json::from_value(metadata.clone()).unwrap();
    machine.spec.taints = serde_json::from_value(taints.clone()).unwrap();
    machine
}

#[test]
fn a_node_gets_what_its_machine_says_and_keeps_the_rest() {
    let taint = |key: &str| json!({"key": key, "value": "gpu", "effect": "NoSchedule"});
    let machine = promising(&json!({"labels": {"pool": "gpu"}}), &json!([taint("mine")]));
    let mut with = NodeObject::clone(&node("n"));
    with.spec.taints = serde_json::from_value(json!([taint("theirs")])).unwrap();
    let change = lacking(&machine, &with).unwrap();
    assert_eq!(
        change,
        json!({
            "metadata": {
                "uid": "u", "resourceVersion": "7", "labels": {"pool": "gpu"},
                "annotations": {"machine.openshift.io/machine": "openshift-machine-api/a"},
            },
            "spec": {"taints": [taint("theirs"), taint("mine")]},
        })
    );
    with.metadata.labels = serde_json::from_value(change["metadata"]["labels"].clone()).unwrap();
    with.metadata.annotations = serde_json::from_value(change["metadata"]["annotations"].clone()).unwrap();
    with.spec.taints = serde_json::from_value(change["spec"]["taints"].clone()).unwrap();
    assert_eq!(lacking(&machine, &with), None);
}
