//! `config.openshift.io/v1` Infrastructure: what the cluster knows about where it lives.

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Where the cluster lives.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "config.openshift.io", version = "v1", kind = "Infrastructure", schema = "disabled")]
#[kube(status = "InfrastructureStatus")]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureSpec {
    pub cloud_config: CloudConfig,
    pub platform_spec: PlatformSpec,
}

/// The key of the ConfigMap with the cloud provider's configuration.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudConfig {
    pub key: Option<String>,
    pub name: Option<String>,
}

/// What can be changed while the cluster runs.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformSpec {
    #[serde(rename = "type")]
    pub kind: String,
    pub vsphere: Option<VSpherePlatformSpec>,
    pub ovirt: Option<Empty>,
    pub kubevirt: Option<Empty>,
}

/// Nothing yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Empty {}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VSpherePlatformSpec {
    pub vcenters: Vec<VCenter>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<FailureDomain>,
    pub node_networking: Option<NodeNetworking>,
    #[serde(rename = "apiServerInternalIPs")]
    pub api_server_internal_ips: Vec<String>,
    #[serde(rename = "ingressIPs")]
    pub ingress_ips: Vec<String>,
    pub machine_networks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VCenter {
    pub server: String,
    pub port: u16,
    pub datacenters: Vec<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomain {
    pub name: String,
    pub region: String,
    pub zone: String,
    pub region_affinity: Option<AffinityType>,
    pub zone_affinity: Option<Affinity>,
    pub server: String,
    pub topology: Topology,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AffinityType {
    #[serde(rename = "type")]
    pub kind: String,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Affinity {
    #[serde(rename = "type")]
    pub kind: String,
    pub host_group: Option<HostGroup>,
}

/// Hosts of a zone and what binds machines to them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostGroup {
    pub host_group: String,
    pub vm_group: String,
    pub vm_host_rule: String,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Topology {
    pub datacenter: String,
    pub compute_cluster: String,
    pub networks: Vec<String>,
    pub datastore: String,
    pub resource_pool: Option<String>,
    pub folder: Option<String>,
    pub template: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeNetworking {
    pub external: NodeNetwork,
    pub internal: NodeNetwork,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeNetwork {
    pub network: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network_subnet_cidr: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_network_subnet_cidr: Vec<String>,
}

/// What the installer decided once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureStatus {
    pub infrastructure_name: String,
    pub platform: String,
    pub platform_status: PlatformStatus,
    pub etcd_discovery_domain: String,
    #[serde(rename = "apiServerURL")]
    pub api_server_url: String,
    #[serde(rename = "apiServerInternalURI")]
    pub api_server_internal_uri: String,
    pub control_plane_topology: String,
    pub infrastructure_topology: String,
    pub cpu_partitioning: String,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformStatus {
    #[serde(rename = "type")]
    pub kind: String,
    pub vsphere: Option<OnPremStatus>,
    pub ovirt: Option<OnPremStatus>,
    pub kubevirt: Option<KubevirtStatus>,
}

/// Virtual addresses, and who balances the load on them.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OnPremStatus {
    #[serde(rename = "apiServerInternalIP")]
    pub api_server_internal_ip: Option<String>,
    #[serde(rename = "apiServerInternalIPs")]
    pub api_server_internal_ips: Vec<String>,
    #[serde(rename = "ingressIP")]
    pub ingress_ip: Option<String>,
    #[serde(rename = "ingressIPs")]
    pub ingress_ips: Vec<String>,
    pub load_balancer: Option<LoadBalancer>,
    pub dns_records_type: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine_networks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadBalancer {
    #[serde(rename = "type")]
    pub kind: String,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubevirtStatus {
    #[serde(rename = "apiServerInternalIP")]
    pub api_server_internal_ip: Option<String>,
    #[serde(rename = "ingressIP")]
    pub ingress_ip: Option<String>,
}
