//! Names on oVirt, the bootstrap machine, and the affinity groups that keep machines apart.

use slipway_api::provider_spec::{OvirtCpu, OvirtDisk, OvirtProviderSpec};
use slipway_config::install_config::ovirt::{AffinityGroup, Platform, VmType};

use crate::Named;
use crate::machines::ovirt_spec;
use crate::names::Role;

/// The bootstrap machine lives for minutes: it is as small as it may be.
const BOOTSTRAP_CPU: OvirtCpu = OvirtCpu { sockets: 1, cores: 4, threads: 1 };
const BOOTSTRAP_MEMORY_MIB: u32 = 8192;
const BOOTSTRAP_DISK_GIB: u32 = 30;

/// The bootstrap machine, which no manifest describes. It may run beside any other machine.
pub fn bootstrap_spec(cluster: &Named, platform: &Platform) -> OvirtProviderSpec {
    OvirtProviderSpec {
        name: Some(cluster.bootstrap_name()),
        instance_type_id: None,
        cpu: Some(BOOTSTRAP_CPU),
        memory_mb: Some(BOOTSTRAP_MEMORY_MIB),
        os_disk: OvirtDisk { size_gb: BOOTSTRAP_DISK_GIB },
        vm_type: VmType::Server.to_string(),
        affinity_groups_names: Vec::new(),
        auto_pinning_policy: None,
        hugepages: None,
        ..ovirt_spec(cluster, platform, &platform.machines.control_plane, Role::Master)
    }
}

/// The machines of the control plane, as their manifests are written.
pub fn control_plane(cluster: &Named, platform: &Platform) -> Vec<(String, OvirtProviderSpec)> {
    let spec = ovirt_spec(cluster, platform, &platform.machines.control_plane, Role::Master);
    let machine = |index| {
        let name = cluster.machine_name(Role::Master, index);
        (name.clone(), OvirtProviderSpec { name: Some(name), ..spec.clone() })
    };
    (0..cluster.replicas(Role::Master)).map(machine).collect()
}

/// How many compute machines the cluster will make, and from what.
pub fn compute(cluster: &Named, platform: &Platform) -> (usize, OvirtProviderSpec) {
    let spec = ovirt_spec(cluster, platform, &platform.machines.compute, Role::Worker);
    (cluster.replicas(Role::Worker), spec)
}

/// The template machines are made from: the user's own, or one of the name that openshift-install gives it.
pub fn template_name(cluster: &Named, platform: &Platform) -> String {
    match &platform.template {
        Some(template) => template.to_string(),
        None => format!("{}-rhcos", cluster.identity.infra_id),
    }
}

/// The affinity groups to make. A group that enforces on a cluster with fewer hosts than machines would keep
/// the last machines from ever starting: it becomes a preference. `hosts` is `None` while the engine has not been asked.
pub fn affinity_groups(cluster: &Named, platform: &Platform, hosts: Option<usize>) -> Vec<AffinityGroup> {
    let group = |group: &AffinityGroup| AffinityGroup {
        name: affinity_group_name(cluster, platform, &group.name),
        enforcing: group.enforcing
            && hosts.is_none_or(|hosts| hosts >= members(cluster, platform, &group.name)),
        ..group.clone()
    };
    platform.affinity_groups.iter().map(group).collect()
}

/// A group that is made for the cluster carries its name; one that exists keeps its own.
pub(crate) fn affinity_group_name(cluster: &Named, platform: &Platform, group: &str) -> String {
    if platform.affinity_groups.iter().any(|ours| ours.name == group) {
        format!("{}-{group}", cluster.identity.infra_id)
    } else {
        group.to_owned()
    }
}

/// How many machines join a group.
pub fn members(cluster: &Named, platform: &Platform, group: &str) -> usize {
    let joins = |role: &Role| role.of(&platform.machines).affinity_groups.iter().any(|name| name == group);
    let joined = Role::ALL.into_iter().filter(joins);
    joined.map(|role| cluster.replicas(role)).sum()
}
