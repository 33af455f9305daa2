//! `VDOConfig`: which drivers a cluster has, and how they are set up.

#![expect(unreachable_pub, reason = "the derive copies types into functions of its own")]

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::schema;
use super::vdo_status::VDOConfigStatus;

/// Which drivers a cluster has, and how they are set up.
#[skip_serializing_none]
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "slipway.dev",
    version = "v1alpha1",
    kind = "VDOConfig",
    status = "VDOConfigStatus",
    derive = "PartialEq",
    shortname = "vdo",
    category = "slipway",
    doc = "The vSphere drivers of the cluster: the cloud provider, the storage driver, or both. There is one, named \
           `cluster`. What is left out has the default that most clusters need.",
    validation = Rule::new("self.metadata.name == 'cluster'").message("metadata.name of a VDOConfig must be cluster, since only one may exist"),
    printcolumn(
        name = "Cloud Provider",
        type_ = "string",
        json_path = ".status.cloudProvider.deployedVersion"
    ),
    printcolumn(name = "Storage", type_ = "string", json_path = ".status.storageProvider.deployedVersion"),
    printcolumn(
        name = "Available",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Available\")].status"
    ),
    printcolumn(
        name = "Progressing",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Progressing\")].status"
    ),
    printcolumn(
        name = "Degraded",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Degraded\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.cloudProvider) || has(self.storageProvider)")
    .message("give cloudProvider, storageProvider or both; `{}` takes all defaults"))]
#[x_kube(validation = Rule::new(
    "!has(self.updatePolicy) || self.updatePolicy == 'disabled' \
     || (has(self.cloudProvider) && !has(self.cloudProvider.version)) \
     || (has(self.storageProvider) && !has(self.storageProvider.version))"
).message("a pinned version switches automatic upgrades off, and every driver is pinned: \
           leave updatePolicy out, or write disabled"))]
pub struct VDOConfigSpec {
    /// The cloud provider: it gives nodes their id, addresses, zones and instance type. As it is installed here it never
    /// deletes a node. Without it none is installed, for example because another one is there.
    pub cloud_provider: Option<CloudProvider>,
    /// The storage driver: it makes, attaches and resizes volumes. Without it none is installed.
    pub storage_provider: Option<StorageProvider>,
    // The definition has the description of the type here.
    pub update_policy: Option<UpdatePolicy>,
    /// Where images come from, for sites without access to the public registries.
    pub images: Option<Images>,
    /// Which health checks of vCenters and nodes are made, and count. Default: all.
    pub checks: Option<Checks>,
}

/// Which health checks are made, and count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Checks {
    /// Whether checks are made: every hour, after a failure sooner, and when something they depend on changes.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Codes of checks that are silent, such as `node-latency`: no condition, metric or event comes of them. `slipway check`
    /// shows the codes. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::check_codes")]
    pub silenced: Vec<String>,
}

impl Default for Checks {
    fn default() -> Self {
        Checks { enabled: yes(), silenced: Vec::new() }
    }
}

/// When drivers are upgraded without being asked: `latest`, to the newest version that fits; `lts`, to newer patches
/// of the installed line as long as that fits; `disabled`, never. Default: `latest`. A driver with a pinned version is
/// not upgraded, whatever is said here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpdatePolicy {
    /// To the newest version that fits.
    #[default]
    Latest,
    /// To newer patches only, as long as the installed line fits.
    Lts,
    /// Never.
    Disabled,
}

/// Where images come from.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Images {
    /// A registry, with a path if need be, that takes the place of the registry in every image reference:
    /// `mirror.example.com/vsphere`.
    #[schemars(
        length(max = 255),
        extend("pattern" = "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$")
    )]
    pub registry: Option<String>,
    /// Secrets for pulling images, in the operator's namespace. They are copied to where the drivers run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "set"))]
    pub pull_secrets: Vec<String>,
}

/// Settings of the cloud provider.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudProvider {
    /// Names of the VSphereConnections it uses. Default: all in the operator's namespace.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "set"))]
    pub connections: Option<Vec<String>>,
    /// The version to install, such as 1.34.0, whatever newer ones there are. It must be in the compatibility matrix.
    #[schemars(length(max = 64), extend("pattern" = "^[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$"))]
    pub version: Option<String>,
    /// Where a node's region and zone come from. Without it nodes have neither.
    pub topology: Option<CloudTopology>,
    /// Which of a machine's addresses are the node's. Without it the first one that fits is taken.
    pub node_addresses: Option<NodeAddresses>,
}

/// Tag categories of regions and zones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudTopology {
    /// The tag category of regions, such as `k8s-region`.
    #[schemars(length(min = 1, max = 256))]
    pub region_category: String,
    /// The tag category of zones, such as `k8s-zone`. Every node needs a tag of both, or it stays uninitialised.
    #[schemars(length(min = 1, max = 256))]
    pub zone_category: String,
}

/// Which of a machine's addresses are the node's.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeAddresses {
    /// Address families: `ipv4`, `ipv6` or both. Default: `ipv4`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2), extend("x-kubernetes-list-type" = "set"))]
    pub families: Vec<IpFamily>,
    /// Networks of internal addresses, such as `10.0.0.0/16`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 49), regex(pattern = "^[0-9a-fA-F.:]+/[0-9]{1,3}$")))]
    pub internal_subnets: Vec<String>,
    /// Networks of external addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 49), regex(pattern = "^[0-9a-fA-F.:]+/[0-9]{1,3}$")))]
    pub external_subnets: Vec<String>,
    /// Networks that internal addresses are not in: put the cluster's virtual addresses here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 49), regex(pattern = "^[0-9a-fA-F.:]+/[0-9]{1,3}$")))]
    pub excluded_internal_subnets: Vec<String>,
    /// Networks that external addresses are not in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 49), regex(pattern = "^[0-9a-fA-F.:]+/[0-9]{1,3}$")))]
    pub excluded_external_subnets: Vec<String>,
    /// The vSphere network of internal addresses.
    #[schemars(length(min = 1, max = 256))]
    pub internal_network: Option<String>,
    /// The vSphere network of external addresses.
    #[schemars(length(min = 1, max = 256))]
    pub external_network: Option<String>,
}

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IpFamily {
    Ipv4,
    Ipv6,
}

impl IpFamily {
    /// The word in the driver's configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            IpFamily::Ipv4 => "ipv4",
            IpFamily::Ipv6 => "ipv6",
        }
    }
}

/// Settings of the storage driver.
#[skip_serializing_none]
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "!has(oldSelf.clusterId) || (has(self.clusterId) && self.clusterId == oldSelf.clusterId)"
).message("clusterId cannot change: the vCenters know the volumes by it"))]
#[x_kube(validation = Rule::new(
    "!has(self.migration) || !has(self.connections) || size(self.connections) == 1"
).message("volumes of the old in-tree driver can be migrated with a single vCenter only: \
           leave migration out, or name one connection"))]
#[x_kube(validation = Rule::new(
    "!has(self.connections) || !has(self.fileVolumes) || !has(self.fileVolumes.clusters) \
     || self.fileVolumes.clusters.all(entry, entry.connection in self.connections)"
).message("fileVolumes.clusters names a connection that is not among connections"))]
pub struct StorageProvider {
    /// Names of the VSphereConnections it uses. Default: all in the operator's namespace.
    #[schemars(length(min = 1, max = 5), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "set"))]
    pub connections: Option<Vec<String>>,
    /// The version to install, such as 3.7.0, whatever newer ones there are. It must be in the compatibility matrix.
    #[schemars(length(max = 64), extend("pattern" = "^[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$"))]
    pub version: Option<String>,
    /// The id under which the vCenters know the volumes of this cluster. No two clusters on a vCenter may share one.
    /// Default: one that the operator makes from the cluster's own.
    #[schemars(length(min = 1, max = 64))]
    pub cluster_id: Option<String>,
    /// Tag categories that say where a node is, from the widest to the narrowest. Needed with several vCenters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 5), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "set"))]
    pub topology_categories: Vec<String>,
    /// Where the kubelet of the nodes keeps its files.
    #[serde(default = "kubelet_path")]
    #[schemars(length(max = 255), extend("pattern" = "^(/[A-Za-z0-9._-]+)+$"))]
    pub kubelet_path: String,
    /// Most volumes per node. More than 59 need vSphere 8 and additional controllers in the machines.
    #[serde(default = "volumes_per_node")]
    #[schemars(range(min = 1, max = 255))]
    pub max_volumes_per_node: u32,
    /// Volumes that several nodes can write to, on vSAN file shares. Without it any host may mount them.
    pub file_volumes: Option<FileVolumes>,
    /// Snapshots of volumes.
    #[serde(default)]
    pub snapshots: Snapshots,
    /// Takes over volumes that the driver inside of old Kubernetes made. With a single vCenter only.
    pub migration: Option<Migration>,
    /// The StorageClass that is made for you. Without it none is.
    pub storage_class: Option<StorageClassSettings>,
}

fn kubelet_path() -> String {
    "/var/lib/kubelet".to_owned()
}

fn volumes_per_node() -> u32 {
    59
}

impl Default for StorageProvider {
    fn default() -> Self {
        StorageProvider {
            connections: None,
            version: None,
            cluster_id: None,
            topology_categories: Vec::new(),
            kubelet_path: kubelet_path(),
            max_volumes_per_node: volumes_per_node(),
            file_volumes: None,
            snapshots: Snapshots::default(),
            migration: None,
            storage_class: None,
        }
    }
}

/// Settings of file volumes.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileVolumes {
    /// vSAN clusters whose file service holds the volumes. Default: all that have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 5),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["connection"])
    )]
    pub clusters: Vec<FileClusters>,
    /// Who may mount the volumes. Default: every client may read and write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub net_permissions: Vec<NetPermission>,
}

/// vSAN clusters of a vCenter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileClusters {
    /// Name of the VSphereConnection.
    #[schemars(length(min = 1, max = 253))]
    pub connection: String,
    /// Ids of the clusters, such as `domain-c8`.
    #[schemars(length(min = 1, max = 32), inner(length(min = 1, max = 64)))]
    pub clusters: Vec<String>,
}

/// Who may do what with file volumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetPermission {
    /// Addresses: one, a range, a network, or `*` for all.
    #[serde(default = "everybody")]
    #[schemars(length(min = 1, max = 255))]
    pub ips: String,
    /// What they may do.
    #[serde(default)]
    pub permissions: Access,
    /// Whether root on a client is nobody on the volume.
    #[serde(default)]
    pub root_squash: bool,
}

fn everybody() -> String {
    "*".to_owned()
}

/// What clients may do with a file volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Access {
    #[default]
    ReadWrite,
    ReadOnly,
    NoAccess,
}

/// Settings of snapshots.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshots {
    /// Whether the driver can make snapshots. They need vSphere 7.0.3 or newer, and the snapshot controller.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Most snapshots of a volume. Each slows the volume down; vSphere allows 32.
    #[serde(default = "snapshots_per_volume")]
    #[schemars(range(min = 1, max = 32))]
    pub max_per_volume: u32,
    /// Most snapshots of a volume on vSAN, where they cost less.
    #[schemars(range(min = 1, max = 32))]
    pub max_per_vsan_volume: Option<u32>,
    /// Most snapshots of a volume on vVols.
    #[schemars(range(min = 1, max = 32))]
    pub max_per_vvol_volume: Option<u32>,
}

fn yes() -> bool {
    true
}

fn snapshots_per_volume() -> u32 {
    3
}

impl Default for Snapshots {
    fn default() -> Self {
        Snapshots {
            enabled: yes(),
            max_per_volume: snapshots_per_volume(),
            max_per_vsan_volume: None,
            max_per_vvol_volume: None,
        }
    }
}

/// Settings for volumes of the old in-tree driver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Migration {
    /// Where their StorageClasses without a datastore put volumes: the URL of a datastore, `ds:///vmfs/volumes/…/`.
    #[serde(rename = "datastoreURL")]
    #[schemars(length(max = 1024), extend("pattern" = "^ds:///"))]
    pub datastore_url: String,
}

/// A StorageClass that is made for you.
#[skip_serializing_none]
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!(has(self.storagePolicy) && has(self.datastoreURL))")
    .message("give storagePolicy or datastoreURL, not both"))]
pub struct StorageClassSettings {
    /// Its name.
    #[serde(default = "class_name")]
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Whether claims that name no class get it.
    #[serde(default = "yes", rename = "default")]
    pub is_default: bool,
    /// The storage policy of its volumes. It must exist in every vCenter.
    #[schemars(length(min = 1, max = 256))]
    pub storage_policy: Option<String>,
    /// The datastore of its volumes, by URL: `ds:///vmfs/volumes/…/`. For one vCenter.
    #[serde(rename = "datastoreURL")]
    #[schemars(length(max = 1024), extend("pattern" = "^ds:///"))]
    pub datastore_url: Option<String>,
    /// The file system of its volumes.
    #[serde(default)]
    pub file_system: FileSystem,
}

fn class_name() -> String {
    "vsphere".to_owned()
}

impl Default for StorageClassSettings {
    fn default() -> Self {
        StorageClassSettings {
            name: class_name(),
            is_default: true,
            storage_policy: None,
            datastore_url: None,
            file_system: FileSystem::default(),
        }
    }
}

/// File systems of block volumes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    #[default]
    Ext4,
    Xfs,
}

impl FileSystem {
    /// The word for mkfs.
    pub fn as_str(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
        }
    }
}
