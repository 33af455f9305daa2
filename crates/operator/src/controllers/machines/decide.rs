//! What comes next for a Machine. Pure: the table below is the test.

use kube::ResourceExt;
use slipway_api::openshift::{Machine, MachineStatus};
use slipway_assess::machines::names::{PAUSED, annotation};
use slipway_providers::vsphere::machine_feed::MachineFacts;
use slipway_providers::vsphere::machine_place::MachinePlace;

use super::journal::Kept;
use super::problem::Problem;
use super::subject::is_vsphere;
use super::{EXCLUDE_DRAIN, FINALIZER};

/// The API that owns a Machine, where a cluster has both.
const OTHER_AUTHORITY: &str = "ClusterAPI";

/// What is known beside the object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// As the change stream told it last.
    pub(super) facts: Option<MachineFacts>,
    /// The change stream says that it left. That is no proof.
    pub(super) left: bool,
    /// So many left at once that their vCenter is doubted, and not they.
    pub(super) is_doubted: bool,
    /// Where it is, once that was read.
    pub(super) place: MachinePlace,
    /// What keeps it from getting on.
    pub(super) problem: Option<Problem>,
}

/// Why a Machine that is to go has to stay for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hold {
    /// Its node is not drained yet.
    Drain,
    /// Others want to do something first; by name.
    Hooks(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// It is none of ours, or over.
    Leave,
    /// Nothing has to be done.
    Rest,
    /// The finalizer comes before everything else.
    Finalize,
    Make,
    /// The change stream says that it left: is it gone?
    Confirm,
    Hold(Hold),
    Remove,
}

/// What comes next.
pub(super) fn next(machine: &Machine, kept: &Kept, known: &Known) -> Next {
    let ours = machine.finalizers().iter().any(|finalizer| finalizer == FINALIZER);
    let is_paused = annotation(&machine.metadata, PAUSED).is_some();
    if !is_vsphere(machine) || is_paused || machine.spec.authoritative_api.as_deref() == Some(OTHER_AUTHORITY)
    {
        return Next::Leave;
    }
    if machine.metadata.deletion_timestamp.is_some() {
        return match hold(machine) {
            _ if !ours => Next::Leave,
            Some(hold) => Next::Hold(hold),
            None => Next::Remove,
        };
    }
    if phase(machine) == Some("Failed") {
        return Next::Leave;
    }
    if !ours {
        return Next::Finalize;
    }
    if !kept.settled {
        return Next::Make;
    }
    if known.left && !known.is_doubted { Next::Confirm } else { Next::Rest }
}

/// The phase it was in last.
pub(super) fn phase(machine: &Machine) -> Option<&str> {
    machine.status.as_ref()?.phase.as_deref()
}

/// Why it has to stay although it is to go.
fn hold(machine: &Machine) -> Option<Hold> {
    let status = machine.status.as_ref();
    let has_node = status.is_some_and(|status| status.node_ref.is_some());
    let is_excluded = machine.annotations().contains_key(EXCLUDE_DRAIN);
    if has_node && !is_excluded && !status.is_some_and(is_drained) {
        return Some(Hold::Drain);
    }
    let hooks = machine.spec.lifecycle_hooks.as_ref().map(|hooks| hooks.pre_terminate.as_slice());
    let hooks: Vec<String> = hooks.unwrap_or_default().iter().map(|hook| hook.name.clone()).collect();
    (!hooks.is_empty()).then_some(Hold::Hooks(hooks))
}

fn is_drained(status: &MachineStatus) -> bool {
    status.conditions.iter().any(|condition| condition.type_ == "Drained" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::subject::tests::machine;
    use super::{Hold, Kept, Known, Next, next};

    fn deleted(machine: &mut Value) {
        machine["metadata"]["deletionTimestamp"] = json!("2026-11-18T07:00:00Z");
    }

    fn with_node(machine: &mut Value) {
        deleted(machine);
        machine["status"] = json!({"nodeRef": {"name": "worker-a"}});
    }

    fn drained(machine: &mut Value, status: &str) {
        with_node(machine);
        machine["status"]["conditions"] =
            json!([{"type": "Drained", "status": status, "lastTransitionTime": "2026-11-18T07:00:00Z"}]);
    }

    fn hooked(machine: &mut Value) {
        drained(machine, "True");
        machine["spec"]["lifecycleHooks"] = json!({"preTerminate": [{"name": "backup", "owner": "team"}]});
    }

    #[rstest]
    #[case::new(|_: &mut Value| {}, false, false, Next::Make)]
    #[case::settled(|_: &mut Value| {}, true, false, Next::Rest)]
    #[case::left(|_: &mut Value| {}, true, true, Next::Confirm)]
    #[case::left_while_made(|_: &mut Value| {}, false, true, Next::Make)]
    #[case::unprotected(|machine: &mut Value| { machine["metadata"]["finalizers"] = json!(["other"]); }, false, false, Next::Finalize)]
    #[case::failed(|machine: &mut Value| { machine["status"] = json!({"phase": "Failed"}); }, false, true, Next::Leave)]
    #[case::other_platform(|machine: &mut Value| { machine["spec"]["providerSpec"]["value"]["kind"] = json!("OvirtMachineProviderSpec"); }, false, false, Next::Leave)]
    #[case::other_authority(|machine: &mut Value| { machine["spec"]["authoritativeAPI"] = json!("ClusterAPI"); }, false, false, Next::Leave)]
    #[case::paused(|machine: &mut Value| { machine["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""}); }, false, false, Next::Leave)]
    #[case::paused_and_deleted(|machine: &mut Value| { deleted(machine); machine["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""}); }, true, false, Next::Leave)]
    #[case::own_authority(|machine: &mut Value| { machine["spec"]["authoritativeAPI"] = json!("MachineAPI"); }, false, false, Next::Make)]
    #[case::deleted(deleted, true, false, Next::Remove)]
    #[case::deleted_and_failed(|machine: &mut Value| { deleted(machine); machine["status"] = json!({"phase": "Failed"}); }, true, true, Next::Remove)]
    #[case::deleted_and_free(|machine: &mut Value| { deleted(machine); machine["metadata"]["finalizers"] = json!(["other"]); }, true, false, Next::Leave)]
    #[case::not_drained(with_node, true, false, Next::Hold(Hold::Drain))]
    #[case::draining(|machine: &mut Value| drained(machine, "False"), true, false, Next::Hold(Hold::Drain))]
    #[case::drained(|machine: &mut Value| drained(machine, "True"), true, false, Next::Remove)]
    #[case::excluded(|machine: &mut Value| { with_node(machine); machine["metadata"]["annotations"] = json!({"machine.openshift.io/exclude-node-draining": ""}); }, true, false, Next::Remove)]
    #[case::hooked(hooked, true, false, Next::Hold(Hold::Hooks(vec!["backup".to_owned()])))]
    fn what_comes_next(
        #[case] change: impl FnOnce(&mut Value),
        #[case] settled: bool,
        #[case] left: bool,
        #[case] expected: Next,
    ) {
        let kept = Kept { settled, ..Kept::default() };
        let known = Known { left, ..Known::default() };
        assert_eq!(next(&machine(change), &kept, &known), expected);
    }
}
