//! The devices of a machine, and which of them change when it becomes another one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use thiserror::Error;

use super::spec::DeviceChange;
use crate::vsphere::error::Cause;
use crate::vsphere::moref::{MoRef, Reference};
use crate::vsphere::properties::Object;
use crate::vsphere::soap::{Element, Malformed};

const DEVICES: &str = "config.hardware.device";
const HOME: &str = "config.files.vmPathName";
const IDENTITY: &str = "config.instanceUuid";
/// The mark alone: the whole extra configuration may be a megabyte.
const MARK: &str = "config.extraConfig[\"slipway.dev/disks\"]";

pub(super) const PROPERTIES: [&str; 6] = [DEVICES, HOME, IDENTITY, MARK, "config.version", "snapshot"];

const KIB_PER_GIB: u64 = 1 << 20;

/// The unit a SCSI controller has on its own bus.
const CONTROLLERS_UNIT: i32 = 7;

/// Units beyond are not tried: not every controller has them.
const UNITS: i32 = 30;

/// The devices of a machine that matter for clones of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hardware {
    /// The number in `vmx-15`.
    pub version: Option<u32>,
    pub nics: Vec<Nic>,
    /// In the order of their controllers and units.
    pub disks: Vec<Disk>,
    /// The configuration file, `[datastore] folder/name.vmx`: what was made with the machine lies in its folder.
    pub home: String,
    /// What the machine is known by.
    pub instance_uuid: String,
    /// Where it says that the disks are it was made with; nothing if it does not say.
    pub slots: Option<Slots>,
    pub snapshots: Vec<Snapshot>,
    pub current_snapshot: Option<MoRef>,
    /// Controller and unit of every device that has one.
    taken: BTreeSet<(i32, i32)>,
}

/// Controllers and units, as they are written down on a machine: `1000:0 1000:1`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slots(BTreeSet<(i32, i32)>);

/// A network card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    pub mac: Option<String>,
    element: Element,
}

/// A disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    pub key: i32,
    pub controller: i32,
    pub unit: i32,
    pub capacity_kib: u64,
    /// `[datastore] folder/file.vmdk`; empty for backings that are no files.
    pub file: String,
    pub datastore: Option<MoRef>,
    /// The id of its content, which stays when it is moved and when it gets a snapshot.
    pub uuid: Option<String>,
    /// Its id as a first-class disk, such as volumes of the storage driver have.
    pub first_class_id: Option<String>,
    element: Element,
}

/// A snapshot of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub name: String,
    pub moref: MoRef,
}

/// A network, as a network card refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    Standard { name: String, network: MoRef },
    Distributed { switch_uuid: String, portgroup_key: String },
    Opaque { id: String, kind: String },
}

/// How much of a disk is allocated when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisioning {
    Thin,
    Thick,
    EagerlyZeroed,
}

/// A further disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskSpec {
    pub size_gib: u64,
    pub provisioning: Provisioning,
}

/// The devices a clone shall have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Devices {
    /// One card each; those of the source go.
    pub networks: Vec<Network>,
    /// The size of the first disk; without it, that of the source's.
    pub disk_gib: Option<u64>,
    pub data_disks: Vec<DiskSpec>,
}

/// Devices that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeviceError {
    #[error("it has no disk")]
    NoDisk,
    #[error("its first disk has {have_kib} KiB, more than the {wanted_gib} GiB wanted: disks do not shrink")]
    Shrink { have_kib: u64, wanted_gib: u64 },
    #[error("the controller of its first disk has no room for {0} more disks")]
    Full(usize),
}

impl Hardware {
    /// What cannot be read is an error: without its devices a machine would look as if it had no disks.
    pub(in crate::vsphere) fn of(object: &Object) -> Result<Self, Cause> {
        let vcenter = |reference| MoRef { vcenter: object.moref.vcenter.clone(), reference };
        let need = |name: &'static str| match (object.properties.get(name), object.missing.get(name)) {
            (Some(value), _) => Ok(value),
            (None, Some(fault)) => Err(Cause::from(fault.clone())),
            (None, None) => Err(Cause::from(Malformed::Missing(name))),
        };
        let (home, instance_uuid) = (need(HOME)?.text.to_string(), need(IDENTITY)?.text.to_string());
        let devices = need(DEVICES)?.children.as_slice();
        let (mut nics, mut disks, mut taken) = (Vec::new(), Vec::new(), BTreeSet::new());
        for device in devices {
            let number = |name| device.child(name).map(|child| child.integer(name)).transpose();
            let place = (number("controllerKey")?, number("unitNumber")?);
            let place = (small(place.0), small(place.1));
            if let (Some(controller), Some(unit)) = place {
                taken.insert((controller, unit));
            }
            if device.kind() == "VirtualDisk" {
                let backing = device.child("backing");
                disks.push(Disk {
                    key: small(number("key")?).unwrap_or_default(),
                    controller: place.0.unwrap_or_default(),
                    unit: place.1.unwrap_or_default(),
                    capacity_kib: number("capacityInKB")?.unwrap_or_default().try_into().unwrap_or_default(),
                    file: backing.map_or("", |backing| backing.text_of("fileName")).to_owned(),
                    datastore: backing
                        .and_then(|backing| backing.child("datastore"))
                        .map(|datastore| vcenter(Reference::of(datastore))),
                    uuid: backing
                        .map(|backing| backing.text_of("uuid").to_owned())
                        .filter(|uuid| !uuid.is_empty()),
                    first_class_id: device.at(&["vDiskId", "id"]).map(|id| id.text.to_string()),
                    element: device.clone(),
                });
            } else if device.child("macAddress").is_some() || device.child("addressType").is_some() {
                // Only network cards have addresses; there are a dozen kinds of them.
                let mac = Some(device.text_of("macAddress").to_owned()).filter(|mac| !mac.is_empty());
                nics.push(Nic { mac, element: device.clone() });
            }
        }
        disks.sort_by_key(|disk| (disk.controller, disk.unit));
        let mut snapshots = Vec::new();
        let tree = object.properties.get("snapshot");
        for root in tree.into_iter().flat_map(|tree| tree.all("rootSnapshotList")) {
            collect(root, &vcenter, &mut snapshots);
        }
        let current = tree.and_then(|tree| tree.child("currentSnapshot"));
        Ok(Hardware {
            version: object.text("config.version").strip_prefix("vmx-").and_then(|text| text.parse().ok()),
            nics,
            disks,
            home,
            instance_uuid,
            slots: object.properties.get(MARK).and_then(Slots::of),
            snapshots,
            current_snapshot: current.map(|current| vcenter(Reference::of(current))),
            taken,
        })
    }

    /// What must change for a clone to have these devices.
    pub fn changes(&self, wanted: &Devices) -> Result<Vec<DeviceChange>, DeviceError> {
        let mut changes: Vec<DeviceChange> =
            self.nics.iter().map(|nic| DeviceChange::Remove(nic.element.clone())).collect();
        changes.extend(wanted.networks.iter().cloned().map(DeviceChange::AddNic));
        if wanted.disk_gib.is_none() && wanted.data_disks.is_empty() {
            return Ok(changes);
        }
        let first = self.disks.first().ok_or(DeviceError::NoDisk)?;
        if let Some(wanted_gib) = wanted.disk_gib {
            let (have_kib, capacity_kib) = (first.capacity_kib, wanted_gib * KIB_PER_GIB);
            if capacity_kib < have_kib {
                return Err(DeviceError::Shrink { have_kib, wanted_gib });
            }
            if capacity_kib > have_kib {
                changes.push(DeviceChange::Grow { disk: first.element.clone(), capacity_kib });
            }
        }
        let controller = first.controller;
        let free = |unit: &i32| *unit != CONTROLLERS_UNIT && !self.taken.contains(&(controller, *unit));
        let mut units = (0..UNITS).filter(free);
        for disk in &wanted.data_disks {
            let unit = units.next().ok_or(DeviceError::Full(wanted.data_disks.len()))?;
            changes.push(DeviceChange::AddDisk {
                controller,
                unit,
                capacity_kib: disk.size_gib * KIB_PER_GIB,
                provisioning: disk.provisioning,
            });
        }
        Ok(changes)
    }

    /// Where the disks of a clone will be that is made with these changes: it keeps the controllers of its source.
    pub fn slots_with(&self, changes: &[DeviceChange]) -> Slots {
        let own = self.disks.iter().map(Disk::slot);
        let added = changes.iter().filter_map(|change| match change {
            DeviceChange::AddDisk { controller, unit, .. } => Some((*controller, *unit)),
            _ => None,
        });
        Slots(own.chain(added).collect())
    }
}

impl Slots {
    fn of(option: &Element) -> Option<Self> {
        // A mark that is not there, or that was changed by hand, says nothing.
        let slot = |text: &str| {
            let (controller, unit) = text.split_once(':')?;
            Some((controller.parse().ok()?, unit.parse().ok()?))
        };
        let slots: Option<BTreeSet<_>> = option.text_of("value").split(' ').map(slot).collect();
        slots.map(Slots)
    }

    pub fn contains(&self, disk: &Disk) -> bool {
        self.0.contains(&disk.slot())
    }
}

impl fmt::Display for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots: Vec<String> =
            self.0.iter().map(|(controller, unit)| format!("{controller}:{unit}")).collect();
        f.write_str(&slots.join(" "))
    }
}

impl Disk {
    fn slot(&self) -> (i32, i32) {
        (self.controller, self.unit)
    }

    /// Takes the disk out of its machine; the file stays.
    pub fn detach(&self) -> DeviceChange {
        DeviceChange::Remove(self.element.clone())
    }
}

impl Network {
    pub(super) fn of(object: &Object, switches: &BTreeMap<&MoRef, &str>) -> Result<Self, Malformed> {
        match &*object.moref.reference.kind {
            "DistributedVirtualPortgroup" => {
                let switch = object.reference("config.distributedVirtualSwitch");
                let uuid = switch.as_ref().and_then(|switch| switches.get(switch));
                let uuid = uuid.ok_or(Malformed::Missing("uuid of the switch"))?;
                let portgroup_key = object.text("key").to_owned();
                Ok(Network::Distributed { switch_uuid: (*uuid).to_owned(), portgroup_key })
            }
            "OpaqueNetwork" => {
                let summary = object.properties.get("summary").ok_or(Malformed::Missing("summary"))?;
                let id = summary.need("opaqueNetworkId")?.text.to_string();
                let kind = summary.need("opaqueNetworkType")?.text.to_string();
                Ok(Network::Opaque { id, kind })
            }
            _ => {
                Ok(Network::Standard { name: object.text("name").to_owned(), network: object.moref.clone() })
            }
        }
    }
}

fn collect(node: &Element, vcenter: &impl Fn(Reference) -> MoRef, snapshots: &mut Vec<Snapshot>) {
    if let Some(snapshot) = node.child("snapshot") {
        let name = node.text_of("name").to_owned();
        snapshots.push(Snapshot { name, moref: vcenter(Reference::of(snapshot)) });
    }
    for child in node.all("childSnapshotList") {
        collect(child, vcenter, snapshots);
    }
}

fn small(number: Option<i64>) -> Option<i32> {
    number.and_then(|number| i32::try_from(number).ok())
}
