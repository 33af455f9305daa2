//! Whether a node is dead, and whether it is back. Pure.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Taint;
use slipway_api::openshift::Machine;
use slipway_assess::machines::names::{INSTANCE_EXISTS, annotation, is_control_plane};

use crate::controllers::machine_conditions::holds;
use crate::controllers::machine_objects::NodeObject;

/// What Kubernetes goes by.
pub(super) const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
/// On a node that has the taint from here, since when. A taint that others set is theirs.
pub(super) const OWN_MARK: &str = "slipway.dev/out-of-service";
/// What the hypervisor says about a virtual machine.
const INSTANCE_STATE: &str = "machine.openshift.io/instance-state";
const OFF: &str = "poweredOff";
/// Between the two times that the hypervisor says it.
const APART: SignedDuration = SignedDuration::from_secs(20);

/// What comes next for the node of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    Leave,
    /// It was said once; the second time is after this moment.
    Again(Timestamp),
    Taint,
    /// It is back: the taint goes when nothing of before is left on it.
    Clean,
}

/// The hypervisor says that the machine is off, and can be asked about it now.
pub(super) fn is_said_to_be_off(machine: &Machine) -> bool {
    let status = machine.status.as_ref();
    let is_seen = status.is_some_and(|status| holds(&status.conditions, INSTANCE_EXISTS));
    is_seen && annotation(&machine.metadata, INSTANCE_STATE) == Some(OFF)
}

/// What comes next. `said` is when the hypervisor first said that the machine is off, without having said anything else since.
pub(super) fn next(machine: &Machine, node: &NodeObject, said: Option<Timestamp>, now: Timestamp) -> Next {
    let is_ours = annotation(&node.metadata, OWN_MARK).is_some();
    if has_taint(node) {
        let is_back = node.is_ready() && !is_said_to_be_off(machine);
        return if is_ours && is_back { Next::Clean } else { Next::Leave };
    }
    // A machine of the control plane has no volumes to free, and etcd to lose.
    if !node.is_unreachable() || is_control_plane(&node.metadata) || !is_said_to_be_off(machine) {
        return Next::Leave;
    }
    let again = said.unwrap_or(now).checked_add(APART).unwrap_or(Timestamp::MAX);
    if said.is_some() && again <= now { Next::Taint } else { Next::Again(again) }
}

pub(super) fn has_taint(node: &NodeObject) -> bool {
    node.spec.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE)
}

/// The taints of a node with this one, or without it.
pub(super) fn taints(node: &NodeObject, is_dead: bool) -> Vec<Taint> {
    let others = node.spec.taints.iter().filter(|taint| taint.key != OUT_OF_SERVICE).cloned();
    let own = Taint {
        key: OUT_OF_SERVICE.to_owned(),
        value: Some("nodeshutdown".to_owned()),
        effect: "NoExecute".to_owned(),
        time_added: None,
    };
    others.chain(is_dead.then_some(own)).collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;
    use serde_json::{Value, json};
    use slipway_api::openshift::Machine;

    use super::{Next, next, taints};
    use crate::controllers::machine_objects::NodeObject;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn machine(state: &str, exists: &str) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "spec": {},
            "metadata": {"name": "m", "annotations": {"machine.openshift.io/instance-state": state}},
            "status": {"conditions": [{"type": "InstanceExists", "status": exists}]},
        }))
        .unwrap()
    }

    fn node(ready: &str, change: &Value) -> NodeObject {
        let mut object = json!({
            "metadata": {"name": "n"}, "spec": {},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        });
        for (key, value) in change.as_object().unwrap() {
            object[key] = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn tainted(mark: bool) -> Value {
        let taint = json!({"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"});
        let annotations = if mark { json!({"slipway.dev/out-of-service": "then"}) } else { json!({}) };
        json!({"metadata": {"name": "n", "annotations": annotations}, "spec": {"taints": [taint]}})
    }

    #[rstest]
    #[case::said_once("poweredOff", "True", "Unknown", None, Next::Again(at(20)))]
    #[case::too_soon("poweredOff", "True", "Unknown", Some(-10), Next::Again(at(10)))]
    #[case::said_twice("poweredOff", "True", "Unknown", Some(-20), Next::Taint)]
    #[case::runs("poweredOn", "True", "Unknown", None, Next::Leave)]
    #[case::cannot_be_asked("poweredOff", "Unknown", "Unknown", Some(-60), Next::Leave)]
    #[case::not_there("poweredOff", "False", "Unknown", Some(-60), Next::Leave)]
    #[case::kubelet_contradicts("poweredOff", "True", "True", Some(-60), Next::Leave)]
    #[case::kubelet_is_heard("poweredOff", "True", "False", Some(-60), Next::Leave)]
    fn the_hypervisor_says_it_twice(
        #[case] state: &str,
        #[case] exists: &str,
        #[case] ready: &str,
        #[case] said: Option<i64>,
        #[case] expected: Next,
    ) {
        let node = node(ready, &json!({}));
        assert_eq!(next(&machine(state, exists), &node, said.map(at), at(0)), expected);
    }

    #[rstest]
    #[case::still_off("poweredOff", "Unknown", true, Next::Leave)]
    #[case::not_back_yet("poweredOn", "Unknown", true, Next::Leave)]
    #[case::contradiction("poweredOff", "True", true, Next::Leave)]
    #[case::back("poweredOn", "True", true, Next::Clean)]
    #[case::of_others("poweredOn", "True", false, Next::Leave)]
    fn it_goes_when_the_node_is_back(
        #[case] state: &str,
        #[case] ready: &str,
        #[case] is_ours: bool,
        #[case] expected: Next,
    ) {
        let node = node(ready, &tainted(is_ours));
        assert_eq!(next(&machine(state, "True"), &node, Some(at(-60)), at(0)), expected);
    }

    #[test]
    fn the_control_plane_is_left_alone_and_other_taints_stay() {
        let labels =
            json!({"metadata": {"name": "n", "labels": {"node-role.kubernetes.io/control-plane": ""}}});
        let master = node("Unknown", &labels);
        assert_eq!(next(&machine("poweredOff", "True"), &master, Some(at(-60)), at(0)), Next::Leave);
        let other = node("Unknown", &json!({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}));
        assert_eq!(taints(&other, true).len(), 2);
        assert_eq!(taints(&other, false).len(), 1);
    }
}
