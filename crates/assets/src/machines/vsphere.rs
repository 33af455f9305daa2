//! Machines on vSphere.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slipway_api::LocalReference;
use slipway_api::openshift::{
    ControlPlaneMachineSet, ControlPlaneMachineSetSpec, ControlPlaneTemplate, FailureDomainName,
    FailureDomains, LabelSelector, MachineSpec, MachinesTemplate, ObjectLabels, Strategy,
};
use slipway_api::provider_spec::{NetworkDevice, NetworkSpec, VSphereProviderSpec, Workspace};
use slipway_config::install_config::vsphere::{FailureDomain, Host, HostRole, Machine, Platform};
use slipway_config::placement::Placement;

use super::{CLUSTER, NAMESPACE, addresses, labels, machine, machine_set, numbered, provider_spec};
use crate::names::Role;
use crate::objects::{map, within};
use crate::vsphere::{DomainSite, data_disk};
use crate::{Access, Cluster, Error, Tree};

pub(super) fn add(cluster: &Cluster, platform: &Platform, tree: &mut Tree) -> Result<(), Error> {
    let placement = cluster.config.placement();
    add_control_plane(cluster, platform, &placement, tree)?;
    add_compute(cluster, platform, &placement, tree)
}

fn add_control_plane(
    cluster: &Cluster,
    platform: &Platform,
    placement: &Placement,
    tree: &mut Tree,
) -> Result<(), Error> {
    let count = placement.control_plane.len();
    let hosts = hosts_of(platform, HostRole::ControlPlane);
    let size = &platform.machines.control_plane;
    for (index, position) in placement.control_plane.iter().enumerate() {
        let Some(site) = cluster.site(platform, *position) else { continue };
        let name = cluster.machine_name(Role::Master, index);
        let mut spec = spec(&site, size, Role::Master);
        if let Some(host) = hosts.get(index) {
            addresses::add(&name, host, &mut spec, tree)?;
        }
        let machine = machine(cluster, Role::Master, &name, provider_spec(&spec)?);
        tree.yaml(numbered("master-machines", index, count), &machine, Access::Group)?;
    }
    if let Some(set) = control_plane_set(cluster, platform, placement)? {
        let path = "openshift/99_openshift-machine-api_master-control-plane-machine-set.yaml";
        tree.yaml(path, &set, Access::Group)?;
    }
    Ok(())
}

/// The set must describe exactly the machines there are: its operator replaces those that differ. `None` where it
/// cannot, or where the operator does not manage a control plane of that size; it then proposes one itself, which
/// does nothing until the administrator switches it on.
fn control_plane_set(
    cluster: &Cluster,
    platform: &Platform,
    placement: &Placement,
) -> Result<Option<ControlPlaneMachineSet>, Error> {
    let replicas = cluster.config.pools.control_plane.replicas;
    if !matches!(replicas, 3 | 5) {
        return Ok(None);
    }
    let Some(site) = placement.control_plane.first().and_then(|position| cluster.site(platform, *position))
    else {
        return Ok(None);
    };
    let mut used: Vec<usize> = Vec::new();
    for position in &placement.control_plane {
        if !used.contains(position) {
            used.push(*position);
        }
    }
    let domains: Vec<&FailureDomain> =
        used.iter().filter_map(|position| platform.failure_domains.get(*position)).collect();
    if domains.iter().any(|domain| domain.topology.tag_ids != site.domain.topology.tag_ids) {
        return Ok(None);
    }
    // Template, network and place come from the failure domain; addresses do not.
    let mut spec = VSphereProviderSpec {
        template: String::new(),
        network: NetworkSpec::default(),
        workspace: Some(Workspace::default()),
        ..spec(&site, &platform.machines.control_plane, Role::Master)
    };
    if let Some(host) = hosts_of(platform, HostRole::ControlPlane).first() {
        spec.network.devices.push(NetworkDevice::default());
        addresses::ask_pools(host, &mut spec);
    }
    let names = domains.iter().map(|domain| FailureDomainName { name: domain.name.to_string() });
    let labels = labels(cluster, Role::Master);
    let own = map([(CLUSTER, cluster.identity.infra_id.as_str())]);
    Ok(Some(ControlPlaneMachineSet {
        metadata: ObjectMeta { labels: Some(own), ..within(NAMESPACE, "cluster") },
        spec: ControlPlaneMachineSetSpec {
            replicas,
            selector: LabelSelector { match_labels: labels.clone() },
            state: "Active".to_owned(),
            strategy: Strategy { kind: "RollingUpdate".to_owned() },
            template: ControlPlaneTemplate {
                machine_type: "machines_v1beta1_machine_openshift_io".to_owned(),
                machines: MachinesTemplate {
                    failure_domains: Some(FailureDomains {
                        platform: "VSphere".to_owned(),
                        vsphere: names.collect(),
                    }),
                    metadata: ObjectLabels { labels, ..ObjectLabels::default() },
                    spec: MachineSpec { provider_spec: provider_spec(&spec)?, ..MachineSpec::default() },
                },
            },
        },
    }))
}

fn add_compute(
    cluster: &Cluster,
    platform: &Platform,
    placement: &Placement,
    tree: &mut Tree,
) -> Result<(), Error> {
    let hosts = hosts_of(platform, HostRole::Compute);
    let size = &platform.machines.compute;
    let count = placement.compute.len();
    for (index, set) in placement.compute.iter().enumerate() {
        let Some(site) = cluster.site(platform, set.failure_domain) else { continue };
        let name = cluster.machine_name(Role::Worker, index);
        let mut spec = spec(&site, size, Role::Worker);
        // Machines with static addresses are listed one by one: a set cannot tell them apart.
        let replicas = if hosts.is_empty() { set.replicas } else { 0 };
        if let Some(host) = hosts.first() {
            addresses::ask_pools(host, &mut spec);
        }
        let set = machine_set(cluster, &name, replicas, provider_spec(&spec)?);
        tree.yaml(numbered("worker-machineset", index, count), &set, Access::Group)?;
    }
    let domains = static_domains(placement, &hosts);
    for (index, (host, position)) in hosts.iter().zip(domains).enumerate() {
        let Some(site) = cluster.site(platform, position) else { continue };
        // Sets are numbered as well; a machine of theirs never has a bare number.
        let name = cluster.machine_name(Role::Worker, index);
        let mut spec = spec(&site, size, Role::Worker);
        addresses::add(&name, host, &mut spec, tree)?;
        let machine = machine(cluster, Role::Worker, &name, provider_spec(&spec)?);
        tree.yaml(numbered("worker-machines", index, hosts.len()), &machine, Access::Group)?;
    }
    Ok(())
}

/// The failure domain of every static compute machine: its own, or what is left of the sets' shares.
fn static_domains(placement: &Placement, hosts: &[&Host]) -> Vec<usize> {
    let mut shares: Vec<(usize, usize)> =
        placement.compute.iter().map(|set| (set.failure_domain, set.replicas)).collect();
    let mut take = |wanted: Option<usize>| {
        let share =
            shares.iter_mut().find(|(domain, left)| wanted.map_or(*left > 0, |wanted| *domain == wanted));
        share.map(|(domain, left)| {
            *left = left.saturating_sub(1);
            *domain
        })
    };
    // Those with a wish come first, so that the others get what remains.
    let mut domains: Vec<Option<usize>> =
        hosts.iter().map(|host| host.failure_domain.and_then(|wanted| take(Some(wanted)))).collect();
    for domain in domains.iter_mut().filter(|domain| domain.is_none()) {
        *domain = take(None);
    }
    domains.into_iter().map(Option::unwrap_or_default).collect()
}

pub(crate) fn hosts_of(platform: &Platform, role: HostRole) -> Vec<&Host> {
    platform.hosts.iter().filter(|host| host.role == role).collect()
}

fn spec(site: &DomainSite<'_>, size: &Machine, role: Role) -> VSphereProviderSpec {
    let topology = &site.domain.topology;
    let devices = topology.networks.iter().map(|network| NetworkDevice {
        // As the failure domain has it: the operator of the control plane compares them.
        network_name: Some(network.clone()),
        ..NetworkDevice::default()
    });
    VSphereProviderSpec {
        types: VSphereProviderSpec::types(),
        user_data_secret: Some(LocalReference::new(format!("{}-user-data", role.as_str()))),
        credentials_secret: Some(LocalReference::new("vsphere-cloud-credentials")),
        // That operator takes the last part of a template's path.
        template: site.template.rsplit('/').next().unwrap_or(&site.template).to_owned(),
        workspace: Some(Workspace {
            server: site.vcenter.server.to_string(),
            datacenter: topology.datacenter.clone(),
            datastore: topology.datastore.to_string(),
            folder: site.folder.to_string(),
            resource_pool: site.resource_pool.to_string(),
            vm_group: site.vm_group.clone(),
        }),
        network: NetworkSpec { devices: devices.collect() },
        num_cpus: size.cpus,
        num_cores_per_socket: size.cores_per_socket,
        memory_mib: size.memory_mib,
        disk_gib: size.os_disk_gib,
        clone_mode: None,
        snapshot: None,
        data_disks: size.data_disks.iter().map(data_disk).collect(),
        tag_ids: topology.tag_ids.iter().map(ToString::to_string).collect(),
    }
}
