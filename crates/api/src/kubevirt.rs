//! Virtual machines of KubeVirt, and the disks CDI makes for them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodAffinityTerm;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::LocalReference;
use crate::openshift::ObjectLabels;

/// A virtual machine.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "kubevirt.io", version = "v1", kind = "VirtualMachine", namespaced, schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct VirtualMachineSpec {
    pub run_strategy: String,
    pub data_volume_templates: Vec<DataVolumeTemplate>,
    pub template: VirtualMachineTemplate,
}

/// A disk that lives and dies with its machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataVolumeTemplate {
    pub metadata: Named,
    pub spec: DataVolumeSpec,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub name: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// What the pod of a machine is made from: its labels are what selectors see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VirtualMachineTemplate {
    pub metadata: ObjectLabels,
    pub spec: InstanceSpec,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceSpec {
    pub affinity: Option<Affinity>,
    pub domain: Domain,
    /// What happens to it when its node is drained.
    pub eviction_strategy: Option<String>,
    pub hostname: Option<String>,
    pub networks: Vec<Network>,
    pub termination_grace_period_seconds: u32,
    pub volumes: Vec<Volume>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Affinity {
    pub pod_anti_affinity: PodAntiAffinity,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodAntiAffinity {
    pub preferred_during_scheduling_ignored_during_execution: Vec<WeightedTerm>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WeightedTerm {
    pub weight: i32,
    pub pod_affinity_term: PodAffinityTerm,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    pub cpu: Cpu,
    pub memory: Memory,
    pub devices: Devices,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    pub cores: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// What the machine sees; the pod asks for it and what KubeVirt itself needs.
    pub guest: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Devices {
    pub disks: Vec<Disk>,
    pub interfaces: Vec<Interface>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    pub name: String,
    pub disk: DiskTarget,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskTarget {
    pub bus: String,
}

/// A network card; exactly one of the bindings is set.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    pub name: String,
    pub model: Option<String>,
    pub bridge: Option<Binding>,
    pub sriov: Option<Binding>,
    pub masquerade: Option<Binding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {}

/// The network of a card; exactly one of the kinds is set.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    pub name: String,
    pub multus: Option<Multus>,
    pub pod: Option<Binding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Multus {
    pub network_name: String,
}

/// A disk's contents; exactly one of the kinds is set.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    pub name: String,
    pub data_volume: Option<LocalReference>,
    pub cloud_init_config_drive: Option<ConfigDrive>,
}

/// The Secret whose key `userdata` the machine boots from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigDrive {
    pub secret_ref: LocalReference,
}

/// A disk that CDI fills.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "cdi.kubevirt.io", version = "v1beta1", kind = "DataVolume", namespaced)]
#[kube(schema = "disabled")]
pub struct DataVolumeSpec {
    pub pvc: Claim,
    pub source: DataVolumeSource,
}

/// What the disk is on.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    pub access_modes: Vec<String>,
    pub resources: ClaimResources,
    pub storage_class_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimResources {
    pub requests: BTreeMap<String, String>,
}

/// Where the contents come from; exactly one is set.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataVolumeSource {
    pub http: Option<HttpSource>,
    pub pvc: Option<ClaimSource>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpSource {
    pub url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimSource {
    pub name: String,
    pub namespace: String,
}
