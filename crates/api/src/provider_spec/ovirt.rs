//! `OvirtMachineProviderSpec`. Its keys do not follow one rule.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::TypeMeta;
use crate::LocalReference;

/// A machine on oVirt.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OvirtProviderSpec {
    #[serde(flatten)]
    pub types: TypeMeta,
    pub name: Option<String>,
    #[serde(rename = "userDataSecret")]
    pub user_data_secret: LocalReference,
    #[serde(rename = "credentialsSecret")]
    pub credentials_secret: LocalReference,
    pub template_name: String,
    pub cluster_id: String,
    pub instance_type_id: Option<String>,
    pub cpu: Option<OvirtCpu>,
    pub memory_mb: Option<u32>,
    pub os_disk: OvirtDisk,
    #[serde(rename = "type")]
    pub vm_type: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network_interfaces: Vec<OvirtNetworkInterface>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affinity_groups_names: Vec<String>,
    pub auto_pinning_policy: Option<String>,
    pub hugepages: Option<u32>,
    pub clone: Option<bool>,
    pub sparse: Option<bool>,
    pub format: Option<String>,
}

impl OvirtProviderSpec {
    pub fn types() -> TypeMeta {
        TypeMeta {
            api_version: "ovirtproviderconfig.machine.openshift.io/v1beta1".to_owned(),
            kind: "OvirtMachineProviderSpec".to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OvirtCpu {
    pub sockets: u32,
    pub cores: u32,
    pub threads: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OvirtDisk {
    pub size_gb: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OvirtNetworkInterface {
    pub vnic_profile_id: String,
}
