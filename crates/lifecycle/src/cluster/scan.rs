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
use slipway_providers::vsphere::{Client, Error as CallError, MoRef};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::blueprint::Blueprint;
use super::wanted::{compute_cluster, ids, tag};
use super::{Error, endpoint_of};

const MACHINE: [&str; 4] = ["name", "parent", "config.instanceUuid", "config.template"];

/// Where a cluster's objects may be, on one vCenter.
#[derive(Debug, Clone, Default)]
struct Haunts {
    folders: BTreeSet<String>,
    compute_clusters: BTreeSet<String>,
    /// Names of groups of machines, with their compute cluster and group of hosts.
    zones: BTreeSet<(String, String, String)>,
}

/// What is to go, on all vCenters. A vCenter that cannot be asked keeps all others from being touched too: half a
/// cluster is harder to find again than a whole one.
pub(super) async fn resources(
    platform: &VSphere,
    config: &InstallConfig,
    infra_id: &InfraId,
    blueprint: &Blueprint,
) -> Result<Vec<Resource<Wanted>>, Error> {
    let AnyPlatform::VSphere(vsphere) = &config.platform else {
        return Err(Error::Platform(config.platform.name()));
    };
    let mut scans = JoinSet::new();
    for (endpoint, haunts) in haunts(vsphere, infra_id, blueprint) {
        let Some(client) = platform.client(&endpoint).cloned() else { continue };
        let infra_id = infra_id.clone();
        scans.spawn(async move {
            let found = scan(&client, &endpoint, &haunts, &infra_id).await;
            (endpoint, found)
        });
    }
    let mut resources = Vec::new();
    let mut blind = Vec::new();
    while let Some(scan) = scans.join_next().await {
        match scan {
            Ok((_, Ok(found))) => resources.extend(found),
            Ok((endpoint, Err(error))) => {
                let cause =
                    std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
                blind.push(format!("{endpoint} ({error}{cause})"));
            }
            Err(error) => blind.push(error.to_string()),
        }
    }
    blind.sort();
    if blind.is_empty() { Ok(resources) } else { Err(Error::Blind { vcenters: blind }) }
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

fn haunts(platform: &Platform, infra_id: &InfraId, blueprint: &Blueprint) -> BTreeMap<Endpoint, Haunts> {
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
    haunts
}

async fn scan(
    client: &Client,
    endpoint: &Endpoint,
    haunts: &Haunts,
    infra_id: &InfraId,
) -> Result<Vec<Resource<Wanted>>, CallError> {
    let tagged = tagged(client, infra_id).await?;
    let (machines, folders) = objects(client, haunts, infra_id, &tagged).await?;
    let tag = tag(endpoint, infra_id, Goal::Absent);
    let mut resources = Vec::new();
    let gone =
        |id: Id, wanted: Wanted, needs: Vec<Id>| Resource { id, goal: Goal::Absent, wanted, needs, rank: 1 };

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
    let mut machine_ids = Vec::new();
    for Remains { name, folder, uuid, template } in machines {
        let path = format!("{folder}/{name}");
        let needs: Vec<Id> = [tag.id.clone()].into_iter().chain(holder(&path)).collect();
        let infra_id = infra_id.to_string();
        if template {
            let (pool, datastore, compute_cluster) = (String::new(), String::new(), String::new());
            let place = Place { uuid, infra_id, folder, pool, datastore, compute_cluster };
            let source = Source::Copy { place };
            let wanted = Wanted::Template(Template { name, source });
            resources.push(gone(ids::template(endpoint, "", &path), wanted, needs));
            continue;
        }
        let id = ids::machine(endpoint, &name);
        let power = Power { machine: name.clone(), uuid, path };
        resources.push(gone(ids::power(endpoint, &name), Wanted::Power(power), vec![id.clone()]));
        let (compute_cluster, zone, shape) = (String::new(), None, None);
        let machine = Machine { name, uuid, infra_id, folder, compute_cluster, zone, shape };
        resources.push(gone(id.clone(), Wanted::Machine(Box::new(machine)), needs));
        machine_ids.push(id);
    }
    for cluster in &haunts.compute_clusters {
        let name = format!("{infra_id}-control-plane");
        let id = ids::rule(endpoint, "apart", cluster, &name);
        let apart = Apart { name, compute_cluster: cluster.clone(), machines: Vec::new() };
        resources.push(gone(id, Wanted::Apart(apart), vec![tag.id.clone()]));
    }
    for (cluster, name, host_group) in &haunts.zones {
        let id = ids::rule(endpoint, "zone", cluster, name);
        let zone =
            Zone { name: name.clone(), compute_cluster: cluster.clone(), host_group: host_group.clone() };
        resources.push(gone(id.clone(), Wanted::Zone(zone), vec![tag.id.clone()]));
        // The group goes when nobody is in it any more.
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
    Ok(resources)
}

/// What carries the cluster's tag.
async fn tagged(client: &Client, infra_id: &InfraId) -> Result<BTreeSet<MoRef>, CallError> {
    let Some(category) = client.category_named(&format!("openshift-{infra_id}")).await? else {
        return Ok(BTreeSet::new());
    };
    let Some(tag) = client.tag_named(&category.id, infra_id.as_str()).await? else {
        return Ok(BTreeSet::new());
    };
    Ok(client.objects_of(&[tag.id]).await?.into_values().flatten().collect())
}

/// A machine or template of the cluster.
struct Remains {
    name: String,
    folder: String,
    uuid: Uuid,
    template: bool,
}

/// Machines that carry the tag or the mark, and folders that may go with them.
async fn objects(
    client: &Client,
    haunts: &Haunts,
    infra_id: &InfraId,
    tagged: &BTreeSet<MoRef>,
) -> Result<(Vec<Remains>, BTreeSet<String>), CallError> {
    let wanted = [Properties { kind: "VirtualMachine", properties: &MACHINE }];
    let of_kind = |kind: &str| -> Vec<MoRef> {
        tagged.iter().filter(|moref| &*moref.reference.kind == kind).cloned().collect()
    };
    let mut machines = client.retrieve(&of_kind("VirtualMachine"), &wanted).await?;
    let mut folders: BTreeSet<String> = client.paths(&of_kind("Folder")).await?.into_iter().collect();
    // Folders may be in each other.
    let mut unmarked = BTreeMap::new();
    for path in &haunts.folders {
        let Some(folder) = client.find(path).await? else { continue };
        if path.rsplit('/').next() == Some(infra_id.as_str()) {
            folders.insert(path.clone());
        }
        let inside = client.retrieve_below(&folder, &wanted).await?;
        let untagged = inside.into_iter().filter(|machine| !tagged.contains(&machine.moref));
        unmarked.extend(untagged.map(|machine| (machine.moref.clone(), machine)));
    }
    machines.extend(marked(client, infra_id, unmarked.into_values().collect()).await?);
    let morefs: Vec<MoRef> = machines.iter().map(|machine| machine.moref.clone()).collect();
    let paths = client.paths(&morefs).await?;
    let remains = machines.iter().zip(paths).filter_map(|(machine, path)| {
        Some(Remains {
            name: unescape(machine.text("name")).into_owned(),
            folder: path.rsplit_once('/')?.0.to_owned(),
            uuid: machine.text("config.instanceUuid").parse().ok()?,
            template: machine.text("config.template") == "true",
        })
    });
    Ok((remains.collect(), folders))
}

/// Those that say themselves that they are of this cluster: a crash may have kept the tag off them. A copy that somebody
/// has made of one says so too, but has another id than it says.
async fn marked(
    client: &Client,
    infra_id: &InfraId,
    machines: Vec<Object>,
) -> Result<Vec<Object>, CallError> {
    let morefs: Vec<MoRef> = machines.iter().map(|machine| machine.moref.clone()).collect();
    let wanted = [Properties { kind: "VirtualMachine", properties: &["config.extraConfig"] }];
    let configs = client.retrieve(&morefs, &wanted).await?;
    let marks = |object: &Object| {
        let options = object.properties.get("config.extraConfig").map(|config| config.children.as_slice());
        let value = |key: &str| {
            let option = options.unwrap_or_default().iter().find(|option| option.text_of("key") == key)?;
            Some(option.text_of("value").to_owned())
        };
        Some((object.moref.clone(), (value(CLUSTER_MARK)?, value(OBJECT_MARK)?)))
    };
    let marks: BTreeMap<MoRef, (String, String)> = configs.iter().filter_map(marks).collect();
    let is_ours = |machine: &Object| {
        marks.get(&machine.moref).is_some_and(|(cluster, id)| {
            cluster == infra_id.as_str() && id == machine.text("config.instanceUuid")
        })
    };
    Ok(machines.into_iter().filter(is_ours).collect())
}
