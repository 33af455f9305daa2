//! Virtual machines: cloning, changing, power, removal, and the folders they are in.
//!
//! What takes time returns a [`Task`]; [`Client::finish`] waits for it.

mod hardware;
mod spec;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use uuid::Uuid;

pub use hardware::{
    DeviceError, Devices, Disk, DiskSpec, Hardware, Network, Nic, Provisioning, Slots, Snapshot,
};
pub use spec::{CloneSpec, ConfigSpec, DeviceChange, DiskMove};

use super::client::Client;
use super::error::Error;
use super::fault::Fault;
use super::moref::{MoRef, Reference};
use super::properties::{Object, PropertySpec};
use super::soap::{Body, Malformed};
use super::tasks::{Outcome, Task};

/// A BIOS id as the other side would write it, the first three parts the other way round: firmware and Kubernetes do not agree on
/// the order of its bytes.
pub fn swapped(id: Uuid) -> Uuid {
    Uuid::from_bytes_le(id.into_bytes())
}

/// The property that holds one entry of a machine's extra configuration. All of it may be megabytes.
pub fn mark_path(key: &str) -> String {
    format!("config.extraConfig[\"{key}\"]")
}

/// What a machine carries under a key of its extra configuration, where [`mark_path`] of it was read.
pub fn mark<'a>(machine: &'a Object, key: &str) -> Option<&'a str> {
    Some(&*machine.properties.get(&*mark_path(key))?.child("value")?.text)
}

impl Client {
    /// The devices and snapshots of machines. One that is gone meanwhile is left out.
    pub async fn hardware(&self, machines: &[MoRef]) -> Result<BTreeMap<MoRef, Hardware>, Error> {
        let read = self.hardware_of_each(machines).await?;
        read.into_iter().map(|(moref, hardware)| Ok((moref, hardware?))).collect()
    }

    /// The same; one that cannot be read keeps none of the others from being read.
    pub async fn hardware_of_each(
        &self,
        machines: &[MoRef],
    ) -> Result<BTreeMap<MoRef, Result<Hardware, Error>>, Error> {
        let specs = [PropertySpec { kind: "VirtualMachine", properties: &hardware::PROPERTIES }];
        let objects = self.retrieve(machines, &specs).await?;
        let read = |object| {
            let hardware = Hardware::of(&object);
            (object.moref, hardware.map_err(|cause| self.error("reading devices", cause)))
        };
        Ok(objects.into_iter().map(read).collect())
    }

    /// What machines carry under some keys of their extra configuration, in one call. One that is gone meanwhile is left
    /// out; an error means that a machine cannot be read, not that it carries nothing.
    pub async fn marks(
        &self,
        machines: &[MoRef],
        keys: &[&'static str],
    ) -> Result<BTreeMap<MoRef, BTreeMap<&'static str, String>>, Error> {
        let paths: Vec<String> = keys.iter().map(|key| mark_path(key)).collect();
        // A key that is not there is left out; whether the machine can be read at all shows in its id.
        let properties: Vec<&str> = paths.iter().map(String::as_str).chain(["config.instanceUuid"]).collect();
        let specs = [PropertySpec { kind: "VirtualMachine", properties: &properties }];
        let mut marks = BTreeMap::new();
        for object in self.retrieve(machines, &specs).await? {
            if let Some(fault) = object.missing.get("config.instanceUuid") {
                return Err(self.error("reading marks", fault.clone()));
            }
            let found = keys.iter().filter_map(|key| Some((*key, mark(&object, key)?.to_owned()))).collect();
            marks.insert(object.moref, found);
        }
        Ok(marks)
    }

    /// What a network card needs to know of networks, whatever kind each of them is.
    pub async fn networks(&self, networks: &[MoRef]) -> Result<BTreeMap<MoRef, Network>, Error> {
        let specs = [
            PropertySpec { kind: "Network", properties: &["name"] },
            PropertySpec {
                kind: "DistributedVirtualPortgroup",
                properties: &["key", "config.distributedVirtualSwitch"],
            },
            PropertySpec { kind: "OpaqueNetwork", properties: &["summary"] },
        ];
        let objects = self.retrieve(networks, &specs).await?;
        let switches: BTreeSet<MoRef> =
            objects.iter().filter_map(|object| object.reference("config.distributedVirtualSwitch")).collect();
        let switches: Vec<MoRef> = switches.into_iter().collect();
        let specs = [PropertySpec { kind: "DistributedVirtualSwitch", properties: &["uuid"] }];
        let switches = self.retrieve(&switches, &specs).await?;
        let uuids: BTreeMap<&MoRef, &str> =
            switches.iter().map(|switch| (&switch.moref, switch.text("uuid"))).collect();
        let read = |object| {
            let network =
                Network::of(&object, &uuids).map_err(|cause| self.error("reading networks", cause))?;
            Ok((object.moref, network))
        };
        objects.into_iter().map(read).collect()
    }

    /// Clones a machine or a template. The task's result is the new machine, powered off.
    pub async fn clone_machine(&self, source: &MoRef, spec: &CloneSpec) -> Result<Task, Error> {
        self.start(source, "CloneVM_Task", &spec.body()).await
    }

    pub async fn reconfigure(&self, machine: &MoRef, spec: &ConfigSpec) -> Result<Task, Error> {
        self.start(machine, "ReconfigVM_Task", &Body::new().object("spec", &spec.body())).await
    }

    pub async fn power_on(&self, machine: &MoRef) -> Result<Task, Error> {
        self.start(machine, "PowerOnVM_Task", &Body::new()).await
    }

    /// Powers machines of one datacenter on, each where DRS finds the best place, and waits for all of them.
    pub async fn power_on_all(
        &self,
        datacenter: &MoRef,
        machines: &[MoRef],
        limit: Duration,
    ) -> Result<BTreeMap<MoRef, Outcome>, Error> {
        const METHOD: &str = "PowerOnMultiVM_Task";
        if machines.is_empty() {
            return Ok(BTreeMap::new());
        }
        let end = tokio::time::Instant::now() + limit;
        // A cluster that only recommends would leave the machines off and say nothing.
        let option =
            Body::new().text("key", "OverrideAutomationLevel").any("value", "string", "fullyAutomated");
        let body = Body::new()
            .each(machines, |body, machine| body.reference("vm", &machine.reference))
            .typed("option", "OptionValue", &option);
        let task = self.start(datacenter, METHOD, &body).await?;
        let result = self.result_of(&task, limit, |_| {}).await?;
        let mut outcomes = BTreeMap::new();
        let mut tasks = BTreeMap::new();
        for refused in result.all("notAttempted") {
            if let Some(machine) = refused.child("vm") {
                let fault = refused.child("fault").map_or_else(Fault::unknown, Fault::of_method);
                outcomes.insert(self.moref(Reference::of(machine)), Err(self.error(METHOD, fault)));
            }
        }
        for attempted in result.all("attempted") {
            if let (Some(machine), Some(task)) = (attempted.child("vm"), attempted.child("task")) {
                let task = Task { moref: self.moref(Reference::of(task)), method: METHOD.into() };
                tasks.insert(self.moref(Reference::of(machine)), task);
            }
        }
        let started: Vec<Task> = tasks.values().cloned().collect();
        let left = end.saturating_duration_since(tokio::time::Instant::now());
        let mut ended = self.finish_all(&started, left).await;
        for machine in machines {
            let outcome = tasks.get(machine).and_then(|task| ended.remove(&task.moref));
            let unsaid = || Err(self.error(METHOD, Malformed::Missing("attempted")));
            if let Some(outcome) = outcome {
                outcomes.insert(machine.clone(), outcome);
            } else {
                outcomes.entry(machine.clone()).or_insert_with(unsaid);
            }
        }
        Ok(outcomes)
    }

    /// Pulls the plug.
    pub async fn power_off(&self, machine: &MoRef) -> Result<Task, Error> {
        self.start(machine, "PowerOffVM_Task", &Body::new()).await
    }

    /// Asks the guest to shut down; needs VMware Tools in it. Whether and when it does shows in its power state.
    pub async fn shut_down(&self, machine: &MoRef) -> Result<(), Error> {
        self.call(machine, "ShutdownGuest", &Body::new()).await.map(drop)
    }

    /// Removes an object for good: a machine with its files, a folder with all that is in it.
    pub async fn destroy(&self, object: &MoRef) -> Result<Task, Error> {
        self.start(object, "Destroy_Task", &Body::new()).await
    }

    /// Removes a folder of machines. Machines that are in it leave the inventory; their files stay.
    pub async fn remove_folder(&self, folder: &MoRef) -> Result<Task, Error> {
        self.start(folder, "UnregisterAndDestroy_Task", &Body::new()).await
    }

    pub async fn mark_as_template(&self, machine: &MoRef) -> Result<(), Error> {
        self.call(machine, "MarkAsTemplate", &Body::new()).await.map(drop)
    }

    /// The name is as people know it; vCenter escapes what it must.
    pub async fn rename(&self, object: &MoRef, name: &str) -> Result<Task, Error> {
        self.start(object, "Rename_Task", &Body::new().text("newName", name)).await
    }

    pub async fn move_into(&self, folder: &MoRef, objects: &[MoRef]) -> Result<Task, Error> {
        let body = Body::new().each(objects, |body, object| body.reference("list", &object.reference));
        self.start(folder, "MoveIntoFolder_Task", &body).await
    }

    /// The name is as people know it. [`FaultKind::DuplicateName`](super::FaultKind) names a folder that is there.
    pub async fn create_folder(&self, parent: &MoRef, name: &str) -> Result<MoRef, Error> {
        let reply = self.call(parent, "CreateFolder", &Body::new().text("name", name)).await?;
        let folder = reply.need("returnval").map_err(|cause| self.error("CreateFolder", cause))?;
        Ok(self.moref(Reference::of(folder)))
    }
}
