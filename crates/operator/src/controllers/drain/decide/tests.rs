use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use rstest::rstest;
use serde_json::{Value, json};
use slipway_api::openshift::Machine;

use super::{Gate, Pods, Round, Verdict, deadline, gate, pods, turn, verdict};

const NOW: i64 = 1_800_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).unwrap()
}

fn machine(metadata: &Value, spec: &Value, status: &Value) -> Machine {
    let mut all = json!({"name": "worker-0", "deletionTimestamp": at(-60).to_string()});
    for (key, value) in metadata.as_object().unwrap() {
        all[key] = value.clone();
    }
    serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": all, "spec": spec, "status": status,
    }))
    .unwrap()
}

/// The reason, or the node.
fn told(gate: &Gate) -> String {
    match gate {
        Gate::Leave => "leave".to_owned(),
        Gate::Done(verdict) => format!("done: {}", verdict.reason),
        Gate::Held(verdict) => format!("held: {}: {}", verdict.reason, verdict.message),
        Gate::Node(node) => format!("node: {node}"),
    }
}

#[rstest]
#[case::alive(json!({"deletionTimestamp": null}), json!({}), json!({}), "leave")]
#[case::drained(
    json!({}), json!({}), json!({"conditions": [{"type": "Drained", "status": "True"}]}), "leave"
)]
#[case::not_drained(
    json!({}), json!({}),
    json!({"nodeRef": {"name": "node-0"}, "conditions": [{"type": "Drained", "status": "False"}]}), "node: node-0"
)]
#[case::excluded(
    json!({"annotations": {"machine.openshift.io/exclude-node-draining": ""}}), json!({}),
    json!({"nodeRef": {"name": "node-0"}}), "done: DrainExcluded"
)]
#[case::hook(
    json!({}), json!({"lifecycleHooks": {"preDrain": [{"name": "quorum", "owner": "etcd"}]}}),
    json!({"nodeRef": {"name": "node-0"}}),
    "held: HookPresent: waits for its hooks before the drain: `quorum` of `etcd`"
)]
#[case::other_hook(
    json!({}), json!({"lifecycleHooks": {"preTerminate": [{"name": "quorum", "owner": "etcd"}]}}),
    json!({"nodeRef": {"name": "node-0"}}), "node: node-0"
)]
#[case::no_node(json!({}), json!({}), json!({}), "done: NoNode")]
#[case::not_linked_yet(json!({}), json!({"providerID": "vsphere://1"}), json!({}), "node: of-vsphere://1")]
fn whether_to_drain(
    #[case] metadata: Value,
    #[case] spec: Value,
    #[case] status: Value,
    #[case] expected: &str,
) {
    let machine = machine(&metadata, &spec, &status);
    assert_eq!(told(&gate(&machine, |id| Some(format!("of-{id}")))), expected);
}

#[rstest]
#[case::none(json!({}), None)]
#[case::one(json!({"slipway.dev/drain-timeout": "10m"}), Some(540))]
#[case::unreadable(json!({"slipway.dev/drain-timeout": "soon"}), None)]
fn a_deadline_counts_from_the_deletion(#[case] annotations: Value, #[case] expected: Option<i64>) {
    let machine = machine(&json!({"annotations": annotations}), &json!({}), &json!({}));
    assert_eq!(deadline(&machine), expected.map(at));
}

fn pod(name: &str, extra: &Value) -> Pod {
    let mut metadata = json!({"name": name, "namespace": "shop"});
    for (key, value) in extra.as_object().unwrap() {
        metadata[key] = value.clone();
    }
    serde_json::from_value(json!({"metadata": metadata})).unwrap()
}

#[test]
fn pods_that_cannot_be_confirmed_gone_are_not_waited_for() {
    let daemon =
        json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "a", "uid": "1", "controller": true}]);
    let all = [
        pod("plain", &json!({})),
        pod("daemon", &json!({"ownerReferences": daemon})),
        pod("mirror", &json!({"annotations": {"kubernetes.io/config.mirror": "1"}})),
        pod("told", &json!({"deletionTimestamp": at(-5).to_string()})),
        pod("just-told", &json!({"deletionTimestamp": at(0).to_string()})),
    ];
    let told = |names: &[&str]| names.iter().map(|name| format!("shop/{name}")).collect();
    assert_eq!(
        pods(&all, false, at(0)),
        Pods { evict: vec![0], leaving: told(&["told", "just-told"]) },
        "a node that answers"
    );
    assert_eq!(
        pods(&all, true, at(0)),
        Pods { evict: vec![0], leaving: told(&["just-told"]) },
        "a node that does not"
    );
}

fn round(leaving: &[&str], kept: &[&str], failed: &[&str]) -> Round {
    let pairs = |names: &[&str], why: &str| {
        names.iter().map(|name| (format!("shop/{name}"), why.to_owned())).collect()
    };
    Round {
        leaving: leaving.iter().map(|name| format!("shop/{name}")).collect(),
        kept: pairs(kept, "budget `shop`"),
        failed: pairs(failed, "the API server is busy"),
    }
}

#[rstest]
#[case::empty(round(&[], &[], &[]), None, "True NodeDrained no pod is left to leave node `node-0`")]
#[case::leaving(
    round(&["b", "a"], &[], &[]), Some(60),
    "False Draining pods are leaving node `node-0`: `shop/a`, `shop/b`; the drain ends at 2027-01-15T08:01:00Z with what is left then"
)]
#[case::kept(
    round(&["b"], &["a"], &["c"]), None,
    "False PodsBlocked node `node-0` cannot be drained yet: pod `shop/a`: budget `shop`; the drain has no deadline; the \
     annotation `slipway.dev/drain-timeout` on the Machine gives it one"
)]
#[case::failed(
    round(&["b"], &[], &["c"]), Some(60),
    "False DrainError pod `shop/c` on node `node-0`: the API server is busy; the drain ends at 2027-01-15T08:01:00Z with what is \
     left then"
)]
#[case::late(
    round(&["b"], &["a"], &[]), Some(0),
    "True DrainTimeout the drain of node `node-0` took longer than `slipway.dev/drain-timeout` allows; left: `shop/a`, `shop/b`"
)]
fn what_is_said_names_what_blocks(
    #[case] round: Round,
    #[case] deadline: Option<i64>,
    #[case] expected: &str,
) {
    let Verdict { severity, reason, message, .. } = verdict(&round, "node-0", deadline.map(at), at(0));
    let status = if severity.is_none() { "True" } else { "False" };
    assert_eq!(format!("{status} {reason} {message}"), expected);
}

#[test]
fn messages_stay_short() {
    let names: Vec<String> = (0..40).map(|at| format!("pod-{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let told = verdict(&round(&[], &names, &[]), "node-0", None, at(0));
    assert!(told.message.contains("; 35 more;") && told.message.len() < 500, "{}", told.message);
}

#[test]
fn the_control_plane_takes_turns() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(turn("master-0", &names(&[])), None);
    assert_eq!(turn("master-0", &names(&["master-0"])), None);
    let waits = turn("master-0", &names(&["master-0", "master-2"])).unwrap();
    assert!(waits.message.contains("`master-2`"), "{}", waits.message);
}
