//! Reading a cluster: what the checks need, page by page, and nothing else.

mod objects;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::storage::v1 as storage;
use kube::api::{Api, ListParams};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use slipway_api::well_known::{CERTIFICATES, SYSTEM_NAMESPACE};
use slipway_providers::cluster::{AccessError, call, or_absent};
use thiserror::Error;

use super::{Cluster, ControlPlaneCertificate, DRIVER, Driver, NodeKind, Pod};
use crate::check::target::CheckTarget;
use crate::text::reason;

/// Objects per page. A node has about twenty kilobytes.
const PAGE: u32 = 100;

/// Why a cluster cannot be read.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(
        "the cluster does not say which vCenters it uses: there is neither an Infrastructure with vCenters nor a VSphereConnection"
    )]
    NoVCenters,
}

/// What a running cluster says about its vCenters. `operator_namespace` is where our own connections are; without it
/// they are looked for everywhere.
pub async fn subject(client: &Client, operator_namespace: Option<&str>) -> Result<CheckTarget, Error> {
    sources::subject(client, operator_namespace).await
}

/// Everything the checks need to know of a cluster. What cannot be read is told, and is no reason to stop; only
/// without nodes there is nothing to do.
pub async fn cluster(client: &Client) -> Result<Cluster, Error> {
    let all = ListParams::default();
    let nodes = Api::<core::Node>::all(client.clone());
    let nodes = list_as(&nodes, &all, "nodes", |node| Some(objects::node(&node))).await?;
    let mut cluster = Cluster { nodes: nodes.into(), ..Cluster::default() };
    let classes = Api::<storage::StorageClass>::all(client.clone());
    let classes = list_as(&classes, &all, "storage classes", |class| Some(objects::class(&class))).await;
    cluster.storage_classes = noted(&mut cluster, "storage classes", classes);
    let volumes = Api::<core::PersistentVolume>::all(client.clone());
    let volumes = list_as(&volumes, &all, "volumes", |volume| objects::volume(&volume)).await;
    cluster.volumes = noted(&mut cluster, "volumes", volumes);
    cluster.driver = driver(client, &mut cluster).await;
    let ends = certificates(client).await;
    cluster.certificates = noted(&mut cluster, "certificates of the control plane", ends);
    let requests = Api::<CertificateSigningRequest>::all(client.clone());
    let requests =
        list_as(&requests, &all, "certificate signing requests", |one| objects::request(&one)).await;
    cluster.requests = noted(&mut cluster, "certificate signing requests", requests);
    if cluster.nodes.iter().any(|node| matches!(node.kind(), NodeKind::Other { .. })) {
        cluster.pods = pods(client, &mut cluster).await;
    }
    Ok(cluster)
}

fn noted<T>(cluster: &mut Cluster, what: &str, read: Result<Vec<T>, AccessError>) -> Vec<T> {
    read.unwrap_or_else(|error| {
        cluster.unread.push((what.to_owned(), reason(&error)));
        Vec::new()
    })
}

/// All objects of a kind.
async fn list<K>(api: &Api<K>, parameters: &ListParams, what: &str) -> Result<Vec<K>, AccessError>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    list_as(api, parameters, what, Some).await
}

/// What is needed of all objects of a kind, page by page: thousands of whole objects would be tens of megabytes.
async fn list_as<K, T>(
    api: &Api<K>,
    parameters: &ListParams,
    what: &str,
    keep: impl Fn(K) -> Option<T>,
) -> Result<Vec<T>, AccessError>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let mut parameters = parameters.clone().limit(PAGE);
    let mut objects = Vec::new();
    loop {
        let page = call(&format!("reading {what}"), api.list(&parameters)).await?;
        objects.extend(page.items.into_iter().filter_map(&keep));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters.continue_token = Some(token),
            None => return Ok(objects),
        }
    }
}

/// Until when the control plane's certificates are good. Clusters that were made by others do not say.
async fn certificates(client: &Client) -> Result<Vec<ControlPlaneCertificate>, AccessError> {
    let maps: Api<core::ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let found = call("reading when the control-plane certificates expire", maps.get_opt(CERTIFICATES)).await;
    Ok(or_absent(found)?.map(|map| objects::certificates(&map)).unwrap_or_default())
}

/// Whose storage driver is there.
async fn driver(client: &Client, cluster: &mut Cluster) -> Driver {
    let all = ListParams::default();
    let drivers = list::<storage::CSIDriver>(&Api::all(client.clone()), &all, "storage drivers").await;
    let drivers = noted(cluster, "storage drivers", drivers);
    let ours = drivers.iter().find(|driver| driver.metadata.name.as_deref() == Some(DRIVER));
    if let Some(found) = ours {
        return objects::owner(found);
    }
    let nodes = list::<storage::CSINode>(&Api::all(client.clone()), &all, "drivers of nodes").await;
    let nodes = noted(cluster, "drivers of nodes", nodes);
    let having = nodes.iter().find(|node| node.spec.drivers.iter().any(|driver| driver.name == DRIVER));
    having.map_or(Driver::None, |node| {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        Driver::Foreign(format!("a registration of `{DRIVER}` on node `{name}`"))
    })
}

/// Pods that need volumes of vSphere: those of namespaces with such claims.
async fn pods(client: &Client, cluster: &mut Cluster) -> Vec<Pod> {
    let all = ListParams::default();
    let claims = list::<core::PersistentVolumeClaim>(&Api::all(client.clone()), &all, "claims").await;
    let claims = noted(cluster, "claims", claims);
    let volumes: BTreeSet<&str> = cluster.volumes.iter().map(|volume| volume.name.as_str()).collect();
    let classes: BTreeSet<&str> = cluster
        .storage_classes
        .iter()
        .filter(|class| class.provisioner == DRIVER)
        .map(|class| class.name.as_str())
        .collect();
    let mut wanted: BTreeMap<String, BTreeMap<String, Option<String>>> = BTreeMap::new();
    for claim in &claims {
        let spec = claim.spec.clone().unwrap_or_default();
        let of_vsphere = match &spec.volume_name {
            Some(volume) => volumes.contains(volume.as_str()),
            None => spec.storage_class_name.as_deref().is_some_and(|class| classes.contains(class)),
        };
        let (Some(namespace), Some(name)) = (&claim.metadata.namespace, &claim.metadata.name) else {
            continue;
        };
        if of_vsphere {
            wanted.entry(namespace.clone()).or_default().insert(name.clone(), spec.volume_name);
        }
    }
    let mut pods = Vec::new();
    let unfinished = ListParams::default().fields("status.phase!=Succeeded,status.phase!=Failed");
    for (namespace, claims) in &wanted {
        let api: Api<core::Pod> = Api::namespaced(client.clone(), namespace);
        let found = list_as(&api, &unfinished, "pods", |pod| objects::pod(&pod, claims)).await;
        pods.extend(noted(cluster, "pods", found));
    }
    pods
}
