//! Rules that may be left out: few accounts may edit a compute cluster.

use std::collections::BTreeMap;

use slipway_engine::{Endpoint, Id, Resource};
use slipway_providers::vsphere::kinds::{VSphere, Wanted};

const PRIVILEGE: &str = "Host.Inventory.EditCluster";

/// Leaves out the rules that keep machines apart where the user may not make any, and says so. Where that cannot be told
/// they stay, and fail with the server's own words.
pub(super) async fn without_forbidden(
    platform: &VSphere,
    resources: Vec<Resource<Wanted>>,
    notes: &mut Vec<String>,
) -> Vec<Resource<Wanted>> {
    let mut rules: BTreeMap<Endpoint, Vec<(Id, String)>> = BTreeMap::new();
    for resource in &resources {
        if let Wanted::Apart(apart) = &resource.wanted {
            let rule = (resource.id.clone(), apart.compute_cluster.clone());
            rules.entry(resource.id.endpoint.clone()).or_default().push(rule);
        }
    }
    let mut forbidden = Vec::new();
    for (endpoint, rules) in rules {
        for (id, cluster) in rules {
            if may_edit(platform, &endpoint, &cluster).await == Some(false) {
                notes.push(format!(
                    "control-plane machines on {endpoint} will not be kept on different hosts: the user lacks {PRIVILEGE} on \
                     {cluster}"
                ));
                forbidden.push(id);
            }
        }
    }
    let mut resources = resources;
    resources.retain(|resource| !forbidden.contains(&resource.id));
    for resource in &mut resources {
        resource.needs.retain(|need| !forbidden.contains(need));
    }
    resources
}

async fn may_edit(platform: &VSphere, endpoint: &Endpoint, cluster: &str) -> Option<bool> {
    let client = platform.client(endpoint)?;
    let user = client.user().await.ok()?;
    let moref = client.find(cluster).await.ok()??;
    let held = client.privileges(&user, std::slice::from_ref(&moref)).await.ok()?;
    Some(held.get(&moref)?.contains(PRIVILEGE))
}
