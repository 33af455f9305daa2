//! What a vCenter has, as a plain value: the rules look at this and ask nobody.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::paths::is_name_of;

/// What was read of one vCenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Estate {
    pub(super) depth: Depth,
    /// The user of the session, with its domain.
    pub(super) user: String,
    pub(super) version: String,
    pub(super) build: String,
    pub(super) clock: Option<Clocks>,
    pub(super) items: Vec<Item>,
    /// Why tags are not known, if they should be.
    pub(super) tags: Result<Tags, String>,
    /// What this version knows.
    pub(super) known_privileges: BTreeSet<String>,
    pub(super) privileges: Result<BTreeMap<Reference, BTreeSet<String>>, String>,
}

/// How far reading came, in the order of reading: a vCenter may fall silent at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// Its version, and who we are there.
    Server,
    Clock,
    /// Where everything is.
    Inventory,
    Hosts,
    /// Templates, and names that are taken.
    Machines,
    Tags,
    /// Everything.
    Privileges,
}

impl Depth {
    /// What comes behind it, as people call it.
    pub(super) fn beyond(self) -> Vec<&'static str> {
        let stages = [
            (Depth::Clock, "the clock"),
            (Depth::Inventory, "the inventory"),
            (Depth::Hosts, "hosts"),
            (Depth::Machines, "templates and taken names"),
            (Depth::Tags, "tags"),
            (Depth::Privileges, "privileges"),
        ];
        stages.into_iter().filter(|(stage, _)| *stage > self).map(|(_, what)| what).collect()
    }
}

/// What two clocks said at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clocks {
    pub(crate) theirs: Timestamp,
    pub(crate) ours: Timestamp,
}

/// An object of the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) id: Reference,
    /// With names as vCenter stores them.
    pub(super) path: String,
    pub(super) facts: Facts,
}

/// What is known of an object beyond its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Facts {
    Nothing,
    Cluster(Cluster),
    Host(Host),
    Datastore(Datastore),
    Machine(Machine),
}

/// A cluster of hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cluster {
    pub(super) hosts: Vec<Reference>,
    pub(super) datastores: Vec<Reference>,
    pub(super) networks: Vec<Reference>,
    pub(super) drs: bool,
    pub(super) host_groups: BTreeMap<String, Vec<Reference>>,
    /// Groups of machines, and rules.
    pub(super) machine_names: BTreeSet<String>,
}

/// An ESXi host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) version: String,
    pub(super) build: String,
    pub(super) connected: bool,
    pub(super) maintenance: bool,
    pub(super) threads: u32,
    pub(super) memory_mib: u64,
    pub(super) used_mib: u64,
}

/// A datastore.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Datastore {
    pub(super) accessible: bool,
    pub(super) maintenance: bool,
    pub(super) free_gib: u64,
}

/// A machine or a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) template: bool,
    /// 15 of `vmx-15`.
    pub(super) hardware: Option<u32>,
    pub(super) disks_gib: Vec<u64>,
    pub(super) product: Option<String>,
    pub(super) instance_uuid: String,
}

/// Tags, as far as they were asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tags {
    /// Category and name of each object's tags.
    pub(super) attached: BTreeMap<Reference, Vec<(String, String)>>,
    /// The ids of all tags there are.
    pub(super) ids: BTreeSet<String>,
}

impl Item {
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether people call it so.
    pub(super) fn is_called(&self, name: &str) -> bool {
        is_name_of(name, self.name())
    }

    pub(super) fn is_cluster(&self) -> bool {
        matches!(&*self.id.kind, "ClusterComputeResource" | "ComputeResource")
    }

    pub(super) fn is_pool(&self) -> bool {
        matches!(&*self.id.kind, "ResourcePool" | "VirtualApp")
    }

    pub(super) fn cluster(&self) -> Option<&Cluster> {
        match &self.facts {
            Facts::Cluster(cluster) => Some(cluster),
            _ => None,
        }
    }

    pub(super) fn host(&self) -> Option<&Host> {
        match &self.facts {
            Facts::Host(host) => Some(host),
            _ => None,
        }
    }

    pub(super) fn machine(&self) -> Option<&Machine> {
        match &self.facts {
            Facts::Machine(machine) => Some(machine),
            _ => None,
        }
    }
}

impl Host {
    /// Whether machines can be started on it now.
    pub(super) fn is_usable(&self) -> bool {
        self.connected && !self.maintenance
    }
}

impl Estate {
    pub(super) fn at(&self, path: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.path == path)
    }

    pub(super) fn item(&self, id: &Reference) -> Option<&Item> {
        self.items.iter().find(|item| item.id == *id)
    }

    /// What is there at the path, or at the nearest one above it.
    pub(super) fn nearest(&self, path: &str) -> Option<&Item> {
        ancestry(path).find_map(|path| self.at(path))
    }

    /// The datacenter an object is in.
    pub(super) fn datacenter_of(&self, path: &str) -> Option<&Item> {
        ancestry(path).filter_map(|path| self.at(path)).find(|item| &*item.id.kind == "Datacenter")
    }

    /// Whether a path leads to machines and their folders, which are made as they are needed.
    pub(super) fn is_for_machines(&self, path: &str) -> bool {
        let branch = |datacenter: &Item| {
            let rest = path.strip_prefix(&datacenter.path)?.strip_prefix("/vm")?;
            Some(rest.is_empty() || rest.starts_with('/'))
        };
        self.datacenter_of(path).and_then(branch).unwrap_or_default()
    }

    /// A network as a cluster sees it: by name, by its path, or by a path below the cluster.
    pub(super) fn networks_called<'a>(&'a self, cluster: &'a Item, name: &str) -> Vec<&'a Item> {
        let of_cluster = cluster.cluster().map(|cluster| cluster.networks.as_slice()).unwrap_or_default();
        let items = of_cluster.iter().filter_map(|id| self.item(id));
        let short = name.strip_prefix(&format!("{}/", cluster.path)).unwrap_or(name);
        items.filter(|item| item.path == name || item.is_called(short)).collect()
    }
}

/// A path and everything above it, up to the root.
pub(super) fn ancestry(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| match path.rfind('/') {
        Some(0) if path.len() > 1 => Some("/"),
        Some(0) | None => None,
        Some(at) => Some(&path[..at]),
    })
}

#[cfg(test)]
mod tests {
    use super::ancestry;

    #[test]
    fn paths_lead_up_to_the_root() {
        let up: Vec<&str> = ancestry("/dc/vm/a").collect();
        assert_eq!(up, ["/dc/vm/a", "/dc/vm", "/dc", "/"]);
        assert_eq!(ancestry("/").collect::<Vec<_>>(), ["/"]);
    }
}
