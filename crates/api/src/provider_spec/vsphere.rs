//! `VSphereMachineProviderSpec`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::TypeMeta;
use crate::{DataDisk, LocalReference};

/// A machine on vSphere.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VSphereProviderSpec {
    #[serde(flatten)]
    pub types: TypeMeta,
    pub user_data_secret: Option<LocalReference>,
    pub credentials_secret: Option<LocalReference>,
    #[serde(default)]
    pub template: String,
    pub workspace: Option<Workspace>,
    #[serde(default)]
    pub network: NetworkSpec,
    #[serde(rename = "numCPUs", default)]
    pub num_cpus: u32,
    #[serde(default)]
    pub num_cores_per_socket: u32,
    #[serde(rename = "memoryMiB", default)]
    pub memory_mib: u32,
    #[serde(rename = "diskGiB", default)]
    pub disk_gib: u32,
    /// `fullClone` or `linkedClone`.
    pub clone_mode: Option<String>,
    /// What a linked clone is made from.
    pub snapshot: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_disks: Vec<DataDisk>,
    #[serde(rename = "tagIDs", default, skip_serializing_if = "Vec::is_empty")]
    pub tag_ids: Vec<String>,
}

impl VSphereProviderSpec {
    pub fn types() -> TypeMeta {
        TypeMeta {
            api_version: "machine.openshift.io/v1beta1".to_owned(),
            kind: "VSphereMachineProviderSpec".to_owned(),
        }
    }
}

/// Where on which vCenter. What is empty comes from the failure domain.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Workspace {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub server: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub datacenter: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub datastore: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub folder: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_pool: String,
    /// The group whose rule binds the machine to the hosts of its zone.
    pub vm_group: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkSpec {
    #[serde(default)]
    pub devices: Vec<NetworkDevice>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkDevice {
    pub network_name: Option<String>,
    pub gateway: Option<String>,
    #[serde(rename = "ipAddrs", default, skip_serializing_if = "Vec::is_empty")]
    pub ip_addrs: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nameservers: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses_from_pools: Vec<AddressPool>,
}

/// A pool addresses are claimed from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressPool {
    pub group: String,
    pub resource: String,
    pub name: String,
}
