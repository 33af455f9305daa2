//! Objects of any kind, ready to be applied.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, Resource};
use serde::Serialize;
use serde_json::Value;
pub use slipway_api::well_known::DRIVER_LABEL;
use slipway_config::matrix::{Driver, Row};

use super::settings::DriverError;

/// Who applies the objects of the drivers, as the API server knows it. What others apply is not deleted, whatever its labels.
pub const MANAGER: &str = "slipway-drivers";
/// Which version of the driver an object was made for.
pub const VERSION_LABEL: &str = "slipway.dev/driver-version";
/// On pods: changes when a configuration or a Secret does.
pub const HASH_ANNOTATION: &str = "slipway.dev/config-hash";

/// An object, ready to be applied.
#[derive(Clone, PartialEq)]
pub struct Object {
    pub api_version: &'static str,
    pub kind: &'static str,
    /// The plural in the API's paths.
    pub plural: &'static str,
    pub namespace: Option<String>,
    pub name: String,
    pub value: Value,
}

impl Object {
    /// What it is called in messages.
    pub fn describe(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {namespace}/{}", self.kind, self.name),
            None => format!("{} {}", self.kind, self.name),
        }
    }
}

/// Some objects are Secrets.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Object").field(&self.describe()).finish()
    }
}

/// The objects of a driver, in the order they are to be applied.
#[derive(Debug)]
pub(super) struct Objects {
    labels: BTreeMap<String, String>,
    list: Vec<Object>,
}

impl Objects {
    pub(super) fn new(row: &Row) -> Self {
        let driver = match row.driver {
            Driver::CloudProvider => "cloud-provider",
            Driver::StorageProvider => "storage-provider",
        };
        let labels = crate::objects::map([
            ("app.kubernetes.io/managed-by", "slipway"),
            (DRIVER_LABEL, driver),
            (VERSION_LABEL, &row.version.to_string()),
        ]);
        Objects { labels, list: Vec::new() }
    }

    pub(super) fn add<K>(&mut self, mut object: K) -> Result<(), DriverError>
    where
        K: Resource + Metadata<Ty = ObjectMeta> + Serialize,
    {
        object.metadata_mut().labels.get_or_insert_default().extend(self.labels.clone());
        self.list.push(Object {
            api_version: K::API_VERSION,
            kind: K::KIND,
            plural: K::URL_PATH_SEGMENT,
            namespace: object.metadata().namespace.clone(),
            name: object.metadata().name.clone().unwrap_or_default(),
            value: serde_json::to_value(&object)?,
        });
        Ok(())
    }

    pub(super) fn finish(self) -> Vec<Object> {
        self.list
    }
}
