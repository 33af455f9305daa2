//! How much a vCenter should be asked to do at once.

use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::budget::Budgets;
use slipway_engine::{Endpoint, Graph};
use tokio::task::JoinSet;

use super::{Desired, VCenter, VSphere};
use crate::vsphere::properties::PropertySpec;

/// Tasks of ours at once. vCenter runs about 640 operations for everybody (VMware's performance team, 2021); a fifth of it
/// is enough for us.
const TASKS: u32 = 128;

/// What a host has for provisioning; a full clone takes 4 units, a linked one 1 (from the same source).
const UNITS_PER_HOST: u32 = 16;

impl VSphere {
    /// Budgets for what a graph wants. A cluster whose hosts cannot be counted gets that of one host, and those that are
    /// `silent` are not asked.
    pub async fn budgets(&self, graph: &Graph<Desired>, silent: &BTreeMap<Endpoint, String>) -> Budgets {
        let mut budgets = Budgets::default();
        let mut counts = JoinSet::new();
        for (endpoint, vcenter) in &self.vcenters {
            budgets.limit(endpoint, "tasks", TASKS);
            for cluster in clusters(graph, endpoint) {
                let (endpoint, vcenter, cluster) = (endpoint.clone(), vcenter.clone(), cluster.to_owned());
                let answers = !silent.contains_key(&endpoint);
                counts.spawn(async move {
                    let hosts = if answers { vcenter.hosts_of(&cluster).await } else { None };
                    (endpoint, cluster, hosts.unwrap_or(1))
                });
            }
        }
        for (endpoint, cluster, hosts) in counts.join_all().await {
            budgets.limit(&endpoint, &cluster, hosts.max(1) * UNITS_PER_HOST);
            budgets.limit(&endpoint, &format!("rules of {cluster}"), 1);
        }
        budgets
    }
}

fn clusters<'a>(graph: &'a Graph<Desired>, endpoint: &Endpoint) -> BTreeSet<&'a str> {
    let here = graph.iter().filter(|resource| resource.id.endpoint == *endpoint);
    here.filter_map(|resource| match &resource.desired {
        Desired::Machine(machine) => Some(machine.compute_cluster.as_str()),
        Desired::AntiAffinityRule(apart) => Some(apart.compute_cluster.as_str()),
        Desired::VmGroup(zone) => Some(zone.compute_cluster.as_str()),
        _ => None,
    })
    .filter(|cluster| !cluster.is_empty())
    .collect()
}

impl VCenter {
    async fn hosts_of(&self, cluster: &str) -> Option<u32> {
        let moref = self.client.find(cluster).await.ok()??;
        let desired = [PropertySpec { kind: "ComputeResource", properties: &["host"] }];
        let objects = self.client.retrieve(&[moref], &desired).await.ok()?;
        u32::try_from(objects.first()?.references("host").len()).ok()
    }
}
