//! From the machines in the files to everything that has to be there for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use slipway_api::DataDisk as DiskFile;
use slipway_api::vsphere_machines::VSphereMachineSpec;
use slipway_config::ids::InfraId;
use slipway_engine::{Cause, Endpoint, Goal, Id, Resource};
use slipway_providers::provider::UNCLEAR;
use slipway_providers::vsphere::kinds::{
    AntiAffinityRule, Desired, Folder, Image, Kind, Machine, Power, Shape, Source, Tag, Template, VmGroup,
};
use slipway_providers::vsphere::machines::{DiskSpec, Provisioning};

use super::blueprint::{Blueprint, BlueprintMachine, Imported, Prepared};
use crate::install::{ActualLocation, MachineLocation, MachineLocations};

/// Of what could start, the control plane goes first.
const FIRST: u8 = 1;
const LATER: u8 = 2;

/// Everything that has to be there, on all vCenters: what machines of any day need in every failure domain, and the
/// machines of the blueprint, where they live or will live.
pub(super) fn resources(
    blueprint: &Blueprint,
    locations: &MachineLocations,
    infra_id: &InfraId,
    image: Option<&Arc<Image>>,
) -> Vec<Resource<Desired>> {
    let mut resources: BTreeMap<Id, Resource<Desired>> = BTreeMap::new();
    let mut add = |resource: Resource<Desired>| {
        resources.entry(resource.id.clone()).or_insert(resource);
    };
    for template in imports(blueprint, infra_id, image) {
        let endpoint = &template.id.endpoint;
        add(Tag::of_cluster(endpoint, infra_id, Goal::Present));
        if let Desired::Template(Template {
            source: Source::Import { place, .. } | Source::Copy { place },
            ..
        }) = &template.desired
        {
            folders(endpoint, &place.folder, infra_id).into_iter().for_each(&mut add);
        }
        add(template);
    }
    for Prepared { endpoint, folder, zone } in &blueprint.prepared {
        add(Tag::of_cluster(endpoint, infra_id, Goal::Present));
        folders(endpoint, folder, infra_id).into_iter().for_each(&mut add);
        if let Some(zone) = zone {
            add(zone_resource(endpoint, zone.clone()));
        }
    }
    let home = |machine: &BlueprintMachine| locations.get(&machine.name).unwrap_or(&MachineLocation::Planned);
    let (planned, others): (Vec<&BlueprintMachine>, Vec<&BlueprintMachine>) =
        blueprint.machines.iter().partition(|machine| *home(machine) == MachineLocation::Planned);
    for machine in &planned {
        let endpoint = &machine.endpoint;
        add(Tag::of_cluster(endpoint, infra_id, Goal::Present));
        folders(endpoint, &machine.spec.folder, infra_id).into_iter().for_each(&mut add);
        add(template(machine));
        if let Some(zone) = zone(blueprint, machine) {
            add(zone);
        }
    }
    let apart = apart(blueprint, locations, infra_id);
    let rule_of = |endpoint: &Endpoint, machine: &BlueprintMachine| {
        let rule =
            apart.iter().find(|rule| rule.depends_on.contains(&Kind::Machine.id(endpoint, &machine.name)));
        rule.map(|rule| rule.id.clone())
    };
    for machine in &planned {
        add(self::machine(blueprint, machine, infra_id));
        let rule = rule_of(&machine.endpoint, machine);
        add(power(machine, &machine.endpoint, Goal::Present, rule));
    }
    for machine in others {
        let (endpoint, hold) = home(machine).endpoint(&machine.endpoint);
        let hold = hold.map(|message| Cause::new(UNCLEAR, message));
        // What is left alone needs nothing.
        let needs = if hold.is_some() { Vec::new() } else { vec![Kind::Tag.id(endpoint, infra_id.as_str())] };
        if hold.is_none() {
            add(Tag::of_cluster(endpoint, infra_id, Goal::Present));
        }
        add(Resource { depends_on: needs, hold, ..settled(machine, endpoint, Goal::Present) });
        add(power(machine, endpoint, Goal::Present, rule_of(endpoint, machine)));
    }
    apart.into_iter().for_each(&mut add);
    resources.into_values().collect()
}

/// A machine that is to go.
pub(super) fn going(
    machine: &BlueprintMachine,
    endpoint: &Endpoint,
    hold: Option<Cause>,
) -> [Resource<Desired>; 2] {
    let there = Resource { hold: hold.clone(), ..settled(machine, endpoint, Goal::Absent) };
    let power = Resource { hold, ..power(machine, endpoint, Goal::Absent, None) };
    [there, power]
}

/// A machine that is there, or is to go: nothing is said about how it should look, so it is never made.
fn settled(planned: &BlueprintMachine, endpoint: &Endpoint, goal: Goal) -> Resource<Desired> {
    let machine = Machine {
        name: planned.name.clone(),
        uuid: planned.uuid,
        infra_id: String::new(),
        folder: planned.spec.folder.clone(),
        compute_cluster: compute_cluster(&planned.spec.resource_pool).to_owned(),
        zone: None,
        shape: None,
    };
    let (id, desired) = (Kind::Machine.id(endpoint, &planned.name), Desired::Machine(Box::new(machine)));
    let rank = if planned.is_bootstrap { FIRST } else { LATER };
    Resource { id, goal, desired, depends_on: Vec::new(), rank, hold: None }
}

/// A folder and those it is in, below the datacenter's own.
pub(super) fn folders(endpoint: &Endpoint, path: &str, infra_id: &InfraId) -> Vec<Resource<Desired>> {
    let Some((datacenter, rest)) = path.split_once("/vm/") else { return Vec::new() };
    let mut parent: Option<Id> = None;
    let mut path = format!("{datacenter}/vm");
    let level = |name: &str| {
        path = format!("{path}/{name}");
        let id = Kind::Folder.id(endpoint, &path);
        let needs = [Kind::Tag.id(endpoint, infra_id.as_str())].into_iter().chain(parent.replace(id.clone()));
        let desired =
            Desired::Folder(Folder { path: path.clone(), named_after_cluster: name == infra_id.as_str() });
        Resource { id, goal: Goal::Present, desired, depends_on: needs.collect(), rank: FIRST, hold: None }
    };
    rest.split('/').filter(|name| !name.is_empty()).map(level).collect()
}

/// Templates that are made: the first of a vCenter from the image, the others as copies of it.
fn imports(blueprint: &Blueprint, infra_id: &InfraId, image: Option<&Arc<Image>>) -> Vec<Resource<Desired>> {
    let Some(image) = image else { return Vec::new() };
    let mut first: BTreeMap<&Endpoint, Id> = BTreeMap::new();
    let mut resources = Vec::new();
    for template in &blueprint.templates {
        let Imported { endpoint, name, datacenter, networks, place } = template;
        let id = Kind::template_id(endpoint, datacenter, name);
        let mut needs =
            vec![Kind::Tag.id(endpoint, infra_id.as_str()), Kind::Folder.id(endpoint, &place.folder)];
        let (name, networks, place) = (name.clone(), networks.clone(), place.clone());
        let source = if let Some(original) = first.get(endpoint) {
            needs.push(original.clone());
            Source::Copy { place }
        } else {
            first.insert(endpoint, id.clone());
            Source::Import { image: image.clone(), place, networks }
        };
        let desired = Desired::Template(Template { name, source });
        resources.push(Resource {
            id,
            goal: Goal::Present,
            desired,
            depends_on: needs,
            rank: FIRST,
            hold: None,
        });
    }
    resources
}

fn template(machine: &BlueprintMachine) -> Resource<Desired> {
    let spec = &machine.spec;
    let source = Source::Existing { datacenter: format!("/{}", spec.datacenter.trim_start_matches('/')) };
    let desired = Desired::Template(Template { name: spec.template.clone(), source });
    let id = template_id(machine);
    Resource { id, goal: Goal::Present, desired, depends_on: Vec::new(), rank: FIRST, hold: None }
}

/// Where the template is, as far as one can tell.
fn template_path(machine: &BlueprintMachine) -> String {
    let VSphereMachineSpec { template, datacenter, .. } = &machine.spec;
    if template.starts_with('/') { template.clone() } else { format!("/{datacenter}/vm/{template}") }
}

fn template_id(machine: &BlueprintMachine) -> Id {
    Kind::template_id(&machine.endpoint, &machine.spec.datacenter, &machine.spec.template)
}

/// The compute cluster a resource pool is of.
pub(crate) fn compute_cluster(pool: &str) -> &str {
    pool.split_once("/Resources").map_or(pool, |(cluster, _)| cluster)
}

fn zone(blueprint: &Blueprint, machine: &BlueprintMachine) -> Option<Resource<Desired>> {
    let name = machine.spec.failure_domain.as_ref()?;
    let domain = blueprint.zones.iter().find(|zone| zone.metadata.name.as_ref() == Some(name))?;
    let hosts = domain.spec.topology.hosts.as_ref()?;
    let zone = VmGroup {
        name: hosts.vm_group_name.clone(),
        compute_cluster: domain.spec.topology.compute_cluster.clone(),
        host_group: hosts.host_group_name.clone(),
    };
    Some(zone_resource(&machine.endpoint, zone))
}

fn zone_resource(endpoint: &Endpoint, zone: VmGroup) -> Resource<Desired> {
    let id = Kind::VmGroup.id_in(endpoint, &zone.compute_cluster, &zone.name);
    let desired = Desired::VmGroup(zone);
    Resource { id, goal: Goal::Present, desired, depends_on: Vec::new(), rank: FIRST, hold: None }
}

fn machine(blueprint: &Blueprint, planned: &BlueprintMachine, infra_id: &InfraId) -> Resource<Desired> {
    let BlueprintMachine { name, endpoint, spec, ignition, .. } = planned;
    let zone = zone(blueprint, planned);
    let zone_name = match zone.as_ref().map(|zone| &zone.desired) {
        Some(Desired::VmGroup(zone)) => Some(zone.name.clone()),
        _ => None,
    };
    let shape = Shape {
        template: template_path(planned),
        pool: spec.resource_pool.clone(),
        datastore: spec.datastore.clone(),
        networks: spec.network.devices.iter().map(|device| device.network_name.clone()).collect(),
        cpus: spec.num_cpus,
        cores_per_socket: spec.num_cores_per_socket,
        memory_mib: spec.memory_mib.into(),
        disk_gib: spec.disk_gib.into(),
        data_disks: spec.data_disks.iter().map(data_disk).collect(),
        linked: spec.clone_mode == "linkedClone",
        snapshot: None,
        vmx: spec.custom_vmx_keys.clone(),
        ignition: ignition.clone(),
        tags: spec.tag_ids.clone(),
    };
    let machine = Machine {
        name: name.clone(),
        uuid: planned.uuid,
        infra_id: infra_id.to_string(),
        folder: spec.folder.clone(),
        compute_cluster: compute_cluster(&spec.resource_pool).to_owned(),
        zone: zone_name,
        shape: Some(shape),
    };
    let mut needs = vec![
        Kind::Tag.id(endpoint, infra_id.as_str()),
        Kind::Folder.id(endpoint, &spec.folder),
        template_id(planned),
    ];
    needs.extend(zone.map(|zone| zone.id));
    Resource {
        id: Kind::Machine.id(endpoint, name),
        goal: Goal::Present,
        desired: Desired::Machine(Box::new(machine)),
        depends_on: needs,
        rank: if planned.is_bootstrap { FIRST } else { LATER },
        hold: None,
    }
}

fn data_disk(disk: &DiskFile) -> DiskSpec {
    let provisioning = match disk.provisioning_mode.as_deref() {
        Some("Thick") => Provisioning::Thick,
        Some("EagerlyZeroed") => Provisioning::EagerlyZeroed,
        _ => Provisioning::Thin,
    };
    DiskSpec { size_gib: disk.size_gib.into(), provisioning }
}

/// One rule for the control-plane machines of each compute cluster that has several, wherever the files place them.
fn apart(blueprint: &Blueprint, locations: &MachineLocations, infra_id: &InfraId) -> Vec<Resource<Desired>> {
    let mut clusters: BTreeMap<(&Endpoint, &str), BTreeSet<&str>> = BTreeMap::new();
    for machine in blueprint.machines.iter().filter(|machine| !machine.is_bootstrap) {
        let (endpoint, cluster) = match locations.get(&machine.name).unwrap_or(&MachineLocation::Planned) {
            MachineLocation::Planned => (&machine.endpoint, compute_cluster(&machine.spec.resource_pool)),
            MachineLocation::Elsewhere(ActualLocation { endpoint, place: Some(cluster) }) => {
                (endpoint, cluster.as_str())
            }
            MachineLocation::Elsewhere(_) | MachineLocation::Unclear(_) => continue,
        };
        clusters.entry((endpoint, cluster)).or_default().insert(&machine.name);
    }
    clusters.retain(|_, machines| machines.len() > 1);
    let rule = |((endpoint, cluster), machines): ((&Endpoint, &str), BTreeSet<&str>)| {
        let name = format!("{infra_id}-control-plane");
        Resource {
            id: Kind::AntiAffinityRule.id_in(endpoint, cluster, &name),
            goal: Goal::Present,
            depends_on: machines.iter().map(|machine| Kind::Machine.id(endpoint, machine)).collect(),
            desired: Desired::AntiAffinityRule(AntiAffinityRule {
                name,
                compute_cluster: cluster.to_owned(),
                machines: machines.into_iter().map(str::to_owned).collect(),
            }),
            rank: FIRST,
            hold: None,
        }
    };
    clusters.into_iter().map(rule).collect()
}

fn power(machine: &BlueprintMachine, endpoint: &Endpoint, goal: Goal, rule: Option<Id>) -> Resource<Desired> {
    let BlueprintMachine { name, uuid, spec, .. } = machine;
    let path = format!("{}/{name}", spec.folder);
    Resource {
        id: Kind::Power.id(endpoint, name),
        goal,
        desired: Desired::Power(Power::new(name.clone(), *uuid, path)),
        depends_on: [Kind::Machine.id(endpoint, name)].into_iter().chain(rule).collect(),
        rank: if machine.is_bootstrap { FIRST } else { LATER },
        hold: None,
    }
}
