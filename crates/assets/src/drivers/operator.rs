//! Who the operator is, and what it may do: everything its controllers need, and nothing by a wildcard.
//!
//! Whoever writes a role must have what the role gives. The operator has no right to go beyond that (`escalate`,
//! `bind`), so what the drivers may do is part of what it may do; it comes from the same functions.

mod deployment;

use k8s_openapi::Resource;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use serde::Serialize;
use serde_json::Value;

pub use deployment::{ARGUMENTS, IMAGE, Placed, deployment};

use super::pods::{cluster_role, cluster_role_binding, role, rule, service_account};
use super::settings::DriverError;
use super::{cloud, storage};
use crate::objects::{map, namespace, within};

/// Where the operator runs, and where it looks for connections.
pub const NAMESPACE: &str = "slipway-system";
/// Its name: of the account, the roles and the Deployment.
pub const NAME: &str = "slipway-operator";

const READ: &[&str] = &["get", "list", "watch"];
/// Server-side apply makes and changes with these; what is no longer wanted is deleted.
const MANAGE: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

/// Its own namespace, where no pod has more rights than it needs.
pub(crate) fn own_namespace() -> Namespace {
    namespace(NAMESPACE, map([("pod-security.kubernetes.io/enforce", "restricted")]))
}

/// The operator's account and its rights, in the order they are to be applied. The namespace of the storage driver is
/// among them, since a role in it needs it to be there.
pub fn objects() -> Result<Vec<Value>, DriverError> {
    let privileged = map([("pod-security.kubernetes.io/enforce", "privileged")]);
    let mut objects = vec![
        value::<Namespace>(&own_namespace())?,
        value::<Namespace>(&namespace(storage::NAMESPACE, privileged))?,
        value::<ServiceAccount>(&service_account(NAMESPACE, NAME))?,
        value::<ClusterRole>(&cluster_role(NAME, cluster_rules()))?,
        value::<ClusterRoleBinding>(&cluster_role_binding(NAME, NAME, NAMESPACE, NAME))?,
    ];
    for (place, rules) in
        [(NAMESPACE, own_rules()), (cloud::NAMESPACE, driver_rules()), (storage::NAMESPACE, driver_rules())]
    {
        objects.push(value::<Role>(&role(place, NAME, rules))?);
        objects.push(value::<RoleBinding>(&binding(place))?);
    }
    Ok(objects)
}

pub(super) fn value<K: Resource + Serialize>(object: &K) -> Result<Value, DriverError> {
    Ok(serde_json::to_value(object)?)
}

/// The account is in another namespace than the role.
fn binding(place: &str) -> RoleBinding {
    RoleBinding {
        metadata: within(place, NAME),
        role_ref: RoleRef {
            api_group: "rbac.authorization.k8s.io".to_owned(),
            kind: "Role".to_owned(),
            name: NAME.to_owned(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: NAME.to_owned(),
            namespace: Some(NAMESPACE.to_owned()),
            ..Subject::default()
        }]),
    }
}

/// What it may do in the whole cluster.
fn cluster_rules() -> Vec<PolicyRule> {
    let mut rules = vec![
        rule("slipway.dev", &["vdoconfigs", "vsphereconnections"], READ),
        rule("slipway.dev", &["vdoconfigs/status", "vsphereconnections/status"], &["get", "patch", "update"]),
        // It makes the namespace of the storage driver, and never deletes one.
        rule("", &["namespaces"], &["get", "list", "watch", "create", "patch"]),
        rule("rbac.authorization.k8s.io", &["clusterroles", "clusterrolebindings"], MANAGE),
        rule("storage.k8s.io", &["csidrivers", "storageclasses"], MANAGE),
        rule("admissionregistration.k8s.io", &["validatingwebhookconfigurations"], MANAGE),
        // Beside OpenShift's own operators it only looks.
        rule("config.openshift.io", &["clusterversions", "infrastructures"], READ),
        rule("operator.openshift.io", &["clustercsidrivers"], READ),
        // Events about a VDOConfig, which is in no namespace, are in `default`.
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        // Certificates of nodes, when that controller runs.
        rule("certificates.k8s.io", &["certificatesigningrequests"], READ),
        rule("certificates.k8s.io", &["certificatesigningrequests/approval"], &["patch", "update"]),
        PolicyRule {
            resource_names: Some(
                ["kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"]
                    .map(str::to_owned)
                    .into(),
            ),
            ..rule("certificates.k8s.io", &["signers"], &["approve"])
        },
        rule("machine.openshift.io", &["machines"], READ),
        // What health checks look at.
        rule("", &["nodes", "persistentvolumes", "persistentvolumeclaims", "pods"], &["list"]),
        rule("storage.k8s.io", &["csinodes"], &["list"]),
        // OpenShift's own logins and configuration of the storage driver, by their names.
        PolicyRule {
            resource_names: Some(
                ["vmware-vsphere-cloud-credentials", "vsphere-csi-config-secret"].map(str::to_owned).into(),
            ),
            ..rule("", &["secrets"], &["get"])
        },
        PolicyRule {
            resource_names: Some(vec!["cloud-provider-config".to_owned()]),
            ..rule("", &["configmaps"], READ)
        },
    ];
    rules.extend(cloud::cluster_rules());
    rules.extend(storage::rights::controller_rules(true));
    rules.extend(storage::rights::node_rules());
    rules.extend(storage::webhook::cluster_rules());
    rules
}

/// What it may do where a driver runs.
fn driver_rules() -> Vec<PolicyRule> {
    vec![
        rule("", &["serviceaccounts", "secrets", "configmaps", "services"], MANAGE),
        rule("", &["pods"], READ),
        rule("apps", &["daemonsets", "deployments"], MANAGE),
        rule("policy", &["poddisruptionbudgets"], MANAGE),
        rule("rbac.authorization.k8s.io", &["roles", "rolebindings"], MANAGE),
    ]
}

/// What it may do where it runs itself.
fn own_rules() -> Vec<PolicyRule> {
    vec![
        // Credentials of the connections, authorities, a matrix; and a key of its own.
        rule("", &["secrets", "configmaps"], READ),
        rule("", &["secrets"], &["create", "patch"]),
        rule("coordination.k8s.io", &["leases"], &["get", "create", "update", "patch"]),
    ]
}
