//! On which vCenters machines are, by their ids alone: whatever folder, name or tag they have now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use slipway_engine::{Endpoint, Id};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::whoami::words;
use super::{VCenter, VSphere};
use crate::vsphere::properties::PropertySpec;
use crate::vsphere::{Error, MoRef};

/// The compute cluster a machine is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachinePlacement {
    pub path: String,
    /// Whether it is the one that was asked about.
    pub as_planned: bool,
}

impl VSphere {
    /// The vCenter's own id, which stays when its name changes. `None`: it cannot be asked.
    pub async fn instance(&self, endpoint: &Endpoint) -> Option<String> {
        let content = self.client(endpoint)?.content().await.ok()?;
        Some(content.about.instance_uuid.clone()).filter(|id| !id.is_empty())
    }

    /// Which of these machines each vCenter has, or why it cannot say. All are asked at once, and what is found is also
    /// found by later looks.
    pub async fn locate(
        &self,
        endpoints: impl IntoIterator<Item = &Endpoint>,
        uuids: &[Uuid],
    ) -> BTreeMap<Endpoint, Result<BTreeSet<Uuid>, String>> {
        let mut searches = JoinSet::new();
        for endpoint in endpoints {
            let Some(vcenter) = self.vcenters.get(endpoint).cloned() else { continue };
            let (endpoint, uuids) = (endpoint.clone(), uuids.to_vec());
            searches.spawn(async move {
                let found = vcenter.client.machines_by_uuid(&uuids).await;
                let found = found.map(|found| vcenter.remember(found)).map_err(|error| words(&error));
                (endpoint, found)
            });
        }
        searches.join_all().await.into_iter().collect()
    }

    /// Whether a vCenter is still copying machines at this user's request, in other tasks than those that are `known`.
    pub async fn is_copying(&self, endpoint: &Endpoint, known: &[&str]) -> Result<bool, String> {
        let vcenter = self.vcenter(endpoint).map_err(|error| error.to_string())?;
        vcenter.client.is_copying(known).await.map_err(|error| words(&error))
    }

    /// Which of some tasks of a vCenter are over. One that cannot be asked says nothing.
    pub async fn over(&self, endpoint: &Endpoint, tasks: &[(&Id, &str)]) -> BTreeSet<Id> {
        let Ok(vcenter) = self.vcenter(endpoint) else { return BTreeSet::new() };
        let morefs: Vec<MoRef> = tasks.iter().map(|(_, task)| vcenter.moref(task)).collect();
        let Ok(running) = vcenter.client.running(&morefs).await else { return BTreeSet::new() };
        let over = tasks.iter().zip(&morefs).filter(|(_, moref)| !running.contains(*moref));
        over.map(|((id, _), _)| (*id).clone()).collect()
    }

    /// In which compute clusters machines of a vCenter are, beside the paths that are given with them. They were located
    /// before; one whose compute cluster cannot be told is left out.
    pub async fn placements(
        &self,
        endpoint: &Endpoint,
        machines: &[(Uuid, &str)],
    ) -> Result<BTreeMap<Uuid, MachinePlacement>, String> {
        let vcenter = self.vcenter(endpoint).map_err(|error| error.to_string())?;
        vcenter.placements(machines).await.map_err(|error| words(&error))
    }
}

impl VCenter {
    fn remember(&self, found: BTreeMap<Uuid, MoRef>) -> BTreeSet<Uuid> {
        let uuids = found.keys().copied().collect();
        self.located.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        uuids
    }

    async fn placements(&self, machines: &[(Uuid, &str)]) -> Result<BTreeMap<Uuid, MachinePlacement>, Error> {
        let located: BTreeMap<Uuid, MoRef> =
            machines.iter().filter_map(|(uuid, _)| Some((*uuid, self.located(*uuid)?))).collect();
        let morefs: Vec<MoRef> = located.values().cloned().collect();
        let pools = self.references(&morefs, "VirtualMachine", "resourcePool").await?;
        let distinct: BTreeSet<MoRef> = pools.values().cloned().collect();
        let distinct: Vec<MoRef> = distinct.into_iter().collect();
        let owners = self.references(&distinct, "ResourcePool", "owner").await?;
        let clusters: BTreeSet<MoRef> = owners.values().cloned().collect();
        let clusters: Vec<MoRef> = clusters.into_iter().collect();
        let paths: BTreeMap<&MoRef, String> =
            clusters.iter().zip(self.client.paths(&clusters).await?).collect();
        let mut planned: BTreeMap<&str, Option<MoRef>> = BTreeMap::new();
        for (_, path) in machines {
            if !planned.contains_key(path) {
                planned.insert(path, self.client.find(path).await?);
            }
        }
        let lodging = |(uuid, path): &(Uuid, &str)| {
            let owner = owners.get(pools.get(located.get(uuid)?)?)?;
            let as_planned = planned.get(path)?.as_ref() == Some(owner);
            Some((*uuid, MachinePlacement { path: paths.get(owner)?.clone(), as_planned }))
        };
        Ok(machines.iter().filter_map(lodging).collect())
    }

    /// A property of some objects that refers to another one.
    async fn references(
        &self,
        objects: &[MoRef],
        kind: &'static str,
        property: &'static str,
    ) -> Result<BTreeMap<MoRef, MoRef>, Error> {
        let desired = [PropertySpec { kind, properties: &[property] }];
        let objects = self.client.retrieve(objects, &desired).await?;
        Ok(objects
            .into_iter()
            .filter_map(|object| Some((object.moref.clone(), object.reference(property)?)))
            .collect())
    }

    /// Where a machine was, if it was found.
    pub(super) fn located(&self, uuid: Uuid) -> Option<MoRef> {
        self.located.lock().unwrap_or_else(PoisonError::into_inner).get(&uuid).cloned()
    }
}
