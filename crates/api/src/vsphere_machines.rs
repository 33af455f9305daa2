//! Cluster API's provider for vSphere.

use std::collections::BTreeMap;

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::DataDisk;
use crate::cluster_api::Endpoint;

/// A vCenter and where the cluster's API answers.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "infrastructure.cluster.x-k8s.io", version = "v1beta1", kind = "VSphereCluster", namespaced)]
#[kube(status = "VSphereClusterStatus", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct VSphereClusterSpec {
    pub control_plane_endpoint: Endpoint,
    pub identity_ref: Identity,
    pub server: String,
    pub thumbprint: Option<String>,
    pub failure_domain_selector: Option<Selector>,
}

/// Which deployment zones belong to the cluster; an empty selector means all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

/// The Secret with user and password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub kind: String,
    pub name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VSphereClusterStatus {}

/// A virtual machine to be cloned from a template.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "infrastructure.cluster.x-k8s.io", version = "v1beta1", kind = "VSphereMachine", namespaced)]
#[kube(status = "VSphereMachineStatus", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct VSphereMachineSpec {
    pub clone_mode: String,
    #[serde(rename = "customVMXKeys", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub custom_vmx_keys: BTreeMap<String, String>,
    pub datacenter: String,
    pub datastore: String,
    #[serde(rename = "diskGiB")]
    pub disk_gib: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_disks: Vec<DataDisk>,
    pub failure_domain: Option<String>,
    pub folder: String,
    #[serde(rename = "memoryMiB")]
    pub memory_mib: u32,
    pub network: Network,
    #[serde(rename = "numCPUs")]
    pub num_cpus: u32,
    pub num_cores_per_socket: Option<u32>,
    pub resource_pool: String,
    pub server: String,
    #[serde(rename = "tagIDs", default, skip_serializing_if = "Vec::is_empty")]
    pub tag_ids: Vec<String>,
    pub template: String,
    pub thumbprint: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VSphereMachineStatus {
    #[serde(default)]
    pub ready: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    pub devices: Vec<NetworkDevice>,
}

/// A network card. Static addresses reach the machine by kernel arguments, not from here.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkDevice {
    pub dhcp4: Option<bool>,
    pub dhcp6: Option<bool>,
    pub network_name: String,
}

/// The vSphere objects of a failure domain.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "infrastructure.cluster.x-k8s.io", version = "v1beta1", kind = "VSphereFailureDomain")]
#[kube(schema = "disabled")]
pub struct VSphereFailureDomainSpec {
    pub region: FailureDomainPart,
    pub zone: FailureDomainPart,
    pub topology: FailureDomainTopology,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomainPart {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub tag_category: String,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomainTopology {
    pub datacenter: String,
    pub compute_cluster: String,
    pub datastore: String,
    pub hosts: Option<HostPlacement>,
    pub networks: Vec<String>,
}

/// Machines join the group, which a rule binds to hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostPlacement {
    pub host_group_name: String,
    pub vm_group_name: String,
}

/// Where on a vCenter machines of a failure domain go.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "infrastructure.cluster.x-k8s.io", version = "v1beta1", kind = "VSphereDeploymentZone")]
#[kube(schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct VSphereDeploymentZoneSpec {
    pub control_plane: Option<bool>,
    pub failure_domain: String,
    pub placement_constraint: PlacementConstraint,
    pub server: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacementConstraint {
    pub folder: String,
    pub resource_pool: String,
}
