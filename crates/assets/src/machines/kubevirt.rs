//! Machines on KubeVirt.

use slipway_api::provider_spec::KubevirtProviderSpec;
use slipway_config::install_config::kubevirt::{InterfaceBinding, Machine, Network, Platform};

use super::{add_masters, add_workers, provider_spec};
use crate::kubevirt::source_name;
use crate::names::Role;
use crate::{Cluster, Error, Named, Tree};

pub(super) fn add(cluster: &Cluster, platform: &Platform, tree: &mut Tree) -> Result<(), Error> {
    let master = spec(cluster, platform, &platform.machines.control_plane, Role::Master);
    add_masters(cluster, tree, |_| provider_spec(&master))?;
    let worker = spec(cluster, platform, &platform.machines.compute, Role::Worker);
    add_workers(cluster, tree, provider_spec(&worker)?)
}

/// What a Machine says of itself.
pub(crate) fn spec(
    cluster: &Named,
    platform: &Platform,
    machine: &Machine,
    role: Role,
) -> KubevirtProviderSpec {
    let (network_name, binding) = match &platform.network {
        Network::Pods => (None, None),
        Network::Attachment { name, binding, .. } => (Some(name.to_string()), Some(*binding)),
    };
    KubevirtProviderSpec {
        types: KubevirtProviderSpec::types(),
        source_pvc_name: source_name(cluster),
        credentials_secret_name: "kubevirt-credentials".to_owned(),
        ignition_secret_name: format!("{}-user-data", role.as_str()),
        network_name,
        interface_binding_method: binding
            .filter(|binding| *binding != InterfaceBinding::Bridge)
            .map(|binding| binding.to_string()),
        persistent_volume_access_mode: platform.access_mode.to_string(),
        requested_cpu: machine.cpu,
        requested_memory: machine.memory.as_str().to_owned(),
        requested_storage: machine.storage_size.as_str().to_owned(),
        storage_class_name: platform.storage_class.as_ref().map(ToString::to_string),
    }
}
