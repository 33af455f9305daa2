//! The objects of a driver. Pure.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use serde_json::{Value, json};
use slipway_api::slipway::vdo_config::VDOConfigSpec;
use slipway_assets::drivers::object::{DRIVER_LABEL, VERSION_LABEL};
use slipway_assets::drivers::operator::names::PULL_SECRETS;
use slipway_assets::drivers::{
    Connection, DriverError, DriverSettings, NodeMark, Object, StorageSettings, WebhookCertificate, cloud,
    storage,
};
use slipway_config::matrix::{Driver, Row};
use slipway_config::secret::Secret;

use super::health::{ObjectKey, REDEPLOYED, Workload};

/// What is the same for all versions.
#[derive(Debug)]
pub struct BuildInput<'a> {
    pub spec: &'a VDOConfigSpec,
    pub control_plane_nodes: u32,
    pub hash_key: &'a Secret,
    pub webhook: &'a WebhookCertificate,
    pub cluster_id: &'a str,
    /// Secrets for pulling images, with their content.
    pub pull_secrets: &'a BTreeMap<String, BTreeMap<String, ByteString>>,
    pub workloads: &'a [Workload],
    /// What nodes of a vCenter are told by.
    pub node_mark: NodeMark,
}

/// The objects of a version, in the order they are to be applied.
pub fn build(
    site: &BuildInput<'_>,
    row: &Row,
    connections: &[Connection],
) -> Result<Vec<Object>, DriverError> {
    let images = site.spec.images.as_ref();
    let names: Vec<String> =
        PULL_SECRETS.iter().zip(site.pull_secrets).map(|(name, _)| (*name).to_owned()).collect();
    let settings = DriverSettings {
        row,
        connections,
        registry: images.and_then(|images| images.registry.as_deref()),
        pull_secrets: &names,
        control_plane_nodes: site.control_plane_nodes,
        hash_key: site.hash_key,
    };
    let mut objects = match row.driver {
        Driver::CloudProvider => {
            cloud::objects(&settings, &site.spec.cloud_provider.clone().unwrap_or_default())?
        }
        Driver::StorageProvider => storage::objects(&StorageSettings {
            driver: &settings,
            spec: &site.spec.storage_provider.clone().unwrap_or_default(),
            cluster_id: site.cluster_id,
            node_mark: site.node_mark,
            webhook: Some(site.webhook),
        })?,
    };
    carry(&mut objects, site.workloads);
    let place = objects.iter().position(|object| object.kind != "Namespace").unwrap_or(0);
    for (name, (_, data)) in PULL_SECRETS.iter().zip(site.pull_secrets) {
        let secret = pull_secret(row, name, data);
        objects.insert(place, secret);
    }
    Ok(objects)
}

fn pull_secret(row: &Row, name: &str, data: &BTreeMap<String, ByteString>) -> Object {
    let (namespace, driver) = match row.driver {
        Driver::CloudProvider => (cloud::NAMESPACE, "cloud-provider"),
        Driver::StorageProvider => (storage::NAMESPACE, "storage-provider"),
    };
    let value = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {
            "name": name, "namespace": namespace,
            "labels": {
                "app.kubernetes.io/managed-by": "slipway", DRIVER_LABEL: driver, VERSION_LABEL: row.version.to_string(),
            },
        },
        "data": data,
    });
    Object {
        api_version: "v1",
        kind: "Secret",
        plural: "secrets",
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
        value,
    }
}

/// Pods that were replaced once must not be replaced again because nobody remembers.
fn carry(objects: &mut [Object], workloads: &[Workload]) {
    for object in objects {
        let live = workloads.iter().find(|live| {
            live.kind == object.kind
                && Some(&live.namespace) == object.namespace.as_ref()
                && live.name == object.name
        });
        if let Some(time) = live.and_then(|live| live.redeployed) {
            mark_redeployed(object, &time.to_string());
        }
    }
}

/// Replaces the pods of a workload.
pub fn mark_redeployed(object: &mut Object, time: &str) {
    if let Some(annotations) =
        object.value.pointer_mut("/spec/template/metadata/annotations").and_then(Value::as_object_mut)
    {
        annotations.insert(REDEPLOYED.to_owned(), time.into());
    }
}

/// Leaves out the workloads whose turn has not come, and the webhook's registration as long as nobody answers: without
/// it no claim could be changed.
pub fn upto(objects: Vec<Object>, places: &[ObjectKey], step: usize, workloads: &[Workload]) -> Vec<Object> {
    let later = places.get(step.saturating_add(1)..).unwrap_or_default();
    let answers = workloads
        .iter()
        .any(|live| live.name == storage::WEBHOOK && live.kind == "Deployment" && live.serves());
    let is_due = |object: &Object| match object.kind {
        "ValidatingWebhookConfiguration" => answers,
        kind => !later.iter().any(|place| {
            (kind, object.namespace.as_deref(), object.name.as_str()) == (place.0, Some(place.1), place.2)
        }),
    };
    objects.into_iter().filter(is_due).collect()
}
