use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use slipway_api::openshift::{Machine, MachineSet};

use super::{Hold, Members, Plan, Problem, decide, is_left_alone, selector, why_failed};

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn set(replicas: u32, change: &Value) -> MachineSet {
    let mut object = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": {"name": "set", "uid": "set-uid", "generation": 1},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"set": "a"}},
            "template": {"metadata": {"labels": {"set": "a", "role": "worker"}}, "spec": {"providerSpec": {"value": {}}}},
        },
    });
    merge(&mut object, change);
    serde_json::from_value(object).unwrap()
}

fn merge(object: &mut Value, change: &Value) {
    match (object, change) {
        (Value::Object(object), Value::Object(change)) => {
            for (key, value) in change {
                merge(object.entry(key).or_insert(Value::Null), value);
            }
        }
        (object, change) => *object = change.clone(),
    }
}

/// `own`, `orphan`, `foreign`, `strayed`, perhaps with `!` for one that is leaving, `+` for one that has a node, `#` for one that
/// failed and `=` for one that is kept.
fn machine(text: &str) -> Machine {
    let kind: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
    let is = |mark: char| text.contains(mark);
    let owner = |uid: &str| json!([{"apiVersion": "v1", "kind": "MachineSet", "name": "set", "uid": uid, "controller": true}]);
    let owners = match kind.as_str() {
        "own" | "strayed" => owner("set-uid"),
        "foreign" => owner("other-uid"),
        _ => json!([]),
    };
    let labels = if kind == "strayed" { json!({}) } else { json!({"set": "a"}) };
    let mut status = json!({});
    if is('+') {
        status["nodeRef"] = json!({"kind": "Node", "name": text});
    }
    if is('#') {
        status = json!({"phase": "Failed", "errorMessage": "no such template"});
    }
    let mut metadata = json!({
        "name": text, "uid": text, "labels": labels, "ownerReferences": owners,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    });
    if is('!') {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    if is('=') {
        metadata["annotations"] = json!({"slipway.dev/delete-policy": "Retain"});
    }
    serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": metadata,
        "spec": {"providerSpec": {"value": {}}}, "status": status,
    }))
    .unwrap()
}

fn told(plan: &Plan<'_>) -> String {
    let names = |machines: &[&Machine]| -> String {
        let mut names: Vec<&str> =
            machines.iter().map(|machine| machine.metadata.name.as_deref().unwrap()).collect();
        names.sort_unstable();
        names.join(" ")
    };
    let mut parts = Vec::new();
    for (word, machines) in [
        ("adopt", &plan.adopt),
        ("release", &plan.release),
        ("retain", &plan.retain),
        ("delete", &plan.delete),
    ] {
        if !machines.is_empty() {
            parts.push(format!("{word} {}", names(machines)));
        }
    }
    if plan.create > 0 {
        parts.push(format!("create {}", plan.create));
    }
    if let Some(hold) = &plan.hold {
        parts.push(hold.reason().to_owned());
    }
    parts.join(", ")
}

fn plan(set: &MachineSet, machines: &[&str]) -> Result<String, Problem> {
    let machines: Vec<Machine> = machines.iter().map(|text| machine(text)).collect();
    let members = Members::of(set, &selector(set)?, &machines);
    decide(set, &members, now()).map(|plan| told(&plan))
}

#[rstest]
#[case::nothing(0, json!({}), &[], "")]
#[case::all_missing(3, json!({}), &[], "create 3")]
#[case::some_missing(3, json!({}), &["own1"], "create 2")]
#[case::enough(2, json!({}), &["own1", "own2"], "")]
#[case::others_do_not_count(1, json!({}), &["foreign1", "strayed1"], "release strayed1, create 1")]
#[case::orphans_count(2, json!({}), &["own1", "orphan1"], "adopt orphan1")]
#[case::leaving_orphans_do_not(1, json!({}), &["orphan1!"], "create 1")]
#[case::leaving_are_replaced(2, json!({}), &["own1", "own2!"], "create 1")]
#[case::surplus(1, json!({}), &["own1+", "own2", "own3+"], "delete own2 own3+")]
#[case::failed_goes_first(1, json!({}), &["own1+", "own2#"], "delete own2#")]
#[case::kept_leaves_the_set(1, json!({}), &["own1+", "own2#="], "retain own2#=")]
#[case::orphans_are_not_deleted(1, json!({}), &["own1", "orphan1", "orphan2"], "adopt orphan1 orphan2, delete own1")]
#[case::to_nothing(0, json!({}), &["own1", "own2"], "delete own1 own2")]
#[case::surge_of_none(
    2, json!({"metadata": {"annotations": {"slipway.dev/max-surge": "0"}}}), &["own1", "own2!"], "MaxSurgeReached"
)]
#[case::surge_of_one(
    3, json!({"metadata": {"annotations": {"slipway.dev/max-surge": "1"}}}), &["own1", "own2!", "own3!"],
    "create 1, MaxSurgeReached"
)]
#[case::one_failed_and_is_replaced(3, json!({}), &["own1#!"], "create 1")]
#[case::one_failed_and_one_is_on_its_way(3, json!({}), &["own1#!", "own2"], "")]
#[case::two_failed(3, json!({}), &["own1#!", "own2#!"], "create 1")]
#[case::three_failed(3, json!({}), &["own1#!", "own2#!", "own3#!"], "FailureBudgetExhausted")]
fn as_many_as_wanted(
    #[case] replicas: u32,
    #[case] change: Value,
    #[case] machines: &[&str],
    #[case] expected: &str,
) {
    assert_eq!(plan(&set(replicas, &change), machines).unwrap(), expected);
}

#[rstest]
#[case::empty(json!({"spec": {"selector": {"matchLabels": null}}}), Problem::EmptySelector)]
#[case::other(json!({"spec": {"selector": {"matchLabels": {"set": "b"}}}}), Problem::SelectorMismatch)]
#[case::surge(
    json!({"metadata": {"annotations": {"slipway.dev/max-surge": "some"}}}), Problem::Surge("some".to_owned())
)]
fn what_is_wrong_is_told_and_nothing_done(#[case] change: Value, #[case] expected: Problem) {
    assert_eq!(plan(&set(0, &change), &["own1"]).unwrap_err(), expected);
}

#[test]
fn expressions_select_too() {
    let expression = json!([{"key": "role", "operator": "In", "values": ["worker", "gpu"]}]);
    let set = set(1, &json!({"spec": {"selector": {"matchExpressions": expression}}}));
    assert_eq!(plan(&set, &["orphan1"]).unwrap(), "create 1", "the orphan has no role");
}

#[rstest]
#[case::alive(json!({}), false)]
#[case::going(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), true)]
#[case::paused(json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}), true)]
#[case::of_another_api(json!({"spec": {"authoritativeAPI": "ClusterAPI"}}), true)]
#[case::of_this_api(json!({"spec": {"authoritativeAPI": "MachineAPI"}}), false)]
fn some_sets_are_left_alone(#[case] change: Value, #[case] expected: bool) {
    assert_eq!(is_left_alone(&set(1, &change)), expected);
}

#[test]
fn a_hold_says_why_and_until_when() {
    let machines = [machine("own1#")];
    let set = set(1, &json!({}));
    let members = Members::of(&set, &selector(&set).unwrap(), &machines);
    let hold = Hold::Failures { count: 3, until: now() };
    assert_eq!(
        hold.sentence(why_failed(&members).as_deref()),
        "3 machines failed one after the other (`own1#`: no such template); the next one is created after \
         2027-01-15T08:00:00Z, or when the template changes"
    );
}
