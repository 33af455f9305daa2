//! Virtual machines: made, changed, removed.

use serde_json::{Map, Value, json};

use super::access::Permit;
use super::change::{is_plain_name, number, require, says};
use super::fault::Refusal;
use super::kind::Kind;
use super::parts::domain_of;
use super::render::Extent;
use super::route::{Answer, Reply, Request};
use super::work::{Effect, Work};
use super::world::{Caller, World};

/// Fields of a machine that are taken from a request as they are. Objects are merged, so that what is not said stays.
const SETTABLE: [&str; 25] = [
    "auto_pinning_policy",
    "bios",
    "comment",
    "console",
    "cpu",
    "cpu_pinning_policy",
    "cpu_shares",
    "custom_properties",
    "delete_protected",
    "description",
    "display",
    "high_availability",
    "initialization",
    "io",
    "memory",
    "memory_policy",
    "migration",
    "os",
    "placement_policy",
    "rng_device",
    "serial_number",
    "soundcard_enabled",
    "stateless",
    "time_zone",
    "type",
];

impl World {
    pub(super) fn add_vm(&mut self, request: &Request, caller: &Caller) -> Answer {
        let body = request.body("vm")?;
        require(&body, "Vm", &["cluster.id|name", "name"])?;
        if body["template"].is_null() && body["initialization"]["configuration"].is_null() {
            return Err(Refusal::Incomplete("Vm [template.id|name] required for add".to_owned()));
        }
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        let cluster = self.meant(Kind::Cluster, &body["cluster"], "Cluster")?.id.clone();
        let template = match self.meant(Kind::Template, &body["template"], "Template") {
            Ok(_) => self.newest(&body["template"]),
            // A name that is none is told in another way than one of a cluster.
            Err(_) if body["template"]["id"].is_null() => {
                return Err(Refusal::NotFound("Entity not found: GetVmTemplate".to_owned()));
            }
            Err(refusal) => return Err(refusal),
        };
        self.allow(caller, Permit::CreateVm, Kind::Cluster, &cluster)?;
        check_name(&name)?;
        if self.named(Kind::Vm, &name).is_some() {
            return Err(Refusal::conflict(
                "Cannot add VM. The VM name is already in use, please choose a unique name and try again.",
            ));
        }
        let source = self.get(Kind::Template, &template)?.clone();
        if source.text("status") == "locked" {
            return Err(Refusal::conflict(
                "Cannot add VM. The VM Template is locked. Please try again in a few minutes.",
            ));
        }
        let instance_type = match &body["instance_type"] {
            Value::Null => None,
            reference => Some(self.meant(Kind::InstanceType, reference, "InstanceType")?.clone()),
        };
        let mut doc = source.doc.clone();
        for field in ["version", "status", "creation_time", "description", "comment", "name", "quota"] {
            doc.shift_remove(field);
        }
        if let Some(kind) = &instance_type {
            for field in ["memory", "cpu", "memory_policy", "high_availability"] {
                if let Some(value) = kind.doc.get(field) {
                    merge(&mut doc, field, value);
                }
            }
            doc.insert("instance_type".to_owned(), json!({"id": kind.id}));
        }
        self.take_settings(&mut doc, &body, true)?;
        check_memory(&doc, "add")?;
        let disks: Vec<String> =
            self.parts(Kind::DiskAttachment, &template).map(|disk| disk.id.clone()).collect();
        let wanted = self.disks_wanted(&disks, &body["disk_attachments"]["disk_attachment"])?;
        let is_clone = request.flag("clone") && !disks.is_empty();
        let (id, now) = (self.draw(), self.now());
        let base = if is_clone { super::inventory::BLANK } else { &template };
        let quota = self.default_quota(&cluster);
        for (field, value) in [
            ("name", json!(name)),
            ("description", json!(body["description"].as_str().unwrap_or_default())),
            ("comment", json!(body["comment"].as_str().unwrap_or_default())),
            ("cluster", json!({"id": cluster})),
            ("template", json!({"id": base})),
            ("original_template", json!({"id": template})),
            ("quota", json!({"id": quota})),
            ("next_run_configuration_exists", json!("false")),
            ("status", json!(if disks.is_empty() { "down" } else { "image_locked" })),
            ("stop_time", json!(now)),
            ("creation_time", json!(now)),
        ] {
            doc.insert(field.to_owned(), value);
        }
        self.add(Kind::Vm, &id, "", Value::Object(doc));
        self.copy_devices(&id, &template, &wanted);
        let console = self.draw();
        self.add(Kind::GraphicsConsole, &console, &id, json!({"protocol": "vnc", "vm": {"id": id}}));
        let by = format!("{}-authz", caller.user);
        let (code, text) = if disks.is_empty() {
            (34, format!("VM {name} was created by {by}."))
        } else {
            (37, format!("VM {name} creation was initiated by {by}."))
        };
        self.tell(code, "normal", text, Some(caller), &id);
        let job = self.job(&format!("Creating VM {name} in Cluster {}", self.cluster_name(&cluster)), caller);
        if disks.is_empty() {
            self.job_ends(&job, "finished");
        } else {
            self.begin(Work::Clone, Effect::VmMade { vm: id.clone() }, Some(&job), caller);
        }
        let mut shown = self.show(Kind::Vm, self.get(Kind::Vm, &id)?, Extent::Full);
        let is_pending = !disks.is_empty() && !is_clone;
        if is_pending {
            shown["creation_status"] = "pending".into();
            let href = format!("{}/creation_status/{job}", shown["href"].as_str().unwrap_or_default());
            if let Some(links) = shown["link"].as_array_mut() {
                links.push(json!({"href": href, "rel": "creation_status"}));
            }
        }
        Reply::new(if is_pending { 202 } else { 201 }, "vm", shown)
    }

    /// Of several versions of a name the last one is meant.
    fn newest(&self, reference: &Value) -> String {
        if let Some(id) = reference["id"].as_str() {
            return id.to_owned();
        }
        let name = reference["name"].as_str().unwrap_or_default();
        let versions = self.all(Kind::Template).iter().filter(|template| template.name() == name);
        let version = |template: &&super::world::Record| {
            template.doc["version"]["version_number"].as_str().and_then(|v| v.parse::<u32>().ok())
        };
        versions.max_by_key(version).map(|template| template.id.clone()).unwrap_or_default()
    }

    pub(super) fn cluster_name(&self, cluster: &str) -> String {
        self.find(Kind::Cluster, cluster).map(|one| one.name().to_owned()).unwrap_or_default()
    }

    pub(super) fn default_quota(&self, cluster: &str) -> String {
        let center = self.data_center_of(cluster);
        self.parts(Kind::Quota, &center).next().map(|quota| quota.id.clone()).unwrap_or_default()
    }

    /// The disks of the template, with what the request says about each of them.
    fn disks_wanted(&self, disks: &[String], attachments: &Value) -> Result<Vec<(String, Value)>, Refusal> {
        let said = attachments.as_array().map_or(&[] as &[Value], Vec::as_slice);
        for attachment in said {
            let disk = &attachment["disk"];
            if let Some(domain) = disk["storage_domains"]["storage_domain"][0]["id"].as_str() {
                let domain = self
                    .find(Kind::StorageDomain, domain)
                    .ok_or_else(|| Refusal::entity("StorageDomain", "id", domain))?;
                if domain.text(super::inventory::STATUS_THERE) != "active" {
                    return Err(Refusal::conflict(format!(
                        "Cannot add VM. The relevant Storage Domain is inaccessible.,-Please handle Storage Domain issues and retry the operation., ({})",
                        domain.name()
                    )));
                }
            }
            let id = disk["id"].as_str().or_else(|| disk["image_id"].as_str()).unwrap_or_default();
            if !id.is_empty() && !disks.iter().any(|one| one == id) {
                return Err(Refusal::conflict(
                    "Cannot add VM. The given disks are not part of the template.",
                ));
            }
        }
        let of = |disk: &String| said.iter().find(|one| one["disk"]["id"] == *disk.as_str());
        Ok(disks
            .iter()
            .map(|disk| (disk.clone(), of(disk).map_or(Value::Null, |one| one["disk"].clone())))
            .collect())
    }

    fn copy_devices(&mut self, vm: &str, template: &str, disks: &[(String, Value)]) {
        for (disk, wanted) in disks {
            let Some(source) = self.find(Kind::Disk, disk).cloned() else { continue };
            let Ok(attachment) = self.part(Kind::DiskAttachment, template, disk).cloned() else { continue };
            let id = self.draw();
            let domain = wanted["storage_domains"]["storage_domain"][0]["id"]
                .as_str()
                .unwrap_or(domain_of(&source))
                .to_owned();
            let format = wanted["format"].as_str().unwrap_or(source.text("format")).to_owned();
            let is_sparse = says(&wanted["sparse"]).unwrap_or(source.text("sparse") == "true");
            let name =
                wanted["name"].as_str().or(wanted["alias"].as_str()).unwrap_or(source.name()).to_owned();
            self.new_disk(&id, &name, source.number("provisioned_size"), &format, is_sparse, &domain);
            if let Some(copy) = self.change(Kind::Disk, &id) {
                copy.set("actual_size", source.text("actual_size"));
                copy.set("total_size", source.text("actual_size"));
            }
            self.attach(vm, &id, &Value::Object(attachment.doc));
        }
        let nics: Vec<_> = self.parts(Kind::Nic, template).cloned().collect();
        for nic in nics {
            let id = self.draw();
            let mut doc = nic.doc.clone();
            doc.insert("mac".to_owned(), json!({"address": self.draw_mac()}));
            doc.insert("vm".to_owned(), json!({"id": vm}));
            self.add(Kind::Nic, &id, vm, Value::Object(doc));
        }
    }

    pub(super) fn draw_mac(&mut self) -> String {
        let number = self.next_mac;
        self.next_mac += 1;
        format!("56:6f:1a:2b:{:02x}:{:02x}", (number >> 8) & 0xff, number & 0xff)
    }

    /// Takes what a request says about a machine or template.
    pub(super) fn take_settings(
        &self,
        doc: &mut Map<String, Value>,
        body: &Value,
        is_new: bool,
    ) -> Result<(), Refusal> {
        for field in SETTABLE {
            if !body[field].is_null() {
                merge(doc, field, &body[field]);
            }
        }
        // A new machine's other sizes follow from its memory where they are not said.
        if let (true, Some(memory)) = (is_new, number(&body["memory"])) {
            let policy = &body["memory_policy"];
            if policy["guaranteed"].is_null() {
                merge(doc, "memory_policy", &json!({"guaranteed": memory.to_string()}));
            }
            if policy["max"].is_null() {
                merge(doc, "memory_policy", &json!({"max": (memory * 4).to_string()}));
            }
        }
        if let Some(initialization) = doc.get_mut("initialization").and_then(Value::as_object_mut)
            && !body["initialization"].is_null()
        {
            initialization.entry("nic_configurations").or_insert_with(|| json!({}));
            initialization.entry("regenerate_ssh_keys").or_insert_with(|| "false".into());
            // Written, never read.
            initialization.shift_remove("root_password");
        }
        if let Some(hosts) = body["placement_policy"]["hosts"]["host"].as_array() {
            for host in hosts {
                self.meant(Kind::Host, host, "Host")?;
            }
        }
        Ok(())
    }

    pub(super) fn update_vm(&mut self, vm: &str, request: &Request, caller: &Caller) -> Answer {
        let record = self.get(Kind::Vm, vm)?.clone();
        self.allow(caller, Permit::EditVm, Kind::Vm, vm)?;
        let body = request.body("vm")?;
        if record.text("status") == "image_locked" {
            return Err(Refusal::conflict(
                "Cannot edit VM. VM is locked. Please try again in a few minutes.",
            ));
        }
        let mut doc = record.doc.clone();
        if let Some(name) = body["name"].as_str() {
            check_name(name)?;
            if self.named(Kind::Vm, name).is_some_and(|other| other.id != vm) {
                return Err(Refusal::conflict(
                    "Cannot edit VM. The VM name is already in use, please choose a unique name and try again.",
                ));
            }
            doc.insert("name".to_owned(), name.into());
        }
        self.take_settings(&mut doc, &body, false)?;
        check_memory(&doc, "edit")?;
        let is_running = record.text("status") != "down";
        // Of a machine that runs, these change when it runs next.
        let is_later = is_running
            && ["cpu", "os", "type", "bios", "custom_properties"].iter().any(|field| !body[*field].is_null());
        doc.insert("next_run_configuration_exists".to_owned(), is_later.to_string().into());
        if let Some(target) = self.change(Kind::Vm, vm) {
            target.doc = doc;
        }
        let text = format!("VM {} configuration was updated by {}-authz.", self.vm_name(vm), caller.user);
        self.tell(35, "normal", text, Some(caller), vm);
        Reply::new(200, "vm", self.show(Kind::Vm, self.get(Kind::Vm, vm)?, Extent::Full))
    }

    pub(super) fn remove_vm(&mut self, vm: &str, request: &Request, caller: &Caller) -> Answer {
        let record = self.get(Kind::Vm, vm)?.clone();
        self.allow(caller, Permit::DeleteVm, Kind::Vm, vm)?;
        let disks: Vec<String> = self.parts(Kind::DiskAttachment, vm).map(|disk| disk.id.clone()).collect();
        if record.text("delete_protected") == "true" {
            return Err(Refusal::conflict(
                "Cannot remove VM. Delete protection is enabled. In order to delete, disable Delete protection first.",
            ));
        }
        let locked: Vec<String> = disks
            .iter()
            .filter(|disk| self.find(Kind::Disk, disk).is_some_and(|disk| disk.text("status") == "locked"))
            .map(|disk| self.disk_name(disk))
            .collect();
        if !locked.is_empty() {
            return Err(Refusal::conflict(format!(
                "Cannot remove VM: The following disks are locked: {}. Please try again in a few minutes.",
                locked.join(", ")
            )));
        }
        match record.text("status") {
            "down" => {}
            "image_locked" => {
                return Err(Refusal::conflict(
                    "Cannot remove VM. VM is locked. Please try again in a few minutes.",
                ));
            }
            "migrating" => return Err(Refusal::conflict("Cannot remove VM. VM is being migrated.")),
            _ => return Err(Refusal::conflict("Cannot remove VM. VM is running.")),
        }
        let is_kept = request.flag("detach_only");
        let job = self.job(&format!("Removing VM {}", record.name()), caller);
        self.job_ends(&job, "finished");
        let text = format!("VM {} was successfully removed by {}-authz.", record.name(), caller.user);
        self.tell(113, "normal", text, Some(caller), vm);
        self.remove(Kind::DiskAttachment, |one| one.parent != vm);
        for disk in disks {
            let is_shared = self.all(Kind::DiskAttachment).iter().any(|one| one.id == disk);
            if !is_kept && !is_shared {
                self.remove(Kind::Disk, |one| one.id != disk);
            }
        }
        self.remove(Kind::Nic, |one| one.parent != vm);
        self.remove(Kind::GraphicsConsole, |one| one.parent != vm);
        self.remove(Kind::Vm, |one| one.id != vm);
        self.guests.remove(vm);
        self.tagged.retain(|(object, _)| object != vm);
        self.members.retain(|(_, member)| member != vm);
        Reply::new(
            200,
            "action",
            json!({"job": {"href": format!("{}/jobs/{job}", super::render::ROOT), "id": job}, "status": "complete"}),
        )
    }
}

fn check_name(name: &str) -> Result<(), Refusal> {
    if is_plain_name(name) {
        return Ok(());
    }
    Err(Refusal::invalid(
        "Can not add VM. The given name contains special characters. Only lower-case and upper-case letters, numbers, '_', '-', \
         '.' are allowed., Attribute: vmStatic.name",
    ))
}

fn check_memory(doc: &Map<String, Value>, verb: &str) -> Result<(), Refusal> {
    let size = |value: Option<&Value>| value.and_then(number).unwrap_or_default();
    let memory = size(doc.get("memory"));
    let policy = doc.get("memory_policy");
    let (max, guaranteed) = (size(policy.map(|p| &p["max"])), size(policy.map(|p| &p["guaranteed"])));
    let megabytes = |bytes: u64| bytes >> 20;
    if max > 0 && memory > max {
        return Err(Refusal::conflict(format!(
            "Cannot {verb} VM. Memory size ({}MB) cannot exceed maximum memory size ({}MB).",
            megabytes(memory),
            megabytes(max)
        )));
    }
    if guaranteed > memory {
        return Err(Refusal::conflict(format!(
            "Cannot {verb} VM. Physical Memory Guaranteed cannot exceed Memory Size."
        )));
    }
    Ok(())
}

/// Objects keep what the new one does not say.
pub(super) fn merge(doc: &mut Map<String, Value>, field: &str, new: &Value) {
    match (doc.get_mut(field), new) {
        (Some(Value::Object(old)), Value::Object(new)) => {
            // A list is one thing.
            let is_list = new.len() == 1 && new.values().all(Value::is_array);
            if is_list {
                old.clear();
            }
            for (key, value) in new {
                merge(old, key, value);
            }
        }
        _ => {
            doc.insert(field.to_owned(), new.clone());
        }
    }
}
