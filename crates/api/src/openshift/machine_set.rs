//! `machine.openshift.io`: sets of machines that are alike.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::machine::{MachineCondition, MachineSpec, ObjectLabels};

/// A number of machines that are alike.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[kube(group = "machine.openshift.io", version = "v1beta1", kind = "MachineSet", namespaced)]
#[kube(status = "MachineSetStatus", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct MachineSetSpec {
    /// How many there are to be. Without a number, one.
    #[serde(default = "one")]
    pub replicas: u32,
    #[serde(default)]
    pub selector: LabelSelector,
    #[serde(default)]
    pub template: MachineTemplate,
    /// Which machines go first: `Random` (the default), `Newest` or `Oldest`.
    pub delete_policy: Option<String>,
    /// How long the node of a machine must be ready before the machine counts as available.
    pub min_ready_seconds: Option<u32>,
    /// Who is to reconcile it; only where machines move between two APIs.
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
}

fn one() -> u32 {
    1
}

/// What the machines of a set are made from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineTemplate {
    #[serde(default)]
    pub metadata: ObjectLabels,
    #[serde(default)]
    pub spec: MachineSpec,
}

/// What there is of a set, as `kubectl scale` and the cluster autoscaler read it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineSetStatus {
    #[serde(default)]
    pub replicas: u32,
    #[serde(default)]
    pub fully_labeled_replicas: u32,
    #[serde(default)]
    pub ready_replicas: u32,
    #[serde(default)]
    pub available_replicas: u32,
    pub observed_generation: Option<i64>,
    /// The selector as text, for the scale subresource.
    pub label_selector: Option<String>,
    pub error_reason: Option<String>,
    pub error_message: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MachineCondition>,
}

#[cfg(test)]
mod tests {
    use super::MachineSet;

    #[test]
    fn what_is_left_out_has_a_default() {
        let text = r#"{"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": {}, "spec": {}}"#;
        let set: MachineSet = serde_json::from_str(text).unwrap();
        assert_eq!((set.spec.replicas, set.status), (1, None));
    }
}
