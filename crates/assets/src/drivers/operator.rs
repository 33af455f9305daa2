//! Who the operator is, and what it may do: everything its controllers need, and nothing by a wildcard.
//!
//! Kubernetes lets a client write a role only if it has all rights of that role. The operator has no right to go beyond
//! that (`escalate`, `bind`), so what the drivers may do is part of what it may do; it comes from the same functions.
//! What it writes it writes by name ([`names`]).

mod deployment;
pub mod names;

use std::collections::BTreeMap;

use k8s_openapi::Resource;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use serde::Serialize;
use serde_json::Value;

pub use deployment::{ALLOW_INSECURE, ARGUMENTS, IMAGE, Placed, deployment};

use super::pods::{cluster_role, cluster_role_binding, role, rule, service_account};
use super::settings::DriverError;
use super::{cloud, storage};
use crate::kubernetes::rights;
use crate::kubernetes::rights::machines::{MACHINE_CONTROLLERS, MachineController};
use crate::names::MACHINES_NAMESPACE;
use crate::objects::{map, namespace, within};

/// Where the operator runs, and where it looks for connections.
pub const NAMESPACE: &str = slipway_api::well_known::OPERATOR_NAMESPACE;
/// Its name: of the account, the roles and the Deployment.
pub const NAME: &str = "slipway-operator";
/// The role and the binding of one that approves certificates of nodes.
const APPROVER: &str = "slipway-operator-csr";
/// The Secret with what it draws once.
pub const KEYS_SECRET: &str = "slipway-operator-keys";

const READ: &[&str] = &["get", "list", "watch"];

/// Its own namespace, where no pod has more rights than it needs.
pub(crate) fn own_namespace() -> Namespace {
    namespace(NAMESPACE, map([("pod-security.kubernetes.io/enforce", "restricted")]))
}

/// The operator's account and its rights, in the order they are to be applied. The namespaces of the drivers are among them,
/// since a role in one needs it to be there.
pub fn objects() -> Result<Vec<Value>, DriverError> {
    let privileged = map([("pod-security.kubernetes.io/enforce", "privileged")]);
    let mut objects = vec![
        value::<Namespace>(&own_namespace())?,
        value::<Namespace>(&cloud::secret_namespace())?,
        value::<Namespace>(&namespace(storage::NAMESPACE, privileged))?,
        value::<ServiceAccount>(&service_account(NAMESPACE, NAME))?,
        value::<ClusterRole>(&cluster_role(NAME, cluster_rules()))?,
        value::<ClusterRoleBinding>(&cluster_role_binding(NAME, NAME, NAMESPACE, NAME))?,
    ];
    for (place, rules) in [
        (NAMESPACE, own_rules()),
        (cloud::NAMESPACE, driver_rules(cloud::NAMESPACE)),
        (cloud::SECRET_NAMESPACE, names::rules(Some(cloud::SECRET_NAMESPACE))),
        (storage::NAMESPACE, driver_rules(storage::NAMESPACE)),
    ] {
        objects.push(value::<Role>(&role(place, NAME, rules))?);
        objects.push(value::<RoleBinding>(&binding(place))?);
    }
    Ok(objects)
}

/// The right to approve certificates of nodes. Only an operator that runs that controller (`--controllers`) is given it.
pub fn approver() -> Result<Vec<Value>, DriverError> {
    // Where Machines are, which not every cluster has.
    let mut objects = vec![value::<Namespace>(&namespace(MACHINES_NAMESPACE, BTreeMap::new()))?];
    let roles = rights::roles(APPROVER, &rights::approving(), (NAMESPACE, NAME));
    objects.extend(roles.into_iter().map(|(_, object)| object));
    Ok(objects)
}

/// The rights of the controllers of machines that `runs` chooses by their names, each with a role of its own.
pub fn machine_controllers(runs: impl Fn(&str) -> bool) -> Result<Vec<Value>, DriverError> {
    let mut objects = Vec::new();
    for MachineController { name, rights } in MACHINE_CONTROLLERS.iter().filter(|one| runs(one.name)) {
        let roles = rights::roles(&format!("{NAME}-{name}"), &rights(), (NAMESPACE, NAME));
        objects.extend(roles.into_iter().map(|(_, object)| object));
    }
    if !objects.is_empty() {
        objects.insert(0, value::<Namespace>(&namespace(MACHINES_NAMESPACE, BTreeMap::new()))?);
    }
    Ok(objects)
}

/// Whether an operator that is told this approves certificates of nodes.
pub fn approves(arguments: &[String]) -> bool {
    runs(arguments, "csr")
}

/// Whether an operator that is told this runs a controller that it does not run by default.
pub fn runs(arguments: &[String], controller: &str) -> bool {
    let mut words = arguments.iter().flat_map(|one| one.split('=')).skip_while(|one| *one != "--controllers");
    words.nth(1).is_some_and(|list| list.split(',').any(|one| one == controller))
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
        // Users call them as they like.
        rule("storage.k8s.io", &["storageclasses"], &["get", "list", "watch", "create", "patch", "delete"]),
        // Beside OpenShift's own operators it only looks.
        rule("config.openshift.io", &["clusterversions", "infrastructures"], READ),
        rule("operator.openshift.io", &["clustercsidrivers"], READ),
        // Events about a VDOConfig, which is in no namespace, are in `default`.
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        // What health checks look at.
        rule("", &["nodes", "persistentvolumes", "persistentvolumeclaims", "pods"], &["list"]),
        rule("storage.k8s.io", &["csinodes"], &["list"]),
        rule("certificates.k8s.io", &["certificatesigningrequests"], &["list"]),
        // OpenShift's own logins and configuration of the storage driver, by their names.
        names::named(
            "",
            "secrets",
            &["vmware-vsphere-cloud-credentials", "vsphere-csi-config-secret"],
            &["get"],
        ),
        names::named("", "configmaps", &["cloud-provider-config"], READ),
    ];
    rules.extend(names::rules(None));
    rules.extend(cloud::cluster_rules());
    rules.extend(storage::rights::controller_rules(true));
    rules.extend(storage::rights::node_rules());
    rules.extend(storage::webhook::cluster_rules());
    rules
}

/// What it may do where a driver runs.
fn driver_rules(place: &str) -> Vec<PolicyRule> {
    let mut rules = names::rules(Some(place));
    rules.push(rule("", &["pods"], READ));
    // Others may run a driver of their own.
    rules.push(rule("apps", &["daemonsets", "deployments"], READ));
    if place == cloud::NAMESPACE {
        // OpenShift's own logins, for health checks there.
        rules.push(names::named("", "secrets", &["vsphere-creds"], READ));
    }
    rules
}

/// What it may do where it runs itself.
fn own_rules() -> Vec<PolicyRule> {
    vec![
        // Credentials of the connections, authorities, a matrix. Users call them as they like.
        rule("", &["secrets", "configmaps"], READ),
        names::named("", "secrets", &[KEYS_SECRET], &["create", "patch"]),
        names::named("coordination.k8s.io", "leases", &[NAME], &["get", "update", "patch"]),
        rule("coordination.k8s.io", &["leases"], &["create"]),
    ]
}
