//! Everything away, in the safe order: first whoever would put it back, then what could refuse, then what uses the rest.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client, ResourceExt};
use slipway_api::slipway::{VDO_CONFIG_NAME, VDOConfig};
use slipway_assets::drivers::object::DRIVER_LABEL;
use slipway_assets::drivers::operator::{NAME, NAMESPACE};
use slipway_assets::drivers::{cloud, storage};
use thiserror::Error;
use tokio::time::Instant;

use crate::access::{AccessError, api, call, or_absent};

/// How long the operator may take to end.
const FAREWELL: Duration = Duration::from_mins(2);

/// Kinds of objects of the drivers, in the order they go, and whether they are in a namespace.
const ORDER: [(&str, &str, &str, bool); 14] = [
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        false,
    ),
    ("storage.k8s.io/v1", "StorageClass", "storageclasses", false),
    ("apps/v1", "Deployment", "deployments", true),
    ("apps/v1", "DaemonSet", "daemonsets", true),
    ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true),
    ("v1", "Service", "services", true),
    ("v1", "Secret", "secrets", true),
    ("v1", "ConfigMap", "configmaps", true),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true),
    ("rbac.authorization.k8s.io/v1", "Role", "roles", true),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", false),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false),
    ("v1", "ServiceAccount", "serviceaccounts", true),
    ("storage.k8s.io/v1", "CSIDriver", "csidrivers", false),
];

/// Why nothing was removed, or not everything.
#[derive(Debug, Error)]
pub enum RemoveError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("{count} volumes are attached, among them those of {}", nodes.join(", "))]
    Attached { count: usize, nodes: Vec<String> },
    #[error("the operator was not gone after {} seconds, and would put everything back", FAREWELL.as_secs())]
    StillThere,
}

/// Removes the drivers and the operator. Namespaces, connections and Secrets stay, and so do the definitions.
pub async fn remove(client: &Client, force: bool, told: impl Fn(&str)) -> Result<(), RemoveError> {
    let attachments: Api<VolumeAttachment> = Api::all(client.clone());
    let attached = call("listing attached volumes", attachments.list(&ListParams::default())).await?;
    let ours: Vec<&VolumeAttachment> =
        attached.items.iter().filter(|one| one.spec.attacher == storage::DRIVER).collect();
    if !ours.is_empty() && !force {
        let mut nodes: Vec<String> = ours.iter().map(|one| one.spec.node_name.clone()).collect();
        nodes.sort();
        nodes.dedup();
        nodes.truncate(5);
        return Err(RemoveError::Attached { count: ours.len(), nodes });
    }
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let gone = call("deleting the operator", deployments.delete(NAME, &DeleteParams::foreground())).await;
    if or_absent(gone.map(|_| true))? {
        told(&format!("Deployment {NAMESPACE}/{NAME}"));
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let own = ListParams::default().labels("app.kubernetes.io/name=slipway-operator");
    let end = Instant::now() + FAREWELL;
    while !call("waiting for the operator to end", pods.list(&own)).await?.items.is_empty() {
        if Instant::now() > end {
            return Err(RemoveError::StillThere);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    for (api_version, kind, plural, namespaced) in ORDER {
        let places: &[Option<&str>] =
            if namespaced { &[Some(storage::NAMESPACE), Some(cloud::NAMESPACE)] } else { &[None] };
        for place in places {
            let api = api(client, api_version, kind, plural, *place);
            let labelled = ListParams::default().labels(DRIVER_LABEL);
            let doing = format!("listing {plural}");
            let found =
                call(&doing, async { api.list_metadata(&labelled).await.map(|list| list.items) }).await;
            for object in or_absent(found)? {
                let name = object.name_any();
                let doing = format!("deleting {kind} {name}");
                let deleted = call(&doing, api.delete(&name, &DeleteParams::background())).await;
                or_absent(deleted.map(|_| ()))?;
                told(&match place {
                    Some(place) => format!("{kind} {place}/{name}"),
                    None => format!("{kind} {name}"),
                });
            }
        }
    }
    let configs: Api<VDOConfig> = Api::all(client.clone());
    let gone =
        call("deleting the VDOConfig", configs.delete(VDO_CONFIG_NAME, &DeleteParams::default())).await;
    if or_absent(gone.map(|_| true))? {
        told("VDOConfig cluster");
    }
    Ok(())
}
