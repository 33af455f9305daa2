//! Names on machines, nodes and sets that several programs agree on. Those of `machine.openshift.io` are OpenShift's.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A machine with it is not drained.
pub const EXCLUDE_DRAINING: &str = "machine.openshift.io/exclude-node-draining";
/// A machine of a set with it goes first when the set shrinks.
pub const DELETE_MACHINE: [&str; 2] =
    ["machine.openshift.io/delete-machine", "machine.openshift.io/cluster-api-delete-machine"];
/// On a node: the machine it is, as `namespace/name`.
pub const MACHINE_OF_NODE: &str = "machine.openshift.io/machine";
/// The set that a machine was made by.
pub const MACHINE_SET_LABEL: &str = "machine.openshift.io/cluster-api-machineset";
pub const REGION_LABEL: &str = "machine.openshift.io/region";
pub const ZONE_LABEL: &str = "machine.openshift.io/zone";
/// Whatever has it is left alone.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";

/// How long a machine is drained at most, such as `30m`. Without it a drain takes as long as it takes.
pub const DRAIN_TIMEOUT: &str = "slipway.dev/drain-timeout";
/// What becomes of a machine that its set or its health check would delete: with [`RETAIN`] it leaves the set, and its virtual
/// machine stays.
pub const DELETE_POLICY: &str = "slipway.dev/delete-policy";
pub const RETAIN: &str = "Retain";
/// On a machine that left its set that way: the set, and since when.
pub const RETAINED: &str = "slipway.dev/retained";
/// On a set whose machines are being replaced: until when, so that a rollout that was cut off does not pause health checks for
/// ever.
pub const ROLLOUT: &str = "slipway.dev/rollout";
/// On a set: how many machines may be there beyond its replicas, those that are being deleted included.
pub const MAX_SURGE: &str = "slipway.dev/max-surge";
/// On a set: names of machines that are being made.
pub const MAKING: &str = "slipway.dev/making";
/// On a set: its machines that failed one after the other.
pub const CREATE_FAILURES: &str = "slipway.dev/create-failures";

/// The hook that keeps a machine of the control plane while it is a member of etcd, and whose it is.
pub const ETCD_HOOK: (&str, &str) = ("EtcdMember", slipway_api::well_known::CONTROL_PLANE);
/// The value of [`PAUSED`] on a new machine of the control plane, until what it joins with is there.
pub const UNTIL_PREPARED: &str = slipway_api::well_known::CONTROL_PLANE;
/// On a new machine of the control plane: the machine that it takes the place of.
pub const REPLACES: &str = "slipway.dev/replaces";

/// The phase of a machine that will never work.
pub const FAILED: &str = "Failed";
/// The condition of a machine whose node has no pods to lose any more.
pub const DRAINED: &str = "Drained";
/// The condition of a machine that no hook keeps from being drained.
pub const DRAINABLE: &str = "Drainable";
/// The condition of a machine that there is a virtual machine for.
pub const INSTANCE_EXISTS: &str = "InstanceExists";

/// Labels of nodes of the control plane.
pub const CONTROL_PLANE: [&str; 2] =
    ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// The value of an annotation.
pub fn annotation<'m>(metadata: &'m ObjectMeta, name: &str) -> Option<&'m str> {
    metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

/// The value of a label.
pub fn label<'m>(metadata: &'m ObjectMeta, name: &str) -> Option<&'m str> {
    metadata.labels.as_ref()?.get(name).map(String::as_str)
}

/// Whether a machine is kept where it would be deleted.
pub fn is_kept(metadata: &ObjectMeta) -> bool {
    annotation(metadata, DELETE_POLICY) == Some(RETAIN)
}

/// Whether a node is one of the control plane.
pub fn is_control_plane(metadata: &ObjectMeta) -> bool {
    CONTROL_PLANE.iter().any(|name| label(metadata, name).is_some())
}
