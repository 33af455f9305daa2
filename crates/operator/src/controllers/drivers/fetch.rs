//! Everything a pass needs to know. I/O, and no decisions.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{Namespace, Secret as KubeSecret};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client};
use slipway_api::slipway::{VDOConfig, VSphereConnection};
use slipway_assets::drivers::{cloud, storage};
use slipway_config::matrix::{Driver, Release};
use slipway_providers::cluster::{AccessError, call, or_absent};
use thiserror::Error;

use super::apply::{Live, live};
use super::choose::KnownConnection;
use super::health::Workload;
use super::keys::{KeyError, Keys, keys};
use crate::controllers::connections::read::{Insecure, Read, read};

/// The cluster could not be asked.
#[derive(Debug, Error)]
pub enum FetchError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Keys(#[from] KeyError),
    #[error("the API server says it is `{0}`, which is not a version")]
    Version(String),
}

/// What is there.
#[derive(Debug)]
pub struct Fetched {
    pub kubernetes: Release,
    /// Who else runs a driver, and what to do to change that.
    pub owners: BTreeMap<Driver, String>,
    pub connections: Vec<KnownConnection>,
    pub workloads: Vec<Workload>,
    pub live: Vec<Live>,
    pub keys: Keys,
    pub cluster_id: String,
    /// Secrets for pulling images, with their content; none of one that is missing.
    pub pull_secrets: BTreeMap<String, Option<BTreeMap<String, ByteString>>>,
    /// Volumes of the storage driver that are attached to a node.
    pub attached: usize,
}

pub async fn fetch(
    client: &Client,
    namespace: &str,
    config: &VDOConfig,
    connections: Vec<VSphereConnection>,
    insecure: Insecure,
) -> Result<Fetched, FetchError> {
    let version = call("asking for the version of Kubernetes", client.apiserver_version()).await?;
    let kubernetes =
        version.git_version.parse().map_err(|_| FetchError::Version(version.git_version.clone()))?;
    let mut known = Vec::new();
    for object in connections {
        let name = object.metadata.name.clone().unwrap_or_default();
        let read = read(client, namespace, &name, &object.spec, insecure).await?;
        let status = object.status.unwrap_or_default();
        let tried = |version: &Option<String>| {
            version.is_some()
                && *version == status.credentials_version
                && status.observed_generation == object.metadata.generation
        };
        let (read, tried) = match read {
            Ok(Read { connection, login, version }) => (login.map(|()| connection), tried(&version)),
            Err(problem) => (Err(problem), false),
        };
        known.push(KnownConnection { name, spec: object.spec, status, read, tried });
    }
    known.sort_by(|one, other| one.name.cmp(&other.name));
    let mut pull_secrets = BTreeMap::new();
    let secrets: Api<KubeSecret> = Api::namespaced(client.clone(), namespace);
    for name in config.spec.images.iter().flat_map(|images| &images.pull_secrets) {
        let found = call(&format!("reading the Secret `{name}`"), secrets.get_opt(name)).await?;
        pull_secrets.insert(name.clone(), found.map(|secret| secret.data.unwrap_or_default()));
    }
    let given = config.spec.storage_provider.as_ref().and_then(|storage| storage.cluster_id.clone());
    Ok(Fetched {
        kubernetes,
        owners: owners(client).await?,
        connections: known,
        workloads: workloads(client).await?,
        live: live(client).await?,
        keys: keys(client, namespace, Timestamp::now()).await?,
        cluster_id: match given {
            Some(id) => id,
            None => cluster_id(client).await?,
        },
        pull_secrets,
        attached: attached(client).await?,
    })
}

/// The id that a cluster has from its beginning to its end.
async fn cluster_id(client: &Client) -> Result<String, AccessError> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let system = call("reading the cluster's id", namespaces.get("kube-system")).await?;
    Ok(system.metadata.uid.unwrap_or_default())
}

/// Whatever runs where the drivers run.
async fn workloads(client: &Client) -> Result<Vec<Workload>, AccessError> {
    let mut workloads = Vec::new();
    let all = ListParams::default();
    for namespace in [cloud::NAMESPACE, storage::NAMESPACE] {
        let sets: Api<DaemonSet> = Api::namespaced(client.clone(), namespace);
        let sets = call("listing DaemonSets", sets.list(&all)).await?;
        workloads.extend(sets.items.iter().map(Workload::of_daemon_set));
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
        let deployments = call("listing Deployments", deployments.list(&all)).await?;
        workloads.extend(deployments.items.iter().map(Workload::of_deployment));
    }
    Ok(workloads)
}

async fn attached(client: &Client) -> Result<usize, AccessError> {
    let attachments: Api<VolumeAttachment> = Api::all(client.clone());
    let found = call("listing attached volumes", attachments.list(&ListParams::default())).await?;
    Ok(found.items.iter().filter(|attachment| attachment.spec.attacher == storage::DRIVER).count())
}

/// On OpenShift the release has operators for both drivers.
async fn owners(client: &Client) -> Result<BTreeMap<Driver, String>, AccessError> {
    let get = async |group: &str, kind: &str, plural: &str, name: &str| {
        let kind = GroupVersionKind::gvk(group, "v1", kind);
        let api: Api<DynamicObject> =
            Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, plural));
        or_absent(call(&format!("reading {plural}"), api.get_opt(name)).await)
    };
    let mut owners = BTreeMap::new();
    let infrastructure = get("config.openshift.io", "Infrastructure", "infrastructures", "cluster").await?;
    let platform = infrastructure.as_ref().and_then(|found| {
        found.data.pointer("/status/platformStatus/type").and_then(serde_json::Value::as_str)
    });
    if platform == Some("VSphere") {
        let owner = "OpenShift's own cloud controller manager operator runs the cloud provider";
        owners.insert(Driver::CloudProvider, owner.to_owned());
    }
    let driver =
        get("operator.openshift.io", "ClusterCSIDriver", "clustercsidrivers", storage::DRIVER).await?;
    let state = driver.as_ref().map(|found| {
        found.data.pointer("/spec/managementState").and_then(serde_json::Value::as_str).unwrap_or("Managed")
    });
    if let Some(state) = state.filter(|state| *state != "Removed") {
        let owner = format!(
            "OpenShift's own storage operator runs the storage driver: the managementState of ClusterCSIDriver \
             {} is {state}, and would have to be Removed",
            storage::DRIVER
        );
        owners.insert(Driver::StorageProvider, owner);
    }
    Ok(owners)
}
