//! Disks, attachments and NICs.

use serde_json::{Value, json};

use super::access::Permit;
use super::change::{number, require, says};
use super::fault::Refusal;
use super::kind::Kind;
use super::render::Extent;
use super::route::{Answer, Reply, Request};
use super::work::{Effect, Work};
use super::world::{Caller, World};

/// What an empty disk takes.
const EMPTY: &str = "196624";

impl World {
    /// A disk that is locked until its work is done.
    pub(super) fn new_disk(
        &mut self,
        id: &str,
        name: &str,
        size: u64,
        format: &str,
        is_sparse: bool,
        domain: &str,
    ) {
        let image = self.draw();
        let profile =
            self.all(Kind::DiskProfile).iter().find(|one| one.reference("storage_domain") == domain);
        let profile = profile.map(|one| one.id.clone()).unwrap_or_default();
        let center = self.find(Kind::StorageDomain, domain).and_then(|one| one.doc.get("data_centers"));
        let center =
            center.and_then(|list| list["data_center"][0]["id"].as_str()).unwrap_or_default().to_owned();
        let quota = self.parts(Kind::Quota, &center).next().map(|quota| quota.id.clone()).unwrap_or_default();
        let used = if is_sparse { EMPTY.to_owned() } else { size.to_string() };
        let mut doc = json!({"actual_size": used, "alias": name, "backup": "none", "content_type": "data", "format": format,
            "image_id": image, "propagate_errors": "false", "provisioned_size": size.to_string(), "shareable": "false",
            "sparse": is_sparse.to_string(), "status": "locked", "storage_type": "image", "total_size": used,
            "wipe_after_delete": "false", "disk_profile": {"id": profile},
            "quota": {"href": format!("{}/datacenters/{center}/quotas/{quota}", super::render::ROOT), "id": quota},
            "storage_domains": {"storage_domain": [{"id": domain}]}, "name": name, "description": ""});
        if format == "cow" {
            doc["qcow_version"] = "qcow2_v3".into();
        }
        self.add(Kind::Disk, id, "", doc);
    }

    /// Attaches a disk to a machine or a template.
    pub(super) fn attach(&mut self, owner: &str, disk: &str, said: &Value) {
        let text = |field: &str, default: &str| said[field].as_str().unwrap_or(default).to_owned();
        let mut doc = json!({"active": text("active", "true"), "bootable": text("bootable", "false"),
            "interface": text("interface", "virtio_scsi"), "pass_discard": text("pass_discard", "false"),
            "read_only": text("read_only", "false"), "uses_scsi_reservation": text("uses_scsi_reservation", "false"),
            "disk": {"id": disk}, "vm": {"id": owner}});
        if self.find(Kind::Template, owner).is_some() {
            doc["template"] = json!({"id": owner});
        }
        self.add(Kind::DiskAttachment, disk, owner, doc);
    }

    /// What a request says about a new disk: checked, with where it goes.
    fn checked_disk(&self, disk: &Value, caller: &Caller) -> Result<(u64, String, bool, String), Refusal> {
        require(disk, "Disk", &["provisioned_size", "format"])?;
        let domain = &disk["storage_domains"]["storage_domain"][0];
        if domain.is_null() {
            return Err(Refusal::Incomplete(
                "Disk [storageDomains.storageDomain] required for add".to_owned(),
            ));
        }
        let domain = self.meant(Kind::StorageDomain, domain, "StorageDomain")?;
        self.allow(caller, Permit::CreateDisk, Kind::StorageDomain, &domain.id)?;
        if domain.text(super::inventory::STATUS_THERE) != "active" {
            return Err(Refusal::conflict(
                "Cannot add Virtual Disk. The relevant Storage Domain is inaccessible.,-Please handle Storage Domain issues and retry the operation.",
            ));
        }
        let size = number(&disk["provisioned_size"]).unwrap_or_default();
        let format = disk["format"].as_str().unwrap_or("cow").to_owned();
        let is_sparse = says(&disk["sparse"]).unwrap_or(format == "cow");
        if format == "cow" && !is_sparse && disk["backup"].is_null() {
            return Err(Refusal::conflict(
                "Cannot add Virtual Disk. Disk configuration (COW Preallocated) is incompatible with the storage domain type.",
            ));
        }
        let needed = if is_sparse { 0 } else { size };
        if needed > domain.number("available") {
            return Err(Refusal::conflict(format!(
                "Cannot add Virtual Disk. Low disk space on Storage Domain {}.",
                domain.name()
            )));
        }
        Ok((size, format, is_sparse, domain.id.clone()))
    }

    pub(super) fn add_disk(&mut self, request: &Request, caller: &Caller) -> Answer {
        let body = request.body("disk")?;
        let (size, format, is_sparse, domain) = self.checked_disk(&body, caller)?;
        let id = self.draw();
        let name = body["name"].as_str().or(body["alias"].as_str()).unwrap_or_default().to_owned();
        self.new_disk(&id, &name, size, &format, is_sparse, &domain);
        self.describe_disk(&id, &body);
        let job = self.job(&format!("Adding Disk {name}"), caller);
        self.begin(Work::Disk, Effect::DiskReady { disk: id.clone(), size: None }, Some(&job), caller);
        let mut shown = self.show(Kind::Disk, self.get(Kind::Disk, &id)?, Extent::Full);
        shown["creation_status"] = "pending".into();
        Reply::new(202, "disk", shown)
    }

    fn describe_disk(&mut self, id: &str, body: &Value) {
        if let Some(disk) = self.change(Kind::Disk, id) {
            for field in [
                "description",
                "shareable",
                "wipe_after_delete",
                "backup",
                "content_type",
                "propagate_errors",
            ] {
                if let Some(text) = body[field].as_str() {
                    disk.set(field, text);
                }
            }
            if let Some(name) = body["name"].as_str().or(body["alias"].as_str()) {
                disk.set("name", name);
                disk.set("alias", name);
            }
        }
    }

    pub(super) fn update_disk(&mut self, id: &str, request: &Request, caller: &Caller) -> Answer {
        self.get(Kind::Disk, id)?;
        self.allow(caller, Permit::EditDisk, Kind::Disk, id)?;
        let body = request.body("disk")?;
        self.resize(id, &body["provisioned_size"], caller)?;
        self.describe_disk(id, &body);
        Reply::new(200, "disk", self.show(Kind::Disk, self.get(Kind::Disk, id)?, Extent::Full))
    }

    fn resize(&mut self, id: &str, wanted: &Value, caller: &Caller) -> Result<(), Refusal> {
        let disk = self.get(Kind::Disk, id)?;
        let (now, Some(wanted)) = (disk.number("provisioned_size"), number(wanted)) else { return Ok(()) };
        if disk.text("status") == "locked" {
            return Err(Refusal::conflict(format!(
                "Cannot edit Virtual Disk: The following disks are locked: {}. Please try again in a few minutes.",
                disk.name()
            )));
        }
        if wanted < now {
            return Err(Refusal::invalid(
                "Cannot edit Virtual Disk. New disk size must be larger than the current disk size.",
            ));
        }
        if wanted > now {
            if let Some(disk) = self.change(Kind::Disk, id) {
                disk.set("status", "locked");
            }
            let job = self.job(&format!("Extending disk {}", self.disk_name(id)), caller);
            let effect = Effect::DiskReady { disk: id.to_owned(), size: Some(wanted) };
            self.begin(Work::Disk, effect, Some(&job), caller);
        }
        Ok(())
    }

    pub(super) fn remove_disk(&mut self, id: &str, caller: &Caller) -> Answer {
        let disk = self.get(Kind::Disk, id)?.clone();
        self.allow(caller, Permit::DeleteDisk, Kind::Disk, id)?;
        if disk.text("status") == "locked" {
            return Err(Refusal::conflict(format!(
                "Cannot remove Virtual Disk. Disk {} is locked. Please try again later.",
                disk.name()
            )));
        }
        for attachment in self.all(Kind::DiskAttachment).iter().filter(|one| one.id == id) {
            match self.find(Kind::Vm, &attachment.parent) {
                None => {
                    return Err(Refusal::conflict(
                        "Cannot remove Virtual Disk. Provided template disks can not be removed from their last storage domain.",
                    ));
                }
                Some(vm) if vm.text("status") != "down" => {
                    return Err(Refusal::conflict(
                        "Cannot remove Virtual Disk. At least one of the VMs is not down.",
                    ));
                }
                Some(_) => {}
            }
        }
        if let Some(disk) = self.change(Kind::Disk, id) {
            disk.set("status", "locked");
        }
        let job = self.job(&format!("Removing disk {}", disk.name()), caller);
        self.begin(Work::Disk, Effect::DiskGone { disk: id.to_owned() }, Some(&job), caller);
        Reply::new(
            200,
            "action",
            json!({"job": {"href": format!("{}/jobs/{job}", super::render::ROOT), "id": job}, "status": "complete"}),
        )
    }

    pub(super) fn disk_goes(&mut self, disk: &str) {
        self.remove(Kind::Disk, |one| one.id != disk);
        self.remove(Kind::DiskAttachment, |one| one.id != disk);
    }

    pub(super) fn add_attachment(&mut self, vm: &str, request: &Request, caller: &Caller) -> Answer {
        self.get(Kind::Vm, vm)?;
        self.allow(caller, Permit::EditVm, Kind::Vm, vm)?;
        let body = request.body("disk_attachment")?;
        require(&body, "DiskAttachment", &["interface", "bootable", "disk"])?;
        let is_boot = |one: &super::world::Record| one.text("bootable") == "true";
        if body["bootable"] == "true" && self.parts(Kind::DiskAttachment, vm).any(is_boot) {
            return Err(Refusal::conflict("Cannot attach Virtual Disk. VM can only have one bootable disk."));
        }
        let disk = &body["disk"];
        let id = if let Some(id) = disk["id"].as_str() {
            let found = self.find(Kind::Disk, id).ok_or_else(|| Refusal::entity("Disk", "id", id))?;
            if found.text("status") == "locked" {
                return Err(Refusal::conflict(format!(
                    "Cannot attach Virtual Disk. Disk {} is locked.",
                    found.name()
                )));
            }
            if found.text("shareable") != "true"
                && self.all(Kind::DiskAttachment).iter().any(|one| one.id == id)
            {
                return Err(Refusal::conflict(
                    "Cannot attach Virtual Disk. The disk is not shareable and is already attached to a VM.",
                ));
            }
            id.to_owned()
        } else {
            let (size, format, is_sparse, domain) = self.checked_disk(disk, caller)?;
            let id = self.draw();
            let name = match disk["name"].as_str().or(disk["alias"].as_str()) {
                Some(name) => name.to_owned(),
                None => {
                    format!("{}_Disk{}", self.vm_name(vm), self.parts(Kind::DiskAttachment, vm).count() + 1)
                }
            };
            self.new_disk(&id, &name, size, &format, is_sparse, &domain);
            self.describe_disk(&id, disk);
            let text = format!(
                "Add-Disk operation of {name} was initiated on VM {} by {}-authz.",
                self.vm_name(vm),
                caller.user
            );
            let mut about = self.around_vm(vm);
            about.push((Kind::StorageDomain, domain));
            self.event(&super::world::Event {
                code: 78,
                severity: "normal",
                text,
                by: Some(caller),
                about: &about,
            });
            let job = self.job(&format!("Adding Disk {name}"), caller);
            self.begin(Work::Disk, Effect::DiskReady { disk: id.clone(), size: None }, Some(&job), caller);
            id
        };
        self.attach(vm, &id, &body);
        self.shown_attachment(201, vm, &id)
    }

    fn shown_attachment(&self, status: u16, vm: &str, disk: &str) -> Answer {
        let place = format!("{}/vms/{vm}", super::render::ROOT);
        let record = self.part(Kind::DiskAttachment, vm, disk)?;
        Reply::new(
            status,
            "disk_attachment",
            self.show_at(Kind::DiskAttachment, record, Extent::Full, &place),
        )
    }

    pub(super) fn update_attachment(
        &mut self,
        vm: &str,
        disk: &str,
        request: &Request,
        caller: &Caller,
    ) -> Answer {
        self.part(Kind::DiskAttachment, vm, disk)?;
        self.allow(caller, Permit::EditVm, Kind::Vm, vm)?;
        let body = request.body("disk_attachment")?;
        self.resize(disk, &body["disk"]["provisioned_size"], caller)?;
        self.describe_disk(disk, &body["disk"]);
        let attachments = self.records.entry(Kind::DiskAttachment).or_default().iter_mut();
        for attachment in attachments.filter(|one| one.parent == vm && one.id == disk) {
            for field in ["active", "bootable", "interface", "read_only", "pass_discard"] {
                if let Some(text) = body[field].as_str() {
                    attachment.set(field, text);
                }
            }
        }
        self.shown_attachment(200, vm, disk)
    }

    pub(super) fn remove_attachment(
        &mut self,
        vm: &str,
        disk: &str,
        request: &Request,
        caller: &Caller,
    ) -> Answer {
        let attachment = self.part(Kind::DiskAttachment, vm, disk)?;
        let is_active = attachment.text("active") == "true";
        self.allow(caller, Permit::EditVm, Kind::Vm, vm)?;
        let is_down = self.get(Kind::Vm, vm)?.text("status") == "down";
        if request.parameter("detach_only") == Some("false") {
            return self.remove_disk(disk, caller);
        }
        if is_active && !is_down {
            return Err(Refusal::conflict(
                "Cannot detach Virtual Disk. The disk is active; deactivate it before it is detached.",
            ));
        }
        self.remove(Kind::DiskAttachment, |one| one.parent != vm || one.id != disk);
        Reply::complete()
    }

    pub(super) fn add_nic(&mut self, vm: &str, request: &Request, caller: &Caller) -> Answer {
        self.get(Kind::Vm, vm)?;
        self.allow(caller, Permit::EditVm, Kind::Vm, vm)?;
        let body = request.body("nic")?;
        require(&body, "Nic", &["name"])?;
        let name = body["name"].as_str().unwrap_or_default();
        if self.parts(Kind::Nic, vm).any(|nic| nic.name() == name) {
            return Err(Refusal::conflict(
                "Cannot add Interface. The network interface name is already in use on this VM.",
            ));
        }
        let mut doc = json!({"interface": body["interface"].as_str().unwrap_or("virtio"),
            "linked": body["linked"].as_str().unwrap_or("true"), "mac": {}, "plugged": body["plugged"].as_str().unwrap_or("true"),
            "synced": "true", "name": name, "vm": {"id": vm}});
        if !body["vnic_profile"].is_null() {
            doc["vnic_profile"] = json!({"id": self.checked_profile(vm, &body["vnic_profile"], caller)?});
        }
        let given = body["mac"]["address"].as_str().map(str::to_lowercase);
        if let Some(mac) = &given
            && self.all(Kind::Nic).iter().any(|nic| nic.doc["mac"]["address"] == *mac.as_str())
        {
            return Err(Refusal::conflict(format!(
                "Cannot add Interface. MAC Address ({mac}) is already in use."
            )));
        }
        let mac = given.unwrap_or_else(|| self.draw_mac());
        doc["mac"]["address"] = mac.into();
        let id = self.draw();
        let text = format!(
            "Interface {name} (VirtIO) was added to VM {}. (User: {}-authz)",
            self.vm_name(vm),
            caller.user
        );
        self.add(Kind::Nic, &id, vm, doc);
        self.tell(932, "normal", text, Some(caller), vm);
        self.shown_nic(201, vm, &id)
    }

    fn checked_profile(&self, vm: &str, reference: &Value, caller: &Caller) -> Result<String, Refusal> {
        let id = reference["id"].as_str().unwrap_or_default();
        let missing = || {
            Refusal::conflict(
                "Cannot add Interface. The specified VM network interface profile doesn't exist.",
            )
        };
        let profile = self.find(Kind::VnicProfile, id).ok_or_else(missing)?;
        self.allow(caller, Permit::UseProfile, Kind::VnicProfile, id)?;
        let network = self.get(Kind::Network, profile.reference("network"))?;
        let cluster = self.get(Kind::Vm, vm)?.reference("cluster");
        if network.reference("data_center") != self.data_center_of(cluster) {
            return Err(Refusal::conflict(
                "Cannot add Interface. Network doesn't exist in the VM's cluster.",
            ));
        }
        Ok(id.to_owned())
    }

    fn shown_nic(&self, status: u16, vm: &str, nic: &str) -> Answer {
        let place = format!("{}/vms/{vm}", super::render::ROOT);
        let record = self.part(Kind::Nic, vm, nic)?;
        Reply::new(status, "nic", self.show_at(Kind::Nic, record, Extent::Full, &place))
    }

    pub(super) fn update_nic(&mut self, vm: &str, nic: &str, request: &Request, caller: &Caller) -> Answer {
        self.part(Kind::Nic, vm, nic)?;
        self.allow(caller, Permit::EditVm, Kind::Vm, vm)?;
        let body = request.body("nic")?;
        let profile = match &body["vnic_profile"] {
            Value::Null => None,
            reference => Some(self.checked_profile(vm, reference, caller)?),
        };
        if let Some(record) = self.change(Kind::Nic, nic) {
            for field in ["name", "interface", "linked", "plugged"] {
                if let Some(text) = body[field].as_str() {
                    record.set(field, text);
                }
            }
            if let Some(profile) = profile {
                record.set("vnic_profile", json!({"id": profile}));
            }
        }
        self.shown_nic(200, vm, nic)
    }

    pub(super) fn remove_nic(&mut self, vm: &str, nic: &str, caller: &Caller) -> Answer {
        let record = self.part(Kind::Nic, vm, nic)?;
        let (name, is_plugged) = (record.name().to_owned(), record.text("plugged") == "true");
        self.allow(caller, Permit::EditVm, Kind::Vm, vm)?;
        if is_plugged && self.get(Kind::Vm, vm)?.text("status") != "down" {
            return Err(Refusal::conflict(
                "Cannot remove Interface. The VM Network Interface is plugged to a running VM.",
            ));
        }
        self.remove(Kind::Nic, |one| one.id != nic);
        let text = format!(
            "Interface {name} (VirtIO) was removed from VM {}. (User: {}-authz)",
            self.vm_name(vm),
            caller.user
        );
        self.tell(930, "normal", text, Some(caller), vm);
        Reply::complete()
    }
}
