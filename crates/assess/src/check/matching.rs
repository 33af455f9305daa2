//! Which machine a node is: by its BIOS id, on all vCenters.

use std::collections::{BTreeMap, HashMap};

use slipway_providers::vsphere::machines::swapped;
use uuid::Uuid;

use super::cluster::{Node, NodeKind};
use super::snapshot::{Machine, VCenterSnapshot};

/// A machine of one vCenter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) snapshot: &'a VCenterSnapshot,
    pub(super) machine: &'a Machine,
}

/// The machines of a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Matched<'a> {
    /// The node's own: with the id its firmware reports, or else with that of its provider id. More than one have the
    /// very same id.
    pub(super) own: Vec<Found<'a>>,
    /// What the provider id names, where that is another machine.
    pub(super) claimed: Vec<Found<'a>>,
}

/// The ids of nodes. Firmware and Kubernetes do not agree on the order of an id's bytes, so each counts both ways.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    nodes: HashMap<Uuid, Vec<usize>>,
    known: BTreeMap<usize, NodeIds>,
}

/// What one node says about itself.
#[derive(Debug, Clone, Copy)]
struct NodeIds {
    system: Option<Uuid>,
    provider: Option<Uuid>,
}

/// Whether both are one id, in either order.
pub(super) fn same(one: Uuid, other: Uuid) -> bool {
    one == other || swapped(one) == other
}

impl Ids {
    pub(super) fn of(nodes: &[Node]) -> Self {
        let mut ids = Ids::default();
        for (index, node) in nodes.iter().enumerate() {
            // Nodes of another platform match no machine here. A node without a provider ID may still be a machine.
            if matches!(node.kind(), NodeKind::Other { .. }) && node.provider().is_some() {
                continue;
            }
            let known = NodeIds { system: node.system_id(), provider: node.provider_uuid() };
            ids.known.insert(index, known);
            let both = [known.provider, known.system].into_iter().flatten();
            for id in both.flat_map(|id| [id, swapped(id)]) {
                let of_id = ids.nodes.entry(id).or_default();
                if !of_id.contains(&index) {
                    of_id.push(index);
                }
            }
        }
        ids
    }

    pub(super) fn nodes(&self, id: Uuid) -> &[usize] {
        self.nodes.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The machines of each node.
    pub(super) fn machines<'a>(&self, snapshots: &'a [VCenterSnapshot]) -> BTreeMap<usize, Matched<'a>> {
        let mut by_id: HashMap<Uuid, Vec<Found<'a>>> = HashMap::new();
        for snapshot in snapshots {
            for machine in &snapshot.machines {
                by_id.entry(machine.uuid).or_default().push(Found { snapshot, machine });
            }
        }
        // What has the id as it is written comes before what has it the other way round.
        let with = |id: Option<Uuid>| {
            let mut orders = id.into_iter().flat_map(|id| [id, swapped(id)]);
            orders.find_map(|id| by_id.get(&id)).cloned().unwrap_or_default()
        };
        let matched = |known: &NodeIds| {
            let (own, claimed) = (with(known.system), with(known.provider));
            match (known.system, known.provider) {
                _ if own.is_empty() => Matched { own: claimed, claimed: Vec::new() },
                (Some(system), Some(provider)) if !same(system, provider) => Matched { own, claimed },
                _ => Matched { own, claimed: Vec::new() },
            }
        };
        self.known.iter().map(|(index, known)| (*index, matched(known))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Ids, Uuid, swapped};
    use crate::check::cluster::Node;

    #[test]
    fn nodes_are_found_by_either_id_and_strangers_are_not() {
        let id: Uuid = "42166f45-6f10-6d46-4b2d-7f7e4f5b7a01".parse().unwrap();
        let label = ("node.openshift.io/platform-type".to_owned(), "vsphere".to_owned());
        let nodes = [
            Node { provider_id: Some(format!("vsphere://{id}")), ..Node::default() },
            Node {
                system_uuid: swapped(id).to_string().to_uppercase(),
                labels: [label].into(),
                ..Node::default()
            },
            Node {
                provider_id: Some("metal://x".to_owned()),
                system_uuid: id.to_string(),
                ..Node::default()
            },
            Node { system_uuid: id.to_string(), ..Node::default() },
        ];
        let ids = Ids::of(&nodes);
        assert_eq!(ids.nodes(id), [0, 1, 3]);
        assert_eq!(ids.nodes(swapped(id)), [0, 1, 3]);
    }
}
