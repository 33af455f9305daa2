//! What a Machine says about its platform: `spec.providerSpec.value`.

mod kubevirt;
mod ovirt;
mod vsphere;

pub use kubevirt::KubevirtProviderSpec;
pub use ovirt::{OvirtCpu, OvirtDisk, OvirtNetworkInterface, OvirtProviderSpec};
pub use vsphere::{AddressPool, NetworkDevice, NetworkSpec, VSphereProviderSpec, Workspace};

use serde::{Deserialize, Serialize};

/// Group, version and kind of an object that is part of another one. It has no name of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TypeMeta {
    pub api_version: String,
    pub kind: String,
}
