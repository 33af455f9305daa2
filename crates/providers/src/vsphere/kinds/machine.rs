//! Virtual machines: cloned from a template, marked in the same call, powered off.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use slipway_config::ids::{CLUSTER_MARK, DISKS_MARK, OBJECT_MARK};
use slipway_engine::{Cause, Context, Cost, Goal, Id, Observed, Step};
use uuid::Uuid;

use super::disks::{Made, detaching, files};
use super::places::network_shown;
use super::rules::rule_step;
use super::{Action, Kind, KindError, MachineState, State, VCenter, absent, need, reason, step};
use crate::vsphere::MoRef;
use crate::vsphere::fault::FaultKind;
use crate::vsphere::machines::{CloneSpec, ConfigSpec, Devices, DiskMove, DiskSpec, Hardware, Slots};

/// A full copy of a disk takes its time.
const CLONE_TIMEOUT: Duration = Duration::from_hours(1);
const REMOVE_TIMEOUT: Duration = Duration::from_mins(10);

/// What a host has, and what a full clone takes of it; vCenter counts so itself.
pub(super) const CLONE_UNITS: u32 = 4;

/// A virtual machine.
#[derive(Debug, Clone)]
pub struct Machine {
    pub name: String,
    /// Its instance UUID: the same whenever it is asked for.
    pub uuid: Uuid,
    pub infra_id: String,
    /// Path of the folder it is in.
    pub folder: String,
    /// The compute cluster whose hosts copy disks, for its budget.
    pub compute_cluster: String,
    /// The group of machines it joins, which a rule binds to hosts.
    pub zone: Option<String>,
    /// How it should look; nothing for one that is only to go.
    pub shape: Option<Shape>,
}

/// How a machine should look.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Path of what it is cloned from, for who may do that.
    pub template: String,
    pub pool: String,
    pub datastore: String,
    pub networks: Vec<String>,
    pub cpus: u32,
    pub cores_per_socket: Option<u32>,
    pub memory_mib: u64,
    /// Zero: as large as the template's.
    pub disk_gib: u64,
    pub data_disks: Vec<DiskSpec>,
    /// Copy the template's disk, or use it with a layer of changes on top.
    pub linked: bool,
    /// The snapshot that a linked clone is made from, by name; otherwise the current one.
    pub snapshot: Option<String>,
    /// Keys and values the guest can read.
    pub vmx: BTreeMap<String, String>,
    pub ignition: Option<Ignition>,
    /// Tags of the user's, by id.
    pub tags: Vec<String>,
}

/// What the machine does at its first boot.
#[derive(Clone)]
pub struct Ignition {
    pub data: SecretString,
    /// `base64` or `gzip+base64`.
    pub encoding: &'static str,
}

impl fmt::Debug for Ignition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ignition({})", self.encoding)
    }
}

impl Machine {
    pub(super) fn made(&self, moref: String, disks: Vec<String>) -> State {
        let uuid = self.uuid.to_string();
        State::Machine(MachineState { moref, uuid, disks, finished: true, ..MachineState::default() })
    }

    fn path(&self) -> String {
        format!("{}/{}", self.folder, self.name)
    }

    pub(super) fn next(
        &self,
        id: &Id,
        goal: Goal,
        own: Option<&State>,
    ) -> Result<Option<Step<Action>>, Cause> {
        let Some(State::Machine(MachineState { uuid, tagged, grouped, foreign_disks, .. })) = own else {
            return match (goal, &self.shape) {
                (Goal::Absent, _) => Ok(None),
                (Goal::Present, Some(shape)) => Ok(Some(self.clone_step(id, shape))),
                (Goal::Present, None) => {
                    Err(Cause::new(reason::NOT_DESCRIBED, "nothing says how it should look"))
                }
            };
        };
        if *uuid != self.uuid.to_string() {
            return match goal {
                Goal::Present => {
                    let message = format!(
                        "there is a machine {} already, and it is not of this cluster. Rename or move it, and run again",
                        self.path()
                    );
                    Err(Cause::new(reason::NAME_TAKEN, message))
                }
                Goal::Absent => Ok(None),
            };
        }
        let name = &self.name;
        Ok(match goal {
            Goal::Present if !tagged => Some(tag_step(id, &self.path(), name)),
            Goal::Present => self.zone.as_ref().filter(|_| !grouped).map(|zone| {
                let cluster = &self.compute_cluster;
                let sentence = format!("put `{name}` into the machine group `{zone}` of {cluster}");
                rule_step(id, Action::JoinGroup, "join group", sentence, cluster)
            }),
            Goal::Absent if !foreign_disks.is_empty() => {
                let sentence = detaching(name, foreign_disks);
                let mut step = step(id, Action::DetachVolumes, "detach disks", sentence);
                step.privileges = vec![need(&self.path(), "VirtualMachine.Config.RemoveDisk")];
                Some(step)
            }
            Goal::Absent => Some(destroy_step(id, &self.path(), &format!("machine `{name}`"))),
        })
    }

    fn clone_step(&self, id: &Id, shape: &Shape) -> Step<Action> {
        let (Machine { name, folder, .. }, Shape { pool, datastore, networks, .. }) = (self, shape);
        let Shape { cpus, memory_mib, disk_gib, linked, .. } = shape;
        let memory = memory_mib.div_ceil(1024);
        let sentence = format!(
            "clone the machine `{name}` ({cpus} CPUs, {memory} GiB, {disk_gib} GiB disk) into {folder}, pool {pool}, \
             datastore {datastore}, network {}",
            networks
                .iter()
                .map(|path| network_shown(path, &self.compute_cluster))
                .collect::<Vec<_>>()
                .join(", ")
        );
        let mut step = step(id, Action::Clone, "clone", sentence);
        let on_folder = |privilege: &str| need(folder, &format!("VirtualMachine.{privilege}"));
        step.privileges = [
            "Inventory.CreateFromExisting",
            "Config.AddNewDisk",
            "Config.AddRemoveDevice",
            "Config.AdvancedConfig",
            "Config.Annotation",
            "Config.CPUCount",
            "Config.DiskExtend",
            "Config.EditDevice",
            "Config.Memory",
            "Config.Settings",
        ]
        .map(on_folder)
        .to_vec();
        step.privileges.push(need(&shape.template, "VirtualMachine.Provisioning.DeployTemplate"));
        step.privileges.push(need(pool, "Resource.AssignVMToPool"));
        step.privileges.push(need(datastore, "Datastore.AllocateSpace"));
        step.privileges.extend(networks.iter().map(|network| need(network, "Network.Assign")));
        step.costs = vec![
            Cost { budget: "tasks".into(), units: 1 },
            Cost {
                budget: self.compute_cluster.as_str().into(),
                units: if *linked { 1 } else { CLONE_UNITS },
            },
        ];
        step.mark = Some(self.uuid);
        step.undo = Some("`slipway destroy cluster` removes it".to_owned());
        step.limit = CLONE_TIMEOUT;
        step
    }

    pub(super) async fn perform(
        &self,
        vcenter: &VCenter,
        observed: &Observed<State>,
        action: Action,
        context: &Context,
    ) -> Result<Option<State>, KindError> {
        let tags = self.shape.as_ref().map(|shape| shape.tags.as_slice()).unwrap_or_default();
        match (action, &observed.own) {
            (Action::Clone, _) => {
                let machine = self.clone_from(vcenter, observed, context).await?;
                let disks = vcenter.disks_of(&machine).await;
                Ok(Some(self.made(machine.reference.to_string(), disks)))
            }
            (Action::JoinGroup, Some(own)) => self.join(vcenter, own).await.map(Some),
            (_, Some(own)) => {
                change(vcenter, observed, own, Made::machine(own), (action, tags), context).await
            }
            _ => Err(absent("machine")),
        }
    }

    async fn clone_from(
        &self,
        vcenter: &VCenter,
        observed: &Observed<State>,
        context: &Context,
    ) -> Result<MoRef, KindError> {
        let (client, places) = (&vcenter.client, &vcenter.places);
        let shape = self.shape.as_ref().ok_or_else(|| absent("shape"))?;
        let Some(State::Machine(MachineState { moref: template, .. })) =
            observed.dependency(Kind::Template.as_str())
        else {
            return Err(absent("template"));
        };
        let Some(State::Folder { moref: folder, .. }) = observed.dependency(Kind::Folder.as_str()) else {
            return Err(absent("folder"));
        };
        let hardware = vcenter.hardware_of(template).await?;
        let mut networks = Vec::new();
        for path in &shape.networks {
            networks.push(places.network(path).await?);
        }
        let devices = Devices {
            networks,
            disk_gib: Some(shape.disk_gib).filter(|gib| *gib > 0),
            data_disks: shape.data_disks.clone(),
        };
        let unfit = |source| KindError::Devices { template: template.clone(), source };
        let changes = hardware.changes(&devices).map_err(unfit)?;
        let slots = hardware.slots_with(&changes);
        let spec = CloneSpec {
            name: self.name.clone(),
            folder: vcenter.moref(folder),
            pool: Some(places.object("resource pool", &shape.pool).await?),
            datastore: Some(places.object("datastore", &shape.datastore).await?),
            host: None,
            disks: shape.disks(&hardware)?,
            template: false,
            config: ConfigSpec {
                instance_uuid: Some(self.uuid.to_string()),
                annotation: Some(format!(
                    "{} of the cluster {}, created by slipway",
                    self.name, self.infra_id
                )),
                disk_uuids: Some(true),
                cpus: Some(shape.cpus),
                cores_per_socket: shape.cores_per_socket,
                memory_mib: Some(shape.memory_mib),
                devices: changes,
                extra_config: self.extra_config(shape, &slots),
            },
        };
        let task = client.clone_machine(&vcenter.moref(template), &spec).await?;
        vcenter.finish(context, &task, CLONE_TIMEOUT).await?.ok_or_else(|| absent("new machine"))
    }

    async fn join(&self, vcenter: &VCenter, own: &State) -> Result<State, KindError> {
        let mut own = own.clone();
        let (State::Machine(MachineState { moref, grouped, .. }), Some(zone)) = (&mut own, &self.zone) else {
            return Err(absent("machine group"));
        };
        let cluster = vcenter.places.object("compute cluster", &self.compute_cluster).await?;
        let machine = vcenter.moref(moref);
        vcenter.client.change_members(&cluster, zone, &[machine], &[], REMOVE_TIMEOUT).await?;
        *grouped = true;
        Ok(own)
    }

    fn extra_config(&self, shape: &Shape, slots: &Slots) -> BTreeMap<String, String> {
        let mut config = shape.vmx.clone();
        config.insert(CLUSTER_MARK.to_owned(), self.infra_id.clone());
        config.insert(OBJECT_MARK.to_owned(), self.uuid.to_string());
        config.insert(DISKS_MARK.to_owned(), slots.to_string());
        if let Some(Ignition { data, encoding }) = &shape.ignition {
            config.insert("guestinfo.ignition.config.data".to_owned(), data.expose_secret().to_owned());
            config.insert("guestinfo.ignition.config.data.encoding".to_owned(), (*encoding).to_owned());
        }
        config
    }
}

impl Shape {
    fn disks(&self, hardware: &Hardware) -> Result<DiskMove, KindError> {
        if !self.linked {
            return Ok(DiskMove::Full);
        }
        let named = |name: &String| hardware.snapshots.iter().find(|snapshot| snapshot.name == *name);
        let snapshot = match &self.snapshot {
            Some(name) => named(name).map(|snapshot| snapshot.moref.clone()),
            None => hardware.current_snapshot.clone(),
        };
        snapshot.map(|snapshot| DiskMove::Linked { snapshot }).ok_or_else(|| {
            let which = self.snapshot.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default();
            KindError::Refused(format!(
                "a linked clone needs a template with a snapshot{which}; create one, or use `cloneMode: fullClone`"
            ))
        })
    }
}

pub(super) fn tag_step(id: &Id, path: &str, name: &str) -> Step<Action> {
    let mut step = step(id, Action::AttachTag, "tag", format!("attach the cluster's tag to `{name}`"));
    step.privileges = vec![
        need("/", "InventoryService.Tagging.AttachTag"),
        need(path, "InventoryService.Tagging.ObjectAttachable"),
    ];
    step
}

pub(super) fn destroy_step(id: &Id, path: &str, what: &str) -> Step<Action> {
    let mut step = step(id, Action::Destroy, "destroy", format!("destroy the {what} with its disks"));
    step.privileges = vec![need(path, "VirtualMachine.Inventory.Delete")];
    step.costs = vec![Cost { budget: "tasks".into(), units: 1 }];
    step.limit = REMOVE_TIMEOUT;
    step
}

/// What is done to machines and templates alike, once they are there.
pub(super) async fn change(
    vcenter: &VCenter,
    observed: &Observed<State>,
    own: &State,
    made: Made<'_>,
    (action, tags): (Action, &[String]),
    context: &Context,
) -> Result<Option<State>, KindError> {
    let mut next = own.clone();
    let State::Machine(MachineState { moref, uuid, tagged, foreign_disks, .. }) = &mut next else {
        return Err(absent("machine"));
    };
    let (client, machine) = (&vcenter.client, vcenter.moref(moref));
    match action {
        Action::AttachTag => {
            vcenter.attach_tag(observed, &machine).await?;
            client.attach_all(tags, &machine).await?;
            *tagged = true;
            Ok(Some(next))
        }
        Action::DetachVolumes => {
            let Some(hardware) = vcenter.hardware_now(&machine, uuid).await? else { return Ok(None) };
            vcenter.detach_foreign(&machine, &hardware, made, REMOVE_TIMEOUT).await?;
            foreign_disks.clear();
            Ok(Some(next))
        }
        Action::Destroy => {
            // A volume that was attached since would go with the machine.
            let Some(hardware) = vcenter.hardware_now(&machine, uuid).await? else { return Ok(None) };
            let foreign = made.removable(&hardware).map_err(KindError::Refused)?;
            if !foreign.is_empty() {
                let disks = files(&foreign);
                return Err(KindError::Refused(format!(
                    "it has disks that are not its own: {disks}; run again"
                )));
            }
            let ended = async {
                let task = client.destroy(&machine).await?;
                vcenter.finish(context, &task, REMOVE_TIMEOUT).await
            };
            match ended.await {
                Err(error) if matches!(error.fault().map(|f| &f.kind), Some(FaultKind::NotFound { .. })) => {
                    Ok(None)
                }
                Err(error) => Err(error.into()),
                Ok(_) => Ok(None),
            }
        }
        _ => Err(absent("machine")),
    }
}
