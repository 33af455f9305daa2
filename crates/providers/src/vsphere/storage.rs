//! Volumes of the storage driver, and storage policies: two services that share the vCenter's session.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use super::client::{Client, Service};
use super::error::{Cause, Error};
use super::fault::Fault;
use super::moref::{MoRef, Reference};
use super::soap::{Body, Element, Malformed, element};
use super::tasks::Task;

/// Volumes per call.
const PAGE: u64 = 500;

static POLICIES: Service = Service {
    path: Cow::Borrowed("/pbm"),
    namespace: "urn:pbm",
    // The service takes any.
    version: Some(String::new()),
    shows_session: true,
};

/// A volume of the storage driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    pub id: String,
    pub name: String,
    /// `BLOCK` or `FILE`.
    pub kind: String,
    pub datastore_url: String,
    /// Ids of all clusters that have it: more than one where it was moved, or where an id was copied.
    pub clusters: BTreeSet<String>,
}

/// Some of many.
struct VolumePage {
    volumes: Vec<Volume>,
    next: u64,
    total: u64,
}

/// A storage policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub id: String,
    pub name: String,
    pub description: String,
}

impl Client {
    /// The volumes that belong to a Kubernetes cluster, by the id its driver is configured with.
    pub async fn volumes(&self, cluster_id: &str) -> Result<Vec<Volume>, Error> {
        let (mut volumes, mut offset) = (Vec::new(), 0);
        loop {
            let page = self.volume_page(cluster_id, offset).await?;
            let nothing = page.volumes.is_empty();
            volumes.extend(page.volumes);
            // An offset that does not move would never end.
            if nothing || page.next <= offset || page.next >= page.total {
                return Ok(volumes);
            }
            offset = page.next;
        }
    }

    /// The first volumes of a Kubernetes cluster, and how many there are: one call, however many.
    pub async fn first_volumes(&self, cluster_id: &str) -> Result<(Vec<Volume>, u64), Error> {
        let page = self.volume_page(cluster_id, 0).await?;
        let total = page.total.max(page.volumes.len() as u64);
        Ok((page.volumes, total))
    }

    async fn volume_page(&self, cluster_id: &str, offset: u64) -> Result<VolumePage, Error> {
        let method = "CnsQueryVolume";
        let (service, manager) = (self.volume_service().await?, self.volume_manager());
        let cursor = Body::new().text("offset", offset).text("limit", PAGE);
        let filter = Body::new().text("containerClusterIds", cluster_id).object("cursor", &cursor);
        let body = Body::new().typed("filter", "CnsQueryFilter", &filter);
        let reply = self.read_at(service, &manager, method, &body).await?;
        let page = reply.need("returnval").map_err(|cause| self.error(method, cause))?;
        let number = |name: &str| page.at(&["cursor", name]).and_then(|value| value.text.parse().ok());
        Ok(VolumePage {
            volumes: page.all("volumes").map(volume).collect(),
            next: number("offset").unwrap_or_default(),
            total: number("totalRecords").unwrap_or_default(),
        })
    }

    /// Deletes a volume with its disk. [`Error::is_not_found`] where there is none.
    pub async fn delete_volume(&self, id: &str, limit: Duration) -> Result<(), Error> {
        let method = "CnsDeleteVolume";
        let service = self.volume_service().await?;
        // One per call: the service refuses more.
        let body = Body::new().object("volumeIds", &Body::new().text("id", id)).text("deleteDisk", true);
        let timeout = self.parts().0.timeout;
        let reply = self.call_at(service, &self.volume_manager(), method, &body, timeout).await?;
        let task = reply.need("returnval").map_err(|cause| self.error(method, cause))?;
        let task = Task { moref: self.moref(Reference::of(task)), method: method.into() };
        let result = self.result_of(&task, limit, |_| {}).await?;
        match result.all("volumeResults").find_map(|result| result.child("fault")) {
            Some(fault) => Err(self.error(method, Fault::of_method(fault))),
            None => Ok(()),
        }
    }

    fn volume_manager(&self) -> MoRef {
        self.moref(Reference::new("CnsVolumeManager", "cns-volume-manager"))
    }

    /// The service must be spoken to in one of the versions it knows; the first it lists is its newest.
    async fn volume_service(&self) -> Result<&Service, Error> {
        self.volume_slot()
            .get_or_try_init(|| async {
                let method = "vsanServiceVersions";
                let text = self.with_retries(|| self.fetch(method, "/sdk/vsanServiceVersions.xml")).await?;
                let versions = element::parse(&text).map_err(|cause| self.error(method, cause))?;
                let version = versions.at(&["namespace", "version"]).map(|version| version.text.to_string());
                let version = version.ok_or_else(|| self.error(method, Malformed::Missing("version")))?;
                Ok(Service {
                    path: Cow::Borrowed("/vsanHealth"),
                    namespace: "urn:vsan",
                    version: Some(version),
                    shows_session: false,
                })
            })
            .await
    }

    /// All storage policies people can choose.
    pub async fn policies(&self) -> Result<Vec<Policy>, Error> {
        let manager = self.policy_manager().await?;
        let kind = Body::new().text("resourceType", "STORAGE");
        let body = Body::new().object("resourceType", &kind).text("profileCategory", "REQUIREMENT");
        let ids = self.read_at(&POLICIES, &manager, "PbmQueryProfile", &body).await?;
        if ids.child("returnval").is_none() {
            return Ok(Vec::new());
        }
        let body = Body::new().each(ids.all("returnval"), |body, id| {
            body.object("profileIds", &Body::new().text("uniqueId", id.text_of("uniqueId")))
        });
        let profiles = self.read_at(&POLICIES, &manager, "PbmRetrieveContent", &body).await?;
        Ok(profiles.all("returnval").map(policy).collect())
    }

    /// The policy of that name.
    pub async fn policy_named(&self, name: &str) -> Result<Option<Policy>, Error> {
        Ok(self.policies().await?.into_iter().find(|policy| policy.name == name))
    }

    pub async fn delete_policy(&self, id: &str) -> Result<(), Error> {
        let method = "PbmDelete";
        let manager = self.policy_manager().await?;
        let body = Body::new().object("profileId", &Body::new().text("uniqueId", id));
        let timeout = self.parts().0.timeout;
        let reply = self.call_at(&POLICIES, &manager, method, &body, timeout).await?;
        match reply.all("returnval").find_map(|outcome| outcome.child("fault")) {
            Some(fault) => Err(self.error(method, Fault::of_method(fault))),
            None => Ok(()),
        }
    }

    async fn policy_manager(&self) -> Result<MoRef, Error> {
        let method = "PbmRetrieveServiceContent";
        let instance = self.moref(Reference::new("PbmServiceInstance", "ServiceInstance"));
        let reply = self.read_at(&POLICIES, &instance, method, &Body::new()).await?;
        let manager = reply.at(&["returnval", "profileManager"]);
        let manager = manager.ok_or_else(|| self.error(method, Malformed::Missing("profileManager")))?;
        Ok(self.moref(Reference::of(manager)))
    }

    async fn read_at(
        &self,
        service: &Service,
        this: &MoRef,
        method: &str,
        body: &Body,
    ) -> Result<Element, Error> {
        let timeout = self.parts().0.timeout;
        self.with_retries(|| self.call_at(service, this, method, body, timeout)).await
    }

    async fn fetch(&self, method: &str, path: &str) -> Result<Vec<u8>, Error> {
        let (endpoint, _, http) = self.parts();
        let deadline = endpoint.timeout;
        let request = http.get(format!("{}{path}", endpoint.url())).timeout(deadline);
        let answer = async {
            let response = request.send().await.map_err(|error| super::client::cause(error, deadline))?;
            let status = response.status().as_u16();
            if status != 200 {
                return Err(Cause::Status { status, retry_after: None });
            }
            super::client::read_reply(response, deadline).await
        };
        answer.await.map_err(|source| self.error(method, source))
    }
}

impl Volume {
    /// The clusters that have it, but for one.
    pub fn clusters_besides(&self, cluster_id: &str) -> Vec<&str> {
        self.clusters.iter().map(String::as_str).filter(|other| *other != cluster_id).collect()
    }
}

fn volume(element: &Element) -> Volume {
    let text = |name: &str| element.text_of(name).to_owned();
    let metadata = element.child("metadata").into_iter();
    let clusters = metadata.flat_map(|metadata| {
        let clusters = metadata.all("containerCluster").chain(metadata.all("containerClusterArray"));
        // Claims, volumes and pods say whose they are, too; how that is spelt differs between versions.
        let clusters = clusters.chain(metadata.all("entityMetadata"));
        clusters.flat_map(|cluster| [cluster.text_of("clusterId"), cluster.text_of("clusterID")])
    });
    Volume {
        id: element.at(&["volumeId", "id"]).map_or("", |id| &id.text).to_owned(),
        name: text("name"),
        kind: text("volumeType"),
        datastore_url: text("datastoreUrl"),
        clusters: clusters.filter(|id| !id.is_empty()).map(str::to_owned).collect(),
    }
}

fn policy(element: &Element) -> Policy {
    let text = |name: &str| element.text_of(name).to_owned();
    Policy {
        id: element.at(&["profileId", "uniqueId"]).map_or("", |id| &id.text).to_owned(),
        name: text("name"),
        description: text("description"),
    }
}
