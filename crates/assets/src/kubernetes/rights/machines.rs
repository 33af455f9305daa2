//! What each controller of machines may do. An operator is given the rights of those that it runs, and no others.

use super::{Right, WATCH};
use crate::names::MACHINES_NAMESPACE;

const GROUP: &str = "machine.openshift.io";
const ADDRESSES: &str = "ipam.cluster.x-k8s.io";
/// OpenShift's own controllers of machines: where they are, the operator leaves machines to them.
const FOREIGN_OWNER: &str = "machine-api-controllers";
/// The cloud config of an OpenShift cluster, for what old Machines leave out.
const CLOUD_CONFIGS: [&str; 2] = ["cloud-provider-config", "kube-cloud-config"];

/// A controller of machines, and what it may do.
#[derive(Debug, Clone, Copy)]
pub struct MachineController {
    /// As `--controllers` calls it.
    pub name: &'static str,
    pub rights: fn() -> Vec<Right>,
}

/// All of them.
pub const MACHINE_CONTROLLERS: [MachineController; 7] = [
    MachineController { name: "machines", rights: machines },
    MachineController { name: "machine-sets", rights: machine_sets },
    MachineController { name: "machine-health-checks", rights: machine_health_checks },
    MachineController { name: "node-links", rights: node_links },
    MachineController { name: "drain", rights: drain },
    MachineController { name: "out-of-service", rights: out_of_service },
    MachineController { name: "address-pools", rights: address_pools },
];

/// Something about objects beside the Machines.
fn here(resource: &'static str, verbs: &'static [&'static str]) -> Right {
    Right::new(GROUP, resource, verbs).within(MACHINES_NAMESPACE)
}

/// Events about machines, and whether another owner is there.
fn common() -> [Right; 2] {
    [
        Right::new("events.k8s.io", "events", &["create", "patch"]).within(MACHINES_NAMESPACE),
        Right::new("apps", "deployments", WATCH).within(MACHINES_NAMESPACE).named([FOREIGN_OWNER]),
    ]
}

/// Making virtual machines of Machines, and removing them.
fn machines() -> Vec<Right> {
    let mut rights = vec![
        here("machines", &["get", "list", "watch", "patch"]),
        here("machines/status", &["patch"]),
        // What machines boot from, and logins as OpenShift has them. Users call them as they like.
        Right::new("", "secrets", &["get"]).within(MACHINES_NAMESPACE),
        Right::new(ADDRESSES, "ipaddressclaims", &["get", "create", "patch"]).within(MACHINES_NAMESPACE),
        Right::new(ADDRESSES, "ipaddresses", &["get"]).within(MACHINES_NAMESPACE),
        Right::new("", "configmaps", &["get"]).named(CLOUD_CONFIGS),
        // Its volumes, and its end after that of its machine.
        Right::new("", "nodes", &["get", "delete"]),
    ];
    rights.extend(common());
    rights
}

fn machine_sets() -> Vec<Right> {
    let mut rights = vec![
        here("machinesets", &["get", "list", "watch", "patch"]),
        here("machinesets/status", &["patch"]),
        here("machines", &["get", "list", "watch", "create", "patch", "delete"]),
        Right::new("", "nodes", WATCH),
    ];
    rights.extend(common());
    rights
}

fn machine_health_checks() -> Vec<Right> {
    let mut rights = vec![
        here("machinehealthchecks", WATCH),
        here("machinehealthchecks/status", &["patch"]),
        here("machinesets", WATCH),
        // A machine that is to be kept is let go instead of deleted.
        here("machines", &["get", "list", "watch", "patch", "delete"]),
        Right::new("", "nodes", &["get", "list", "watch"]),
    ];
    rights.extend(common());
    rights
}

fn node_links() -> Vec<Right> {
    let mut rights = vec![
        here("machines", WATCH),
        here("machines/status", &["patch"]),
        Right::new("", "nodes", &["list", "watch", "patch"]),
    ];
    rights.extend(common());
    rights
}

fn drain() -> Vec<Right> {
    let mut rights = vec![
        here("machines", WATCH),
        here("machines/status", &["patch"]),
        Right::new("", "nodes", &["get", "list", "patch"]),
        Right::new("", "pods", &["list"]),
        // Never `delete`: an eviction asks the disruption budgets.
        Right::new("", "pods/eviction", &["create"]),
    ];
    rights.extend(common());
    rights
}

fn out_of_service() -> Vec<Right> {
    let mut rights = vec![
        here("machines", WATCH),
        Right::new("", "nodes", &["get", "list", "watch", "patch"]),
        Right::new("", "pods", &["list"]),
    ];
    rights.extend(common());
    rights
}

fn address_pools() -> Vec<Right> {
    let own = slipway_api::slipway::GROUP;
    vec![
        Right::new(own, "addresspools", WATCH).within(MACHINES_NAMESPACE),
        Right::new(own, "addresspools/status", &["patch"]).within(MACHINES_NAMESPACE),
        Right::new(ADDRESSES, "ipaddressclaims", &["get", "list", "watch"]).within(MACHINES_NAMESPACE),
        Right::new(ADDRESSES, "ipaddressclaims/status", &["patch"]).within(MACHINES_NAMESPACE),
        Right::new(ADDRESSES, "ipaddresses", &["get", "list", "watch", "create", "patch", "delete"])
            .within(MACHINES_NAMESPACE),
    ]
}
