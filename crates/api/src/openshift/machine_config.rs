//! `machineconfiguration.openshift.io/v1`.

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

/// What the operating system of machines of a role is configured with.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[kube(group = "machineconfiguration.openshift.io", version = "v1", kind = "MachineConfig")]
#[kube(schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct MachineConfigSpec {
    /// An Ignition configuration.
    pub config: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_arguments: Vec<String>,
    pub fips: Option<bool>,
}

/// Which operating system machines get.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "machineconfiguration.openshift.io", version = "v1", kind = "OSImageStream")]
#[kube(root = "OsImageStream", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct OsImageStreamSpec {
    pub default_stream: String,
}
