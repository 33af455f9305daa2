//! Finds the node of each machine, and what it lacks of it. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Taint;
use kube::ResourceExt;
use serde_json::{Value, json};
use slipway_api::openshift::Machine;
use slipway_assess::machines::names::{MACHINE_OF_NODE, annotation, label};

use crate::controllers::machine_objects::NodeObject;

/// What is known about the node of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// There is none, or none that could be seen; what is written down stays.
    Nothing,
    /// Its position among the nodes.
    Node(usize),
    /// More than one thing could be true, in words.
    Ambiguous(String),
}

/// How a node was found. An id counts more than an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Address,
    Id,
}

/// The node of each machine, in their order.
pub(super) fn links(machines: &[Machine], nodes: &[Arc<NodeObject>]) -> Vec<Found> {
    let known = Known::of(nodes);
    let mut found: Vec<Result<Option<(usize, By)>, String>> =
        machines.iter().map(|machine| known.candidate(machine)).collect();
    settle_claims(machines, nodes, &mut found);
    let settled = machines.iter().zip(found);
    settled
        .map(|(machine, found)| match found {
            Err(words) => Found::Ambiguous(words),
            Ok(None) => Found::Nothing,
            Ok(Some((node, _))) => known.beside_the_present(machine, node),
        })
        .collect()
}

/// Nodes by what machines know of them.
struct Known<'n> {
    nodes: &'n [Arc<NodeObject>],
    ids: BTreeMap<String, Vec<usize>>,
    addresses: BTreeMap<&'n str, Vec<usize>>,
    names: BTreeMap<&'n str, usize>,
}

impl<'n> Known<'n> {
    fn of(nodes: &'n [Arc<NodeObject>]) -> Self {
        let mut known =
            Known { nodes, ids: BTreeMap::new(), addresses: BTreeMap::new(), names: BTreeMap::new() };
        for (at, node) in nodes.iter().enumerate() {
            if let Some(id) = provider_id(node.spec.provider_id.as_deref()) {
                known.ids.entry(id).or_default().push(at);
            }
            let internal = node.status.addresses.iter().filter(|address| address.type_ == "InternalIP");
            for address in internal {
                known.addresses.entry(&address.address).or_default().push(at);
            }
            known.names.insert(node.name(), at);
        }
        known
    }

    fn candidate(&self, machine: &Machine) -> Result<Option<(usize, By)>, String> {
        let own = provider_id(machine.spec.provider_id.as_deref());
        let by_id = own.as_ref().and_then(|id| self.ids.get(id)).cloned().unwrap_or_default();
        if let Some(id) = own.as_ref().filter(|_| by_id.len() > 1) {
            return Err(format!("nodes {} all have the provider ID `{id}`", self.called(&by_id)));
        }
        if let Some(node) = by_id.first() {
            return Ok(Some((*node, By::Id)));
        }
        let addresses = machine.status.iter().flat_map(|status| &status.addresses);
        let internal = addresses.filter(|address| address.type_ == "InternalIP");
        let at: BTreeSet<usize> = internal
            .flat_map(|address| self.addresses.get(address.address.as_str()).into_iter().flatten().copied())
            // An address that went to another machine: its node says by its id that it is that other one.
            .filter(|node| {
                let theirs = provider_id(self.nodes[*node].spec.provider_id.as_deref());
                own.is_none() || theirs.is_none()
            })
            .collect();
        match at.len() {
            0 | 1 => Ok(at.first().map(|node| (*node, By::Address))),
            _ => {
                let at: Vec<usize> = at.into_iter().collect();
                Err(format!("nodes {} all have an address of this machine", self.called(&at)))
            }
        }
    }

    /// What is written down already counts: a link is not moved to another node while its node is there.
    fn beside_the_present(&self, machine: &Machine, node: usize) -> Found {
        let written = linked(machine).and_then(|name| self.names.get(name));
        match written {
            Some(present) if *present != node => Found::Ambiguous(format!(
                "it is linked to node `{}`, and looks like node `{}`",
                self.nodes[*present].name(),
                self.nodes[node].name()
            )),
            _ => Found::Node(node),
        }
    }

    fn called(&self, nodes: &[usize]) -> String {
        let mut names: Vec<String> =
            nodes.iter().map(|node| format!("`{}`", self.nodes[*node].name())).collect();
        names.sort();
        names.join(", ")
    }
}

/// A node is one machine: where several claim it, one that is linked to it stays, else one with its id, and else it is unknown.
fn settle_claims(
    machines: &[Machine],
    nodes: &[Arc<NodeObject>],
    found: &mut [Result<Option<(usize, By)>, String>],
) {
    let mut claims: BTreeMap<usize, Vec<(usize, By)>> = BTreeMap::new();
    for (machine, claim) in found.iter().enumerate() {
        if let Ok(Some((node, by))) = claim {
            claims.entry(*node).or_default().push((machine, *by));
        }
    }
    for (node, claimants) in claims.into_iter().filter(|(_, claimants)| claimants.len() > 1) {
        let name = nodes[node].name();
        let is_linked = |machine: usize| linked(&machines[machine]) == Some(name);
        let rank = |(machine, by): &(usize, By)| (is_linked(*machine), *by);
        let Some(best) = claimants.iter().map(rank).max() else { continue };
        let winners: Vec<usize> =
            claimants.iter().filter(|claim| rank(claim) == best).map(|(machine, _)| *machine).collect();
        for (machine, _) in &claimants {
            if winners != [*machine] {
                let others = claimants.iter().map(|(other, _)| *other).filter(|other| other != machine);
                let others: Vec<String> =
                    others.map(|other| format!("`{}`", machines[other].name_any())).collect();
                found[*machine] =
                    Err(format!("node `{name}` could be this machine or {}", others.join(", ")));
            }
        }
    }
}

/// The node that is written down.
pub(super) fn linked(machine: &Machine) -> Option<&str> {
    machine.status.as_ref()?.node_ref.as_ref()?.name.as_deref()
}

/// Some write them in capitals.
fn provider_id(id: Option<&str>) -> Option<String> {
    id.filter(|id| !id.is_empty()).map(str::to_ascii_lowercase)
}

/// What a node lacks of its machine, as a merge patch: whose it is, the labels and annotations it was promised, and taints.
/// Nothing is ever taken away.
pub(super) fn lacking(machine: &Machine, node: &NodeObject) -> Option<Value> {
    let namespace = machine.namespace().unwrap_or_default();
    let promised = machine.spec.metadata.clone().unwrap_or_default();
    let labels: BTreeMap<&String, &String> = promised
        .labels
        .iter()
        .filter(|(name, value)| label(&node.metadata, name) != Some(value.as_str()))
        .collect();
    let mut annotations = promised.annotations.clone();
    annotations.insert(MACHINE_OF_NODE.to_owned(), format!("{namespace}/{}", machine.name_any()));
    annotations.retain(|name, value| annotation(&node.metadata, name) != Some(value.as_str()));
    let has = |taint: &Taint| {
        node.spec.taints.iter().any(|own| (&own.key, &own.effect) == (&taint.key, &taint.effect))
    };
    let taints: Vec<&Taint> = machine.spec.taints.iter().filter(|taint| !has(taint)).collect();
    if labels.is_empty() && annotations.is_empty() && taints.is_empty() {
        return None;
    }
    let mut metadata = json!({"uid": node.metadata.uid});
    if !labels.is_empty() {
        metadata["labels"] = json!(labels);
    }
    if !annotations.is_empty() {
        metadata["annotations"] = json!(annotations);
    }
    let mut change = json!({"metadata": metadata});
    if !taints.is_empty() {
        // The list is one value to the API server: another writer's taint must not get lost.
        change["metadata"]["resourceVersion"] = json!(node.metadata.resource_version);
        let all: Vec<&Taint> = node.spec.taints.iter().chain(taints).collect();
        change["spec"] = json!({"taints": all});
    }
    Some(change)
}

#[cfg(test)]
mod tests;
