//! Machines from Node objects.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use slipway_assets::onprem::{Machine, Part};

/// The label that kubeadm gives the machines of the control plane.
pub const CONTROL_PLANE_LABEL: &str = "node-role.kubernetes.io/control-plane";

/// The part a node plays; the bootstrap machine is known by its name.
pub fn part(node: &Node, bootstrap: &str) -> Part {
    if node.name_any() == bootstrap {
        Part::Bootstrap
    } else if node.labels().contains_key(CONTROL_PLANE_LABEL) {
        Part::ControlPlane
    } else {
        Part::Compute
    }
}

/// The addresses that a node has inside of the cluster.
pub fn addresses(node: &Node) -> Vec<IpAddr> {
    let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    addresses
        .filter(|address| address.type_ == "InternalIP")
        .filter_map(|address| address.address.parse().ok())
        .collect()
}

/// All machines. Nodes write about themselves: one whose name is none is left out, and said so.
pub fn machines<'a>(nodes: impl IntoIterator<Item = &'a Node>, bootstrap: &str) -> Vec<Machine> {
    let mut machines = Vec::new();
    for node in nodes {
        match Machine::new(&node.name_any(), part(node, bootstrap), addresses(node)) {
            Ok(machine) => machines.push(machine),
            Err(error) => tracing::warn!(%error, "a node is left out"),
        }
    }
    machines
}
