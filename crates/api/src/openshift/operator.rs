//! `operator.openshift.io/v1`: settings of operators.

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::config::ClusterNetworkEntry;

/// Settings of the machine-config operator.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "operator.openshift.io", version = "v1", kind = "MachineConfiguration")]
#[kube(schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct MachineConfigurationSpec {
    pub log_level: String,
    pub management_state: String,
    pub operator_log_level: String,
    pub managed_boot_images: ManagedBootImages,
}

/// Which machines' boot images the operator keeps current.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedBootImages {
    pub machine_managers: Vec<MachineManager>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineManager {
    pub api_group: String,
    pub resource: String,
    pub selection: MachineManagerSelection,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineManagerSelection {
    pub mode: String,
}

/// Settings of the network operator.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "operator.openshift.io", version = "v1", kind = "Network", root = "NetworkOperator")]
#[kube(schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct NetworkOperatorSpec {
    pub management_state: String,
    pub cluster_network: Vec<ClusterNetworkEntry>,
    pub service_network: Vec<String>,
    pub default_network: DefaultNetwork,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DefaultNetwork {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(rename = "ovnKubernetesConfig")]
    pub ovn_kubernetes: Option<OvnKubernetes>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OvnKubernetes {
    pub mtu: Option<u32>,
    pub ipv4: Option<GatewayIpv4>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayIpv4 {
    pub internal_join_subnet: String,
}
