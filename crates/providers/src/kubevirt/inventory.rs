//! What a user of a namespace sees of its infrastructure cluster: what runs machines there, storage, networks and limits.
//!
//! KubeVirt and CDI let every user who is logged in read their configuration and the profiles of storage; classes of storage
//! can be read only where an administrator allows it.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt;
use kube::api::{ApiResource, DynamicObject, ListParams};
use serde_json::Value;

use super::infra::Infra;
use super::look::pages;
use crate::cluster::{AccessError, Cause, api_of, call, resource};

/// What was asked for, where there is such a thing and the user may read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen<T> {
    Known(T),
    Forbidden,
    /// The cluster does not know the kind.
    NotServed,
}

impl<T> Seen<T> {
    pub fn known(&self) -> Option<&T> {
        match self {
            Seen::Known(known) => Some(known),
            Seen::Forbidden | Seen::NotServed => None,
        }
    }
}

/// Everything that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    pub kubevirt: Seen<Vec<Installation>>,
    pub profiles: Seen<Vec<StorageProfile>>,
    pub classes: Seen<Vec<StorageClass>>,
    /// The network attachments of the namespace.
    pub attachments: Seen<Vec<String>>,
    pub quotas: Seen<Vec<Quota>>,
    pub limits: Seen<Vec<Limit>>,
}

/// KubeVirt as it is installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installation {
    /// Such as `v1.8.2`; of the vendor's builds with more behind it.
    pub version: Option<String>,
    pub phase: Option<String>,
    /// Of a processor, one machine's processor asks for the inverse of this.
    pub cpu_allocation_ratio: u32,
}

/// What CDI knows of a class of storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageProfile {
    pub name: String,
    /// How volumes can be accessed; empty where CDI does not know the storage.
    pub access_modes: BTreeSet<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageClass {
    pub name: String,
    /// Taken where none is named: the cluster's, or KubeVirt's for machines.
    pub is_default: bool,
}

/// Amounts by the names of resources.
pub type Amounts = BTreeMap<String, String>;

/// A ResourceQuota.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quota {
    pub name: String,
    pub hard: Amounts,
    pub used: Amounts,
    /// It counts only some pods.
    pub scopes: BTreeSet<String>,
}

/// An entry of a LimitRange.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limit {
    pub name: String,
    /// `Pod`, `Container` or `PersistentVolumeClaim`.
    pub kind: String,
    pub min: Amounts,
    pub max: Amounts,
    /// The limit of containers that name none.
    pub default: Amounts,
}

/// KubeVirt's own, where it says nothing else.
const CPU_ALLOCATION_RATIO: u32 = 10;

/// The annotations of classes that are taken where none is named.
const DEFAULT_CLASS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.kubevirt.io/is-default-virt-class"];

impl Infra {
    /// Six lists at once.
    pub async fn inventory(&self) -> Result<Inventory, AccessError> {
        let kubevirts = resource("kubevirt.io/v1", "KubeVirt", "kubevirts");
        let profiles = resource("cdi.kubevirt.io/v1beta1", "StorageProfile", "storageprofiles");
        let classes = resource("storage.k8s.io/v1", "StorageClass", "storageclasses");
        let attachments =
            resource("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "network-attachment-definitions");
        let (quotas, limits) =
            (resource("v1", "ResourceQuota", "resourcequotas"), resource("v1", "LimitRange", "limitranges"));
        let own = Some(self.namespace());
        let (kubevirt, profiles, classes, attachments, quotas, limits) = tokio::try_join!(
            self.seen(&kubevirts, None, installation),
            self.seen(&profiles, None, storage_profile),
            self.seen(&classes, None, storage_class),
            self.seen(&attachments, own, ResourceExt::name_any),
            self.seen(&quotas, own, quota),
            self.seen(&limits, own, limit_range),
        )?;
        let limits = match limits {
            Seen::Known(ranges) => Seen::Known(ranges.into_iter().flatten().collect()),
            Seen::Forbidden => Seen::Forbidden,
            Seen::NotServed => Seen::NotServed,
        };
        Ok(Inventory { kubevirt, profiles, classes, attachments, quotas, limits })
    }

    /// Namespaces that can be chosen, where the user may list them.
    pub async fn namespaces(&self) -> Result<Seen<Vec<String>>, AccessError> {
        self.seen(&resource("v1", "Namespace", "namespaces"), None, ResourceExt::name_any).await
    }

    /// The version of the API server: that it answers at all.
    pub async fn server_version(&self) -> Result<String, AccessError> {
        let client = self.client().await?.clone();
        Ok(call("asking for the version", client.apiserver_version()).await?.git_version)
    }

    async fn seen<T>(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        read: impl Fn(&DynamicObject) -> T,
    ) -> Result<Seen<Vec<T>>, AccessError> {
        let api = api_of(self.client().await?, resource, namespace);
        let doing = format!("listing {}", resource.plural);
        match pages(&api, &doing, ListParams::default(), false).await {
            Ok(objects) => Ok(Seen::Known(objects.iter().map(read).collect())),
            Err(error) => match error.cause() {
                Cause::Forbidden => Ok(Seen::Forbidden),
                Cause::Absent => Ok(Seen::NotServed),
                _ => Err(error),
            },
        }
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(ToOwned::to_owned)
}

fn installation(object: &DynamicObject) -> Installation {
    let ratio = object.data.pointer("/spec/configuration/developerConfiguration/cpuAllocationRatio");
    let ratio = ratio.and_then(Value::as_u64).and_then(|ratio| u32::try_from(ratio).ok());
    Installation {
        version: text(object.data.pointer("/status/observedKubeVirtVersion")),
        phase: text(object.data.pointer("/status/phase")),
        cpu_allocation_ratio: ratio.filter(|ratio| *ratio > 0).unwrap_or(CPU_ALLOCATION_RATIO),
    }
}

fn storage_profile(object: &DynamicObject) -> StorageProfile {
    let sets = object.data.pointer("/status/claimPropertySets").and_then(Value::as_array);
    let modes = sets.into_iter().flatten().filter_map(|set| set["accessModes"].as_array()).flatten();
    StorageProfile {
        name: object.name_any(),
        access_modes: modes.filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
    }
}

fn storage_class(object: &DynamicObject) -> StorageClass {
    let is = |key: &&str| object.annotations().get(*key).is_some_and(|value| value == "true");
    StorageClass { name: object.name_any(), is_default: DEFAULT_CLASS.iter().any(is) }
}

fn amounts(value: Option<&Value>) -> Amounts {
    let members = value.and_then(Value::as_object).into_iter().flatten();
    let amount = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    members.map(|(name, value)| (name.clone(), amount(value))).collect()
}

fn quota(object: &DynamicObject) -> Quota {
    let scopes = object.data.pointer("/spec/scopes").and_then(Value::as_array).into_iter().flatten();
    let selector = object.data.pointer("/spec/scopeSelector/matchExpressions").and_then(Value::as_array);
    let selected = selector.into_iter().flatten().filter_map(|term| term["scopeName"].as_str());
    Quota {
        name: object.name_any(),
        hard: amounts(object.data.pointer("/spec/hard")),
        used: amounts(object.data.pointer("/status/used")),
        scopes: scopes.filter_map(Value::as_str).chain(selected).map(ToOwned::to_owned).collect(),
    }
}

fn limit_range(object: &DynamicObject) -> Vec<Limit> {
    let entries = object.data.pointer("/spec/limits").and_then(Value::as_array).into_iter().flatten();
    let limit = |entry: &Value| Limit {
        name: object.name_any(),
        kind: entry["type"].as_str().unwrap_or_default().to_owned(),
        min: amounts(entry.get("min")),
        max: amounts(entry.get("max")),
        default: amounts(entry.get("default")),
    };
    entries.map(limit).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Seen, installation, limit_range, quota, storage_class, storage_profile};

    fn object(data: serde_json::Value) -> kube::api::DynamicObject {
        let mut data = data;
        data["metadata"]["name"] = json!("one");
        serde_json::from_value(data).unwrap()
    }

    #[test]
    fn objects_are_read_as_they_are_written() {
        let kubevirt = installation(&object(
            json!({"status": {"observedKubeVirtVersion": "v1.8.2", "phase": "Deployed"}}),
        ));
        assert_eq!((kubevirt.version.as_deref(), kubevirt.cpu_allocation_ratio), (Some("v1.8.2"), 10));
        let profile = storage_profile(&object(json!({"status": {"claimPropertySets": [
            {"accessModes": ["ReadWriteMany"], "volumeMode": "Block"}, {"accessModes": ["ReadWriteOnce"]},
        ]}})));
        assert_eq!(profile.access_modes.iter().collect::<Vec<_>>(), ["ReadWriteMany", "ReadWriteOnce"]);
        let class = object(
            json!({"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}),
        );
        assert!(storage_class(&class).is_default);
        let quota = quota(&object(json!({
            "spec": {"hard": {"pods": 4, "requests.memory": "8Gi"}, "scopes": ["NotTerminating"]},
            "status": {"used": {"pods": "1"}},
        })));
        assert_eq!((quota.hard["pods"].as_str(), quota.used["pods"].as_str()), ("4", "1"));
        assert!(quota.scopes.contains("NotTerminating"));
        let limits = limit_range(&object(json!({"spec": {"limits": [
            {"type": "Container", "max": {"memory": "1Gi"}, "default": {"memory": "512Mi"}}, {"type": "Pod"},
        ]}})));
        assert_eq!((limits.len(), limits[0].default["memory"].as_str()), (2, "512Mi"));
    }

    #[test]
    fn only_what_is_known_is_known() {
        assert_eq!(Seen::Known(1).known(), Some(&1));
        assert_eq!(Seen::<u8>::Forbidden.known(), None);
    }
}
