//! Where things are: paths become references once, and stay so for a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{Mutex, OnceCell};

use super::KindError;
use crate::vsphere::machines::Network;
use crate::vsphere::paths::{is_name_of, unescape};
use crate::vsphere::properties::PropertySpec;
use crate::vsphere::{Client, MoRef};

type Cell<T> = Arc<OnceCell<T>>;

/// What was found on one vCenter. Only what is there is remembered.
#[derive(Debug)]
pub(super) struct Places {
    client: Client,
    objects: Mutex<BTreeMap<String, Cell<MoRef>>>,
    networks: Mutex<BTreeMap<String, Cell<Network>>>,
}

impl Places {
    pub(super) fn new(client: Client) -> Self {
        Places { client, objects: Mutex::default(), networks: Mutex::default() }
    }

    /// What is at an inventory path.
    pub(super) async fn object(&self, kind: &'static str, path: &str) -> Result<MoRef, KindError> {
        let cell = self.objects.lock().await.entry(path.to_owned()).or_default().clone();
        let find = || async {
            let missing = || KindError::Missing { kind, path: path.to_owned() };
            self.client.find(path).await?.ok_or_else(missing)
        };
        cell.get_or_try_init(find).await.cloned()
    }

    /// A network, by its path below the compute cluster that reaches it, or in the folder of networks.
    pub(super) async fn network(&self, path: &str) -> Result<Network, KindError> {
        let cell = self.networks.lock().await.entry(path.to_owned()).or_default().clone();
        cell.get_or_try_init(|| self.find_network(path)).await.cloned()
    }

    async fn find_network(&self, path: &str) -> Result<Network, KindError> {
        let moref = self.network_object(path).await?;
        let networks = self.client.networks(std::slice::from_ref(&moref)).await?;
        networks.get(&moref).cloned().ok_or_else(|| missing_network(path))
    }

    /// The network itself.
    pub(super) async fn network_object(&self, path: &str) -> Result<MoRef, KindError> {
        let (parent, name) = path.rsplit_once('/').ok_or_else(|| missing_network(path))?;
        match self.client.find(path).await? {
            Some(found) if is_network(&found) => Ok(found),
            // Networks are not below compute clusters in the inventory; but that is where people see them.
            _ => self.reached_from(parent, name).await?.ok_or_else(|| missing_network(path)),
        }
    }

    async fn reached_from(&self, cluster: &str, name: &str) -> Result<Option<MoRef>, KindError> {
        let compute = self.object("compute cluster", cluster).await?;
        let specs = [PropertySpec { kind: "ComputeResource", properties: &["network"] }];
        let objects = self.client.retrieve(std::slice::from_ref(&compute), &specs).await?;
        let reached = objects.first().map(|object| object.references("network")).unwrap_or_default();
        let named = [PropertySpec { kind: "Network", properties: &["name"] }];
        let networks = self.client.retrieve(&reached, &named).await?;
        let found: Vec<MoRef> = networks
            .into_iter()
            .filter(|network| is_name_of(name, network.text("name")))
            .map(|network| network.moref)
            .collect();
        match found.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only.clone())),
            several => Err(KindError::Networks {
                cluster: cluster.to_owned(),
                name: name.to_owned(),
                found: self.client.paths(several).await?,
            }),
        }
    }
}

/// A network as people know it: it hangs below the compute cluster only in the files of a cluster.
pub(super) fn network_shown(path: &str, compute_cluster: &str) -> String {
    let name = path.strip_prefix(compute_cluster).and_then(|rest| rest.strip_prefix('/'));
    name.map_or_else(|| path.to_owned(), |name| unescape(name).into_owned())
}

fn missing_network(path: &str) -> KindError {
    let (cluster, name) = path.rsplit_once('/').unwrap_or(("", path));
    KindError::MissingNetwork { name: unescape(name).into_owned(), cluster: cluster.to_owned() }
}

fn is_network(moref: &MoRef) -> bool {
    matches!(&*moref.reference.kind, "Network" | "DistributedVirtualPortgroup" | "OpaqueNetwork")
}
