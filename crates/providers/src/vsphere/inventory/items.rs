//! The objects that were read, as a plain value.

use std::collections::HashMap;

use super::facts::{Cluster, Datastore, Facts, Host, Machine};
use super::paths::ancestry;
use crate::vsphere::moref::Reference;
use crate::vsphere::paths::is_name_of;

/// An object of the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub id: Reference,
    /// With names as vCenter stores them. Only the name, without a slash before it, where the way to the root is not seen.
    pub path: String,
    pub facts: Facts,
}

/// Objects in the order in which they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    items: Vec<Item>,
    by_id: HashMap<Reference, usize>,
    by_path: HashMap<String, usize>,
    /// Objects whose way to the root is not seen: machines in a vApp, for instance.
    unplaced: Vec<Item>,
}

impl Item {
    /// As vCenter stores it.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether people call it so.
    pub fn is_called(&self, name: &str) -> bool {
        is_name_of(name, self.name())
    }

    pub fn is(&self, kind: &str) -> bool {
        &*self.id.kind == kind
    }

    pub fn is_cluster(&self) -> bool {
        self.is("ClusterComputeResource") || self.is("ComputeResource")
    }

    pub fn is_pool(&self) -> bool {
        self.is("ResourcePool") || self.is("VirtualApp")
    }

    pub fn cluster(&self) -> Option<&Cluster> {
        match &self.facts {
            Facts::Cluster(cluster) => Some(cluster),
            _ => None,
        }
    }

    pub fn host(&self) -> Option<&Host> {
        match &self.facts {
            Facts::Host(host) => Some(host),
            _ => None,
        }
    }

    pub fn datastore(&self) -> Option<&Datastore> {
        match &self.facts {
            Facts::Datastore(datastore) => Some(datastore),
            _ => None,
        }
    }

    pub fn machine(&self) -> Option<&Machine> {
        match &self.facts {
            Facts::Machine(machine) => Some(machine),
            _ => None,
        }
    }

    /// What is in a folder, if that was read.
    pub fn contents(&self) -> &[Reference] {
        match &self.facts {
            Facts::Folder(contents) => contents,
            _ => &[],
        }
    }
}

impl FromIterator<Item> for Inventory {
    fn from_iter<T: IntoIterator<Item = Item>>(items: T) -> Self {
        let mut inventory = Inventory::default();
        for item in items {
            inventory.add(item);
        }
        inventory
    }
}

impl Inventory {
    /// One that is known already is replaced. Of two at the same path the first is found by it.
    pub fn add(&mut self, item: Item) {
        if !item.path.starts_with('/') {
            self.unplaced.push(item);
            return;
        }
        if let Some(known) = self.by_id.get(&item.id).and_then(|at| self.items.get_mut(*at)) {
            *known = item;
            return;
        }
        self.by_id.insert(item.id.clone(), self.items.len());
        self.by_path.entry(item.path.clone()).or_insert(self.items.len());
        self.items.push(item);
    }

    /// Leaves out what does not fit.
    pub fn retain(&mut self, fits: impl Fn(&Item) -> bool) {
        let items = std::mem::take(self);
        *self = items.items.into_iter().chain(items.unplaced).filter(|item| fits(item)).collect();
    }

    /// All objects that have a place.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// All objects, those without a place too.
    pub fn all(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().chain(&self.unplaced)
    }

    /// All machines and templates.
    pub fn machines(&self) -> impl Iterator<Item = (&Item, &Machine)> {
        self.all().filter_map(|item| Some((item, item.machine()?)))
    }

    pub fn item(&self, id: &Reference) -> Option<&Item> {
        self.items.get(*self.by_id.get(id)?)
    }

    pub fn facts_mut(&mut self, id: &Reference) -> Option<&mut Facts> {
        self.items.get_mut(*self.by_id.get(id)?).map(|item| &mut item.facts)
    }

    pub fn at(&self, path: &str) -> Option<&Item> {
        self.items.get(*self.by_path.get(path)?)
    }

    /// What an object is in.
    pub fn parent(&self, item: &Item) -> Option<&Item> {
        ancestry(&item.path).nth(1).and_then(|path| self.at(path))
    }

    /// What is at a path, and everything above it.
    pub fn upwards<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a Item> {
        ancestry(path).filter_map(|path| self.at(path))
    }

    /// The datacenter a path is in.
    pub fn datacenter_of(&self, path: &str) -> Option<&Item> {
        self.upwards(path).find(|item| item.is("Datacenter"))
    }

    /// Whether a path leads to machines and their folders.
    pub fn is_for_machines(&self, path: &str) -> bool {
        let branch = |datacenter: &Item| {
            let rest = path.strip_prefix(&datacenter.path)?.strip_prefix("/vm")?;
            Some(rest.is_empty() || rest.starts_with('/'))
        };
        self.datacenter_of(path).and_then(branch).unwrap_or_default()
    }

    /// A network as a cluster sees it: by name, by its path, or by a path below the cluster.
    pub fn networks_called<'a>(&'a self, cluster: &'a Item, name: &str) -> Vec<&'a Item> {
        let of_cluster = cluster.cluster().map(|cluster| cluster.networks.as_slice()).unwrap_or_default();
        let short = name.strip_prefix(&format!("{}/", cluster.path)).unwrap_or(name);
        let called = |item: &&Item| item.path == name || item.is_called(short);
        of_cluster.iter().filter_map(|id| self.item(id)).filter(called).collect()
    }

    /// The cluster a machine runs in.
    pub fn cluster_of(&self, machine: &Machine) -> Option<&Item> {
        self.parent(self.item(machine.host.as_ref()?)?)
    }

    /// Whether a pool is the one that every cluster has.
    pub fn is_root_pool(&self, pool: &Item) -> bool {
        self.parent(pool).is_some_and(Item::is_cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::{Facts, Inventory, Item};
    use crate::vsphere::moref::Reference;

    fn item(kind: &str, id: &str, path: &str) -> Item {
        Item { id: Reference::new(kind, id), path: path.to_owned(), facts: Facts::Nothing }
    }

    #[test]
    fn objects_are_found_by_id_by_path_and_from_below() {
        let mut inventory: Inventory = [
            item("Folder", "group-d1", "/"),
            item("Datacenter", "datacenter-1", "/dc"),
            item("Folder", "group-v1", "/dc/vm"),
            item("Network", "network-1", "/dc/network/a"),
            item("DistributedVirtualPortgroup", "dvportgroup-1", "/dc/network/a"),
            item("VirtualMachine", "vm-1", "in-a-vapp"),
        ]
        .into_iter()
        .collect();
        let folder = inventory.at("/dc/vm").unwrap();
        assert_eq!(inventory.parent(folder).unwrap().path, "/dc");
        assert!(inventory.parent(inventory.at("/").unwrap()).is_none());
        assert_eq!(inventory.datacenter_of("/dc/vm/new").unwrap().path, "/dc");
        assert!(inventory.is_for_machines("/dc/vm/new") && !inventory.is_for_machines("/dc/vms"));
        assert_eq!(&*inventory.at("/dc/network/a").unwrap().id.kind, "Network", "the first of two");
        assert!(inventory.item(&Reference::new("DistributedVirtualPortgroup", "dvportgroup-1")).is_some());
        assert_eq!(inventory.all().count(), 6);
        inventory.retain(|item| !item.is("Network"));
        assert_eq!(&*inventory.at("/dc/network/a").unwrap().id.kind, "DistributedVirtualPortgroup");
        assert_eq!((inventory.items().len(), inventory.all().count()), (4, 5));
    }
}
