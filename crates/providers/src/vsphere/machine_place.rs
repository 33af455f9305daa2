//! In which region and zone a compute cluster is, by the tags on it and above it.

use std::collections::BTreeMap;

use super::client::Client;
use super::error::Error;
use super::moref::MoRef;

/// The tags of the nearest object that has one of each category.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachinePlace {
    pub region: Option<String>,
    pub zone: Option<String>,
}

impl MachinePlace {
    /// Reads it, for a compute cluster by its inventory path. Some ten calls: the same for all machines of the cluster.
    pub async fn read(
        client: &Client,
        compute_cluster: &str,
        region: &str,
        zone: &str,
    ) -> Result<Self, Error> {
        let mut objects: Vec<MoRef> = Vec::new();
        for path in ancestry(compute_cluster) {
            objects.extend(client.find(path).await?);
        }
        let tags = client.named_tags_of(&objects, &[region, zone]).await?;
        let nearest = |category: &str| nearest(&objects, &tags, category);
        Ok(MachinePlace { region: nearest(region), zone: nearest(zone) })
    }
}

/// A path and those above it, the nearest first.
fn ancestry(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(parent, _)| parent))
        .filter(|path| !path.is_empty())
}

fn nearest(
    objects: &[MoRef],
    tags: &BTreeMap<MoRef, Vec<(String, String)>>,
    category: &str,
) -> Option<String> {
    let mut all = objects.iter().filter_map(|object| tags.get(object)).flatten();
    all.find(|(known, _)| known == category).map(|(_, name)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::{MoRef, ancestry, nearest};
    use crate::vsphere::Reference;

    #[test]
    fn the_nearest_tag_counts() {
        let paths: Vec<&str> = ancestry("/eu/dc1/host/compute").collect();
        assert_eq!(paths, ["/eu/dc1/host/compute", "/eu/dc1/host", "/eu/dc1", "/eu"]);
        let object = |id: &str| MoRef { vcenter: "vc".into(), reference: Reference::new("Folder", id) };
        let tag = |category: &str, name: &str| (category.to_owned(), name.to_owned());
        let objects = [object("cluster"), object("dc")];
        let tags = [
            (object("cluster"), vec![tag("zone", "a")]),
            (object("dc"), vec![tag("zone", "far"), tag("region", "eu")]),
        ];
        let tags = tags.into_iter().collect();
        assert_eq!(nearest(&objects, &tags, "zone").as_deref(), Some("a"));
        assert_eq!(nearest(&objects, &tags, "region").as_deref(), Some("eu"));
        assert_eq!(nearest(&objects, &tags, "rack"), None);
    }
}
