//! What answers are chosen from, in one pass over a vCenter.

use std::collections::{BTreeMap, BTreeSet};

use slipway_config::ids::{REGION_CATEGORY, ZONE_CATEGORY};
use slipway_providers::vsphere::inventory::{self, Facet, Facts, Inventory, Item, Scope};
use slipway_providers::vsphere::paths::unescape;
use slipway_providers::vsphere::{Client, Error, MoRef, Reference};

const EVERYTHING: [Facet; 8] = [
    Facet::Datacenters,
    Facet::Folders,
    Facet::Clusters,
    Facet::ClusterDatastores,
    Facet::ClusterNetworks,
    Facet::Datastores,
    Facet::Networks,
    Facet::NetworkTags,
];

/// What a cluster can be put on, as far as the user may see it. All lists are sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists {
    pub datacenters: Vec<Datacenter>,
}

/// A datacenter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Datacenter {
    /// Its path without the leading slash, which is its name unless it is in a folder.
    pub name: String,
    /// The region its tag names.
    pub region: Option<String>,
    pub clusters: Vec<Cluster>,
}

/// A compute cluster, and what its hosts reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    pub path: String,
    /// The zone its tag names.
    pub zone: Option<String>,
    pub datastores: Vec<Datastore>,
    /// By name, or by path where two have the same name.
    pub networks: Vec<String>,
}

/// A datastore.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Datastore {
    pub path: String,
    /// Free and all bytes, where the vCenter says so.
    pub space: Option<(u64, u64)>,
}

impl Lists {
    pub fn datacenter(&self, name: &str) -> Option<&Datacenter> {
        self.datacenters.iter().find(|datacenter| datacenter.name == name)
    }

    /// All compute clusters by path.
    pub fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.datacenters.iter().flat_map(|datacenter| &datacenter.clusters)
    }

    pub fn cluster(&self, path: &str) -> Option<&Cluster> {
        self.clusters().find(|cluster| cluster.path == path)
    }
}

pub(super) async fn read(client: &Client) -> Result<Lists, Error> {
    let inventory = inventory::read(client, &Scope::of(EVERYTHING)).await?;
    let tags = tags(client, &inventory).await;
    Ok(assemble(&inventory, &tags))
}

fn assemble(inventory: &Inventory, tags: &BTreeMap<Reference, String>) -> Lists {
    let of_kind = |kind: &'static str| inventory.items().iter().filter(move |item| item.is(kind));
    let datacenters = of_kind("Datacenter").map(|datacenter| {
        let below = format!("{}/host/", datacenter.path);
        let clusters = of_kind("ClusterComputeResource").filter(|item| item.path.starts_with(&below));
        let mut clusters: Vec<Cluster> = clusters
            .map(|item| Cluster { zone: tags.get(&item.id).cloned(), ..cluster(item, inventory) })
            .collect();
        clusters.sort_by(|a, b| a.path.cmp(&b.path));
        let name = datacenter.path.trim_start_matches('/').to_owned();
        Datacenter { name, region: tags.get(&datacenter.id).cloned(), clusters }
    });
    let mut datacenters: Vec<Datacenter> = datacenters.collect();
    datacenters.sort_by(|a, b| a.name.cmp(&b.name));
    Lists { datacenters }
}

fn cluster(item: &Item, inventory: &Inventory) -> Cluster {
    let facts = item.cluster().cloned().unwrap_or_default();
    let reached =
        |ids: &[Reference]| -> Vec<&Item> { ids.iter().filter_map(|id| inventory.item(id)).collect() };
    let mut datastores: Vec<Datastore> =
        reached(&facts.datastores).into_iter().filter_map(datastore).collect();
    datastores.sort_by(|a, b| a.path.cmp(&b.path));
    let carries_uplinks = |item: &Item| matches!(item.facts, Facts::Network(network) if network.uplinks);
    let networks: Vec<(String, String)> = reached(&facts.networks)
        .into_iter()
        .filter(|network| !carries_uplinks(network))
        .map(|network| (unescape(network.name()).into_owned(), network.path.clone()))
        .collect();
    Cluster { path: item.path.clone(), zone: None, datastores, networks: told_apart(&networks) }
}

/// None where it cannot be used.
fn datastore(item: &Item) -> Option<Datastore> {
    let facts = item.datastore().filter(|facts| facts.accessible != Some(false) && !facts.maintenance)?;
    Some(Datastore { path: item.path.clone(), space: facts.free_bytes.zip(facts.capacity_bytes) })
}

/// Names, sorted; paths of those that share a name.
fn told_apart(networks: &[(String, String)]) -> Vec<String> {
    let shared = |name: &str| networks.iter().filter(|(other, _)| other == name).count() > 1;
    let shown: BTreeSet<String> =
        networks.iter().map(|(name, path)| if shared(name) { path.clone() } else { name.clone() }).collect();
    shown.into_iter().collect()
}

/// Regions of datacenters and zones of clusters. They are only suggestions: without them, or without the
/// privilege to read them, people think of names themselves.
async fn tags(client: &Client, inventory: &Inventory) -> BTreeMap<Reference, String> {
    let wanted = |id: &Reference| match &*id.kind {
        "Datacenter" => Some(REGION_CATEGORY),
        "ClusterComputeResource" => Some(ZONE_CATEGORY),
        _ => None,
    };
    let ids = inventory.items().iter().map(|item| &item.id).filter(|id| wanted(id).is_some());
    let tagged: Vec<MoRef> = ids.map(|id| client.moref(id.clone())).collect();
    let named = client.named_tags_of(&tagged, &[REGION_CATEGORY, ZONE_CATEGORY]).await.unwrap_or_default();
    let name = |(object, tags): (MoRef, Vec<(String, String)>)| {
        let category = wanted(&object.reference)?;
        let (_, name) = tags.into_iter().find(|(other, _)| *other == category)?;
        Some((object.reference, name))
    };
    named.into_iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::told_apart;

    #[test]
    fn networks_of_one_name_are_told_apart() {
        let network = |name: &str, path: &str| (name.to_owned(), path.to_owned());
        let networks =
            [network("b", "/dc/network/b"), network("a", "/dc/network/x/a"), network("a", "/dc/network/a")];
        assert_eq!(told_apart(&networks), ["/dc/network/a", "/dc/network/x/a", "b"]);
    }
}
