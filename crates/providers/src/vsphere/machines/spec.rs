//! What is asked for when a machine is cloned or changed. The order of elements is that of vSphere's schema: a real
//! vCenter refuses any other.

use std::collections::BTreeMap;
use std::fmt;

use super::hardware::{Network, Provisioning};
use crate::vsphere::moref::MoRef;
use crate::vsphere::soap::{Body, Element};

/// A machine to be made from another one.
#[derive(Debug, Clone)]
pub struct CloneSpec {
    pub name: String,
    pub folder: MoRef,
    /// Without one the clone is where its source is, which a template is not.
    pub pool: Option<MoRef>,
    pub datastore: Option<MoRef>,
    pub host: Option<MoRef>,
    pub disks: DiskMove,
    /// Whether the clone is a template again.
    pub template: bool,
    pub config: ConfigSpec,
}

/// What becomes of the source's disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskMove {
    /// They are copied as a whole.
    Full,
    /// The clone's disks are children of those in a snapshot of the source.
    Linked { snapshot: MoRef },
}

/// Settings of a machine; what is not given stays as it is.
#[derive(Clone, Default)]
pub struct ConfigSpec {
    pub instance_uuid: Option<String>,
    pub annotation: Option<String>,
    /// Whether the guest sees the ids of its disks, which storage drivers need.
    pub disk_uuids: Option<bool>,
    pub cpus: Option<u32>,
    pub cores_per_socket: Option<u32>,
    pub memory_mib: Option<u64>,
    pub devices: Vec<DeviceChange>,
    /// An empty value removes the key.
    pub extra_config: BTreeMap<String, String>,
}

/// Values of the extra configuration hold first-boot configurations.
impl fmt::Debug for ConfigSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigSpec")
            .field("instance_uuid", &self.instance_uuid)
            .field("annotation", &self.annotation)
            .field("disk_uuids", &self.disk_uuids)
            .field("cpus", &self.cpus)
            .field("cores_per_socket", &self.cores_per_socket)
            .field("memory_mib", &self.memory_mib)
            .field("devices", &self.devices)
            .field("extra_config", &self.extra_config.keys())
            .finish()
    }
}

/// A change of a machine's devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceChange {
    AddNic(Network),
    /// Takes a device out. The file of a disk stays.
    Remove(Element),
    /// Makes a disk larger.
    Grow {
        disk: Element,
        capacity_kib: u64,
    },
    AddDisk {
        controller: i32,
        unit: i32,
        capacity_kib: u64,
        provisioning: Provisioning,
    },
}

impl CloneSpec {
    pub(super) fn body(&self) -> Body {
        let (move_type, snapshot) = match &self.disks {
            DiskMove::Full => ("moveAllDiskBackingsAndConsolidate", None),
            DiskMove::Linked { snapshot } => ("createNewChildDiskBacking", Some(snapshot)),
        };
        let location = Body::new()
            .optional(self.datastore.as_ref(), |body, store| body.reference("datastore", &store.reference))
            .text("diskMoveType", move_type)
            .optional(self.pool.as_ref(), |body, pool| body.reference("pool", &pool.reference))
            .optional(self.host.as_ref(), |body, host| body.reference("host", &host.reference));
        let spec = Body::new()
            .object("location", &location)
            .text("template", self.template)
            .object("config", &self.config.body())
            .text("powerOn", false)
            .optional(snapshot, |body, snapshot| body.reference("snapshot", &snapshot.reference));
        Body::new().reference("folder", &self.folder.reference).text("name", &self.name).object("spec", &spec)
    }
}

impl ConfigSpec {
    pub(super) fn body(&self) -> Body {
        // New devices have negative keys of their own until vCenter gives them real ones.
        let devices = self.devices.iter().zip((i32::MIN..0).rev());
        Body::new()
            .maybe("instanceUuid", self.instance_uuid.as_ref())
            .maybe("annotation", self.annotation.as_ref())
            .optional(self.disk_uuids, |body, enabled| {
                body.object("flags", &Body::new().text("diskUuidEnabled", enabled))
            })
            .maybe("numCPUs", self.cpus)
            .maybe("numCoresPerSocket", self.cores_per_socket)
            .maybe("memoryMB", self.memory_mib)
            .each(devices, |body, (change, key)| {
                body.typed("deviceChange", "VirtualDeviceConfigSpec", &change.body(key))
            })
            .each(&self.extra_config, |body, (key, value)| {
                let option = Body::new().text("key", key).any("value", "string", value);
                body.typed("extraConfig", "OptionValue", &option)
            })
    }
}

impl DeviceChange {
    fn body(&self, key: i32) -> Body {
        match self {
            DeviceChange::AddNic(network) => {
                let connectable = Body::new()
                    .text("startConnected", true)
                    .text("allowGuestControl", true)
                    .text("connected", true);
                let (kind, backing) = backing(network);
                let device = Body::new()
                    .text("key", key)
                    .typed("backing", kind, &backing)
                    .object("connectable", &connectable)
                    .text("addressType", "generated")
                    .text("wakeOnLanEnabled", true);
                Body::new().text("operation", "add").typed("device", "VirtualVmxnet3", &device)
            }
            DeviceChange::Remove(device) => Body::new().text("operation", "remove").echo("device", device),
            DeviceChange::Grow { disk, capacity_kib } => {
                let mut disk = disk.clone();
                for child in &mut disk.children {
                    match &*child.name {
                        "capacityInKB" => child.text = capacity_kib.to_string().into(),
                        "capacityInBytes" => child.text = (capacity_kib * 1024).to_string().into(),
                        _ => {}
                    }
                }
                Body::new().text("operation", "edit").echo("device", &disk)
            }
            DeviceChange::AddDisk { controller, unit, capacity_kib, provisioning } => {
                let backing = Body::new()
                    // Empty: vCenter names the file after the machine.
                    .text("fileName", "")
                    .text("diskMode", "persistent")
                    .text("thinProvisioned", *provisioning == Provisioning::Thin)
                    .text("eagerlyScrub", *provisioning == Provisioning::EagerlyZeroed);
                let device = Body::new()
                    .text("key", key)
                    .typed("backing", "VirtualDiskFlatVer2BackingInfo", &backing)
                    .text("controllerKey", controller)
                    .text("unitNumber", unit)
                    .text("capacityInKB", capacity_kib)
                    .text("capacityInBytes", capacity_kib * 1024);
                Body::new().text("operation", "add").text("fileOperation", "create").typed(
                    "device",
                    "VirtualDisk",
                    &device,
                )
            }
        }
    }
}

fn backing(network: &Network) -> (&'static str, Body) {
    match network {
        Network::Standard { name, network } => (
            "VirtualEthernetCardNetworkBackingInfo",
            Body::new().text("deviceName", name).reference("network", &network.reference),
        ),
        Network::Distributed { switch_uuid, portgroup_key } => (
            "VirtualEthernetCardDistributedVirtualPortBackingInfo",
            Body::new().object(
                "port",
                &Body::new().text("switchUuid", switch_uuid).text("portgroupKey", portgroup_key),
            ),
        ),
        Network::Opaque { id, kind } => (
            "VirtualEthernetCardOpaqueNetworkBackingInfo",
            Body::new().text("opaqueNetworkId", id).text("opaqueNetworkType", kind),
        ),
    }
}
