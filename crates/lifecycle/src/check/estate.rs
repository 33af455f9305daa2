//! What was read of a vCenter, as a plain value: the rules look at this and ask nobody.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::paths::is_name_of;
use slipway_providers::vsphere::storage::Volume;
use uuid::Uuid;

pub(super) use crate::preflight::Clocks;

/// What a part of a vCenter answered; why not, if it did not.
pub(super) type Part<T> = Result<T, String>;

/// What was read of one vCenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Estate {
    pub(super) server: String,
    /// The user of the session, with its domain.
    pub(super) user: String,
    pub(super) version: String,
    pub(super) api_version: String,
    pub(super) build: String,
    pub(super) uuid: String,
    pub(super) clocks: Option<Clocks>,
    /// Sessions of this user; none where the user may not see it.
    pub(super) sessions: Option<usize>,
    /// Whether tasks can be seen.
    pub(super) tasks: Part<()>,
    pub(super) inventory: Inventory,
    /// Machines that may be nodes.
    pub(super) machines: Vec<Machine>,
    /// What this version knows.
    pub(super) known_privileges: BTreeSet<String>,
    pub(super) privileges: Part<BTreeMap<Reference, BTreeSet<String>>>,
    /// Category and name of each object's tags.
    pub(super) tags: Part<BTreeMap<Reference, Vec<(String, String)>>>,
    /// Names of storage policies, if anybody needs to know.
    pub(super) policies: Part<Option<BTreeSet<String>>>,
    /// The first volumes of this cluster, and how many there are.
    pub(super) volumes: Part<Option<(Vec<Volume>, u64)>>,
    /// Milliseconds, measurement by measurement.
    pub(super) latencies: Part<BTreeMap<Reference, Vec<i64>>>,
    pub(super) expires: Part<Timestamp>,
}

/// Objects that have a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Inventory {
    items: HashMap<Reference, Item>,
    by_path: HashMap<String, Reference>,
}

/// An object of the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) id: Reference,
    pub(super) parent: Option<Reference>,
    /// With names as vCenter stores them.
    pub(super) path: String,
    pub(super) kind: Kind,
}

/// What is known of an object beyond its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Place,
    Cluster(Cluster),
    Host(Host),
    Datastore(Datastore),
}

/// A cluster of hosts, or a host that stands alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cluster {
    pub(super) networks: Vec<Reference>,
    pub(super) host_groups: BTreeMap<String, Vec<Reference>>,
    pub(super) machine_groups: BTreeSet<String>,
    /// Rules by name: the group of machines and the group of hosts they bind.
    pub(super) rules: BTreeMap<String, (String, String)>,
}

/// An ESXi host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) version: String,
    pub(super) api_version: String,
}

/// A datastore.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Datastore {
    pub(super) kind: String,
    pub(super) url: String,
    pub(super) accessible: bool,
    pub(super) maintenance: bool,
}

/// A virtual machine whose id is that of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) id: Reference,
    pub(super) path: String,
    pub(super) uuid: Uuid,
    /// 15 of `vmx-15`.
    pub(super) hardware: Option<u32>,
    pub(super) disk_uuid: bool,
    pub(super) change_tracking: bool,
    pub(super) host: Option<Reference>,
    pub(super) pool: Option<Reference>,
}

impl Item {
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn cluster(&self) -> Option<&Cluster> {
        match &self.kind {
            Kind::Cluster(cluster) => Some(cluster),
            _ => None,
        }
    }

    pub(super) fn host(&self) -> Option<&Host> {
        match &self.kind {
            Kind::Host(host) => Some(host),
            _ => None,
        }
    }

    pub(super) fn datastore(&self) -> Option<&Datastore> {
        match &self.kind {
            Kind::Datastore(datastore) => Some(datastore),
            _ => None,
        }
    }
}

impl Inventory {
    pub(super) fn add(&mut self, item: Item) {
        self.by_path.insert(item.path.clone(), item.id.clone());
        self.items.insert(item.id.clone(), item);
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        self.items.values()
    }

    pub(super) fn item(&self, id: &Reference) -> Option<&Item> {
        self.items.get(id)
    }

    pub(super) fn at(&self, path: &str) -> Option<&Item> {
        self.items.get(self.by_path.get(path)?)
    }

    pub(super) fn parent(&self, item: &Item) -> Option<&Item> {
        self.item(item.parent.as_ref()?)
    }

    /// An object and everything above it, by what it is in and not by its name.
    pub(super) fn upwards<'a>(&'a self, item: &'a Item) -> impl Iterator<Item = &'a Item> {
        std::iter::successors(Some(item), |item| self.parent(item))
    }

    /// A network as a cluster sees it: by name, by its path, or by a path below the cluster.
    pub(super) fn networks_called<'a>(&'a self, cluster: &'a Item, name: &str) -> Vec<&'a Item> {
        let of_cluster = cluster.cluster().map(|cluster| cluster.networks.as_slice()).unwrap_or_default();
        let short = name.strip_prefix(&format!("{}/", cluster.path)).unwrap_or(name);
        let called = |item: &&Item| item.path == name || is_name_of(short, item.name());
        of_cluster.iter().filter_map(|id| self.item(id)).filter(called).collect()
    }

    /// The cluster a machine runs in.
    pub(super) fn cluster_of(&self, machine: &Machine) -> Option<&Item> {
        let host = self.item(machine.host.as_ref()?)?;
        self.parent(host)
    }

    /// Whether a pool is the one that every cluster has.
    pub(super) fn is_root_pool(&self, pool: &Item) -> bool {
        self.parent(pool).is_some_and(|parent| parent.cluster().is_some())
    }
}
