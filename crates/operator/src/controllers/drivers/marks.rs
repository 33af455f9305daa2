//! Where no cloud provider says which nodes are of a vCenter, the operator finds out, and labels them for the storage driver.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::{Api, Client};
use serde_json::json;
use slipway_assets::drivers::{Connection, NodeMark};
use slipway_providers::cluster::{AccessError, merge};
use slipway_providers::text::chain;
use slipway_providers::vsphere::Error;
use slipway_providers::vsphere::inventory::{self, Facet, Scope};
use slipway_providers::vsphere::machines::swapped;
use slipway_providers::vsphere::pool::Pool;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::runtime::nodes::{All, Label, Node};
use crate::runtime::sessions::Access;

/// How long a vCenter may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_mins(1);
/// How long logging out may take where no other controller needs the session.
const LOGOUT_TIMEOUT: Duration = Duration::from_secs(5);
/// Nodes that no vCenter knows are not asked about more often than this.
const LOOKUP_INTERVAL: Duration = Duration::from_mins(5);

/// A node that may be of a vCenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmarked {
    name: String,
    uuid: Option<Uuid>,
    /// Its id says so already.
    certain: bool,
}

/// Nodes without our label, except those that are surely of another kind.
pub fn unmarked(nodes: &All) -> Vec<Unmarked> {
    let of = |(name, node): (&String, &Node)| {
        let certain = node.is_of_vsphere();
        let wanted = !node.has(Label::Mark(NodeMark::Slipway)) && (certain || node.provider_id.is_empty());
        wanted.then(|| Unmarked { name: name.clone(), uuid: node.uuid.parse().ok(), certain })
    };
    nodes.iter().filter_map(of).collect()
}

/// Who was not found, and when.
#[derive(Debug)]
pub struct Search {
    pool: Pool,
    last: Option<(Instant, Vec<Unmarked>)>,
}

impl Search {
    /// With clients that other controllers use, too.
    pub fn new(pool: Pool) -> Self {
        Search { pool, last: None }
    }

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
                match timeout(LOOKUP_TIMEOUT, uuids(&self.pool, connection)).await {
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
            let ids = node.uuid.iter().flat_map(|id| [*id, swapped(*id)]);
            let found = node.certain || ids.into_iter().any(|id| machines.contains(&id));
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
async fn uuids(pool: &Pool, connection: &Connection) -> Result<BTreeSet<Uuid>, Error> {
    let lease = Access::of(connection).lease(pool)?;
    let found = inventory::read(lease.client(), &Scope::of([Facet::MachineIds])).await;
    lease.end(LOGOUT_TIMEOUT).await;
    Ok(found?.machines().filter_map(|(_, machine)| machine.uuid).collect())
}
