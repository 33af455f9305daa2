//! An inventory in one pass over a vCenter.

use std::collections::{BTreeMap, BTreeSet};

use slipway_providers::vsphere::error::Error;
use slipway_providers::vsphere::paths::unescape;
use slipway_providers::vsphere::properties::{Object, Wanted};
use slipway_providers::vsphere::{Client, MoRef};

use super::{Cluster, Datacenter, Datastore, Inventory};

/// The categories of the tags that name regions and zones, as OpenShift calls them.
const REGION: &str = "openshift-region";
const ZONE: &str = "openshift-zone";

/// The tag of the port groups that carry a distributed switch's uplinks: no machine belongs on one.
const UPLINKS: &str = "SYSTEM/DVS.UPLINKPG";

const WANTED: [Wanted<'static>; 4] = [
    Wanted { kind: "Datacenter", properties: &["name"] },
    Wanted { kind: "ClusterComputeResource", properties: &["name", "datastore", "network"] },
    Wanted {
        kind: "Datastore",
        properties: &[
            "name",
            "summary.accessible",
            "summary.maintenanceMode",
            "summary.freeSpace",
            "summary.capacity",
        ],
    },
    Wanted { kind: "Network", properties: &["name", "tag"] },
];

pub(super) async fn inventory(client: &Client) -> Result<Inventory, Error> {
    let root = client.manager("rootFolder").await?;
    let objects = client.retrieve_below(&root, &WANTED).await?;
    let morefs: Vec<MoRef> = objects.iter().map(|object| object.moref.clone()).collect();
    let paths: BTreeMap<MoRef, String> = morefs.iter().cloned().zip(client.paths(&morefs).await?).collect();
    let tags = tags(client, &objects).await;
    Ok(assemble(&objects, &paths, &tags))
}

fn assemble(
    objects: &[Object],
    paths: &BTreeMap<MoRef, String>,
    tags: &BTreeMap<MoRef, String>,
) -> Inventory {
    let path = |moref: &MoRef| paths.get(moref).cloned().unwrap_or_default();
    let of_kind =
        |kind: &'static str| objects.iter().filter(move |object| &*object.moref.reference.kind == kind);
    let datastores: BTreeMap<&MoRef, Datastore> = of_kind("Datastore")
        .filter(|object| usable(object))
        .map(|object| (&object.moref, Datastore { path: path(&object.moref), space: space(object) }))
        .collect();
    let networks: BTreeMap<&MoRef, &Object> = objects
        .iter()
        .filter(|object| NETWORKS.contains(&&*object.moref.reference.kind) && !carries_uplinks(object))
        .map(|object| (&object.moref, object))
        .collect();
    let mut datacenters: Vec<Datacenter> = of_kind("Datacenter")
        .map(|object| {
            let datacenter = path(&object.moref);
            let below = format!("{datacenter}/host/");
            let mut clusters: Vec<Cluster> = of_kind("ClusterComputeResource")
                .filter(|cluster| path(&cluster.moref).starts_with(&below))
                .map(|cluster| {
                    let mut reached: Vec<Datastore> = cluster
                        .references("datastore")
                        .iter()
                        .filter_map(|moref| datastores.get(moref).cloned())
                        .collect();
                    reached.sort_by(|a, b| a.path.cmp(&b.path));
                    let attached: Vec<(String, String)> = cluster
                        .references("network")
                        .iter()
                        .filter_map(|moref| networks.get(moref))
                        .map(|network| (unescape(network.text("name")).into_owned(), path(&network.moref)))
                        .collect();
                    Cluster {
                        path: path(&cluster.moref),
                        zone: tags.get(&cluster.moref).cloned(),
                        datastores: reached,
                        networks: told_apart(&attached),
                    }
                })
                .collect();
            clusters.sort_by(|a, b| a.path.cmp(&b.path));
            let name = datacenter.trim_start_matches('/').to_owned();
            Datacenter { name, region: tags.get(&object.moref).cloned(), clusters }
        })
        .collect();
    datacenters.sort_by(|a, b| a.name.cmp(&b.name));
    Inventory { datacenters }
}

const NETWORKS: [&str; 3] = ["Network", "DistributedVirtualPortgroup", "OpaqueNetwork"];

/// Names, sorted; paths of those that share a name.
fn told_apart(networks: &[(String, String)]) -> Vec<String> {
    let shared = |name: &str| networks.iter().filter(|(other, _)| other == name).count() > 1;
    let shown: BTreeSet<String> =
        networks.iter().map(|(name, path)| if shared(name) { path.clone() } else { name.clone() }).collect();
    shown.into_iter().collect()
}

fn usable(datastore: &Object) -> bool {
    let normal = matches!(datastore.text("summary.maintenanceMode"), "" | "normal");
    datastore.text("summary.accessible") != "false" && normal
}

fn space(datastore: &Object) -> Option<(u64, u64)> {
    let bytes = |property: &str| datastore.text(property).parse::<u64>().ok();
    bytes("summary.freeSpace").zip(bytes("summary.capacity"))
}

fn carries_uplinks(network: &Object) -> bool {
    let tags = network.properties.get("tag").map(|tags| tags.children.as_slice()).unwrap_or_default();
    tags.iter().any(|tag| tag.text_of("key") == UPLINKS)
}

/// Regions of datacenters and zones of clusters. They are only suggestions: without them, or without the
/// privilege to read them, people think of names themselves.
async fn tags(client: &Client, objects: &[Object]) -> BTreeMap<MoRef, String> {
    let tagged: Vec<MoRef> = objects
        .iter()
        .map(|object| &object.moref)
        .filter(|moref| matches!(&*moref.reference.kind, "Datacenter" | "ClusterComputeResource"))
        .cloned()
        .collect();
    let named = client.named_tags_of(&tagged, &[REGION, ZONE]).await.unwrap_or_default();
    let wanted = |object: &MoRef| if &*object.reference.kind == "Datacenter" { REGION } else { ZONE };
    let name = |(object, tags): (MoRef, Vec<(String, String)>)| {
        let (_, name) = tags.into_iter().find(|(category, _)| *category == wanted(&object))?;
        Some((object, name))
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
