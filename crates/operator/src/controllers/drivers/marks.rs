//! Where no cloud provider says which nodes are of a vCenter, the operator finds out, and labels them for the storage driver.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::{Api, Client};
use serde_json::json;
use slipway_assets::drivers::{Connection, NodeMark};
use slipway_providers::cluster::{AccessError, merge};
use slipway_providers::text::chain;
use slipway_providers::vsphere::inventory::{self, Facet, Scope};
use slipway_providers::vsphere::{self, Endpoint, Error, Login};
use tokio::time::{Instant, timeout};

use crate::runtime::nodes::{All, Label, Node};

/// How long a vCenter may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_mins(1);
/// Nodes that no vCenter knows are not asked about more often than this.
const LOOKUP_INTERVAL: Duration = Duration::from_mins(5);

/// A node that may be of a vCenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmarked {
    name: String,
    uuid: String,
    /// Its id says so already.
    certain: bool,
}

/// Nodes without our label, except those that are surely of another kind.
pub fn unmarked(nodes: &All) -> Vec<Unmarked> {
    let of = |(name, node): (&String, &Node)| {
        let certain = node.is_of_vsphere();
        let wanted = !node.has(Label::Mark(NodeMark::Slipway)) && (certain || node.provider_id.is_empty());
        wanted.then(|| Unmarked { name: name.clone(), uuid: node.uuid.to_lowercase(), certain })
    };
    nodes.iter().filter_map(of).collect()
}

/// Machines report the first three parts of their id in either order of bytes.
fn forms(uuid: &str) -> [String; 2] {
    let swap = |part: &str| {
        let bytes: Vec<&str> =
            (0..part.len() / 2).rev().filter_map(|at| part.get(at * 2..at * 2 + 2)).collect();
        bytes.concat()
    };
    let parts: Vec<String> = uuid
        .split('-')
        .enumerate()
        .map(|(at, part)| if at < 3 { swap(part) } else { part.to_owned() })
        .collect();
    [uuid.to_owned(), parts.join("-")]
}

/// Who was not found, and when.
#[derive(Debug, Default)]
pub struct Search {
    last: Option<(Instant, Vec<Unmarked>)>,
}

impl Search {
    /// Looks for the machines of nodes, one pass over each vCenter, and labels those that were found. A vCenter that
    /// does not answer leaves its nodes for later.
    pub async fn mark(
        &mut self,
        client: &Client,
        unmarked: Vec<Unmarked>,
        connections: &[Connection],
    ) -> Result<(), AccessError> {
        let known = self
            .last
            .as_ref()
            .is_some_and(|(when, who)| when.elapsed() < LOOKUP_INTERVAL && *who == unmarked);
        if unmarked.is_empty() || known {
            return Ok(());
        }
        let mut machines = BTreeSet::new();
        if unmarked.iter().any(|node| !node.certain) {
            for connection in connections {
                match timeout(LOOKUP_TIMEOUT, uuids(connection)).await {
                    Ok(Ok(found)) => machines.extend(found),
                    Ok(Err(error)) => {
                        tracing::warn!(
                            connection = connection.name,
                            error = chain(&error),
                            "nodes were not looked for"
                        );
                    }
                    Err(_) => tracing::warn!(connection = connection.name, "looking for nodes took too long"),
                }
            }
        }
        let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(client.clone());
        let mut left = Vec::new();
        for node in unmarked {
            let found = node.certain || forms(&node.uuid).iter().any(|form| machines.contains(form));
            if !found {
                left.push(node);
                continue;
            }
            let patch = json!({"metadata": {"labels": {NodeMark::Slipway.label(): ""}}});
            merge(&nodes, &node.name, &format!("labelling the node `{}`", node.name), &patch).await?;
            tracing::info!(node = node.name, "its machine is in a vCenter");
        }
        self.last = Some((Instant::now(), left));
        Ok(())
    }
}

/// The ids of all machines of a vCenter.
async fn uuids(connection: &Connection) -> Result<BTreeSet<String>, Error> {
    let endpoint = Endpoint::new(&connection.server, connection.port, &connection.tls);
    let login = Login { user: connection.user.clone(), password: connection.password.expose().into() };
    let client = vsphere::Client::new(endpoint, login)?;
    let found = inventory::read(&client, &Scope::of([Facet::MachineIds])).await;
    // A session that is left behind ends by itself.
    let _ = client.logout().await;
    Ok(found?.machines().filter_map(|(_, machine)| Some(machine.uuid?.to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::forms;

    #[test]
    fn both_orders_of_bytes() {
        let [given, swapped] = forms("42166f45-6f10-6d46-4b2d-7f7e4f5b7a01");
        assert_eq!(given, "42166f45-6f10-6d46-4b2d-7f7e4f5b7a01");
        assert_eq!(swapped, "456f1642-106f-466d-4b2d-7f7e4f5b7a01");
    }
}
