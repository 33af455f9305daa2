//! Compute machines: how many have joined, and what keeps the others.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use slipway_api::openshift::{Machine, MachineSet};
use slipway_assets::names::{MACHINE_ROLE, Role};

/// How many machines that are behind are named.
const MAX_NAMED: usize = 4;

/// What is waited for, and what to do where no controller will make it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Behind {
    pub(super) waiting: Vec<String>,
    pub(super) hint: Option<String>,
}

/// `expected` machines have to be nodes that are Ready. Where the cluster has no Machines for them, any node that is not of the
/// control plane counts: the machines are the user's own.
pub(super) fn judge(workers: &[&Node], machines: &[Machine], sets: &[MachineSet], expected: usize) -> Behind {
    let ready: BTreeMap<String, bool> =
        workers.iter().map(|node| (node.name_any(), super::kubernetes::is_ready(node))).collect();
    let is_compute = |machine: &&Machine| {
        machine.labels().get(MACHINE_ROLE).is_none_or(|role| role != Role::Master.as_str())
    };
    let compute: Vec<&Machine> = machines.iter().filter(is_compute).collect();
    let joined = |machine: &Machine| {
        let node = machine.status.as_ref().and_then(|status| status.node_ref.as_ref()?.name.clone());
        node.and_then(|node| ready.get(&node).copied()).unwrap_or_default()
    };
    let count = if compute.is_empty() && sets.is_empty() {
        ready.values().filter(|ready| **ready).count()
    } else {
        compute.iter().filter(|machine| joined(machine)).count()
    };
    if count >= expected {
        return Behind::default();
    }
    let mut behind: Vec<String> =
        compute.iter().filter(|machine| !joined(machine)).map(|machine| describe(machine)).collect();
    behind.sort();
    let more = behind.len().saturating_sub(MAX_NAMED);
    behind.truncate(MAX_NAMED);
    let mut waiting = vec![format!("{count} of {expected} compute machines are Ready nodes")];
    waiting.extend(behind.into_iter().map(|machine| format!("compute machine {machine}")));
    if more > 0 {
        waiting.push(format!("{more} more compute machines"));
    }
    Behind { waiting, hint: hint(&compute, sets) }
}

fn hint(compute: &[&Machine], sets: &[MachineSet]) -> Option<String> {
    if compute.is_empty() && sets.is_empty() {
        return Some(
            "the cluster has no MachineSet: boot the compute machines yourself and approve their certificates with \
             `slipway node approve`, or do without them with `--no-compute`"
                .to_owned(),
        );
    }
    None
}

/// A machine that has not joined: how far it is, and what its controller says about it.
fn describe(machine: &Machine) -> String {
    let name = machine.name_any();
    let Some(status) = &machine.status else { return format!("{name}: no controller has looked at it yet") };
    let phase = status.phase.as_deref().unwrap_or("no phase yet");
    let failed = status.conditions.iter().find(|condition| condition.status == "False");
    let why = status.error_message.clone().or_else(|| failed.and_then(|condition| condition.message.clone()));
    match why.filter(|why| !why.is_empty()) {
        Some(why) => format!("{name}: {phase}, {why}"),
        None => format!("{name}: {phase}"),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use serde_json::{Value, json};
    use slipway_api::openshift::{Machine, MachineSet};

    use super::judge;

    fn node(name: &str, ready: bool) -> Node {
        let ready = if ready { "True" } else { "False" };
        serde_json::from_value(json!({
            "metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    fn machine(name: &str, role: &str, status: &Value) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "labels": {"machine.openshift.io/cluster-api-machine-role": role}},
            "spec": {}, "status": status,
        }))
        .unwrap()
    }

    fn set() -> MachineSet {
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": {"name": "w"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {}}, "template": {"metadata": {}, "spec": {}}},
        }))
        .unwrap()
    }

    #[test]
    fn machines_that_are_behind_are_named_with_their_reason() {
        let (there, late) = (node("w-a", true), node("w-b", false));
        let reference = |name: &str| json!({"phase": "Running", "nodeRef": {"name": name}});
        let machines = [
            machine("m-0", "master", &json!({"phase": "Running"})),
            machine("w-a", "worker", &reference("w-a")),
            machine("w-b", "worker", &reference("w-b")),
            machine(
                "w-c",
                "worker",
                &json!({"phase": "Provisioning", "errorMessage": "the datastore is full"}),
            ),
        ];
        let behind = judge(&[&there, &late], &machines, &[set()], 3);
        assert_eq!(
            behind.waiting,
            [
                "1 of 3 compute machines are Ready nodes",
                "compute machine w-b: Running",
                "compute machine w-c: Provisioning, the datastore is full",
            ]
        );
        assert_eq!(behind.hint, None);
    }

    #[test]
    fn a_set_that_has_made_nothing_yet_is_waited_for() {
        let stranger = node("bare-metal", true);
        let behind = judge(&[&stranger], &[], &[set()], 1);
        assert_eq!(behind.waiting, ["0 of 1 compute machines are Ready nodes"]);
    }

    #[test]
    fn machines_of_ones_own_count_where_no_set_makes_them() {
        let (one, other) = (node("one", true), node("other", false));
        assert!(judge(&[&one], &[], &[], 1).waiting.is_empty());
        let behind = judge(&[&one, &other], &[], &[], 2);
        assert_eq!(behind.waiting, ["1 of 2 compute machines are Ready nodes"]);
        assert!(behind.hint.unwrap().contains("--no-compute"));
    }

    #[test]
    fn nothing_is_waited_for_where_nothing_is_expected() {
        assert!(judge(&[], &[], &[set()], 0).waiting.is_empty());
    }
}
