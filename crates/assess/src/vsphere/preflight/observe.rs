//! Reading a vCenter: few calls, however many failure domains it has.
//!
//! | call | what for |
//! |---|---|
//! | service content, login, logout | |
//! | one pass over the inventory: view, pages, end of view | where everything is |
//! | one read of the objects that matter | hosts, groups, what is in the folders |
//! | two reads of machines, or one where all were in the pass | which names are taken, and what templates are like |
//! | session and authorization manager together | who we are, which privileges there are |
//! | current time | |
//! | tags: one call for all objects, one per region and zone, up to three per category | |

mod machines;
mod tags;

use std::collections::BTreeSet;
use std::time::Duration;

use slipway_providers::vsphere::inventory::{self, Facet, Inventory, Item, Scope, ancestry};
use slipway_providers::vsphere::{Client, Error, Reference};
use tokio::time::timeout;

use super::expected::{ExpectedDomain, ExpectedObjects};
use super::snapshot::{Depth, Privileges, Tags, VCenterSnapshot};
use crate::runner::Clock;
use crate::text::reason;
use crate::vsphere::clock;
use crate::vsphere::managers::{self, Extent, Managers};

const EVERYTHING: [Facet; 9] = [
    Facet::Datacenters,
    Facet::Folders,
    Facet::Clusters,
    Facet::ClusterHosts,
    Facet::ClusterDatastores,
    Facet::ClusterNetworks,
    Facet::ResourcePools,
    Facet::Datastores,
    Facet::Networks,
];

const DETAILS: [Facet; 4] =
    [Facet::ClusterSettings, Facet::Hosts, Facet::HostCapacity, Facet::FolderContents];

/// Everything but the user's privileges, which depend on what is found. What was read stays in `seen` when the rest
/// fails, or takes too long. Tags may take `tagging` at most.
pub(super) async fn observe<'a>(
    client: &Client,
    wanted: &ExpectedObjects,
    clocks: &Clock,
    tagging: Duration,
    seen: &'a mut Option<VCenterSnapshot>,
) -> Result<&'a mut VCenterSnapshot, Error> {
    let about = client.content().await?.about.clone();
    // The first call logs in, which takes its time; the clock is asked afterwards.
    let Managers { user, privileges, .. } = managers::read(client, Extent::Account).await?;
    let snapshot = seen.insert(VCenterSnapshot {
        depth: Depth::Server,
        version: about.version,
        build: about.build,
        clock: None,
        inventory: Inventory::default(),
        tags: Ok(Tags::default()),
        privileges: Privileges::of(user, privileges),
    });
    snapshot.clock = clock::read(client, clocks).await?;
    snapshot.depth = Depth::Clock;
    let scope = Scope::of(EVERYTHING).with(Facet::Machines, machines::are_anywhere(wanted));
    let inventory = &mut snapshot.inventory;
    *inventory = inventory::read(client, &scope).await?;
    snapshot.depth = Depth::Inventory;

    inventory.learn(client, worth_a_look(wanted, inventory), &Scope::of(DETAILS)).await?;
    snapshot.depth = Depth::Hosts;
    machines::read(client, wanted, inventory).await?;
    snapshot.depth = Depth::Machines;
    // Tags are another service of the vCenter; when it is down the rest is known all the same.
    snapshot.tags = match timeout(tagging, tags::read(client, wanted, snapshot)).await {
        Ok(read) => read.map_err(|error| reason(&error)),
        Err(_) => Err(format!("no answer within {tagging:?}")),
    };
    snapshot.depth = Depth::Tags;
    Ok(snapshot)
}

/// The objects of failure domains, as far as they are there: clusters, their hosts, and folders of machines.
fn worth_a_look(wanted: &ExpectedObjects, inventory: &Inventory) -> BTreeSet<Reference> {
    let mut ids = BTreeSet::new();
    for site in &wanted.sites {
        for cluster in inventory.items().iter().filter(|item| is_cluster_of(site, item)) {
            ids.insert(cluster.id.clone());
            ids.extend(cluster.cluster().map(|facts| &facts.hosts).into_iter().flatten().cloned());
        }
        let folders = machines::folders(site);
        ids.extend(folders.iter().filter_map(|path| inventory.at(path)).map(|item| item.id.clone()));
    }
    ids
}

/// Whether an item is the cluster of a failure domain, or one of that name somewhere in its datacenter: names of
/// old configurations are not paths yet.
fn is_cluster_of(site: &ExpectedDomain, item: &Item) -> bool {
    let Some(path) = &site.cluster else { return false };
    let name = path.rsplit('/').next().unwrap_or_default();
    let within = item.path.strip_prefix(&site.datacenter).is_some_and(|rest| rest.starts_with('/'));
    item.is_cluster() && within && item.is_called(name)
}

/// Items whose tags matter for a failure domain, from the bottom up.
fn tagged<'a>(site: &ExpectedDomain, inventory: &'a Inventory) -> Vec<&'a Item> {
    let clusters = inventory.items().iter().filter(|item| is_cluster_of(site, item));
    let mut tagged: Vec<&Item> = Vec::new();
    for cluster in clusters {
        if let (Some(facts), true) = (cluster.cluster(), site.vm_group.is_some()) {
            tagged.extend(facts.hosts.iter().filter_map(|id| inventory.item(id)));
        }
        tagged.extend(ancestry(&cluster.path).filter_map(|path| inventory.at(path)));
    }
    tagged.extend(ancestry(&site.datacenter).filter_map(|path| inventory.at(path)));
    tagged
}
