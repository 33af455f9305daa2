//! Everything the operator writes, by name. Its rights to change something are bound to these names, so that a fault in it, or
//! a matrix that says more than it should, changes no foreign object.

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::super::pods::rule;
use crate::drivers::{cloud, storage};

/// Server-side apply makes and changes with these; what is no longer wanted is deleted. With server-side apply even making is
/// bound to a name.
const WRITE: &[&str] = &["create", "patch", "delete"];
const READ: &[&str] = &["get", "list", "watch"];

const RBAC: &str = "rbac.authorization.k8s.io";

/// Copies of Secrets for pulling images: a VDOConfig names eight at most.
pub const PULL_SECRETS: [&str; 8] = [
    "slipway-pull-1",
    "slipway-pull-2",
    "slipway-pull-3",
    "slipway-pull-4",
    "slipway-pull-5",
    "slipway-pull-6",
    "slipway-pull-7",
    "slipway-pull-8",
];

/// Objects of one kind in one place.
struct Named {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    /// `None` is the whole cluster.
    place: Option<&'static str>,
    names: &'static [&'static str],
}

const fn of(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    place: Option<&'static str>,
    names: &'static [&'static str],
) -> Named {
    Named { group, kind, plural, place, names }
}

const CLOUD: Option<&str> = Some(cloud::NAMESPACE);
const LOGINS: Option<&str> = Some(cloud::SECRET_NAMESPACE);
const STORAGE: Option<&str> = Some(storage::NAMESPACE);

/// What the drivers consist of: of our own versions, and of those whose manifests a matrix carries. StorageClasses are called as
/// users like, and are not among them.
const NAMED: [Named; 25] = [
    of("", "Namespace", "namespaces", None, &[cloud::SECRET_NAMESPACE, storage::NAMESPACE]),
    of("storage.k8s.io", "CSIDriver", "csidrivers", None, &[storage::DRIVER]),
    of(
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        None,
        &["validation.csi.vsphere.vmware.com"],
    ),
    of(
        RBAC,
        "ClusterRole",
        "clusterroles",
        None,
        &[
            "system:cloud-controller-manager",
            "vsphere-csi-controller-role",
            "vsphere-csi-node-cluster-role",
            "vsphere-csi-webhook-cluster-role",
        ],
    ),
    of(
        RBAC,
        "ClusterRoleBinding",
        "clusterrolebindings",
        None,
        &[
            "system:cloud-controller-manager",
            "vsphere-csi-controller-binding",
            "vsphere-csi-node-cluster-role-binding",
            "vsphere-csi-webhook-cluster-role-binding",
        ],
    ),
    of("", "ServiceAccount", "serviceaccounts", CLOUD, &["cloud-controller-manager"]),
    of("", "ConfigMap", "configmaps", CLOUD, &[cloud::CONFIG_MAP]),
    of("", "Service", "services", CLOUD, &["cloud-controller-manager", cloud::DAEMON_SET]),
    // The login was here once, and is taken away from here.
    of("", "Secret", "secrets", CLOUD, &PULLED_BESIDE_LOGIN),
    of("apps", "DaemonSet", "daemonsets", CLOUD, &[cloud::DAEMON_SET]),
    of(RBAC, "Role", "roles", CLOUD, &[cloud::SECRET_ROLE]),
    of(
        RBAC,
        "RoleBinding",
        "rolebindings",
        CLOUD,
        &[
            cloud::SECRET_ROLE,
            cloud::AUTHENTICATION_BINDING,
            "servicecatalog.k8s.io:apiserver-authentication-reader",
        ],
    ),
    of("", "Secret", "secrets", LOGINS, &[cloud::SECRET]),
    of(RBAC, "Role", "roles", LOGINS, &[cloud::SECRET_ROLE]),
    of(RBAC, "RoleBinding", "rolebindings", LOGINS, &[cloud::SECRET_ROLE]),
    of(
        "",
        "ServiceAccount",
        "serviceaccounts",
        STORAGE,
        &[storage::CONTROLLER, storage::NODE, storage::WEBHOOK],
    ),
    of("", "ConfigMap", "configmaps", STORAGE, &[storage::FEATURES]),
    of("", "Service", "services", STORAGE, &[storage::CONTROLLER, "vsphere-webhook-svc"]),
    of("", "Secret", "secrets", STORAGE, &PULLED_BESIDE_STORAGE),
    of("apps", "Deployment", "deployments", STORAGE, &[storage::CONTROLLER, storage::WEBHOOK]),
    of("apps", "DaemonSet", "daemonsets", STORAGE, &[storage::NODE, "vsphere-csi-node-windows"]),
    of(
        "policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        STORAGE,
        &[storage::CONTROLLER, storage::WEBHOOK],
    ),
    of("policy", "PodDisruptionBudget", "poddisruptionbudgets", CLOUD, &[cloud::DAEMON_SET]),
    of(RBAC, "Role", "roles", STORAGE, &["vsphere-csi-node-role", "vsphere-csi-webhook-role"]),
    of(
        RBAC,
        "RoleBinding",
        "rolebindings",
        STORAGE,
        &["vsphere-csi-node-binding", "vsphere-csi-webhook-role-binding"],
    ),
];

const PULLED_BESIDE_LOGIN: [&str; 9] = with([cloud::SECRET]);
const PULLED_BESIDE_STORAGE: [&str; 10] = with([storage::CONFIG_SECRET, "vsphere-webhook-certs"]);

/// Names, and those of copied Secrets.
const fn with<const N: usize, const M: usize>(own: [&'static str; N]) -> [&'static str; M] {
    assert!(N + PULL_SECRETS.len() == M, "the number of names");
    let mut all = [""; M];
    let mut at = 0;
    while at < M {
        all[at] = if at < N { own[at] } else { PULL_SECRETS[at - N] };
        at += 1;
    }
    all
}

/// Whether the operator may write an object.
pub fn covers(kind: &str, namespace: Option<&str>, name: &str) -> bool {
    let place = |named: &&Named| named.kind == kind && named.place == namespace;
    kind == "StorageClass" || NAMED.iter().filter(place).any(|named| named.names.contains(&name))
}

/// Where there are objects of a kind.
pub fn places(kind: &str) -> impl Iterator<Item = Option<&'static str>> + '_ {
    let none = (kind == "StorageClass").then_some(None);
    NAMED.iter().filter(move |named| named.kind == kind).map(|named| named.place).chain(none)
}

/// The names of Secrets where Secrets of others are as well. They are not listed there: the right to list Secrets is
/// the right to read them.
pub fn secrets_among_others(namespace: &str) -> Option<&'static [&'static str]> {
    let secrets = |named: &&Named| named.kind == "Secret" && named.place == CLOUD;
    NAMED.iter().find(secrets).filter(|_| namespace == cloud::NAMESPACE).map(|named| named.names)
}

/// The rights to write what there is in a place, by name, and to look at its kinds.
pub(super) fn rules(place: Option<&str>) -> Vec<PolicyRule> {
    let mut rules = Vec::new();
    for Named { group, kind, plural, names, .. } in NAMED.iter().filter(|named| named.place == place) {
        // A namespace is never deleted: there may be something else in it.
        rules.push(named(group, plural, names, if *kind == "Namespace" { &WRITE[..2] } else { WRITE }));
        rules.push(match *kind {
            "Secret" if place == CLOUD => named(group, plural, names, &["get"]),
            // The operator must have the right to read this login to grant it to the cloud provider.
            _ => rule(group, &[plural], READ),
        });
    }
    rules
}

/// A rule for objects of some names.
pub(super) fn named(group: &str, plural: &str, names: &[&str], verbs: &[&str]) -> PolicyRule {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    PolicyRule { resource_names: Some(names), ..rule(group, &[plural], verbs) }
}
