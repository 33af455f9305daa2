//! Versions that are asked for, and the ones that were.

use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use slipway_api::slipway::{VDO_CONFIG_NAME, VDOConfig};

use crate::access::{AccessError, call};

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

/// Asks for versions. The operator does the rest.
pub async fn pin(client: &Client, cloud: &Pin, storage: &Pin) -> Result<(), AccessError> {
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
    let patch = json!({"spec": spec});
    let patch = Patch::Merge(&patch);
    let parameters = PatchParams::default();
    let patched = configs.patch(VDO_CONFIG_NAME, &parameters, &patch);
    call("changing the VDOConfig", patched).await.map(drop)
}
