//! Machines on oVirt.

use slipway_api::LocalReference;
use slipway_api::provider_spec::{OvirtCpu, OvirtDisk, OvirtNetworkInterface, OvirtProviderSpec};
use slipway_config::install_config::ovirt::{AutoPinning, Machine, Platform, Size};

use super::{add_masters, add_workers, provider_spec};
use crate::names::Role;
use crate::ovirt::{affinity_group_name, template_name};
use crate::{Cluster, Error, Named, Tree};

pub(super) fn add(cluster: &Cluster, platform: &Platform, tree: &mut Tree) -> Result<(), Error> {
    add_masters(cluster, tree, |name| {
        let mut spec = spec(cluster, platform, &platform.machines.control_plane, Role::Master);
        spec.name = Some(name.to_owned());
        provider_spec(&spec)
    })?;
    let spec = spec(cluster, platform, &platform.machines.compute, Role::Worker);
    add_workers(cluster, tree, provider_spec(&spec)?)
}

pub(crate) fn spec(cluster: &Named, platform: &Platform, machine: &Machine, role: Role) -> OvirtProviderSpec {
    let (instance_type_id, cpu, memory_mb) = match &machine.size {
        Size::InstanceType(id) => (Some(id.to_string()), None, None),
        Size::Custom { sockets, cores, threads, memory_mib } => {
            let cpu = OvirtCpu { sockets: *sockets, cores: *cores, threads: *threads };
            (None, Some(cpu), Some(*memory_mib))
        }
    };
    OvirtProviderSpec {
        types: OvirtProviderSpec::types(),
        name: None,
        user_data_secret: LocalReference::new(format!("{}-user-data", role.as_str())),
        credentials_secret: LocalReference::new("ovirt-credentials"),
        template_name: template_name(cluster, platform),
        cluster_id: platform.cluster_id.to_string(),
        instance_type_id,
        cpu,
        memory_mb,
        os_disk: OvirtDisk { size_gb: machine.os_disk_gb },
        vm_type: machine.vm_type.to_string(),
        network_interfaces: vec![OvirtNetworkInterface {
            vnic_profile_id: platform.vnic_profile_id.to_string(),
        }],
        affinity_groups_names: machine
            .affinity_groups
            .iter()
            .map(|group| affinity_group_name(cluster, platform, group))
            .collect(),
        auto_pinning_policy: (machine.auto_pinning != AutoPinning::None)
            .then(|| machine.auto_pinning.to_string()),
        hugepages: machine.hugepages_kib,
        clone: machine.clone,
        sparse: machine.sparse,
        format: machine.format.map(|format| format.to_string()),
    }
}
