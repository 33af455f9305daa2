//! What failure domains name, and whether it is there.

use slipway_providers::vsphere::inventory::{Inventory, Item};

use crate::finding::Judgement;

/// Of what else there is, the names that are listed where one is missing.
const MAX_LISTED: usize = 8;

/// A kind of object that a failure domain names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Datacenter,
    ComputeCluster,
    ResourcePool,
    Datastore,
    Folder,
    Network,
    HostGroup,
}

impl Place {
    /// What people call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Place::Datacenter => "datacenter",
            Place::ComputeCluster => "compute cluster",
            Place::ResourcePool => "resource pool",
            Place::Datastore => "datastore",
            Place::Folder => "folder",
            Place::Network => "network",
            Place::HostGroup => "group of hosts",
        }
    }

    /// Where an install-config names it.
    fn field(self) -> &'static str {
        match self {
            Place::Datacenter => "topology.datacenter",
            Place::ComputeCluster => "topology.computeCluster",
            Place::ResourcePool => "topology.resourcePool",
            Place::Datastore => "topology.datastore",
            Place::Folder => "topology.folder",
            Place::Network => "topology.networks",
            Place::HostGroup => "topology.hostGroup",
        }
    }

    fn fits(self, item: &Item) -> bool {
        match self {
            Place::Datacenter => item.is("Datacenter"),
            Place::ComputeCluster => item.is_cluster(),
            Place::ResourcePool => item.is_pool(),
            Place::Datastore => item.is("Datastore"),
            Place::Folder => item.is("Folder"),
            Place::Network | Place::HostGroup => false,
        }
    }

    /// What is at a path, if it is of this kind.
    pub(crate) fn at<'a>(self, inventory: &'a Inventory, path: &str) -> Option<&'a Item> {
        inventory.at(path).filter(|item| self.fits(item))
    }

    /// The paths of everything of this kind below a path, sorted.
    pub(crate) fn below(self, inventory: &Inventory, path: &str) -> Vec<String> {
        let fitting = inventory.items().iter().filter(|item| item.path.starts_with(path) && self.fits(item));
        let mut paths: Vec<String> = fitting.map(|item| item.path.clone()).collect();
        paths.sort();
        paths
    }

    /// It is not there, or the user may not see it; `others` are there.
    pub(crate) fn missing(self, object: &str, user: &str, others: &[String]) -> Judgement {
        let (name, field) = (self.name(), self.field());
        let details = (!others.is_empty()).then(|| {
            let more = others.len().saturating_sub(MAX_LISTED);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let listed: Vec<&str> = others.iter().map(String::as_str).take(MAX_LISTED).collect();
            format!("what `{user}` sees there: {}{more}", listed.join(", "))
        });
        Judgement::failure(format!("the {name} `{object}` is not there, or `{user}` may not see it"))
            .details(details)
            .remedy(format!("correct `{field}`, or give `{user}` a role with System.Read on it"))
    }
}

/// The hosts of a cluster have no network that is called so; others they have.
pub(crate) fn no_network(name: &str, cluster: &Item, inventory: &Inventory, user: &str) -> Judgement {
    let seen = cluster.cluster().map(|cluster| cluster.networks.as_slice()).unwrap_or_default();
    let seen = seen.iter().filter_map(|id| Some(inventory.item(id)?.name().to_owned()));
    let judgement = Place::Network.missing(name, user, &seen.collect::<Vec<_>>());
    let message = format!(
        "no host of `{}` is connected to a network `{name}`, or `{user}` may not see it",
        cluster.path
    );
    Judgement { message, ..judgement }
}
