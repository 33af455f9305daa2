//! Versions that are asked for, and the ones that were.

use kube::{Api, Client};
use serde_json::{Value, json};
use slipway_api::slipway::{VDO_CONFIG_NAME, VDOConfig};
use slipway_providers::cluster::{AccessError, merge};
use thiserror::Error;

/// What is to become of a pinned version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pin {
    Keep,
    To(String),
    /// The newest that fits is taken again.
    Release,
}

impl Pin {
    fn patch(&self) -> Option<Value> {
        match self {
            Pin::Keep => None,
            Pin::To(version) => Some(json!({"version": version})),
            Pin::Release => Some(json!({"version": null})),
        }
    }
}

/// Why no version was asked for.
#[derive(Debug, Error)]
pub enum PinError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("the cluster has no VDOConfig, so there is no driver whose version could change")]
    NoConfig,
}

/// Asks for versions. The operator does the rest.
pub async fn pin(client: &Client, cloud: &Pin, storage: &Pin) -> Result<(), PinError> {
    let mut spec = json!({});
    if let Some(patch) = cloud.patch() {
        spec["cloudProvider"] = patch;
    }
    if let Some(patch) = storage.patch() {
        spec["storageProvider"] = patch;
    }
    if spec == json!({}) {
        return Ok(());
    }
    let configs: Api<VDOConfig> = Api::all(client.clone());
    match merge(&configs, VDO_CONFIG_NAME, "changing the VDOConfig", &json!({"spec": spec})).await {
        // Neither where the kind is not known.
        Err(error) if error.is_absent() => Err(PinError::NoConfig),
        other => Ok(other?),
    }
}
