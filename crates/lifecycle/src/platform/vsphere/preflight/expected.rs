//! What the vCenters must have, and what will be made there: from the configuration, and the files of machines with their edits.

use slipway_api::vsphere_machines::VSphereMachineSpec;
use slipway_assess::vsphere::preflight::expected::{ExpectedDomain, ExpectedObjects, Machine, Template};
use slipway_assets::Named;
use slipway_assets::vsphere::DomainSite;
use slipway_config::install_config::vsphere::{DiskType, FailureDomain, Platform as VSphere};
use slipway_config::install_config::{Payload, Platform};
use slipway_providers::vsphere::paths::unescape;

use super::super::{Blueprint, BlueprintMachine, compute_cluster, endpoint_of};

/// What the cluster wants of its `position`th vCenter: places and compute machines as the configuration says, the other
/// machines as their files do.
pub(super) fn of(named: &Named, blueprint: &Blueprint, position: usize) -> Option<ExpectedObjects> {
    let Platform::VSphere(platform) = &named.config.platform else { return None };
    let endpoint = endpoint_of(platform.vcenters.get(position)?);
    let here = |(_, domain): &(usize, &FailureDomain)| domain.vcenter == position;
    let domains = platform.failure_domains.iter().enumerate().filter(here);
    let mut places: Vec<(Placement, ExpectedDomain)> =
        domains.map(|(index, domain)| place(named, platform, index, domain)).collect();
    for machine in blueprint.machines.iter().filter(|machine| machine.endpoint == endpoint) {
        let placement = Placement::of(&machine.spec);
        let at = places.iter().position(|(known, _)| *known == placement).or_else(|| {
            let edited = edited(&places, &placement, machine, named)?;
            places.push((placement, edited));
            Some(places.len() - 1)
        });
        if let Some((_, site)) = at.and_then(|at| places.get_mut(at)) {
            site.machines.push(planned(machine));
        }
    }
    for (Placement { position: index, .. }, site) in &mut places {
        site.machines.extend(index.iter().flat_map(|index| compute(named, platform, *index)));
    }
    Some(ExpectedObjects {
        endpoint: endpoint.to_string(),
        zoned: platform.failure_domains.len() > 1,
        infra_id: (!named.identity.cluster_id.is_nil()).then(|| named.identity.infra_id.clone()),
        thick: matches!(platform.disk_type, Some(DiskType::Thick | DiskType::EagerZeroedThick)),
        stream: stream(&named.config.payload),
        sites: places.into_iter().map(|(_, site)| site).collect(),
    })
}

/// Where a machine goes, as its file says it.
#[derive(Debug, Clone)]
struct Placement {
    /// The failure domain it was made from.
    position: Option<usize>,
    datacenter: String,
    pool: String,
    datastore: String,
    folder: String,
    networks: Vec<String>,
    template: String,
}

impl PartialEq for Placement {
    /// Machines may be edited from one failure domain into another.
    fn eq(&self, other: &Self) -> bool {
        let parts = |placement: &Placement| {
            let Placement { datacenter, pool, datastore, folder, networks, template, .. } = placement.clone();
            (datacenter, pool, datastore, folder, networks, template)
        };
        parts(self) == parts(other)
    }
}

impl Placement {
    fn of(spec: &VSphereMachineSpec) -> Self {
        Placement {
            position: None,
            datacenter: spec.datacenter.clone(),
            pool: spec.resource_pool.clone(),
            datastore: spec.datastore.clone(),
            folder: spec.folder.clone(),
            networks: spec.network.devices.iter().map(|device| device.network_name.clone()).collect(),
            template: spec.template.clone(),
        }
    }
}

fn planned(machine: &BlueprintMachine) -> Machine {
    let spec = &machine.spec;
    let extra: u64 = spec.data_disks.iter().map(|disk| u64::from(disk.size_gib)).sum();
    Machine {
        name: Some(machine.name.clone()),
        mark: Some(machine.uuid),
        control_plane: !machine.is_bootstrap,
        cpus: spec.num_cpus,
        memory_mib: spec.memory_mib.into(),
        os_disk_gib: spec.disk_gib.into(),
        disks_gib: u64::from(spec.disk_gib) + extra,
    }
}

/// A failure domain, without its machines.
fn place(
    named: &Named,
    platform: &VSphere,
    position: usize,
    domain: &FailureDomain,
) -> (Placement, ExpectedDomain) {
    let topology = &domain.topology;
    let made = named.site(platform, position);
    let folder = made.as_ref().map_or_else(String::new, |made| made.folder.to_string());
    let template = match (&topology.template, &made) {
        (Some(given), _) => Template::Given(given.clone()),
        (None, Some(made)) if platform.os_image.is_some() => Template::Imported {
            path: format!("{folder}/{}", made.template),
            mark: named.identity.template_id(&made.template),
        },
        (None, _) => Template::None,
    };
    let placement = Placement {
        position: made.is_some().then_some(position),
        datacenter: topology.datacenter.clone(),
        pool: topology.resource_pool.as_ref().map_or_else(String::new, ToString::to_string),
        datastore: topology.datastore.to_string(),
        folder: folder.clone(),
        networks: made.as_ref().map(DomainSite::network_paths).unwrap_or_default(),
        template: made.as_ref().map_or_else(String::new, |made| made.template.clone()),
    };
    let site = ExpectedDomain {
        name: domain.name.to_string(),
        region: domain.region.clone(),
        region_kind: domain.region_kind,
        zone: domain.zone.clone(),
        zone_kind: domain.zone_kind.clone(),
        datacenter: format!("/{}", topology.datacenter.trim_matches('/')),
        cluster: topology.compute_cluster.as_ref().map(ToString::to_string),
        pool: topology.resource_pool.as_ref().map(ToString::to_string),
        datastore: topology.datastore.to_string(),
        folder,
        own_folder: topology.folder.is_none(),
        networks: topology.networks.clone(),
        template,
        tag_ids: topology.tag_ids.iter().map(ToString::to_string).collect(),
        vm_group: made.as_ref().and_then(|made| made.vm_group.clone()),
        machines: Vec::new(),
    };
    (placement, site)
}

/// The place of a machine whose file was edited: the failure domain it has most in common with, but for what was edited.
fn edited(
    places: &[(Placement, ExpectedDomain)],
    wanted: &Placement,
    machine: &BlueprintMachine,
    named: &Named,
) -> Option<ExpectedDomain> {
    let common = |(known, _): &&(Placement, ExpectedDomain)| {
        let same = [
            known.pool == wanted.pool,
            known.datastore == wanted.datastore,
            known.folder == wanted.folder,
            known.networks == wanted.networks,
            known.template == wanted.template,
        ];
        same.into_iter().filter(|same| *same).count()
    };
    let (known, base) = places.iter().max_by_key(common)?;
    let cluster = compute_cluster(&wanted.pool);
    let network = |path: &String| match path.strip_prefix(cluster).and_then(|rest| rest.strip_prefix('/')) {
        Some(name) => unescape(name).into_owned(),
        None => path.clone(),
    };
    Some(ExpectedDomain {
        name: machine.name.clone(),
        datacenter: format!("/{}", wanted.datacenter.trim_matches('/')),
        cluster: Some(cluster.to_owned()),
        pool: Some(wanted.pool.clone()),
        datastore: wanted.datastore.clone(),
        own_folder: wanted.folder.rsplit('/').next() == Some(named.identity.infra_id.as_str()),
        folder: wanted.folder.clone(),
        networks: wanted.networks.iter().map(network).collect(),
        template: if known.template == wanted.template {
            base.template.clone()
        } else {
            Template::Given(wanted.template.clone())
        },
        tag_ids: machine.spec.tag_ids.clone(),
        machines: Vec::new(),
        ..base.clone()
    })
}

/// Compute machines of a failure domain. The machine controller names them.
fn compute(named: &Named, platform: &VSphere, position: usize) -> Vec<Machine> {
    let size = &platform.machines.compute;
    let extra: u64 = size.data_disks.iter().map(|disk| u64::from(disk.size_gib)).sum();
    let machine = Machine {
        name: None,
        mark: None,
        control_plane: false,
        cpus: size.cpus,
        memory_mib: size.memory_mib.into(),
        os_disk_gib: size.os_disk_gib.into(),
        disks_gib: u64::from(size.os_disk_gib) + extra,
    };
    let placement = named.config.placement();
    let sets = placement.compute.iter().filter(|set| set.failure_domain == position);
    sets.flat_map(|set| (0..set.replicas).map(|_| machine.clone())).collect()
}

/// `4.18.3-x86_64` is 418: how images of the operating system count releases.
fn stream(payload: &Payload) -> Option<u32> {
    let Payload::OpenShift { release_image: Some(image), .. } = payload else { return None };
    let (name, tag) = image.as_str().rsplit_once(':')?;
    if name.contains('@') {
        return None;
    }
    let mut numbers = tag.split(['.', '-']);
    let major: u32 = numbers.next()?.parse().ok()?;
    let minor: u32 = numbers.next()?.parse().ok()?;
    Some(major * 100 + minor)
}
