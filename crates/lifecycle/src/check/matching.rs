//! Which machine a node is: by its BIOS id, on all vCenters.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

use super::cluster::{Node, NodeKind};
use super::estate::{Estate, Machine};

/// A machine of one vCenter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) estate: &'a Estate,
    pub(super) machine: &'a Machine,
}

/// The ids of nodes. Firmware and Kubernetes do not agree on the order of an id's bytes, so each counts both ways.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    nodes: HashMap<Uuid, Vec<usize>>,
}

/// The same id as the other side would write it: its first three parts the other way round.
pub(super) fn swapped(id: Uuid) -> Uuid {
    Uuid::from_bytes_le(id.into_bytes())
}

impl Ids {
    pub(super) fn of(nodes: &[Node]) -> Self {
        let mut ids = Ids::default();
        for (index, node) in nodes.iter().enumerate() {
            if matches!(node.kind(), NodeKind::Other { .. }) {
                continue;
            }
            let known = [node.provider_uuid(), node.system_uuid.trim().parse().ok()];
            for id in known.into_iter().flatten().flat_map(|id| [id, swapped(id)]) {
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

    /// The machines of each node; more than one is a mistake of somebody's.
    pub(super) fn machines<'a>(&self, estates: &'a [Estate]) -> BTreeMap<usize, Vec<Found<'a>>> {
        let mut found: BTreeMap<usize, Vec<Found<'a>>> = BTreeMap::new();
        for estate in estates {
            for machine in &estate.machines {
                for node in self.nodes(machine.uuid) {
                    found.entry(*node).or_default().push(Found { estate, machine });
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{Ids, Uuid, swapped};
    use crate::check::cluster::Node;

    #[test]
    fn both_orders_are_one_id() {
        let id: Uuid = "42166f45-6f10-6d46-4b2d-7f7e4f5b7a01".parse().unwrap();
        let other: Uuid = "456f1642-106f-466d-4b2d-7f7e4f5b7a01".parse().unwrap();
        assert_eq!(swapped(id), other);
        assert_eq!(swapped(other), id);
    }

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
        assert_eq!(ids.nodes(id), [0, 1]);
        assert_eq!(ids.nodes(swapped(id)), [0, 1]);
    }
}
