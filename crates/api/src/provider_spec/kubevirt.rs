//! `KubevirtMachineProviderSpec`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::TypeMeta;

/// A machine on KubeVirt.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KubevirtProviderSpec {
    #[serde(flatten)]
    pub types: TypeMeta,
    pub source_pvc_name: String,
    pub credentials_secret_name: String,
    pub ignition_secret_name: String,
    pub network_name: Option<String>,
    pub interface_binding_method: Option<String>,
    pub persistent_volume_access_mode: String,
    #[serde(rename = "requestedCPU")]
    pub requested_cpu: u32,
    pub requested_memory: String,
    pub requested_storage: String,
    pub storage_class_name: Option<String>,
}

impl KubevirtProviderSpec {
    pub fn types() -> TypeMeta {
        TypeMeta {
            api_version: "kubevirtproviderconfig.openshift.io/v1alpha1".to_owned(),
            kind: "KubevirtMachineProviderSpec".to_owned(),
        }
    }
}
