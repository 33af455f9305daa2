//! Names on oVirt, and the affinity groups that keep machines apart.

use slipway_config::install_config::ovirt::{AffinityGroup, Platform};

use crate::Cluster;
use crate::names::Role;

/// The template machines are cloned from.
pub fn template_name(cluster: &Cluster) -> String {
    format!("{}-rhcos", cluster.identity.infra_id)
}

/// The affinity groups to make. A group that enforces on a cluster with fewer hosts than machines would keep
/// the last machines from ever starting: it becomes a preference. `hosts` is `None` while the engine has not been asked.
pub fn affinity_groups(cluster: &Cluster, platform: &Platform, hosts: Option<usize>) -> Vec<AffinityGroup> {
    let group = |group: &AffinityGroup| AffinityGroup {
        name: affinity_group_name(cluster, platform, &group.name),
        enforcing: group.enforcing
            && hosts.is_none_or(|hosts| hosts >= members(cluster, platform, &group.name)),
        ..group.clone()
    };
    platform.affinity_groups.iter().map(group).collect()
}

/// A group that is made for the cluster carries its name; one that exists keeps its own.
pub(crate) fn affinity_group_name(cluster: &Cluster, platform: &Platform, group: &str) -> String {
    if platform.affinity_groups.iter().any(|ours| ours.name == group) {
        format!("{}-{group}", cluster.identity.infra_id)
    } else {
        group.to_owned()
    }
}

/// How many machines join a group.
fn members(cluster: &Cluster, platform: &Platform, group: &str) -> usize {
    let joins = |role: &Role| role.of(&platform.machines).affinity_groups.iter().any(|name| name == group);
    let joined = Role::ALL.into_iter().filter(joins);
    joined.map(|role| cluster.replicas(role)).sum()
}
