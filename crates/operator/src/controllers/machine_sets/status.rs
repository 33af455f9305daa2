//! How many machines of a set there are, ready and available. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::core::Selector;
use slipway_api::openshift::{Machine, MachineSet, MachineSetStatus};

use super::decide::{Hold, INVALID, Problem};
use crate::controllers::machine_conditions::{Severity, Verdict, merge};
use crate::controllers::machine_objects::NodeObject;

/// The condition of a set whose machines are all made.
pub(super) const MACHINES_CREATED: &str = "MachinesCreated";

/// Nodes by name.
pub(super) type NodesByName<'n> = BTreeMap<&'n str, &'n Arc<NodeObject>>;

/// What is said about a set, and when a machine becomes available by the mere passing of time.
pub(super) fn status(
    set: &MachineSet,
    own: &[&Machine],
    nodes: &NodesByName<'_>,
    verdict: &Verdict,
    selector: Option<&Selector>,
    now: Timestamp,
) -> (MachineSetStatus, Option<Timestamp>) {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let labels = &set.spec.template.metadata.labels;
    let is_labelled = |machine: &&&Machine| {
        let own = machine.metadata.labels.as_ref();
        labels.iter().all(|(name, value)| own.is_some_and(|own| own.get(name) == Some(value)))
    };
    let rest = SignedDuration::from_secs(set.spec.min_ready_seconds.unwrap_or_default().into());
    let ready: Vec<Timestamp> = own.iter().filter_map(|machine| ready_since(machine, nodes)).collect();
    let available: Vec<Timestamp> =
        ready.iter().map(|since| since.checked_add(rest).unwrap_or(Timestamp::MAX)).collect();
    let next = available.iter().filter(|at| **at > now).min().copied();
    let old = set.status.clone().unwrap_or_default();
    let failed = verdict.severity == Some(Severity::Error);
    let status = MachineSetStatus {
        replicas: count(own.len()),
        fully_labeled_replicas: count(own.iter().filter(is_labelled).count()),
        ready_replicas: count(ready.len()),
        available_replicas: count(available.iter().filter(|at| **at <= now).count()),
        observed_generation: set.metadata.generation,
        label_selector: selector.map(ToString::to_string).or(old.label_selector),
        error_reason: failed.then(|| error_reason(verdict.reason).to_owned()),
        error_message: failed.then(|| verdict.message.clone()),
        conditions: merge(&old.conditions, std::slice::from_ref(verdict), now),
    };
    (status, next)
}

/// OpenShift has a fixed list of them.
fn error_reason(reason: &str) -> &str {
    if reason == INVALID { reason } else { "CreateError" }
}

/// Since when the node of a machine is ready, if it is.
fn ready_since(machine: &Machine, nodes: &NodesByName<'_>) -> Option<Timestamp> {
    let name = machine.status.as_ref()?.node_ref.as_ref()?.name.as_deref()?;
    let node = nodes.get(name).filter(|node| node.is_ready())?;
    let since = node.condition("Ready")?.last_transition_time.as_ref();
    Some(since.map_or(Timestamp::MIN, |since| since.0))
}

/// What is said about the machines that are missing.
pub(super) fn verdict(problem: Option<&Problem>, hold: Option<&Hold>, failed: Option<&str>) -> Verdict {
    match (problem, hold) {
        (Some(problem), _) => Verdict::fails(MACHINES_CREATED, Severity::Error, INVALID, problem.to_string()),
        (None, Some(hold)) => {
            let severity =
                if matches!(hold, Hold::Failures { .. }) { Severity::Error } else { Severity::Info };
            Verdict::fails(MACHINES_CREATED, severity, hold.reason(), hold.sentence(failed))
        }
        (None, None) => Verdict::holds(MACHINES_CREATED, "AsWanted", ""),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use jiff::Timestamp;
    use kube::core::Selector;
    use serde_json::json;
    use slipway_api::openshift::{Machine, MachineSet};

    use super::{status, verdict};
    use crate::controllers::machine_objects::NodeObject;
    use crate::controllers::machine_sets::decide::{Hold, Problem};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn set() -> MachineSet {
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
            "metadata": {"name": "set", "generation": 3},
            "spec": {
                "minReadySeconds": 60, "selector": {"matchLabels": {"set": "a"}},
                "template": {"metadata": {"labels": {"set": "a"}}},
            },
        }))
        .unwrap()
    }

    fn machine(name: &str, label: &str) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "labels": {"set": label}}, "spec": {},
            "status": {"nodeRef": {"kind": "Node", "name": name}},
        }))
        .unwrap()
    }

    fn node(name: &str, ready: &str, since: i64) -> Arc<NodeObject> {
        let ready = json!({"type": "Ready", "status": ready, "lastTransitionTime": at(since).to_string()});
        let object = json!({"metadata": {"name": name}, "status": {"conditions": [ready]}});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn ready_and_available_are_counted() {
        let machines = [machine("a", "a"), machine("b", "a"), machine("c", "b"), machine("gone", "a")];
        let nodes = [node("a", "True", -90), node("b", "True", -10), node("c", "False", -90)];
        let by_name: BTreeMap<&str, &Arc<NodeObject>> =
            nodes.iter().map(|node| (node.name(), node)).collect();
        let own: Vec<&Machine> = machines.iter().collect();
        let set = set();
        let selector = Selector::try_from(set.spec.selector.clone()).unwrap();
        let fine = verdict(None, None, None);
        let (told, next) = status(&set, &own, &by_name, &fine, Some(&selector), at(0));
        assert_eq!((told.replicas, told.fully_labeled_replicas), (4, 3));
        assert_eq!((told.ready_replicas, told.available_replicas), (2, 1));
        assert_eq!((told.observed_generation, told.label_selector.as_deref()), (Some(3), Some("set=a")));
        assert_eq!(next, Some(at(50)));
        assert_eq!(told.error_reason, None);
    }

    #[test]
    fn what_stops_a_set_is_in_its_status() {
        let hold = Hold::Failures { count: 3, until: at(60) };
        let told = |verdict| status(&set(), &[], &BTreeMap::new(), &verdict, None, at(0)).0;
        let held = told(verdict(None, Some(&hold), Some("`a`: why")));
        assert_eq!(held.error_reason.as_deref(), Some("CreateError"));
        assert_eq!(held.conditions[0].reason.as_deref(), Some("FailureBudgetExhausted"));
        let broken = told(verdict(Some(&Problem::EmptySelector), None, None));
        assert_eq!(broken.error_reason.as_deref(), Some("InvalidConfiguration"));
        let slow = told(verdict(None, Some(&Hold::Surge { leaving: 1 }), None));
        assert_eq!((slow.error_reason, slow.conditions[0].status.as_str()), (None, "False"));
    }
}
