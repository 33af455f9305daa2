//! What is known of an object beyond its place. What was not in the scope, or may not be seen, has the default value.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::vsphere::moref::Reference;

const GIB: u64 = 1 << 30;

/// What is known of an object, by its kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Facts {
    /// Its place says it all.
    #[default]
    Nothing,
    /// What is in a folder.
    Folder(Vec<Reference>),
    Cluster(Cluster),
    Host(Host),
    Datastore(Datastore),
    Network(Network),
    Machine(Machine),
}

/// A compute cluster, or the compute resource of a host that stands alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    pub hosts: Vec<Reference>,
    pub datastores: Vec<Reference>,
    pub networks: Vec<Reference>,
    pub drs: bool,
    pub host_groups: BTreeMap<String, Vec<Reference>>,
    pub vm_groups: BTreeSet<String>,
    /// Names of all rules.
    pub rules: BTreeSet<String>,
    /// Rules that bind a group of machines to a group of hosts, by name.
    pub vm_host_rules: BTreeMap<String, (String, String)>,
}

/// An ESXi host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    pub version: String,
    pub api_version: String,
    pub build: String,
    pub connected: bool,
    pub maintenance: bool,
    pub threads: u32,
    pub memory_mib: u64,
    pub used_mib: u64,
}

/// A datastore.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Datastore {
    /// `VMFS`, `vsan` and so on.
    pub kind: String,
    pub url: String,
    /// `None` where the vCenter does not say.
    pub accessible: Option<bool>,
    /// In maintenance mode, or entering it.
    pub maintenance: bool,
    pub free_bytes: Option<u64>,
    pub capacity_bytes: Option<u64>,
}

/// A network or port group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Network {
    /// Whether it carries the uplinks of a distributed switch: no machine belongs on it.
    pub uplinks: bool,
}

/// A virtual machine or a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The BIOS id.
    pub uuid: Option<Uuid>,
    pub instance_uuid: Option<Uuid>,
    pub template: bool,
    /// 15 of `vmx-15`.
    pub hardware: Option<u32>,
    pub disk_uuid: bool,
    pub change_tracking: bool,
    pub host: Option<Reference>,
    pub pool: Option<Reference>,
    /// Sizes, rounded up: a disk that is a little larger does not fit.
    pub disks_gib: Vec<u64>,
    /// The version of the appliance it was made from.
    pub product: Option<String>,
    /// The cluster it says it is of.
    pub cluster_mark: Option<String>,
    /// The id it says it was made with: a copy says that of its original.
    pub object_mark: Option<String>,
}

impl Cluster {
    /// Whether a group of machines or a rule has this name.
    pub fn has_vm_group_or_rule(&self, name: &str) -> bool {
        self.vm_groups.contains(name) || self.rules.contains(name)
    }
}

impl Host {
    /// Whether machines can be started on it now.
    pub fn is_usable(&self) -> bool {
        self.connected && !self.maintenance
    }
}

impl Datastore {
    pub fn free_gib(&self) -> u64 {
        self.free_bytes.unwrap_or_default() / GIB
    }
}
