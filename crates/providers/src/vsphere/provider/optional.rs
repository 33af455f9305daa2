//! Rules that may be left out: few accounts may edit a compute cluster.

use std::collections::BTreeMap;

use slipway_engine::{Id, Resource};
use tokio::task::JoinSet;

use crate::provider::Accounts;
use crate::vsphere::Client;
use crate::vsphere::kinds::{Desired, VSphere};

const PRIVILEGE: &str = "Host.Inventory.EditCluster";

/// Leaves out the rules that keep machines apart where the user may not make any, and says so. Where that cannot be told
/// they stay, and fail with the server's own words.
pub(super) async fn without_forbidden(
    platform: &VSphere,
    users: &Accounts,
    resources: Vec<Resource<Desired>>,
    notes: &mut Vec<String>,
) -> Vec<Resource<Desired>> {
    let mut asked = JoinSet::new();
    for resource in &resources {
        if let Desired::AntiAffinityRule(apart) = &resource.desired
            && let Some(Ok(user)) = users.get(&resource.id.endpoint)
            && let Some(client) = platform.client(&resource.id.endpoint).cloned()
        {
            let (id, user, cluster) = (resource.id.clone(), user.clone(), apart.compute_cluster.clone());
            asked.spawn(async move { (may_edit(&client, &user, &cluster).await, id, cluster) });
        }
    }
    let answers = asked.join_all().await.into_iter();
    let forbidden: BTreeMap<Id, String> =
        answers.filter(|(may, ..)| *may == Some(false)).map(|(_, id, cluster)| (id, cluster)).collect();
    for (Id { endpoint, .. }, cluster) in &forbidden {
        notes.push(format!(
            "control-plane machines on {endpoint} will not be kept on different hosts: the user lacks {PRIVILEGE} on \
             {cluster}"
        ));
    }
    let mut resources = resources;
    resources.retain(|resource| !forbidden.contains_key(&resource.id));
    for resource in &mut resources {
        resource.depends_on.retain(|need| !forbidden.contains_key(need));
    }
    resources
}

async fn may_edit(client: &Client, user: &str, cluster: &str) -> Option<bool> {
    let moref = client.find(cluster).await.ok()??;
    let held = client.privileges(user, std::slice::from_ref(&moref)).await.ok()?;
    Some(held.get(&moref)?.contains(PRIVILEGE))
}
