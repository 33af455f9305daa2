//! `machine.openshift.io`: machines, and the set of the control plane.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeAddress, ObjectReference, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

/// A machine.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[kube(group = "machine.openshift.io", version = "v1beta1", kind = "Machine", namespaced)]
#[kube(status = "MachineStatus", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct MachineSpec {
    pub lifecycle_hooks: Option<LifecycleHooks>,
    /// Labels and annotations of the node.
    pub metadata: Option<ObjectLabels>,
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    #[serde(default)]
    pub provider_spec: ProviderSpec,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// Who is to reconcile it; only where machines move between two APIs.
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
}

/// What became of a machine.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineStatus {
    /// Its names and addresses, of the kinds that nodes have too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<NodeAddress>,
    /// The node it has become.
    pub node_ref: Option<ObjectReference>,
    /// How far it is: `Provisioning`, `Provisioned`, `Running`, `Deleting` or `Failed`.
    pub phase: Option<String>,
    /// What is wrong with it, for programs.
    pub error_reason: Option<String>,
    /// What is wrong with it, for people.
    pub error_message: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MachineCondition>,
    pub last_updated: Option<Time>,
    /// What its provider keeps about it.
    pub provider_status: Option<Value>,
    pub last_operation: Option<LastOperation>,
}

/// A condition as `machine.openshift.io` has them.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineCondition {
    #[serde(rename = "type")]
    pub type_: String,
    pub status: String,
    /// `Error`, `Warning` or `Info`, while it does not hold.
    pub severity: Option<String>,
    pub last_transition_time: Option<Time>,
    pub reason: Option<String>,
    pub message: Option<String>,
}

/// What was last done to a machine.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastOperation {
    pub description: Option<String>,
    pub last_updated: Option<Time>,
    pub state: Option<String>,
    #[serde(rename = "type")]
    pub type_: Option<String>,
}

/// What must happen before a machine goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleHooks {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pre_drain: Vec<LifecycleHook>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pre_terminate: Vec<LifecycleHook>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifecycleHook {
    pub name: String,
    pub owner: String,
}

/// What the machine is on its platform: one of [`crate::provider_spec`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProviderSpec {
    #[serde(default)]
    pub value: Value,
}

/// Labels and annotations that are handed down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectLabels {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// The labels of the machines that belong to the control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    pub match_labels: BTreeMap<String, String>,
}

/// The machines of the control plane, which are replaced one at a time.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "machine.openshift.io", version = "v1", kind = "ControlPlaneMachineSet", namespaced)]
#[kube(schema = "disabled")]
pub struct ControlPlaneMachineSetSpec {
    pub replicas: u32,
    pub selector: LabelSelector,
    pub state: String,
    pub strategy: Strategy,
    pub template: ControlPlaneTemplate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strategy {
    #[serde(rename = "type")]
    pub kind: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlPlaneTemplate {
    #[serde(rename = "machineType")]
    pub machine_type: String,
    #[serde(rename = "machines_v1beta1_machine_openshift_io")]
    pub machines: MachinesTemplate,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachinesTemplate {
    pub failure_domains: Option<FailureDomains>,
    pub metadata: ObjectLabels,
    pub spec: MachineSpec,
}

/// The failure domains the control plane spreads over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureDomains {
    pub platform: String,
    pub vsphere: Vec<FailureDomainName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureDomainName {
    pub name: String,
}
