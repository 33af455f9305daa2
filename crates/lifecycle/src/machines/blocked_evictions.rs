//! Which pods disruption budgets would keep if nodes were drained now.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ListParams;
use kube::{Api, Client};
use slipway_assess::machines::disruption::{self, BlockedEviction};
use slipway_providers::cluster::{AccessError, call};

/// Pods of nodes are listed node by node up to this many; of more, all at once.
const MAX_NODES: usize = 20;

/// Asks for the pods of some nodes, and all budgets.
pub async fn blocked_evictions(client: &Client, nodes: &[&str]) -> Result<Vec<BlockedEviction>, AccessError> {
    if nodes.is_empty() {
        return Ok(Vec::new());
    }
    let all: Api<PodDisruptionBudget> = Api::all(client.clone());
    let budgets = call("listing disruption budgets", all.list(&ListParams::default())).await?.items;
    let all: Api<Pod> = Api::all(client.clone());
    let mut pods = Vec::new();
    if nodes.len() > MAX_NODES {
        let is_there = |pod: &Pod| {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            node.is_some_and(|node| nodes.contains(&node))
        };
        let listed = call("listing pods", all.list(&ListParams::default())).await?.items;
        pods.extend(listed.into_iter().filter(is_there));
    } else {
        for node in nodes {
            let here = ListParams::default().fields(&format!("spec.nodeName={node}"));
            pods.extend(call(&format!("listing the pods of node `{node}`"), all.list(&here)).await?.items);
        }
    }
    Ok(disruption::blocked_evictions(&pods, &budgets))
}
