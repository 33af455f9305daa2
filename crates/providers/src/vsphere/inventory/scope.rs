//! What is to be read of a vCenter.

use std::collections::{BTreeMap, BTreeSet};

use super::PLACED;

/// Single entries of a machine's extra configuration: all of it may be megabytes.
const CLUSTER_MARK_PATH: &str = "config.extraConfig[\"slipway.dev/cluster\"]";
const OBJECT_MARK_PATH: &str = "config.extraConfig[\"slipway.dev/id\"]";

/// A kind of object, or something about objects of a kind. Name and place always come with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Facet {
    Datacenters,
    Folders,
    /// What is in each folder.
    FolderContents,
    /// Compute clusters, and hosts that stand alone.
    Clusters,
    ClusterHosts,
    ClusterDatastores,
    ClusterNetworks,
    /// DRS, groups and rules: they come with all settings of a cluster.
    ClusterSettings,
    ResourcePools,
    /// Hosts and their versions.
    Hosts,
    /// Whether hosts can be used, and how much they have.
    HostCapacity,
    /// Datastores, their state and their space.
    Datastores,
    Networks,
    /// Which networks are for uplinks.
    NetworkTags,
    Machines,
    /// The BIOS ids of machines.
    MachineIds,
    /// What nodes must be like.
    NodeMachines,
    /// What templates must be like, and the ids of machines.
    Templates,
    /// Whose machines are.
    Marks,
}

impl Facet {
    fn properties(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Facet::Datacenters => ("Datacenter", &[]),
            Facet::Folders => ("Folder", &[]),
            Facet::FolderContents => ("Folder", &["childEntity"]),
            Facet::Clusters => ("ComputeResource", &[]),
            Facet::ClusterHosts => ("ComputeResource", &["host"]),
            Facet::ClusterDatastores => ("ComputeResource", &["datastore"]),
            Facet::ClusterNetworks => ("ComputeResource", &["network"]),
            Facet::ClusterSettings => ("ComputeResource", &["configurationEx"]),
            Facet::ResourcePools => ("ResourcePool", &[]),
            Facet::Hosts => ("HostSystem", &["summary.config.product"]),
            Facet::HostCapacity => (
                "HostSystem",
                &[
                    "runtime.connectionState",
                    "runtime.inMaintenanceMode",
                    "summary.hardware",
                    "summary.quickStats",
                ],
            ),
            Facet::Datastores => ("Datastore", &["summary"]),
            Facet::Networks => ("Network", &[]),
            Facet::NetworkTags => ("Network", &["tag"]),
            Facet::Machines => ("VirtualMachine", &[]),
            Facet::MachineIds => ("VirtualMachine", &["config.uuid"]),
            Facet::NodeMachines => (
                "VirtualMachine",
                &[
                    "config.uuid",
                    "config.template",
                    "config.version",
                    "config.flags.diskUuidEnabled",
                    "config.changeTrackingEnabled",
                    "runtime.host",
                    "resourcePool",
                ],
            ),
            Facet::Marks => (
                "VirtualMachine",
                &["config.instanceUuid", "config.template", CLUSTER_MARK_PATH, OBJECT_MARK_PATH],
            ),
            Facet::Templates => (
                "VirtualMachine",
                &[
                    "config.template",
                    "config.version",
                    "config.instanceUuid",
                    "config.hardware.device",
                    "config.vAppConfig.product",
                ],
            ),
        }
    }
}

/// What is to be read, in as many calls whatever it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    facets: BTreeSet<Facet>,
}

impl Scope {
    pub fn of(facets: impl IntoIterator<Item = Facet>) -> Self {
        Scope { facets: facets.into_iter().collect() }
    }

    /// The same with more, if it is to be read.
    #[must_use]
    pub fn with(mut self, facet: Facet, wanted: bool) -> Self {
        self.facets.extend(wanted.then_some(facet));
        self
    }

    /// Properties by kind of object.
    pub(super) fn properties(&self) -> BTreeMap<&'static str, Vec<&'static str>> {
        let mut kinds: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for facet in &self.facets {
            let (kind, properties) = facet.properties();
            let known = kinds.entry(kind).or_insert_with(|| BTreeSet::from(PLACED));
            known.extend(properties);
        }
        kinds.into_iter().map(|(kind, properties)| (kind, properties.into_iter().collect())).collect()
    }
}

#[cfg(test)]
mod tests {
    use slipway_config::ids::{CLUSTER_MARK, OBJECT_MARK};

    use super::{CLUSTER_MARK_PATH, Facet, OBJECT_MARK_PATH, Scope};
    use crate::vsphere::machines::mark_path;

    #[test]
    fn marks_are_where_machines_carry_them() {
        assert_eq!(mark_path(CLUSTER_MARK), CLUSTER_MARK_PATH);
        assert_eq!(mark_path(OBJECT_MARK), OBJECT_MARK_PATH);
    }

    #[test]
    fn facets_of_a_kind_are_read_together_and_once() {
        let scope = Scope::of([Facet::Clusters, Facet::ClusterHosts, Facet::Templates, Facet::NodeMachines])
            .with(Facet::ClusterSettings, false)
            .with(Facet::Datacenters, true);
        let properties = scope.properties();
        let kinds: Vec<&str> = properties.keys().copied().collect();
        assert_eq!(kinds, ["ComputeResource", "Datacenter", "VirtualMachine"]);
        assert_eq!(properties["Datacenter"], ["name", "parent"]);
        assert_eq!(properties["ComputeResource"], ["host", "name", "parent"]);
        let shared = properties["VirtualMachine"].iter().filter(|name| **name == "config.template");
        assert_eq!(shared.count(), 1);
    }
}
