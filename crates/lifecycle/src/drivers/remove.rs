//! Everything away, in the safe order: first the operator, which would put it back, then what could refuse, then what
//! uses the rest.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use slipway_api::slipway::{VDO_CONFIG_NAME, VDOConfig};
use slipway_assets::drivers::object::{DRIVER_LABEL, MANAGER};
use slipway_assets::drivers::operator::names::places;
use slipway_assets::drivers::operator::{self, KEYS_SECRET, NAME, NAMESPACE, Placed};
use slipway_assets::drivers::{DriverError, storage};
use slipway_providers::cluster::{AccessError, Kinds, api_of, call, is_applied_by, or_absent, resource};
use thiserror::Error;
use tokio::time::Instant;

/// How long the operator may take to end.
const STOP_TIMEOUT: Duration = Duration::from_mins(2);

/// Kinds of objects of the drivers, in the order they go.
const ORDER: [(&str, &str, &str); 14] = [
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
    ("storage.k8s.io/v1", "StorageClass", "storageclasses"),
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "DaemonSet", "daemonsets"),
    ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    ("v1", "Service", "services"),
    ("v1", "Secret", "secrets"),
    ("v1", "ConfigMap", "configmaps"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
    ("rbac.authorization.k8s.io/v1", "Role", "roles"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles"),
    ("v1", "ServiceAccount", "serviceaccounts"),
    ("storage.k8s.io/v1", "CSIDriver", "csidrivers"),
];

/// Why nothing was removed, or not everything.
#[derive(Debug, Error)]
pub enum RemoveError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("{count} volumes are attached, among them those of {}", nodes.join(", "))]
    Attached { count: usize, nodes: Vec<String> },
    #[error("the operator was not gone after {} seconds, and would put everything back", STOP_TIMEOUT.as_secs())]
    StillThere,
    #[error("the operator's objects cannot be created")]
    Objects(#[from] DriverError),
}

/// Removes the drivers and the operator with its rights; gives how many objects went. Namespaces, connections and their Secrets
/// stay, and so do the definitions.
pub async fn remove(client: &Client, force: bool, told: impl Fn(&str)) -> Result<usize, RemoveError> {
    refuse_attached(client, force).await?;
    let mut gone = 0;
    let mut told = |what: &str| {
        gone += 1;
        told(what);
    };
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let ended = call("deleting the operator", deployments.delete(NAME, &DeleteParams::foreground())).await;
    if or_absent(ended.map(|_| true))? {
        told(&format!("Deployment {NAMESPACE}/{NAME}"));
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let own = ListParams::default().labels("app.kubernetes.io/name=slipway-operator");
    let end = Instant::now() + STOP_TIMEOUT;
    while !call("waiting for the operator to end", pods.list(&own)).await?.items.is_empty() {
        if Instant::now() > end {
            return Err(RemoveError::StillThere);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    for (api_version, kind, plural) in ORDER {
        for place in places(kind) {
            let api = api_of(client, &resource(api_version, kind, plural), place);
            let labelled = ListParams::default().labels(DRIVER_LABEL);
            let doing = format!("listing {plural}");
            let found =
                call(&doing, async { api.list_metadata(&labelled).await.map(|list| list.items) }).await;
            // A label can be copied with an object.
            let ours = or_absent(found)?.into_iter().filter(|object| is_applied_by(object, MANAGER));
            for object in ours {
                let name = object.name_any();
                let exactly = Preconditions { uid: object.uid(), resource_version: None };
                let parameters = DeleteParams::background().preconditions(exactly);
                let deleted = call(&format!("deleting {kind} {name}"), api.delete(&name, &parameters)).await;
                if or_absent(deleted.map(|_| true))? {
                    told(&describe(kind, place, &name));
                }
            }
        }
    }
    let configs: Api<VDOConfig> = Api::all(client.clone());
    let deleted =
        call("deleting the VDOConfig", configs.delete(VDO_CONFIG_NAME, &DeleteParams::default())).await;
    if or_absent(deleted.map(|_| true))? {
        told("VDOConfig cluster");
    }
    remove_operator(client, told).await?;
    Ok(gone)
}

/// Without its driver, nothing would detach these volumes.
async fn refuse_attached(client: &Client, force: bool) -> Result<(), RemoveError> {
    let attachments: Api<VolumeAttachment> = Api::all(client.clone());
    let attached = call("listing attached volumes", attachments.list(&ListParams::default())).await?;
    let ours: Vec<&VolumeAttachment> =
        attached.items.iter().filter(|one| one.spec.attacher == storage::DRIVER).collect();
    if ours.is_empty() || force {
        return Ok(());
    }
    let mut nodes: Vec<String> = ours.iter().map(|one| one.spec.node_name.clone()).collect();
    nodes.sort();
    nodes.dedup();
    nodes.truncate(5);
    Err(RemoveError::Attached { count: ours.len(), nodes })
}

/// What the operator leaves behind: its rights, its account, and how it ran. Nothing uses them any more.
async fn remove_operator(client: &Client, mut told: impl FnMut(&str)) -> Result<(), RemoveError> {
    let own = |kind: &str, api_version: &str, name: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}});
    let mut objects = [
        vec![own("Secret", "v1", KEYS_SECRET), own("Lease", "coordination.k8s.io/v1", NAME)],
        operator::objects()?,
        operator::approver()?,
        operator::machine_controllers(|_| true)?,
        operator::deployment(&Placed::default())?,
    ]
    .concat();
    objects.retain(|object| object["kind"] != "Namespace");
    let kinds = Kinds::default();
    // Bindings before roles, and those before the account.
    for object in objects.iter().rev() {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let kind = text("/kind").unwrap_or_default();
        let (place, name) = (text("/metadata/namespace"), text("/metadata/name").unwrap_or_default());
        let api = match kinds.api(client, text("/apiVersion").unwrap_or_default(), kind, place).await {
            Err(error) if error.is_absent() => continue,
            api => api?,
        };
        let deleted =
            call(&format!("deleting {kind} {name}"), api.delete(name, &DeleteParams::default())).await;
        if or_absent(deleted.map(|_| true))? {
            told(&describe(kind, place, name));
        }
    }
    Ok(())
}

fn describe(kind: &str, place: Option<&str>, name: &str) -> String {
    match place {
        Some(place) => format!("{kind} {place}/{name}"),
        None => format!("{kind} {name}"),
    }
}
