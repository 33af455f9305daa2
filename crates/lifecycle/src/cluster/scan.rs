//! What a cluster has left on its vCenters. Its directory is not needed for it: the tag and the marks say what is its.

use std::collections::{BTreeMap, BTreeSet};

use slipway_config::ids::{CLUSTER_MARK, InfraId, OBJECT_MARK};
use slipway_config::install_config::vsphere::{FailureDomain, Platform, ZoneKind};
use slipway_config::install_config::{InstallConfig, Platform as AnyPlatform};
use slipway_config::inventory::{Branch, InventoryPath};
use slipway_engine::{Endpoint, Goal, Id, Resource, Sight, World};
use slipway_providers::vsphere::kinds::{
    Apart, Folder, Machine, Place, Policy, Power, Source, State, Template, VSphere, Volumes, Wanted, Zone,
};
use slipway_providers::vsphere::paths::unescape;
use slipway_providers::vsphere::properties::{Object, Wanted as Properties};
use slipway_providers::vsphere::{Client, Error as CallError, MoRef, Reference};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::blueprint::Blueprint;
use super::remembered::{Object as Known, Remembered, Unseen, unseen};
use super::wanted::{compute_cluster, ids, tag};
use super::{Error, endpoint_of};

const MACHINE: [&str; 5] = ["name", "parent", "config.instanceUuid", "config.template", "config.extraConfig"];

/// Where a cluster's objects may be, on one vCenter.
#[derive(Debug, Clone, Default)]
struct Haunts {
    folders: BTreeSet<String>,
    compute_clusters: BTreeSet<String>,
    /// Names of groups of machines, with their compute cluster and group of hosts.
    zones: BTreeSet<(String, String, String)>,
    /// Ids of machines that are the cluster's, wherever they are.
    machines: BTreeSet<Uuid>,
    remembered: Vec<Remembered>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) resources: Vec<Resource<Wanted>>,
    /// What the journal knows and a vCenter does not show.
    pub(super) unseen: Vec<Unseen>,
    /// What people should know before it goes.
    pub(super) notes: Vec<String>,
}

/// What is to go, on all vCenters. A vCenter that cannot be asked keeps all others from being touched too: half a
/// cluster is harder to find again than a whole one.
pub(super) async fn resources(
    platform: &VSphere,
    config: &InstallConfig,
    infra_id: &InfraId,
    blueprint: &Blueprint,
    remembered: &BTreeMap<Endpoint, Vec<Remembered>>,
) -> Result<Findings, Error> {
    let AnyPlatform::VSphere(vsphere) = &config.platform else {
        return Err(Error::Platform(config.platform.name()));
    };
    let mut scans = JoinSet::new();
    for (endpoint, haunts) in haunts(vsphere, infra_id, blueprint, remembered) {
        let Some(client) = platform.client(&endpoint).cloned() else { continue };
        let infra_id = infra_id.clone();
        scans.spawn(async move {
            let found = scan(&client, &endpoint, &haunts, &infra_id).await;
            (endpoint, found)
        });
    }
    let mut findings = Findings::default();
    let mut blind = Vec::new();
    while let Some(scan) = scans.join_next().await {
        match scan {
            Ok((_, Ok(Findings { resources, unseen, notes }))) => {
                findings.resources.extend(resources);
                findings.unseen.extend(unseen);
                findings.notes.extend(notes);
            }
            Ok((endpoint, Err(error))) => {
                let cause =
                    std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
                blind.push(format!("{endpoint} ({error}{cause})"));
            }
            Err(error) => blind.push(error.to_string()),
        }
    }
    blind.sort();
    findings.unseen.sort_by(|one, other| one.resource.cmp(&other.resource));
    findings.notes.sort();
    if blind.is_empty() { Ok(findings) } else { Err(Error::Blind { vcenters: blind }) }
}

/// The same goes for what was found and cannot be looked at, and for another vCenter than the cluster was made on.
pub(super) fn check_seen(world: &World<State>) -> Result<(), Error> {
    let mut blind = BTreeSet::new();
    for (id, sight) in world.iter() {
        if let Sight::Unknown(reason) = sight {
            blind.insert(format!("{} ({reason})", id.endpoint));
        }
    }
    if blind.is_empty() { Ok(()) } else { Err(Error::Blind { vcenters: blind.into_iter().collect() }) }
}

fn haunts(
    platform: &Platform,
    infra_id: &InfraId,
    blueprint: &Blueprint,
    remembered: &BTreeMap<Endpoint, Vec<Remembered>>,
) -> BTreeMap<Endpoint, Haunts> {
    let mut haunts: BTreeMap<Endpoint, Haunts> =
        platform.vcenters.iter().map(|vcenter| (endpoint_of(vcenter), Haunts::default())).collect();
    for domain in &platform.failure_domains {
        let Some(vcenter) = platform.vcenters.get(domain.vcenter) else { continue };
        let Some(place) = haunts.get_mut(&endpoint_of(vcenter)) else { continue };
        let FailureDomain { name, topology, zone_kind, .. } = domain;
        let own = InventoryPath::of(&topology.datacenter, Branch::Vm, infra_id.as_str());
        place.folders.insert(topology.folder.as_ref().unwrap_or(&own).to_string());
        let Some(cluster) = &topology.compute_cluster else { continue };
        place.compute_clusters.insert(cluster.to_string());
        if let ZoneKind::HostGroup(hosts) = zone_kind {
            place.zones.insert((cluster.to_string(), format!("{infra_id}-{name}"), hosts.clone()));
        }
    }
    for machine in &blueprint.machines {
        if let Some(place) = haunts.get_mut(&machine.endpoint) {
            place.folders.insert(machine.spec.folder.clone());
            place.compute_clusters.insert(compute_cluster(&machine.spec.resource_pool).to_owned());
        }
    }
    // A machine is looked for everywhere: failure domains may have changed since it was made.
    let everywhere: BTreeSet<Uuid> = blueprint.machines.iter().map(|machine| machine.uuid).collect();
    let made = remembered.values().flatten().filter_map(|one| match one.what {
        Known::Machine(_, uuid) => uuid,
        _ => None,
    });
    let everywhere: BTreeSet<Uuid> = everywhere.into_iter().chain(made).collect();
    for (endpoint, place) in &mut haunts {
        place.machines.clone_from(&everywhere);
        place.remembered = remembered.get(endpoint).cloned().unwrap_or_default();
        let folders = place.remembered.iter().filter(|one| matches!(one.what, Known::Folder(_)));
        place.folders.extend(folders.map(|one| one.id.name.to_string()));
        for rule in place.remembered.iter().filter(|one| matches!(one.what, Known::Rule)) {
            let Some((cluster, name)) = rule.id.name.rsplit_once(": ") else { continue };
            match &*rule.id.kind {
                "zone" => place.zones.insert((cluster.to_owned(), name.to_owned(), String::new())),
                _ => place.compute_clusters.insert(cluster.to_owned()),
            };
        }
    }
    haunts
}

async fn scan(
    client: &Client,
    endpoint: &Endpoint,
    haunts: &Haunts,
    infra_id: &InfraId,
) -> Result<Findings, CallError> {
    let tagged = tagged(client, infra_id).await?;
    let (machines, folders) = objects(client, haunts, infra_id, &tagged.objects).await?;
    let shows_something = !machines.is_empty() || !folders.is_empty();
    let unseen = unseen(client, &haunts.remembered, shows_something, &tagged.tags).await?;
    let tag = tag(endpoint, infra_id, Goal::Absent);
    let (mut resources, mut notes) = (Vec::new(), Vec::new());
    let gone = |id: Id, wanted: Wanted, needs: Vec<Id>| Resource {
        id,
        goal: Goal::Absent,
        wanted,
        needs,
        rank: 1,
        hold: None,
    };

    let folder_id = |path: &str| ids::folder(endpoint, path);
    let holder = |path: &str| {
        let parents = folders.iter().filter(|folder| path.starts_with(&format!("{folder}/")));
        parents.max_by_key(|folder| folder.len()).map(|folder| folder_id(folder))
    };
    for path in &folders {
        let named_after_cluster = path.rsplit('/').next() == Some(infra_id.as_str());
        let wanted = Wanted::Folder(Folder { path: path.clone(), named_after_cluster });
        resources.push(gone(
            folder_id(path),
            wanted,
            [tag.id.clone()].into_iter().chain(holder(path)).collect(),
        ));
    }
    let mut machine_ids: Vec<Id> = Vec::new();
    for Remains { name, folder, uuid, template, moref, origin } in machines {
        let path = format!("{folder}/{name}");
        let needs: Vec<Id> = [tag.id.clone()].into_iter().chain(holder(&path)).collect();
        let infra_id = infra_id.to_string();
        let hold = match origin {
            Origin::Ours => None,
            Origin::Tagged => {
                notes.push(format!(
                    "{path} on {endpoint} carries the cluster's tag, and was not made by slipway: it goes too. Take the \
                     tag off it to keep it"
                ));
                None
            }
            Origin::Copy => Some(format!(
                "{path} is a copy of a machine of this cluster, with the cluster's tag. Take the tag off it, or remove \
                 it in vCenter"
            )),
        };
        if template {
            let (pool, datastore, compute_cluster) = (String::new(), String::new(), String::new());
            let place = Place { uuid, infra_id, folder, pool, datastore, compute_cluster };
            let source = Source::Copy { place };
            let wanted = Wanted::Template(Template { name, source });
            let template = gone(ids::template(endpoint, "", &path), wanted, needs);
            resources.push(Resource { hold, ..template });
            continue;
        }
        // Names are anybody's to give.
        let unique = if machine_ids.contains(&ids::machine(endpoint, &name)) {
            format!("{name} ({moref})")
        } else {
            name.clone()
        };
        let id = ids::machine(endpoint, &unique);
        let power = Power { machine: name.clone(), uuid, path };
        let power = gone(ids::power(endpoint, &unique), Wanted::Power(power), vec![id.clone()]);
        resources.push(Resource { hold: hold.clone(), ..power });
        let (compute_cluster, zone, shape) = (String::new(), None, None);
        let machine = Machine { name, uuid, infra_id, folder, compute_cluster, zone, shape };
        let machine = gone(id.clone(), Wanted::Machine(Box::new(machine)), needs);
        resources.push(Resource { hold, ..machine });
        machine_ids.push(id);
    }
    for cluster in &haunts.compute_clusters {
        let name = format!("{infra_id}-control-plane");
        let id = ids::rule(endpoint, "apart", cluster, &name);
        let apart = Apart { name, compute_cluster: cluster.clone(), machines: Vec::new() };
        resources.push(gone(id, Wanted::Apart(apart), vec![tag.id.clone()]));
    }
    let zones: BTreeMap<(&str, &str), &str> = haunts
        .zones
        .iter()
        .map(|(cluster, name, host_group)| ((cluster.as_str(), name.as_str()), host_group.as_str()))
        .collect();
    for ((cluster, name), host_group) in zones {
        let id = ids::rule(endpoint, "zone", cluster, name);
        let zone = Zone {
            name: name.to_owned(),
            compute_cluster: cluster.to_owned(),
            host_group: host_group.to_owned(),
        };
        resources.push(gone(id.clone(), Wanted::Zone(zone), vec![tag.id.clone()]));
        // The group goes when no machine is in it any more.
        for resource in resources.iter_mut().filter(|resource| machine_ids.contains(&resource.id)) {
            resource.needs.push(id.clone());
        }
    }
    // Volumes go when no machine has them any more, the policy when no volume has it.
    let policy_name = format!("openshift-storage-policy-{infra_id}");
    let policy = Id::new(endpoint, "policy", &policy_name);
    resources.push(gone(
        policy.clone(),
        Wanted::Policy(Policy { name: policy_name, keep: false }),
        vec![tag.id.clone()],
    ));
    let volumes = Id::new(endpoint, "volumes", infra_id.as_str());
    let wanted = Wanted::Volumes(Volumes { cluster_id: infra_id.to_string(), keep: false });
    resources.push(gone(volumes.clone(), wanted, vec![tag.id.clone(), policy]));
    for resource in resources.iter_mut().filter(|resource| machine_ids.contains(&resource.id)) {
        resource.needs.push(volumes.clone());
    }
    resources.push(tag);
    Ok(Findings { resources, unseen, notes })
}

/// The cluster's tag, and what carries it.
#[derive(Debug, Default)]
pub(super) struct Tagged {
    tags: BTreeSet<String>,
    pub(super) objects: BTreeSet<MoRef>,
}

pub(super) async fn tagged(client: &Client, infra_id: &InfraId) -> Result<Tagged, CallError> {
    let Some(category) = client.category_named(&infra_id.tag_category()).await? else {
        return Ok(Tagged::default());
    };
    let Some(tag) = client.tag_named(&category.id, infra_id.as_str()).await? else {
        return Ok(Tagged::default());
    };
    let objects = client.objects_of(std::slice::from_ref(&tag.id)).await?;
    Ok(Tagged { tags: BTreeSet::from([tag.id]), objects: objects.into_values().flatten().collect() })
}

/// Whose a machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It has the id that was drawn for it.
    Ours,
    /// It carries the cluster's tag: made by the cluster itself, or tagged by hand.
    Tagged,
    /// It says that it is another one: a clone, or restored beside the original.
    Copy,
}

/// A machine or template of the cluster.
struct Remains {
    name: String,
    folder: String,
    uuid: Uuid,
    template: bool,
    moref: Reference,
    origin: Origin,
}

/// Machines that carry the tag or the mark, and folders that may go with them.
async fn objects(
    client: &Client,
    haunts: &Haunts,
    infra_id: &InfraId,
    tagged: &BTreeSet<MoRef>,
) -> Result<(Vec<Remains>, BTreeSet<String>), CallError> {
    let wanted = [Properties { kind: "VirtualMachine", properties: &MACHINE }];
    let of_kind =
        |kind: &'static str| tagged.iter().filter(move |moref| &*moref.reference.kind == kind).cloned();
    let known: Vec<Uuid> = haunts.machines.iter().copied().collect();
    let found = client.machines_by_uuid(&known).await?.into_values();
    let certain: BTreeSet<MoRef> = of_kind("VirtualMachine").chain(found).collect();
    let mut machines = client.retrieve(&certain.iter().cloned().collect::<Vec<_>>(), &wanted).await?;
    let folder_tags: Vec<MoRef> = of_kind("Folder").collect();
    let mut folders: BTreeSet<String> = client.paths(&folder_tags).await?.into_iter().collect();
    // Folders may be in each other.
    let mut others = BTreeMap::new();
    for path in &haunts.folders {
        let Some(folder) = client.find(path).await? else { continue };
        if path.rsplit('/').next() == Some(infra_id.as_str()) {
            folders.insert(path.clone());
        }
        let inside = client.retrieve_below(&folder, &wanted).await?;
        let unknown = inside.into_iter().filter(|machine| !certain.contains(&machine.moref));
        others.extend(unknown.map(|machine| (machine.moref.clone(), machine)));
    }
    machines.extend(others.into_values());
    let origin = |machine: &Object| origin(machine, infra_id, &haunts.machines, tagged);
    let ours: Vec<(&Object, Origin)> =
        machines.iter().filter_map(|machine| Some((machine, origin(machine)?))).collect();
    let morefs: Vec<MoRef> = ours.iter().map(|(machine, _)| machine.moref.clone()).collect();
    let paths = client.paths(&morefs).await?;
    let remains = ours.into_iter().zip(paths).filter_map(|((machine, origin), path)| {
        Some(Remains {
            name: unescape(machine.text("name")).into_owned(),
            folder: path.rsplit_once('/')?.0.to_owned(),
            uuid: machine.text("config.instanceUuid").parse().ok()?,
            template: machine.text("config.template") == "true",
            moref: machine.moref.reference.clone(),
            origin,
        })
    });
    Ok((remains.collect(), folders))
}

/// Whose a machine is; `None` if it is nothing of this cluster's. A crash may have kept the tag off one that says
/// itself that it is of this cluster. A copy of one says so too, but has another id than it says.
fn origin(
    machine: &Object,
    infra_id: &InfraId,
    known: &BTreeSet<Uuid>,
    tagged: &BTreeSet<MoRef>,
) -> Option<Origin> {
    let options = machine.properties.get("config.extraConfig").map(|config| config.children.as_slice());
    let mark = |key: &str| {
        let option = options.unwrap_or_default().iter().find(|option| option.text_of("key") == key)?;
        Some(option.text_of("value"))
    };
    let uuid = machine.text("config.instanceUuid");
    let marked = mark(CLUSTER_MARK) == Some(infra_id.as_str());
    let says = mark(OBJECT_MARK);
    if uuid.parse().is_ok_and(|uuid| known.contains(&uuid)) || (marked && says == Some(uuid)) {
        return Some(Origin::Ours);
    }
    let tagged = tagged.contains(&machine.moref);
    match says {
        Some(_) if tagged => Some(Origin::Copy),
        _ if tagged => Some(Origin::Tagged),
        _ => None,
    }
}
