//! What a cluster has left on its vCenters. Its directory is not needed for it: the tag and the marks say what is its.

use std::collections::{BTreeMap, BTreeSet};

use slipway_config::ids::InfraId;
use slipway_engine::{Cause, Endpoint, Goal, Graph, Id, Resource, World};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::missing::{Recognized, missing};
use crate::provider::{Discovery, EndpointsUnreadable, Memory, NotVisible, Remembered, Search, UNCLEAR};
use crate::vsphere::inventory::{self, Facet, Inventory, Item, Machine as Facts};
use crate::vsphere::kinds::{
    AntiAffinityRule, Desired, Folder, Kind, Machine, Policy, Power, Source, State, Tag, Template,
    TemplateLocation, VSphere, VmGroup, Volumes,
};
use crate::vsphere::paths::unescape;
use crate::vsphere::tags::Category;
use crate::vsphere::{Client, Error as CallError, MoRef, Reference};

/// Where a cluster's objects may be, on one vCenter.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub folders: BTreeSet<String>,
    pub compute_clusters: BTreeSet<String>,
    /// Groups of machines that are bound to groups of hosts.
    pub zones: BTreeSet<VmGroup>,
}

/// What to look for on one vCenter.
#[derive(Debug)]
struct Scope {
    infra_id: InfraId,
    places: Places,
    machines: BTreeSet<Uuid>,
    records: Vec<Remembered<State>>,
    keep_volumes: bool,
}

/// What was found on one vCenter.
#[derive(Debug)]
struct Found {
    discovery: Discovery<Desired>,
    /// What is there and cannot be read.
    hidden: Vec<String>,
}

pub(super) async fn resources(
    platform: &VSphere,
    search: &Search<'_, VSphere>,
) -> Result<Discovery<Desired>, EndpointsUnreadable> {
    let mut scans = JoinSet::new();
    for (endpoint, scope) in scopes(platform, search) {
        let Some(client) = platform.client(&endpoint).cloned() else { continue };
        scans.spawn(async move {
            let found = scan(&client, &endpoint, &scope).await;
            (endpoint, found)
        });
    }
    let mut all = Discovery { resources: Vec::new(), unseen: Vec::new(), notes: Vec::new() };
    let mut blind = Vec::new();
    while let Some(scan) = scans.join_next().await {
        match scan {
            Ok((endpoint, Ok(Found { discovery: Discovery { resources, unseen, notes }, hidden }))) => {
                all.resources.extend(resources);
                all.unseen.extend(unseen);
                all.notes.extend(notes);
                blind.extend(hidden.into_iter().map(|reason| format!("{endpoint} ({reason})")));
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
    all.unseen.sort_by(|one, other| one.resource.cmp(&other.resource));
    all.notes.sort();
    hold_twins(&mut all.resources, search.memory);
    keep_tags_for_all(&mut all.resources);
    if blind.is_empty() { Ok(all) } else { Err(EndpointsUnreadable { endpoints: blind }) }
}

/// As long as machines are out of observation, it is not known whose the volumes are, and the tag is what finds them again: what
/// there is of these stays, and why.
pub(super) fn holds(
    graph: &Graph<Desired>,
    world: &World<State>,
    unseen: &[NotVisible],
) -> BTreeMap<Id, String> {
    let mut holds = BTreeMap::new();
    for resource in graph.iter() {
        let waits = matches!(resource.desired, Desired::Tag(_) | Desired::Volumes(_) | Desired::Policy(_));
        let is_missed = |one: &&NotVisible| {
            one.resource.endpoint == resource.id.endpoint
                && (Kind::Machine.is(&one.resource) || Kind::Tag.is(&one.resource))
        };
        let missed = unseen.iter().find(is_missed).map(|one| &one.resource);
        if let Some(Id { kind, name, .. }) = missed.filter(|_| waits)
            && world.get(&resource.id).state().is_some()
        {
            let reason = format!("the {kind} `{name}` was created here and is not visible now");
            holds.insert(resource.id.clone(), reason);
        }
    }
    holds
}

/// A machine has one home. Where one with the same id is on another vCenter too, that is a replica, or the rest of a move,
/// and not the cluster's.
fn hold_twins(resources: &mut [Resource<Desired>], memory: &Memory<State>) {
    let mut places: BTreeMap<Uuid, BTreeSet<Endpoint>> = BTreeMap::new();
    let uuid_of = |resource: &Resource<Desired>| match &resource.desired {
        Desired::Machine(machine) => Some(machine.uuid),
        Desired::Power(power) => Some(power.uuid),
        _ => None,
    };
    for resource in resources.iter() {
        if let Some(uuid) = uuid_of(resource) {
            places.entry(uuid).or_default().insert(resource.id.endpoint.clone());
        }
    }
    let made = |endpoint: &Endpoint, uuid: Uuid| {
        let records = memory.get(endpoint).map(Vec::as_slice).unwrap_or_default();
        records
            .iter()
            .any(|one| matches!(Recognized::of(one), Recognized::Machine(_, Some(id)) if id == uuid))
    };
    for resource in resources.iter_mut() {
        let Some((uuid, places)) = uuid_of(resource).and_then(|uuid| Some((uuid, places.get(&uuid)?))) else {
            continue;
        };
        let homes: Vec<&Endpoint> = places.iter().filter(|endpoint| made(endpoint, uuid)).collect();
        if places.len() > 1 && homes != [&resource.id.endpoint] {
            let places: Vec<&str> = places.iter().map(Endpoint::as_str).collect();
            let message = format!(
                "a machine with this id is on {} at the same time. Remove the one that is not the cluster's in vCenter, and \
                 run again",
                places.join(" and ")
            );
            resource.hold = Some(Cause::new(UNCLEAR, message));
        }
    }
}

/// vCenters that are linked share their tags: one goes when nothing on any of them needs it to be found again.
fn keep_tags_for_all(resources: &mut [Resource<Desired>]) {
    let is_tag = |resource: &Resource<Desired>| matches!(resource.desired, Desired::Tag(_));
    let tags: Vec<Id> =
        resources.iter().filter(|resource| is_tag(resource)).map(|tag| tag.id.clone()).collect();
    for resource in resources.iter_mut().filter(|resource| !is_tag(resource)) {
        let others: Vec<Id> = tags.iter().filter(|tag| !resource.depends_on.contains(tag)).cloned().collect();
        resource.depends_on.extend(others);
    }
}

/// Where to look on each vCenter: where the files say, and where the journal says.
fn scopes(platform: &VSphere, search: &Search<'_, VSphere>) -> BTreeMap<Endpoint, Scope> {
    let Search { infra_id, machines, places, memory, keep_volumes } = search;
    let scope = |endpoint: Endpoint| {
        let mut places = places.get(&endpoint).cloned().unwrap_or_default();
        let records = memory.get(&endpoint).cloned().unwrap_or_default();
        for one in &records {
            match Recognized::of(one) {
                Recognized::Folder(_) => {
                    places.folders.insert(one.id.name.to_string());
                }
                Recognized::Rule => {
                    let Some((cluster, name)) = one.id.name.rsplit_once(": ") else { continue };
                    if Kind::VmGroup.is(&one.id) {
                        let (name, compute_cluster) = (name.to_owned(), cluster.to_owned());
                        places.zones.insert(VmGroup { name, compute_cluster, host_group: String::new() });
                    } else {
                        places.compute_clusters.insert(cluster.to_owned());
                    }
                }
                _ => {}
            }
        }
        // A machine is looked for everywhere: failure domains may have changed since it was made.
        let made = memory.values().flatten().filter_map(|one| match Recognized::of(one) {
            Recognized::Machine(_, uuid) => uuid,
            _ => None,
        });
        let machines = machines.iter().copied().chain(made).collect();
        let infra_id = (*infra_id).clone();
        (endpoint, Scope { infra_id, places, machines, records, keep_volumes: *keep_volumes })
    };
    platform.endpoints().into_iter().map(scope).collect()
}

async fn scan(client: &Client, endpoint: &Endpoint, scope: &Scope) -> Result<Found, CallError> {
    let Scope { infra_id, places, records, keep_volumes, .. } = scope;
    let tagged = tagged(client, infra_id).await?;
    let Objects { machines, folders, mut hidden } = objects(client, scope, &tagged.objects).await?;
    let found: BTreeSet<Reference> =
        machines.iter().map(|machine| machine.moref.clone()).chain(folders.values().cloned()).collect();
    let missing = missing(client, records, &found, tagged.is_known).await?;
    hidden.extend(missing.hidden);
    let is_begun = |one: &&Remembered<State>| {
        one.state.is_none() && !machines.iter().any(|machine| *machine.name == *one.id.name)
    };
    if let Some(begun) = records.iter().find(is_begun)
        && client.is_copying(&[]).await?
    {
        hidden.push(format!(
            "{} `{}` was started, and machines are still being copied: run again when that has ended",
            begun.id.kind, begun.id.name
        ));
    }
    let folders: BTreeSet<String> = folders.into_keys().collect();
    // What was made keeps the id it was made by: it may have been renamed or moved since.
    let made = |kind: Kind, moref: &Reference| {
        let is = |one: &&Remembered<State>| {
            kind.is(&one.id)
                && matches!(Recognized::of(one), Recognized::Machine(known, _) if known == *moref)
        };
        records.iter().find(is).map(|one| one.id.clone())
    };
    let tag = Tag::of_cluster(endpoint, infra_id, Goal::Absent);
    let (mut resources, mut notes) = (Vec::new(), Vec::new());
    let gone = |id: Id, desired: Desired, needs: Vec<Id>| Resource {
        id,
        goal: Goal::Absent,
        desired,
        depends_on: needs,
        rank: 1,
        hold: None,
    };

    let folder_id = |path: &str| Kind::Folder.id(endpoint, path);
    let holder = |path: &str| {
        let parents = folders.iter().filter(|folder| path.starts_with(&format!("{folder}/")));
        parents.max_by_key(|folder| folder.len()).map(|folder| folder_id(folder))
    };
    for path in &folders {
        let named_after_cluster = path.rsplit('/').next() == Some(infra_id.as_str());
        let desired = Desired::Folder(Folder { path: path.clone(), named_after_cluster });
        resources.push(gone(
            folder_id(path),
            desired,
            [tag.id.clone()].into_iter().chain(holder(path)).collect(),
        ));
    }
    let mut machine_ids: Vec<Id> = Vec::new();
    for FoundMachine { name, folder, uuid, template, moref, origin } in machines {
        let path = format!("{folder}/{name}");
        let needs: Vec<Id> = [tag.id.clone()].into_iter().chain(holder(&path)).collect();
        let infra_id = infra_id.to_string();
        let hold = match origin {
            Origin::Ours => None,
            Origin::Tagged => {
                notes.push(format!(
                    "{path} on {endpoint} carries the cluster's tag, and was not created by slipway: it goes too. Take the \
                     tag off it to keep it"
                ));
                None
            }
            Origin::Copy => {
                let message = format!(
                    "{path} is a copy of a machine of this cluster, with the cluster's tag. Take the tag off it, or \
                     remove it in vCenter"
                );
                Some(Cause::new(UNCLEAR, message))
            }
        };
        if template {
            let (pool, datastore, compute_cluster) = (String::new(), String::new(), String::new());
            let place = TemplateLocation { uuid, infra_id, folder, pool, datastore, compute_cluster };
            let source = Source::Copy { place };
            let desired = Desired::Template(Template { name, source });
            let id = made(Kind::Template, &moref).unwrap_or_else(|| Kind::template_id(endpoint, "", &path));
            let template = gone(id, desired, needs);
            resources.push(Resource { hold, ..template });
            continue;
        }
        // Names are anybody's to give.
        let id = match made(Kind::Machine, &moref) {
            Some(id) => id,
            None if machine_ids.contains(&Kind::Machine.id(endpoint, &name)) => {
                Kind::Machine.id(endpoint, &format!("{name} ({moref})"))
            }
            None => Kind::Machine.id(endpoint, &name),
        };
        let power = Power::new(name.clone(), uuid, path);
        let power = gone(Kind::Power.id(endpoint, &id.name), Desired::Power(power), vec![id.clone()]);
        resources.push(Resource { hold: hold.clone(), ..power });
        let (compute_cluster, zone, shape) = (String::new(), None, None);
        let machine = Machine { name, uuid, infra_id, folder, compute_cluster, zone, shape };
        let machine = gone(id.clone(), Desired::Machine(Box::new(machine)), needs);
        resources.push(Resource { hold, ..machine });
        machine_ids.push(id);
    }
    for cluster in &places.compute_clusters {
        let name = format!("{infra_id}-control-plane");
        let id = Kind::AntiAffinityRule.id_in(endpoint, cluster, &name);
        let apart = AntiAffinityRule { name, compute_cluster: cluster.clone(), machines: Vec::new() };
        resources.push(gone(id, Desired::AntiAffinityRule(apart), vec![tag.id.clone()]));
    }
    // The files know the group of hosts, the journal does not: of two with the same name the files' counts, which is last.
    let zones: BTreeMap<(&str, &str), &VmGroup> =
        places.zones.iter().map(|zone| ((zone.compute_cluster.as_str(), zone.name.as_str()), zone)).collect();
    for ((cluster, name), zone) in zones {
        let id = Kind::VmGroup.id_in(endpoint, cluster, name);
        let zone = zone.clone();
        resources.push(gone(id.clone(), Desired::VmGroup(zone), vec![tag.id.clone()]));
        // The group goes when no machine is in it any more.
        for resource in resources.iter_mut().filter(|resource| machine_ids.contains(&resource.id)) {
            resource.depends_on.push(id.clone());
        }
    }
    // Volumes go when no machine has them any more, the policy when no volume has it.
    let (name, cluster_id) = (format!("openshift-storage-policy-{infra_id}"), infra_id.to_string());
    let policy = Kind::Policy.id(endpoint, &name);
    let desired = Policy { name, cluster_id: cluster_id.clone(), keep: *keep_volumes };
    resources.push(gone(policy.clone(), Desired::Policy(desired), vec![tag.id.clone()]));
    let volumes = Kind::Volumes.id(endpoint, infra_id.as_str());
    let desired = Desired::Volumes(Volumes { cluster_id, keep: *keep_volumes });
    resources.push(gone(volumes.clone(), desired, vec![tag.id.clone(), policy]));
    for resource in resources.iter_mut().filter(|resource| machine_ids.contains(&resource.id)) {
        resource.depends_on.push(volumes.clone());
    }
    resources.push(tag);
    Ok(Found { discovery: Discovery { resources, unseen: missing.unseen, notes }, hidden })
}

/// The cluster's tag, and what carries it.
#[derive(Debug, Default)]
pub(super) struct Tagged {
    /// Whether the tag, or the category it was in, is there.
    is_known: bool,
    pub(super) objects: BTreeSet<MoRef>,
}

pub(super) async fn tagged(client: &Client, infra_id: &InfraId) -> Result<Tagged, CallError> {
    let Some(category) = client.category_named(&infra_id.tag_category()).await? else {
        return Ok(Tagged::default());
    };
    let objects = match client.tag_named(&category.id, infra_id.as_str()).await? {
        Some(tag) => client.objects_of(std::slice::from_ref(&tag.id)).await?,
        None => BTreeMap::new(),
    };
    Ok(Tagged { is_known: true, objects: objects.into_values().flatten().collect() })
}

/// Every cluster has a category of tags, which is named after it.
pub(super) async fn clusters(platform: &VSphere) -> BTreeSet<InfraId> {
    let mut looks = JoinSet::new();
    for endpoint in platform.endpoints() {
        let Some(client) = platform.client(&endpoint).cloned() else { continue };
        looks.spawn(async move { client.categories().await.unwrap_or_default() });
    }
    let categories = looks.join_all().await.into_iter().flatten();
    let infra_id = |category: Category| {
        let infra_id = InfraId::try_from(category.name.strip_prefix("openshift-")?.to_owned()).ok()?;
        (category.name == infra_id.tag_category()).then_some(infra_id)
    };
    categories.filter_map(infra_id).collect()
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
struct FoundMachine {
    name: String,
    folder: String,
    uuid: Uuid,
    template: bool,
    moref: Reference,
    origin: Origin,
}

/// Machines that carry the tag or the mark, and folders that may go with them.
#[derive(Default)]
struct Objects {
    machines: Vec<FoundMachine>,
    folders: BTreeMap<String, Reference>,
    /// What carries the tag and cannot be read.
    hidden: Vec<String>,
}

async fn objects(client: &Client, scope: &Scope, tagged: &BTreeSet<MoRef>) -> Result<Objects, CallError> {
    let infra_id = &scope.infra_id;
    let of_kind =
        |kind: &'static str| tagged.iter().filter(move |moref| &*moref.reference.kind == kind).cloned();
    let known: Vec<Uuid> = scope.machines.iter().copied().collect();
    let found = client.machines_by_uuid(&known).await?.into_values();
    let certain: BTreeSet<Reference> =
        of_kind("VirtualMachine").chain(found).map(|moref| moref.reference).collect();
    let (mut inventory, marks) = (Inventory::default(), inventory::Scope::of([Facet::Marks]));
    inventory.learn(client, certain.iter().cloned(), &marks).await?;
    let folder_tags: Vec<MoRef> = of_kind("Folder").collect();
    let references = folder_tags.iter().map(|moref| moref.reference.clone());
    let mut folders: BTreeMap<String, Reference> =
        client.paths(&folder_tags).await?.into_iter().zip(references).collect();
    for path in &scope.places.folders {
        let Some(folder) = client.find(path).await? else { continue };
        if path.rsplit('/').next() == Some(infra_id.as_str()) {
            folders.insert(path.clone(), folder.reference.clone());
        }
        inventory.learn_below(client, &folder, &marks).await?;
    }
    // Folders may be in each other, so that a machine may have been read twice. Those that are certain come first.
    let machines: BTreeMap<(bool, &Reference), (&Item, &Facts)> = inventory
        .machines()
        .map(|(item, machine)| ((!certain.contains(&item.id), &item.id), (item, machine)))
        .collect();
    let tagged: BTreeSet<&Reference> = tagged.iter().map(|moref| &moref.reference).collect();
    let origin =
        |item: &Item, machine: &Facts| origin(machine, infra_id, &scope.machines, tagged.contains(&item.id));
    let ours: Vec<(&Item, &Facts, Origin)> = machines
        .into_values()
        .filter_map(|(item, machine)| Some((item, machine, origin(item, machine)?)))
        .collect();
    let morefs: Vec<MoRef> = ours.iter().map(|(item, ..)| client.moref(item.id.clone())).collect();
    let paths = client.paths(&morefs).await?;
    let mut found = Objects { folders, ..Objects::default() };
    for ((item, machine, origin), path) in ours.into_iter().zip(paths) {
        let (Some((folder, _)), Some(uuid)) = (path.rsplit_once('/'), machine.instance_uuid) else {
            // An inaccessible or orphaned one shows no configuration.
            found.hidden.push(format!("the machine {path} is there and cannot be read"));
            continue;
        };
        found.machines.push(FoundMachine {
            name: unescape(item.name()).into_owned(),
            folder: folder.to_owned(),
            uuid,
            template: machine.template,
            moref: item.id.clone(),
            origin,
        });
    }
    Ok(found)
}

/// Whose a machine is; `None` if it is nothing of this cluster's. A crash may have kept the tag off one that says
/// itself that it is of this cluster. A copy of one says so too, but has another id than it says.
fn origin(machine: &Facts, infra_id: &InfraId, known: &BTreeSet<Uuid>, tagged: bool) -> Option<Origin> {
    let marked = machine.cluster_mark.as_deref() == Some(infra_id.as_str());
    let says = machine.object_mark.as_deref();
    let is_itself = |uuid: Uuid| says.is_some_and(|says| says.parse() == Ok(uuid));
    if machine.instance_uuid.is_some_and(|uuid| known.contains(&uuid) || (marked && is_itself(uuid))) {
        return Some(Origin::Ours);
    }
    match says {
        Some(_) if tagged => Some(Origin::Copy),
        _ if tagged => Some(Origin::Tagged),
        _ => None,
    }
}
