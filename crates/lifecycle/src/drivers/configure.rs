//! Connections, their Secrets, and the VDOConfig.

use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use slipway_api::slipway::{VDO_CONFIG_NAME, VDOConfig, VDOConfigSpec};
use slipway_assets::drivers::{Connection, DriverError};
use thiserror::Error;

use super::access::{AccessError, apply, call, or_absent};

/// Why nothing was configured.
#[derive(Debug, Error)]
pub enum ConfigureError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("`{0}` is not written as name@domain")]
    User(String),
    #[error("no driver is wanted")]
    NoDriver,
    #[error("the objects of a connection cannot be made")]
    Objects(#[from] DriverError),
}

/// What the VDOConfig is to say, where it does not say anything yet.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub cloud_provider: bool,
    pub storage_provider: bool,
    pub topology_categories: Vec<String>,
    pub registry: Option<String>,
    pub pull_secrets: Vec<String>,
    /// Connections that only one of the drivers uses.
    pub cloud_connections: Vec<String>,
    pub storage_connections: Vec<String>,
}

impl Wanted {
    /// Whether it says more than that there is to be a VDOConfig.
    fn is_special(&self) -> bool {
        let lists = [
            &self.topology_categories,
            &self.pull_secrets,
            &self.cloud_connections,
            &self.storage_connections,
        ];
        self.registry.is_some() || lists.iter().any(|list| !list.is_empty())
    }

    /// Connections that are named already stay.
    fn spec(&self, there: Option<&VDOConfigSpec>) -> Result<Value, ConfigureError> {
        let named = |there: Option<&Vec<String>>, new: &[String]| {
            let mut names: Vec<String> = there.cloned().unwrap_or_default();
            names.extend(new.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
            names
        };
        let mut spec = json!({});
        if self.cloud_provider {
            let there = there.and_then(|there| there.cloud_provider.as_ref()?.connections.as_ref());
            spec["cloudProvider"] = json!({});
            if !self.cloud_connections.is_empty() {
                spec["cloudProvider"]["connections"] = json!(named(there, &self.cloud_connections));
            }
        }
        if self.storage_provider {
            let there = there.and_then(|there| there.storage_provider.as_ref()?.connections.as_ref());
            spec["storageProvider"] = json!({});
            if !self.topology_categories.is_empty() {
                spec["storageProvider"]["topologyCategories"] = json!(self.topology_categories);
            }
            if !self.storage_connections.is_empty() {
                spec["storageProvider"]["connections"] = json!(named(there, &self.storage_connections));
            }
        }
        if spec == json!({}) {
            return Err(ConfigureError::NoDriver);
        }
        let mut images = json!({});
        if let Some(registry) = &self.registry {
            images["registry"] = json!(registry);
        }
        if !self.pull_secrets.is_empty() {
            images["pullSecrets"] = json!(self.pull_secrets);
        }
        if images != json!({}) {
            spec["images"] = images;
        }
        Ok(spec)
    }
}

/// Applies a connection, and the VDOConfig if there is none yet. In a VDOConfig that is there only what is given changes.
pub async fn configure(
    client: &Client,
    connection: Option<&Connection>,
    wanted: &Wanted,
    told: impl Fn(&str),
) -> Result<(), ConfigureError> {
    if let Some(connection) = connection {
        if !connection.user.contains('@') && !connection.user.contains('\\') {
            return Err(ConfigureError::User(connection.user.clone()));
        }
        for object in connection.objects()? {
            told(&apply(client, &object).await?);
        }
    }
    let configs: Api<VDOConfig> = Api::all(client.clone());
    let there = or_absent(call("reading the VDOConfig", configs.get_opt(VDO_CONFIG_NAME)).await)?;
    match there {
        None => {
            let config = json!({
                "apiVersion": "slipway.dev/v1alpha1", "kind": "VDOConfig", "metadata": {"name": VDO_CONFIG_NAME},
                "spec": wanted.spec(None)?,
            });
            told(&apply(client, &config).await?);
        }
        Some(there) if wanted.is_special() => {
            let patch = json!({"spec": wanted.spec(Some(&there.spec))?});
            let patch = Patch::Merge(&patch);
            let parameters = PatchParams::default();
            let patched = configs.patch(VDO_CONFIG_NAME, &parameters, &patch);
            call("changing the VDOConfig", patched).await?;
            told("VDOConfig cluster");
        }
        Some(_) => {}
    }
    Ok(())
}
