//! `slipway.dev/v1alpha1`: connections to vCenters, and the drivers that use them.
//!
//! The doc comments of the fields are the user manual: they become the descriptions in the definitions, which
//! `cargo xtask crds` writes to `deploy/crds`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`connection`] | `VSphereConnection` |
//! | [`address_pool`] | `AddressPool` |
//! | [`vdo_config`] | `VDOConfig`: what is wanted |
//! | [`vdo_status`] | `VDOConfig`: what is |
//! | [`condition`] | types of conditions |
//! | [`login`] | for which vCenter a login is |

pub mod address_pool;
pub mod condition;
pub mod connection;
pub mod login;
mod schema;
pub mod vdo_config;
pub mod vdo_status;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use address_pool::{AddressPool, AddressPoolSpec, AddressPoolStatus};
pub use connection::{VSphereConnection, VSphereConnectionSpec, VSphereConnectionStatus};
pub use schema::CHECK_CODES;
pub use vdo_config::{VDOConfig, VDOConfigSpec};
pub use vdo_status::VDOConfigStatus;

/// The group of our kinds.
pub const GROUP: &str = "slipway.dev";

/// The one `VDOConfig` of a cluster.
pub const VDO_CONFIG_NAME: &str = "cluster";

/// The definitions of our kinds, in the order they are to be applied.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    [VSphereConnection::crd(), VDOConfig::crd(), AddressPool::crd()].into_iter().map(schema::tidy).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::definitions;

    /// What `kubectl explain` shows is the manual.
    #[test]
    fn every_field_is_described() {
        for definition in definitions() {
            let name = definition.metadata.name.clone().unwrap_or_default();
            let value = serde_json::to_value(&definition).unwrap();
            let schema = &value["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            let mut silent = Vec::new();
            for part in ["spec", "status"] {
                undescribed(&schema["properties"][part], part, &mut silent);
            }
            assert!(silent.is_empty(), "{name}: {silent:#?}");
        }
    }

    fn undescribed(schema: &Value, path: &str, silent: &mut Vec<String>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            let text = property["description"].as_str().unwrap_or_default();
            if !text.ends_with('.') {
                silent.push(format!("{path}: {text:?}"));
            }
            undescribed(property, &path, silent);
            undescribed(&property["items"], &path, silent);
        }
    }

    #[test]
    fn nothing_is_nullable() {
        for definition in definitions() {
            let text = serde_json::to_string(&definition).unwrap();
            assert!(!text.contains("nullable") && !text.contains("uint"), "{text}");
        }
    }
}
