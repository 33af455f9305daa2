//! Looking at many resources of a vCenter at once.

use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::platform::Query;
use slipway_engine::{Cause, Goal, Observation};
use uuid::Uuid;

use super::disks::Made;
use super::power::addresses;
use super::{
    Desired, ForeignDisk, KindError, Machine, MachineState, Search, Source, State, Template, VCenter, reason,
};
use crate::vsphere::MoRef;
use crate::vsphere::inventory::LookupError;
use crate::vsphere::paths::unescape;
use crate::vsphere::placement::{Members, Placement, RuleKind};
use crate::vsphere::properties::{Object, PropertySpec};

/// What is read of every machine. Its extra configuration is not: that may be a megabyte.
const MACHINE: [&str; 6] =
    ["name", "parent", "config.instanceUuid", "config.template", "runtime.powerState", "guest.net"];

/// Names shown of what is in the way.
const SHOWN: usize = 5;

/// What was found on a vCenter.
#[derive(Default)]
struct Found {
    /// The vCenter's own id.
    instance: String,
    tag: Option<State>,
    tagged: BTreeSet<MoRef>,
    folders: BTreeMap<String, MoRef>,
    machines: Vec<Object>,
    placements: BTreeMap<String, Placement>,
    /// Disks that are not the machine's own, of those that are to go; or why they cannot be read.
    foreign_disks: BTreeMap<MoRef, Result<Vec<ForeignDisk>, String>>,
}

pub(super) async fn at(
    vcenter: &VCenter,
    queries: &[Query<'_, Desired, State>],
) -> Result<Vec<Observation<State>>, KindError> {
    let instance = vcenter.client.content().await?.about.instance_uuid.clone();
    if let Some(other) = queries.iter().find_map(|query| another(query, &instance)) {
        let message = format!(
            "another vCenter answers here than when the cluster was created (it was {other}, it is {instance})"
        );
        let cause = Cause::new(reason::ANOTHER_VCENTER, message);
        return Ok(queries.iter().map(|_| Observation::Unknown(cause.clone())).collect());
    }
    let mut found = Found { instance, ..Found::default() };
    found.tags(vcenter, queries).await?;
    found.folders(vcenter, queries).await?;
    found.machines(vcenter, queries).await?;
    found.placements(vcenter, queries).await?;
    let mut observations = Vec::with_capacity(queries.len());
    for query in queries {
        observations.push(found.observation(vcenter, query, queries).await?);
    }
    Ok(observations)
}

/// The id of the vCenter a resource was made on, if it was another one.
fn another(query: &Query<'_, Desired, State>, instance: &str) -> Option<String> {
    match query.made? {
        State::Tag { vcenter, .. } if !vcenter.is_empty() && vcenter != instance => Some(vcenter.clone()),
        _ => None,
    }
}

/// The ids of the disks a machine was made with, if the journal knows them.
fn written_down(query: &Query<'_, Desired, State>) -> Vec<String> {
    match query.made {
        Some(State::Machine(MachineState { disks, .. })) => disks.clone(),
        _ => Vec::new(),
    }
}

/// The machine or template that is asked for: its id, its folder and its name.
fn machine_of(desired: &Desired) -> Option<(Uuid, &str, &str)> {
    match desired {
        Desired::Machine(machine) => Some((machine.uuid, &machine.folder, &machine.name)),
        Desired::Power(power) => {
            let (folder, _) = power.path.rsplit_once('/')?;
            Some((power.uuid, folder, &power.machine))
        }
        Desired::Template(template) => {
            let place = template.source.place()?;
            Some((place.uuid, &place.folder, &template.name))
        }
        _ => None,
    }
}

impl Found {
    async fn tags(
        &mut self,
        vcenter: &VCenter,
        queries: &[Query<'_, Desired, State>],
    ) -> Result<(), KindError> {
        let client = &vcenter.client;
        for query in queries {
            let Desired::Tag(desired) = &query.resource.desired else { continue };
            let Some(category) = client.category_named(&desired.category).await? else {
                vcenter.remember_tag(None);
                continue;
            };
            let tag = client.tag_named(&category.id, &desired.tag).await?.map(|tag| tag.id);
            vcenter.remember_tag(tag.clone());
            self.tag = Some(State::Tag { vcenter: self.instance.clone(), category: category.id, tag });
        }
        if let Some(tag) = vcenter.tag()
            && vcenter.search == Search::Folders
        {
            self.tagged = client.objects_of(&[tag]).await?.into_values().flatten().collect();
        }
        Ok(())
    }

    async fn folders(
        &mut self,
        vcenter: &VCenter,
        queries: &[Query<'_, Desired, State>],
    ) -> Result<(), KindError> {
        let paths: BTreeSet<&str> = queries
            .iter()
            .filter_map(|query| match &query.resource.desired {
                Desired::Folder(folder) => Some(folder.path.as_str()),
                _ if vcenter.search == Search::Ids => None,
                other => machine_of(other).map(|(_, folder, _)| folder),
            })
            .collect();
        for path in paths {
            if let Some(folder) = vcenter.client.find(path).await? {
                self.folders.insert(path.to_owned(), folder);
            }
        }
        Ok(())
    }

    /// Machines in the folders, those that carry the tag wherever they are now, and those the journal knows.
    async fn machines(
        &mut self,
        vcenter: &VCenter,
        queries: &[Query<'_, Desired, State>],
    ) -> Result<(), KindError> {
        let asked: Vec<_> =
            queries.iter().filter(|query| machine_of(&query.resource.desired).is_some()).collect();
        let any_folder = queries.iter().any(|query| matches!(query.resource.desired, Desired::Folder(_)));
        if vcenter.search == Search::Ids {
            self.machines_by_id(vcenter, &asked).await?;
            return self.foreign_disks(vcenter, &asked).await;
        }
        if asked.is_empty() && !any_folder {
            return Ok(());
        }
        let client = &vcenter.client;
        let desired = [PropertySpec { kind: "VirtualMachine", properties: &MACHINE }];
        let mut known = BTreeSet::new();
        for folder in self.folders.values() {
            for machine in client.retrieve_below(folder, &desired).await? {
                if known.insert(machine.moref.clone()) {
                    self.machines.push(machine);
                }
            }
        }
        let recorded = asked.iter().filter_map(|query| match query.made? {
            State::Machine(MachineState { moref, .. }) | State::Power { moref, .. } => {
                Some(vcenter.moref(moref))
            }
            _ => None,
        });
        let located = asked.iter().filter_map(|query| {
            let (uuid, ..) = machine_of(&query.resource.desired)?;
            vcenter.located(uuid)
        });
        let elsewhere: BTreeSet<MoRef> = self
            .tagged
            .iter()
            .filter(|moref| &*moref.reference.kind == "VirtualMachine")
            .cloned()
            .chain(recorded)
            .chain(located)
            .filter(|moref| !known.contains(moref))
            .collect();
        let elsewhere: Vec<MoRef> = elsewhere.into_iter().collect();
        self.machines.extend(client.retrieve(&elsewhere, &desired).await?);
        self.foreign_disks(vcenter, &asked).await
    }

    /// The disks of machines that are to go, which are not their own.
    async fn foreign_disks(
        &mut self,
        vcenter: &VCenter,
        asked: &[&Query<'_, Desired, State>],
    ) -> Result<(), KindError> {
        // Only what is to go can lose its volumes.
        let going = asked.iter().filter(|query| query.resource.goal == Goal::Absent);
        let going: BTreeMap<MoRef, Vec<String>> = going
            .filter(|query| matches!(query.resource.desired, Desired::Machine(_) | Desired::Template(_)))
            .filter_map(|query| {
                let (uuid, ..) = machine_of(&query.resource.desired)?;
                Some((self.by_uuid(uuid)?.moref.clone(), written_down(query)))
            })
            .collect();
        let morefs: Vec<MoRef> = going.keys().cloned().collect();
        for (moref, hardware) in vcenter.client.hardware_of_each(&morefs).await? {
            let made = match going.get(&moref) {
                Some(disks) if !self.is_template(&moref) => Made::Machine(disks),
                _ => Made::Template,
            };
            let foreign = match hardware {
                Ok(hardware) => made.removable(&hardware),
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    Err(format!("the disks of {moref} cannot be read: {}", cause.unwrap_or_default()))
                }
            };
            self.foreign_disks.insert(moref, foreign);
        }
        Ok(())
    }

    /// Machines by where they were, and otherwise by their ids alone. What was made and is not where it was may have been
    /// registered anew.
    async fn machines_by_id(
        &mut self,
        vcenter: &VCenter,
        asked: &[&Query<'_, Desired, State>],
    ) -> Result<(), KindError> {
        let client = &vcenter.client;
        let desired = [PropertySpec { kind: "VirtualMachine", properties: &MACHINE }];
        let recorded = asked.iter().filter_map(|query| match query.made? {
            State::Machine(MachineState { moref, .. }) | State::Power { moref, .. } => {
                Some(vcenter.moref(moref))
            }
            _ => None,
        });
        let recorded: BTreeSet<MoRef> = recorded.collect();
        self.machines = client.retrieve(&recorded.into_iter().collect::<Vec<_>>(), &desired).await?;
        let ids = asked.iter().filter_map(|query| Some(machine_of(&query.resource.desired)?.0));
        let unseen: BTreeSet<Uuid> = ids.filter(|uuid| self.by_uuid(*uuid).is_none()).collect();
        if !unseen.is_empty() {
            let found = client.machines_by_uuid(&unseen.into_iter().collect::<Vec<_>>()).await?;
            let found: Vec<MoRef> = found.into_values().collect();
            let found = client.retrieve(&found, &desired).await?;
            let known: BTreeSet<MoRef> = self.machines.iter().map(|machine| machine.moref.clone()).collect();
            self.machines.extend(found.into_iter().filter(|machine| !known.contains(&machine.moref)));
        }
        self.tags_by_id(vcenter, asked).await
    }

    /// Which of what was found carries the cluster's tag. What was seen with it is not asked about again.
    async fn tags_by_id(
        &mut self,
        vcenter: &VCenter,
        asked: &[&Query<'_, Desired, State>],
    ) -> Result<(), KindError> {
        let Some(tag) = vcenter.tag() else { return Ok(()) };
        let tagged = asked.iter().filter_map(|query| match query.made? {
            State::Machine(MachineState { moref, tagged: true, .. }) => Some(vcenter.moref(moref)),
            _ => None,
        });
        self.tagged.extend(tagged);
        let wanted = asked.iter().filter(|query| {
            query.resource.goal == Goal::Present && !matches!(query.resource.desired, Desired::Power(_))
        });
        let machines = wanted.filter_map(|query| {
            let (uuid, ..) = machine_of(&query.resource.desired)?;
            Some(&self.by_uuid(uuid)?.moref)
        });
        let objects = self.folders.values().chain(machines).filter(|object| !self.tagged.contains(*object));
        let objects: Vec<MoRef> = objects.cloned().collect();
        if objects.is_empty() {
            return Ok(());
        }
        let tags = vcenter.client.tags_of(&objects).await?;
        self.tagged
            .extend(tags.into_iter().filter(|(_, tags)| tags.contains(&tag)).map(|(object, _)| object));
        Ok(())
    }

    async fn placements(
        &mut self,
        vcenter: &VCenter,
        queries: &[Query<'_, Desired, State>],
    ) -> Result<(), KindError> {
        let clusters: BTreeSet<&str> = queries
            .iter()
            .filter_map(|query| match &query.resource.desired {
                Desired::AntiAffinityRule(apart) => Some(apart.compute_cluster.as_str()),
                Desired::VmGroup(zone) => Some(&zone.compute_cluster),
                Desired::Machine(machine) => machine.zone.as_ref().map(|_| machine.compute_cluster.as_str()),
                _ => None,
            })
            .collect();
        for cluster in clusters {
            if let Some(moref) = vcenter.client.find(cluster).await? {
                self.placements.insert(cluster.to_owned(), vcenter.client.placement(&moref).await?);
            }
        }
        Ok(())
    }

    fn is_template(&self, moref: &MoRef) -> bool {
        let found = self.machines.iter().find(|machine| machine.moref == *moref);
        found.is_some_and(|machine| machine.text("config.template") == "true")
    }

    fn by_uuid(&self, uuid: Uuid) -> Option<&Object> {
        let uuid = uuid.to_string();
        self.machines.iter().find(|machine| machine.text("config.instanceUuid") == uuid)
    }

    /// By its mark, wherever it is; otherwise whatever has its name in its place.
    fn machine(&self, (uuid, folder, name): (Uuid, &str, &str)) -> Option<&Object> {
        let in_place = |machine: &&Object| {
            let parent = self.folders.get(folder);
            parent.is_some() && machine.reference("parent").as_ref() == parent
        };
        self.by_uuid(uuid).or_else(|| {
            self.machines.iter().filter(in_place).find(|machine| unescape(machine.text("name")) == name)
        })
    }

    async fn observation(
        &self,
        vcenter: &VCenter,
        query: &Query<'_, Desired, State>,
        queries: &[Query<'_, Desired, State>],
    ) -> Result<Observation<State>, KindError> {
        let state = match &query.resource.desired {
            Desired::Tag(_) => self.tag.clone(),
            Desired::Folder(folder) => match self.folders.get(&folder.path) {
                Some(moref) => {
                    let going = query.resource.goal == Goal::Absent;
                    let strangers =
                        if going { self.strangers(vcenter, moref, queries).await? } else { Vec::new() };
                    let tagged = self.tagged.contains(moref);
                    Some(State::Folder { moref: moref.reference.to_string(), tagged, strangers })
                }
                None => None,
            },
            Desired::Template(Template { source: Source::Existing { datacenter }, name }) => {
                self.existing(vcenter, datacenter, name).await?
            }
            Desired::Template(_) | Desired::Machine(_) => {
                let object = machine_of(&query.resource.desired).and_then(|place| self.machine(place));
                match self.unreadable(object, query) {
                    Some(message) => {
                        return Ok(Observation::Unknown(Cause::new(reason::UNREADABLE, message)));
                    }
                    None => object.map(|object| self.machine_state(object, query)),
                }
            }
            Desired::Power(power) => {
                let object = self.by_uuid(power.uuid);
                if let Some(message) = self.unreadable(object, query) {
                    return Ok(Observation::Unknown(Cause::new(reason::UNREADABLE, message)));
                }
                object.map(|machine| State::Power {
                    moref: machine.moref.reference.to_string(),
                    on: machine.text("runtime.powerState") != "poweredOff",
                    addresses: addresses(machine.properties.get("guest.net")),
                })
            }
            Desired::AntiAffinityRule(apart) => self.apart(&apart.compute_cluster, &apart.name),
            Desired::VmGroup(zone) => self.zone(&zone.compute_cluster, &zone.name, &zone.host_group),
            Desired::Volumes(volumes) => volumes.look(vcenter).await?,
            Desired::Policy(policy) => policy.look(vcenter).await?,
        };
        Ok(Observation::Known(state))
    }

    /// Why nothing can be said of a machine that is there, or that was made and answers to its id without saying who it is.
    fn unreadable(&self, object: Option<&Object>, query: &Query<'_, Desired, State>) -> Option<String> {
        let Some(object) = object else {
            let (State::Machine(MachineState { moref, .. }) | State::Power { moref, .. }) = query.made?
            else {
                return None;
            };
            return self
                .machines
                .iter()
                .find(|machine| machine.moref.reference.to_string() == *moref)
                .and_then(hidden);
        };
        // What cannot be read is not nothing: a volume would go with the machine.
        let disks = self.foreign_disks.get(&object.moref).and_then(|disks| disks.as_ref().err().cloned());
        hidden(object).or(disks)
    }

    /// Whether a machine is in a group of machines of the cluster's: that of its zone, or of the zone it was made in. It
    /// would be bound to the hosts of both if it were put into a second one.
    fn grouped(&self, moref: &MoRef, desired: &Desired) -> bool {
        let Desired::Machine(machine) = desired else { return false };
        let Machine { compute_cluster, infra_id, .. } = &**machine;
        let groups = self.placements.get(compute_cluster).map(|placement| placement.groups.as_slice());
        groups.unwrap_or_default().iter().any(|group| {
            (group.name.starts_with(&format!("{infra_id}-")) || machine.zone.as_ref() == Some(&group.name))
                && matches!(&group.members, Members::Machines(machines) if machines.contains(moref))
        })
    }

    fn machine_state(&self, machine: &Object, query: &Query<'_, Desired, State>) -> State {
        State::Machine(MachineState {
            moref: machine.moref.reference.to_string(),
            uuid: machine.text("config.instanceUuid").to_owned(),
            tagged: self.tagged.contains(&machine.moref),
            template: machine.text("config.template") == "true",
            grouped: self.grouped(&machine.moref, &query.resource.desired),
            disks: written_down(query),
            foreign_disks: self
                .foreign_disks
                .get(&machine.moref)
                .cloned()
                .and_then(Result::ok)
                .unwrap_or_default(),
            // The tag comes last.
            finished: query.made.is_some() || self.tagged.contains(&machine.moref),
        })
    }

    /// What is in a folder and none of ours.
    async fn strangers(
        &self,
        vcenter: &VCenter,
        folder: &MoRef,
        queries: &[Query<'_, Desired, State>],
    ) -> Result<Vec<String>, KindError> {
        let ours: BTreeSet<&MoRef> = queries
            .iter()
            .filter_map(|query| match &query.resource.desired {
                Desired::Folder(folder) => self.folders.get(&folder.path),
                other => {
                    machine_of(other).and_then(|(uuid, ..)| self.by_uuid(uuid)).map(|found| &found.moref)
                }
            })
            .collect();
        let desired = [PropertySpec { kind: "Folder", properties: &["childEntity"] }];
        let objects = vcenter.client.retrieve(std::slice::from_ref(folder), &desired).await?;
        let children = objects.first().map(|object| object.references("childEntity")).unwrap_or_default();
        let strangers: Vec<MoRef> =
            children.into_iter().filter(|child| !ours.contains(child)).take(SHOWN).collect();
        let mut paths = vcenter.client.paths(&strangers).await?;
        paths.sort();
        Ok(paths)
    }

    /// A template of the user's, by path or by name.
    async fn existing(
        &self,
        vcenter: &VCenter,
        datacenter: &str,
        name: &str,
    ) -> Result<Option<State>, KindError> {
        let client = &vcenter.client;
        if let Ok(uuid) = name.parse::<Uuid>() {
            let found = client.machines_by_uuid(&[uuid]).await?.into_values().next();
            let state =
                |moref: MoRef| State::Machine(MachineState::existing_template(moref.reference.to_string()));
            return Ok(found.map(state));
        }
        let path = if name.starts_with('/') { name.to_owned() } else { format!("{datacenter}/vm/{name}") };
        let mut moref = client.find(&path).await?;
        if moref.is_none() && !name.contains('/') {
            let Some(root) = client.find(datacenter).await? else { return Ok(None) };
            moref = match client.find_named(&root, "VirtualMachine", name).await {
                Ok(found) => Some(found),
                Err(LookupError::Missing { .. }) => None,
                Err(error) => return Err(error.into()),
            };
        }
        let state = |moref: MoRef| MachineState::existing_template(moref.reference.to_string());
        Ok(moref.map(state).map(State::Machine))
    }

    fn apart(&self, cluster: &str, name: &str) -> Option<State> {
        let rule = self.placements.get(cluster)?.rules.iter().find(|rule| rule.name == name)?;
        let RuleKind::AntiAffinity(machines) = &rule.kind else { return None };
        let mut members: Vec<String> = machines.iter().map(|moref| moref.reference.to_string()).collect();
        members.sort();
        Some(State::Rule { members, whole: true })
    }

    fn zone(&self, cluster: &str, name: &str, host_group: &str) -> Option<State> {
        let placement = self.placements.get(cluster)?;
        let group = placement.groups.iter().any(|group| group.name == name);
        let rule = placement.rules.iter().any(|rule| rule.name == name);
        (group || rule).then(|| State::Rule { members: vec![host_group.to_owned()], whole: group && rule })
    }
}

/// A machine that is there and may not be looked at.
fn hidden(machine: &Object) -> Option<String> {
    let fault = machine.missing.get("config.instanceUuid").or_else(|| machine.missing.get("name"));
    let fault = fault.map(ToString::to_string).or_else(|| {
        // An inaccessible or orphaned one has no configuration.
        machine.text("config.instanceUuid").is_empty().then(|| "it shows no configuration".to_owned())
    })?;
    Some(format!("{} is there and cannot be read: {fault}", machine.moref))
}
