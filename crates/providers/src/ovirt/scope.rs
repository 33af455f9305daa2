//! An engine and the cluster in it that machines are in.

use serde_json::Value;
use slipway_config::names::EngineObject;
use tokio::sync::OnceCell;

use super::client::{Client, Query};
use super::error::{Cause, Error};
use super::read::{id, name, text};

/// Collections of objects that are written by name or id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Collection {
    Clusters,
    StorageDomains,
    Templates,
}

impl Collection {
    fn path(self) -> &'static str {
        match self {
            Collection::Clusters => "clusters",
            Collection::StorageDomains => "storagedomains",
            Collection::Templates => "templates",
        }
    }

    fn key(self) -> &'static str {
        match self {
            Collection::Clusters => "cluster",
            Collection::StorageDomains => "storage_domain",
            Collection::Templates => "template",
        }
    }

    /// What people call one of them.
    pub fn word(self) -> &'static str {
        match self {
            Collection::Clusters => "cluster",
            Collection::StorageDomains => "storage domain",
            Collection::Templates => "template",
        }
    }
}

/// A cluster of an engine. Nothing is sent before it is asked for something.
#[derive(Debug)]
pub struct Scope {
    pub client: Client,
    cluster: EngineObject,
    found: OnceCell<FoundCluster>,
    /// All vNIC profiles, with their networks.
    profiles: OnceCell<Vec<Value>>,
}

/// The cluster as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCluster {
    pub id: String,
    pub name: String,
    pub data_center: String,
}

impl Scope {
    pub fn new(client: Client, cluster: EngineObject) -> Self {
        Scope { client, cluster, found: OnceCell::new(), profiles: OnceCell::new() }
    }

    /// The cluster. Ids are the engine's own: another engine has another one of the same name, with another id.
    pub async fn cluster(&self) -> Result<&FoundCluster, Error> {
        let find = || async {
            let cluster = self.find(Collection::Clusters, &self.cluster).await?;
            Ok(FoundCluster {
                id: id(&cluster),
                name: name(&cluster),
                data_center: text(&cluster, "/data_center/id"),
            })
        };
        self.found.get_or_try_init(find).await
    }

    /// Whether a cluster is still there and visible to the user, who then sees what is in it, too.
    pub async fn is_visible(&self, cluster: &str) -> Result<bool, Error> {
        match self.client.get("looking for the cluster", &format!("clusters/{cluster}")).await {
            Err(error) if error.is_not_found() => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// An object by its name or id.
    pub async fn find(&self, collection: Collection, wanted: &EngineObject) -> Result<Value, Error> {
        let doing = format!("looking for the {} {wanted}", collection.word());
        if wanted.is_id() {
            return self.client.get(&doing, &format!("{}/{wanted}", collection.path())).await;
        }
        let query = Query::like(collection.path(), collection.key(), "name", wanted.as_str());
        let mut found = self.client.list(&doing, &query).await?;
        // Templates have versions: the newest counts.
        found.sort_by_key(|one| super::read::number(one, "/version/version_number"));
        let found = found.into_iter().rfind(|one| name(one) == wanted.as_str());
        found.ok_or_else(|| Error {
            server: self.client.name().into(),
            doing: doing.into(),
            source: Cause::NotFound,
        })
    }

    /// The id of a vNIC profile. Their names repeat over networks.
    pub async fn profile(&self, network: Option<&str>, wanted: &EngineObject) -> Result<String, Error> {
        if wanted.is_id() {
            return Ok(wanted.to_string());
        }
        let doing = format!("looking for the vNIC profile {wanted}");
        let query = Query::all("vnicprofiles", "vnic_profile").follow("network");
        let profiles = self.profiles.get_or_try_init(|| self.client.list(&doing, &query)).await?;
        let data_center = &self.cluster().await?.data_center;
        let is_wanted = |profile: &&Value| {
            name(profile) == wanted.as_str()
                && network.is_none_or(|network| text(profile, "/network/name") == network)
                && text(profile, "/network/data_center/id") == *data_center
        };
        profiles.iter().find(is_wanted).map(id).ok_or_else(|| Error {
            server: self.client.name().into(),
            doing: doing.as_str().into(),
            source: Cause::NotFound,
        })
    }
}
