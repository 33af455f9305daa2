//! On which vCenters machines are, by their ids alone: whatever folder, name or tag they have now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use slipway_engine::Endpoint;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::greet::words;
use super::{VCenter, VSphere};
use crate::vsphere::MoRef;

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
}

impl VCenter {
    fn remember(&self, found: BTreeMap<Uuid, MoRef>) -> BTreeSet<Uuid> {
        let uuids = found.keys().copied().collect();
        self.located.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        uuids
    }

    /// Where a machine was, if it was found.
    pub(super) fn located(&self, uuid: Uuid) -> Option<MoRef> {
        self.located.lock().unwrap_or_else(PoisonError::into_inner).get(&uuid).cloned()
    }
}
