//! What the drivers need of a connection: privileges by kind of object, and tag categories.

use std::collections::BTreeSet;

use slipway_api::slipway::VDOConfigSpec;
use slipway_api::slipway::connection::ResourceKind;
use slipway_assets::drivers::privileges;

/// What the drivers of a cluster need of one connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demands {
    pub cloud: bool,
    pub storage: bool,
    pub file_volumes: bool,
    pub categories: BTreeSet<String>,
}

impl Demands {
    /// Of a connection by its name. Without a VDOConfig it only has to work.
    pub fn of(name: &str, config: Option<&VDOConfigSpec>) -> Self {
        let uses = |list: &Option<Vec<String>>| {
            list.as_ref().is_none_or(|names| names.iter().any(|used| used == name))
        };
        let mut demands = Demands::default();
        let Some(config) = config else { return demands };
        if let Some(cloud) = config.cloud_provider.as_ref().filter(|cloud| uses(&cloud.connections)) {
            demands.cloud = true;
            let topology = cloud.topology.iter();
            demands.categories.extend(
                topology
                    .flat_map(|topology| [topology.region_category.clone(), topology.zone_category.clone()]),
            );
        }
        if let Some(storage) = config.storage_provider.as_ref().filter(|storage| uses(&storage.connections)) {
            demands.storage = true;
            demands.file_volumes = storage
                .file_volumes
                .as_ref()
                .is_some_and(|files| files.clusters.iter().any(|clusters| clusters.connection == name));
            demands.categories.extend(storage.topology_categories.iter().cloned());
        }
        demands
    }

    /// Privileges on the vCenter itself, as the drivers' own documentation has them.
    pub(super) fn on_root(&self) -> BTreeSet<&'static str> {
        privileges::STORAGE_ROOT.into_iter().filter(|_| self.storage).collect()
    }

    /// Privileges on an object of a kind.
    pub(super) fn on(&self, kind: ResourceKind) -> BTreeSet<&'static str> {
        let special: &[&'static str] = match kind {
            ResourceKind::Datastore if self.storage => &privileges::STORAGE_DATASTORE,
            ResourceKind::Folder if self.storage => &privileges::STORAGE_MACHINES,
            ResourceKind::ComputeCluster if self.file_volumes => &privileges::STORAGE_FILE_CLUSTER,
            _ => &[],
        };
        special.iter().copied().chain([privileges::READ]).collect()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use slipway_api::slipway::connection::ResourceKind;

    use super::Demands;

    #[rstest]
    #[case::all(json!({"cloudProvider": {}, "storageProvider": {}}), true, true)]
    #[case::cloud(json!({"cloudProvider": {}}), true, false)]
    #[case::another(json!({"cloudProvider": {"connections": ["south"]}, "storageProvider": {"connections": ["north"]}}), false, true)]
    fn only_what_uses_it_counts(#[case] config: Value, #[case] cloud: bool, #[case] storage: bool) {
        let config = serde_json::from_value(config).unwrap();
        let demands = Demands::of("north", Some(&config));
        assert_eq!((demands.cloud, demands.storage), (cloud, storage));
        assert_eq!(demands.on_root().contains("Cns.Searchable"), storage);
        assert_eq!(demands.on(ResourceKind::Datastore).contains("Datastore.FileManagement"), storage);
    }

    #[test]
    fn categories_of_both_drivers() {
        let config = json!({
            "cloudProvider": {"topology": {"regionCategory": "region", "zoneCategory": "zone"}},
            "storageProvider": {"topologyCategories": ["zone", "rack"]},
        });
        let demands = Demands::of("north", Some(&serde_json::from_value(config).unwrap()));
        assert_eq!(demands.categories, ["rack", "region", "zone"].map(str::to_owned).into());
    }
}
