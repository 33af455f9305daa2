//! Who of the storage driver may do what in the cluster.

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{CONTROLLER, NAMESPACE, NODE};
use crate::drivers::object::Objects;
use crate::drivers::pods::{cluster_role, cluster_role_binding, role, role_binding, rule, service_account};
use crate::drivers::settings::DriverError;

const READ: &[&str] = &["get", "list", "watch"];
const CNS: &str = "cns.vmware.com";
const STORAGE: &str = "storage.k8s.io";
const SNAPSHOTS: &str = "snapshot.storage.k8s.io";

pub(super) fn add(snapshots: bool, objects: &mut Objects) -> Result<(), DriverError> {
    objects.add(service_account(NAMESPACE, CONTROLLER))?;
    objects.add(cluster_role("vsphere-csi-controller-role", controller_rules(snapshots)))?;
    objects.add(cluster_role_binding(
        "vsphere-csi-controller-binding",
        "vsphere-csi-controller-role",
        NAMESPACE,
        CONTROLLER,
    ))?;

    objects.add(service_account(NAMESPACE, NODE))?;
    objects.add(cluster_role("vsphere-csi-node-cluster-role", node_rules()))?;
    objects.add(cluster_role_binding(
        "vsphere-csi-node-cluster-role-binding",
        "vsphere-csi-node-cluster-role",
        NAMESPACE,
        NODE,
    ))?;
    objects.add(role(NAMESPACE, "vsphere-csi-node-role", vec![rule("", &["configmaps"], READ)]))?;
    objects.add(role_binding(NAMESPACE, "vsphere-csi-node-binding", "vsphere-csi-node-role", NODE))?;
    Ok(())
}

/// What the controller may do in the whole cluster.
pub(in crate::drivers) fn controller_rules(snapshots: bool) -> Vec<PolicyRule> {
    let mut rules = vec![
        rule("", &["nodes", "pods"], READ),
        rule("", &["configmaps"], &["get", "list", "watch", "create"]),
        rule("", &["persistentvolumeclaims"], &["get", "list", "watch", "update"]),
        rule("", &["persistentvolumeclaims/status"], &["patch"]),
        rule("", &["persistentvolumes"], &["get", "list", "watch", "create", "update", "delete", "patch"]),
        rule("", &["events"], &["get", "list", "watch", "create", "update", "patch"]),
        rule("coordination.k8s.io", &["leases"], &["get", "list", "watch", "create", "update", "delete"]),
        rule(STORAGE, &["storageclasses", "csinodes"], READ),
        rule(STORAGE, &["volumeattachments"], &["get", "list", "watch", "patch"]),
        rule(STORAGE, &["volumeattachments/status"], &["patch"]),
        rule(CNS, &["triggercsifullsyncs"], &["get", "list", "watch", "create", "update"]),
        rule(CNS, &["cnsvspherevolumemigrations"], &["get", "list", "watch", "create", "update", "delete"]),
        rule(CNS, &["cnsvolumeinfoes"], &["get", "list", "watch", "create", "delete"]),
        rule(CNS, &["cnsvolumeoperationrequests"], &["get", "list", "create", "update", "delete"]),
        rule(CNS, &["csinodetopologies"], &["get", "list", "watch", "update"]),
        rule("apiextensions.k8s.io", &["customresourcedefinitions"], &["get", "create", "update"]),
    ];
    if snapshots {
        rules.extend([
            rule(SNAPSHOTS, &["volumesnapshots"], &["get", "list"]),
            rule(SNAPSHOTS, &["volumesnapshotclasses"], READ),
            rule(
                SNAPSHOTS,
                &["volumesnapshotcontents"],
                &["get", "list", "watch", "create", "update", "delete", "patch"],
            ),
            rule(SNAPSHOTS, &["volumesnapshotcontents/status"], &["update", "patch"]),
        ]);
    }
    rules
}

/// What the part on the nodes may do in the whole cluster.
pub(in crate::drivers) fn node_rules() -> Vec<PolicyRule> {
    vec![
        rule(CNS, &["csinodetopologies"], &["create", "watch", "get", "patch"]),
        rule("", &["nodes"], &["get"]),
    ]
}
