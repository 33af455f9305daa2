//! Bindings that would have certificates approved unseen. kubeadm makes them with a cluster, and again when somebody upgrades
//! one by hand.

use std::time::Duration;

use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use slipway_providers::cluster::{AccessError, call};
use slipway_providers::text::chain;
use tokio::sync::watch;

use crate::runtime::stop::until_stopped;

/// Between two looks.
const LOOK_INTERVAL: Duration = Duration::from_mins(1);

/// Removes the bindings of these names that are there.
pub async fn remove(client: &Client, names: &[impl AsRef<str>]) -> Result<(), AccessError> {
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    for name in names {
        let name = name.as_ref();
        let found = call(&format!("looking for the binding `{name}`"), bindings.get_opt(name)).await?;
        let Some(found) = found else { continue };
        let exactly =
            DeleteParams::default().preconditions(Preconditions { uid: found.uid(), resource_version: None });
        match call(&format!("removing the binding `{name}`"), bindings.delete(name, &exactly)).await {
            Err(error) if error.is_absent() => {}
            removed => {
                drop(removed?);
                tracing::warn!(binding = name, "removed: it lets certificates of nodes be approved unseen");
            }
        }
    }
    Ok(())
}

/// Keeps them away, until it is told to end.
pub async fn keep_away(client: Client, names: Vec<String>, stop: watch::Receiver<bool>) {
    let work = async {
        loop {
            if let Err(error) = remove(&client, &names).await {
                tracing::warn!(error = %chain(&error), "bindings that approve unseen may be there");
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    };
    until_stopped(stop, work).await;
}
