//! `machine.openshift.io`: which machines are unhealthy, and how many of them may be replaced.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::machine::MachineCondition;

/// When machines are unhealthy. Those that are and have an owner are deleted, so that the owner replaces them.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[kube(group = "machine.openshift.io", version = "v1beta1", kind = "MachineHealthCheck", namespaced)]
#[kube(status = "MachineHealthCheckStatus", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct MachineHealthCheckSpec {
    /// Which machines. An empty selector matches all.
    #[serde(default)]
    pub selector: LabelSelector,
    /// A node that has one of these conditions for long enough is unhealthy.
    #[serde(default)]
    pub unhealthy_conditions: Vec<UnhealthyCondition>,
    /// More unhealthy machines than this, and none is replaced. Without it `100%`.
    pub max_unhealthy: Option<IntOrString>,
    /// How long a machine may take to become a node, such as `10m`, which is the default; `0` is for ever.
    pub node_startup_timeout: Option<String>,
    /// Something else that repairs machines.
    pub remediation_template: Option<ObjectReference>,
}

/// A condition of a node, and how long it may last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnhealthyCondition {
    #[serde(rename = "type")]
    pub type_: String,
    pub status: String,
    /// A time as Go writes it, such as `5m` or `1h30m`.
    pub timeout: String,
}

/// What was found.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineHealthCheckStatus {
    pub expected_machines: Option<u32>,
    pub current_healthy: Option<u32>,
    #[serde(default)]
    pub remediations_allowed: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MachineCondition>,
}
