//! The calls that make, start, stop and remove a machine.

use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::spread::taken;
use super::{Desired, Kind, KindError, MachineState, ObjectState, State};
use crate::ovirt::client::Query;
use crate::ovirt::error::{Cause, Error};
use crate::ovirt::look::{VM_LINKS, power_state};
use crate::ovirt::machine_spec::{IGNITION_OS, MachineSpec, Size};
use crate::ovirt::read::{id, items, name, number, text};
use crate::ovirt::scope::{Collection, Scope};

impl Scope {
    pub(super) async fn create_machine(&self, desired: &Desired) -> Result<Option<State>, KindError> {
        let Desired { name, mark, .. } = desired;
        let Some(spec) = desired.machine() else { return Err(KindError::NotDescribed("machine")) };
        let cluster = self.cluster().await?.id.clone();
        let template = id(&self.find(Collection::Templates, &spec.template).await?);
        let mut body = body(desired, spec, &cluster, &template)?;
        if let Some(disks) = self.disks_of_copies(spec, &template).await? {
            body["disk_attachments"] = json!({"disk_attachment": disks});
        }
        let path = format!("vms?clone={}", spec.clone);
        let made = match self.client.post(&format!("creating the machine {name}"), &path, &body, *mark).await
        {
            // Made before, and its answer was lost; or it is another's.
            Err(error) if error.is_refusal() => {
                let query = Query::like("vms", "vm", "name", name);
                let there = self.client.list("looking for a machine of that name", &query).await?;
                taken(desired, there)?.ok_or(KindError::Call(error))?
            }
            made => made?,
        };
        // The answer says nothing of its disks.
        self.machine_state(desired, &id(&made), None).await
    }

    /// Where the copies of the template's disks go, and in which format.
    async fn disks_of_copies(&self, spec: &MachineSpec, template: &str) -> Result<Option<Vec<Value>>, Error> {
        if !spec.clone {
            return Ok(None);
        }
        let Some(domain) = &spec.storage_domain else { return Ok(None) };
        let domain = id(&self.find(Collection::StorageDomains, domain).await?);
        let path = format!("templates/{template}/diskattachments");
        let query = Query::all(&path, "disk_attachment");
        let attachments = self.client.list("reading the disks of the template", &query).await?;
        let copy = |attachment: &Value| {
            let domains = json!({"storage_domain": [{"id": domain}]});
            let mut disk = json!({"id": id(attachment), "storage_domains": domains});
            if let Some(sparse) = spec.sparse {
                disk["sparse"] = json!(sparse);
            }
            if let Some(format) = &spec.format {
                disk["format"] = json!(format);
            }
            json!({"disk": disk})
        };
        Ok(Some(attachments.iter().map(copy).collect()))
    }

    /// What the machine lacks. Every part is as wanted already, or is made so: it may be begun again anywhere.
    pub(super) async fn configure(
        &self,
        desired: &Desired,
        seen: &MachineState,
    ) -> Result<Option<State>, KindError> {
        let Desired { name, infra_id, mark, .. } = desired;
        let Some(spec) = desired.machine() else { return Err(KindError::NotDescribed("machine")) };
        let path = format!("vms/{}", seen.object.id);
        if !seen.tagged {
            let body = json!({"name": infra_id.as_str()});
            self.client.post(&format!("tagging {name}"), &format!("{path}/tags"), &body, *mark).await?;
        }
        self.join(desired, seen).await?;
        if seen.status == "down" {
            if !seen.connected {
                self.connect(desired, spec, &path).await?;
            }
            if let Some(disk) = seen.disk.as_ref().filter(|disk| disk.bytes < spec.disk) {
                let body = json!({"disk": {"provisioned_size": spec.disk}});
                let path = format!("{path}/diskattachments/{}", disk.id);
                self.client.put(&format!("growing the disk of {name}"), &path, &body, *mark).await?;
            }
        }
        self.machine_state(desired, &seen.object.id, Some(seen)).await
    }

    /// Gives a machine the cards it is to have, and no others.
    async fn connect(&self, desired: &Desired, spec: &MachineSpec, machine: &str) -> Result<(), KindError> {
        let doing = format!("connecting {}", desired.name);
        let path = format!("{machine}/nics");
        let cards = self.client.list(&doing, &Query::all(&path, "nic")).await?;
        for (index, card) in spec.cards.iter().enumerate() {
            let profile = self.profile(card.network.as_deref(), &card.profile).await?;
            match cards.get(index) {
                Some(there) if text(there, "/vnic_profile/id") == profile => {}
                Some(there) => {
                    let body = json!({"vnic_profile": {"id": profile}});
                    self.client.put(&doing, &format!("{path}/{}", id(there)), &body, desired.mark).await?;
                }
                None => {
                    let name = format!("nic{}", index + 1);
                    let body = json!({"name": name, "interface": "virtio", "vnic_profile": {"id": profile}});
                    self.client.post(&doing, &path, &body, desired.mark).await?;
                }
            }
        }
        for surplus in cards.iter().skip(spec.cards.len()) {
            self.client.delete(&doing, &format!("{path}/{}", id(surplus)), desired.mark).await?;
        }
        Ok(())
    }

    pub(super) async fn switch(&self, desired: &Desired, on: bool) -> Result<Option<State>, KindError> {
        let Desired { name, mark, .. } = desired;
        let Some(machine) = self.machine(desired).await? else {
            let source = Cause::NotFound;
            let doing = format!("looking for the machine {name}").into();
            return Err(Error { server: self.client.name().into(), doing, source }.into());
        };
        let (doing, verb) = if on { ("starting", "start") } else { ("powering off", "stop") };
        let path = format!("vms/{}/{verb}", id(&machine));
        self.client.post(&format!("{doing} the machine {name}"), &path, &json!({}), *mark).await?;
        // That the call is complete means that it was accepted: what comes of it is seen.
        let path = format!("vms/{}?follow=reported_devices", id(&machine));
        let machine = match self.client.get(&format!("reading the machine {name}"), &path).await {
            Err(error) if error.is_not_found() => return Ok(None),
            machine => machine?,
        };
        let mut power = power_state(&machine);
        match (on, &*power.status) {
            (true, "down") => "wait_for_launch".clone_into(&mut power.status),
            (false, "up") => "powering_down".clone_into(&mut power.status),
            _ => {}
        }
        Ok(Some(State::Power(power)))
    }

    /// Detaches what is not the machine's own. The disks stay where they are.
    pub(super) async fn detach(
        &self,
        desired: &Desired,
        seen: &MachineState,
    ) -> Result<Option<State>, KindError> {
        for disk in &seen.guests {
            let doing = format!("detaching the disk {} from {}", disk.name, desired.name);
            let path = format!("vms/{}/diskattachments/{}?detach_only=true", seen.object.id, disk.id);
            self.client.delete(&doing, &path, desired.mark).await?;
        }
        self.machine_state(desired, &seen.object.id, Some(seen)).await
    }

    pub(super) async fn delete(&self, desired: &Desired, seen: &State) -> Result<Option<State>, KindError> {
        let Desired { kind, name, mark, .. } = desired;
        let Some(ObjectState { cluster, id }) = seen.object() else {
            return Err(KindError::NotDescribed(kind.as_str()));
        };
        let doing = format!("deleting the {kind} {name}");
        let path = match kind {
            Kind::Tag => format!("tags/{id}"),
            Kind::AffinityGroup => format!("clusters/{cluster}/affinitygroups/{id}"),
            _ => {
                // A disk may have been attached since it was looked at: it must not go with the machine.
                let now = self.machine_state(desired, id, None).await?;
                if let Some(State::Machine(machine)) = &now
                    && !machine.guests.is_empty()
                {
                    return Ok(now);
                }
                format!("vms/{id}")
            }
        };
        self.client.delete(&doing, &path, *mark).await?;
        match kind {
            Kind::Tag | Kind::AffinityGroup => Ok(None),
            _ => self.machine_state(desired, id, None).await,
        }
    }

    /// How a machine is now; none if it is gone.
    async fn machine_state(
        &self,
        desired: &Desired,
        machine: &str,
        made: Option<&MachineState>,
    ) -> Result<Option<State>, KindError> {
        let doing = format!("reading the machine {}", desired.name);
        let machine = match self.client.get(&doing, &format!("vms/{machine}?follow={VM_LINKS}")).await {
            Err(error) if error.is_not_found() => return Ok(None),
            machine => machine?,
        };
        let groups = self.groups().await?;
        Ok(Some(State::Machine(self.machine_seen(desired, &machine, &groups, made).await?)))
    }

    /// The machine of a resource, by what it is recognised by.
    async fn machine(&self, desired: &Desired) -> Result<Option<Value>, Error> {
        let query = Query::like("vms", "vm", "name", &desired.name);
        let found = self.client.list("looking for the machine", &query).await?;
        Ok(found.into_iter().find(|machine| desired.is(machine)))
    }
}

/// Everything the engine takes in one call.
fn body(desired: &Desired, spec: &MachineSpec, cluster: &str, template: &str) -> Result<Value, KindError> {
    let Some(ignition) = &spec.ignition else { return Err(KindError::NotDescribed("machine")) };
    let mut body = json!({
        "name": desired.name,
        "description": spec.description,
        "comment": desired.marks(),
        "cluster": {"id": cluster},
        "template": {"id": template},
        "type": spec.vm_type,
        "os": {"type": IGNITION_OS},
        "initialization": {"custom_script": ignition.expose_secret()},
    });
    match &spec.size {
        Size::InstanceType(id) => body["instance_type"] = json!({"id": id}),
        Size::Custom { sockets, cores, threads, memory } => {
            body["cpu"] = json!({"topology": {"sockets": sockets, "cores": cores, "threads": threads}});
            body["memory"] = json!(memory);
            body["memory_policy"] = json!({"guaranteed": memory, "max": memory});
        }
    }
    if spec.vm_type == "high_performance" {
        body["soundcard_enabled"] = json!(false);
        body["memory_policy"]["ballooning"] = json!(false);
    }
    if spec.auto_pinning {
        body["cpu_pinning_policy"] = json!("resize_and_pin_numa");
    }
    if let Some(pages) = spec.hugepages {
        let property = json!({"name": "hugepages", "value": pages.to_string()});
        body["custom_properties"] = json!({"custom_property": [property]});
    }
    Ok(body)
}

/// The disk a machine boots from, and others. Which one was its own at first, the journal may know.
pub(crate) fn boot_disk<'v>(
    machine: &'v Value,
    made: Option<&MachineState>,
) -> (Option<&'v Value>, Vec<&'v Value>) {
    let known = made.and_then(|made| made.disk.as_ref()).map(|disk| disk.id.as_str());
    let is_own = |attachment: &Value| {
        text(attachment, "/bootable") == "true" && known.is_none_or(|known| id(attachment) == known)
    };
    let attachments = items(machine, "/disk_attachments/disk_attachment");
    let (own, others): (Vec<&Value>, Vec<&Value>) = attachments.iter().partition(|one| is_own(one));
    (own.first().copied(), others)
}

/// The name of an attached disk, as people know it.
pub(crate) fn disk_name(attachment: &Value) -> String {
    let alias = text(attachment, "/disk/alias");
    let disk = attachment.get("disk").map(name).unwrap_or_default();
    [alias, disk, id(attachment)].into_iter().find(|name| !name.is_empty()).unwrap_or_default()
}

/// In bytes.
pub(crate) fn disk_size(attachment: &Value) -> u64 {
    number(attachment, "/disk/provisioned_size").unwrap_or_default()
}
