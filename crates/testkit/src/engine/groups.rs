//! Templates, tags, affinity groups and labels.

use serde_json::{Value, json};

use super::access::Permit;
use super::change::{is_plain_name, require};
use super::fault::Refusal;
use super::inventory::{BLANK, template_fields};
use super::kind::Kind;
use super::render::{Extent, ROOT};
use super::route::{Answer, Reply, Request};
use super::work::{Effect, Work};
use super::world::{Caller, Event, Record, World};

impl World {
    pub(super) fn add_template(&mut self, request: &Request, caller: &Caller) -> Answer {
        let body = request.body("template")?;
        require(&body, "Template", &["name", "vm.id|name"])?;
        let vm = self.meant(Kind::Vm, &body["vm"], "Vm")?.clone();
        self.allow(caller, Permit::CreateTemplate, Kind::Vm, &vm.id)?;
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        let base = body["version"]["base_template"]["id"].as_str().map(str::to_owned);
        if base.is_none() && self.named(Kind::Template, &name).is_some() {
            return Err(Refusal::conflict(
                "Cannot add Template. The Template name is already in use, please choose a unique name and try again.",
            ));
        }
        if vm.text("status") != "down" {
            return Err(Refusal::conflict("Cannot add Template. VM is not down."));
        }
        let disks: Vec<Record> = self.parts(Kind::DiskAttachment, &vm.id).cloned().collect();
        if let Some(locked) = disks
            .iter()
            .find(|one| self.find(Kind::Disk, &one.id).is_some_and(|disk| disk.text("status") == "locked"))
        {
            return Err(Refusal::conflict(format!(
                "Cannot add Template: The following disks are locked: {}. Please try again in a few minutes.",
                self.disk_name(&locked.id)
            )));
        }
        let (id, now) = (self.draw(), self.now());
        let mut doc = vm.doc.clone();
        for field in [
            "next_run_configuration_exists",
            "stop_time",
            "template",
            "original_template",
            "initialization",
            "instance_type",
            "auto_pinning",
        ] {
            doc.shift_remove(field);
        }
        self.take_settings(&mut doc, &body, false)?;
        let description = body["description"].as_str().unwrap_or_default();
        for (field, value) in template_fields(&id, &name, description) {
            doc.insert(field.to_owned(), value);
        }
        doc.insert("comment".to_owned(), body["comment"].as_str().unwrap_or_default().into());
        if let Some(base) = base {
            let versions = self
                .all(Kind::Template)
                .iter()
                .filter(|one| one.doc["version"]["base_template"]["id"] == *base.as_str())
                .count();
            doc.insert(
                "version".to_owned(),
                json!({"version_name": body["version"]["version_name"].as_str().unwrap_or_default(),
                       "version_number": (versions + 1).to_string(), "base_template": {"id": base}}),
            );
        }
        doc.insert("status".to_owned(), if disks.is_empty() { "ok" } else { "locked" }.into());
        doc.insert("creation_time".to_owned(), now.into());
        self.add(Kind::Template, &id, "", Value::Object(doc));
        let said = body["vm"]["disk_attachments"]["disk_attachment"].as_array().cloned().unwrap_or_default();
        for attachment in disks {
            let Some(source) = self.find(Kind::Disk, &attachment.id).cloned() else { continue };
            let wanted = said.iter().find(|one| {
                one["disk"]["id"] == *attachment.id.as_str() || one["id"] == *attachment.id.as_str()
            });
            let wanted = wanted.map_or(Value::Null, |one| one["disk"].clone());
            let copy = self.draw();
            let text = |field: &str, default: &str| wanted[field].as_str().unwrap_or(default).to_owned();
            let domain = wanted["storage_domains"]["storage_domain"][0]["id"]
                .as_str()
                .unwrap_or(super::parts::domain_of(&source))
                .to_owned();
            let (disk_name, format) = (text("name", source.name()), text("format", source.text("format")));
            let is_sparse = text("sparse", source.text("sparse")) == "true";
            self.new_disk(&copy, &disk_name, source.number("provisioned_size"), &format, is_sparse, &domain);
            if let Some(disk) = self.change(Kind::Disk, &copy) {
                disk.set("actual_size", source.text("actual_size"));
                disk.set("total_size", source.text("actual_size"));
            }
            self.attach(&id, &copy, &Value::Object(attachment.doc));
        }
        self.set_vm(&vm.id, "image_locked");
        let text = format!(
            "Creation of Template {name} from VM {} was initiated by {}-authz.",
            vm.name(),
            caller.user
        );
        let about = self.around_template(&id, &vm.id);
        self.event(&Event { code: 48, severity: "normal", text, by: Some(caller), about: &about });
        let job = self.job(&format!("Creating Template {name} from VM {}", vm.name()), caller);
        let effect = Effect::TemplateMade { template: id.clone(), vm: vm.id };
        self.begin(Work::Template, effect, Some(&job), caller);
        Reply::new(201, "template", self.show(Kind::Template, self.get(Kind::Template, &id)?, Extent::Full))
    }

    pub(super) fn update_template(&mut self, id: &str, request: &Request, caller: &Caller) -> Answer {
        let mut doc = self.get(Kind::Template, id)?.doc.clone();
        self.allow(caller, Permit::CreateTemplate, Kind::Template, id)?;
        let body = request.body("template")?;
        self.take_settings(&mut doc, &body, false)?;
        if let Some(name) = body["name"].as_str() {
            doc.insert("name".to_owned(), name.into());
        }
        if let Some(record) = self.change(Kind::Template, id) {
            record.doc = doc;
        }
        Reply::new(200, "template", self.show(Kind::Template, self.get(Kind::Template, id)?, Extent::Full))
    }

    pub(super) fn remove_template(&mut self, id: &str, caller: &Caller) -> Answer {
        let template = self.get(Kind::Template, id)?.clone();
        self.allow(caller, Permit::DeleteTemplate, Kind::Template, id)?;
        if id == BLANK {
            return Err(Refusal::conflict("Cannot remove Template. Blank Template cannot be removed."));
        }
        if template.text("status") == "locked" {
            return Err(Refusal::conflict(
                "Cannot remove Template. VM Template is locked. Please try again in a few minutes.",
            ));
        }
        let users: Vec<&str> =
            self.all(Kind::Vm).iter().filter(|vm| vm.reference("template") == id).map(Record::name).collect();
        if !users.is_empty() {
            return Err(Refusal::conflict(format!(
                "Cannot remove Template. The following VMs/Disks were created from the Template and must be removed first: {}.",
                users.join(", ")
            )));
        }
        let disks: Vec<String> = self.parts(Kind::DiskAttachment, id).map(|disk| disk.id.clone()).collect();
        for disk in &disks {
            self.disk_goes(disk);
        }
        self.remove(Kind::Nic, |one| one.parent != id);
        self.remove(Kind::Template, |one| one.id != id);
        let job = self.job(&format!("Removing Template {}", template.name()), caller);
        self.job_ends(&job, "finished");
        Reply::new(
            200,
            "action",
            json!({"job": {"href": format!("{ROOT}/jobs/{job}"), "id": job}, "status": "complete"}),
        )
    }

    pub(super) fn add_tag(&mut self, request: &Request, caller: &Caller) -> Answer {
        self.allow(caller, Permit::ManageTags, Kind::Tag, BLANK)?;
        let body = request.body("tag")?;
        require(&body, "Tag", &["name"])?;
        let name = body["name"].as_str().unwrap_or_default();
        if !is_plain_name(name) {
            return Err(Refusal::invalid(
                "Cannot add Tag. The given name contains special characters. Only lower-case and upper-case letters, numbers, '_', \
                 '-', '.' are allowed., Attribute: tagName",
            ));
        }
        if self.named(Kind::Tag, name).is_some() {
            return Err(Refusal::conflict("The specified Tag name already exists."));
        }
        let parent = match &body["parent"] {
            Value::Null => BLANK.to_owned(),
            reference => self.meant(Kind::Tag, reference, "Tag")?.id.clone(),
        };
        let id = self.draw();
        let description = body["description"].as_str().unwrap_or_default();
        self.add(
            Kind::Tag,
            &id,
            "",
            json!({"parent": {"id": parent}, "name": name, "description": description}),
        );
        Reply::new(201, "tag", self.show(Kind::Tag, self.get(Kind::Tag, &id)?, Extent::Full))
    }

    pub(super) fn update_tag(&mut self, id: &str, request: &Request, caller: &Caller) -> Answer {
        self.get(Kind::Tag, id)?;
        self.allow(caller, Permit::ManageTags, Kind::Tag, id)?;
        let body = request.body("tag")?;
        if let Some(tag) = self.change(Kind::Tag, id) {
            for field in ["name", "description"] {
                if let Some(text) = body[field].as_str() {
                    tag.set(field, text);
                }
            }
        }
        Reply::new(200, "tag", self.show(Kind::Tag, self.get(Kind::Tag, id)?, Extent::Full))
    }

    pub(super) fn remove_tag(&mut self, id: &str, caller: &Caller) -> Answer {
        self.get(Kind::Tag, id)?;
        self.allow(caller, Permit::ManageTags, Kind::Tag, id)?;
        self.remove(Kind::Tag, |tag| tag.id != id);
        self.tagged.retain(|(_, tag)| tag != id);
        Reply::complete()
    }

    /// A tag as it is seen at what carries it; lists leave the description out.
    pub(super) fn show_tag_of(&self, kind: Kind, object: &str, tag: &Record, is_described: bool) -> Value {
        let mut shown =
            self.show_at(Kind::Tag, tag, Extent::Brief, &format!("{ROOT}/{}/{object}", kind.collection()));
        shown[kind.item()] = json!({"href": format!("{ROOT}/{}/{object}", kind.collection()), "id": object});
        if !is_described {
            shown["description"] = "".into();
        }
        shown
    }

    pub(super) fn tag_vm(&mut self, vm: &str, request: &Request, caller: &Caller) -> Answer {
        let name = self.get(Kind::Vm, vm)?.name().to_owned();
        self.allow(caller, Permit::EditVm, Kind::Vm, vm)?;
        let body = request.body("tag")?;
        require(&body, "Tag", &["id|name"])?;
        let id = body["id"].as_str();
        let wanted = id.or(body["name"].as_str()).unwrap_or_default();
        let found = if id.is_some() { self.find(Kind::Tag, wanted) } else { self.named(Kind::Tag, wanted) };
        let tag = found.ok_or_else(|| Refusal::NotFound(format!("Entity not found: {wanted}")))?;
        let tag = tag.clone();
        let is_new = self.tagged.insert((vm.to_owned(), tag.id.clone()));
        let by = format!("{}-authz", caller.user);
        let (code, text) = if is_new {
            (440, format!("Tag {} was attached to VM(s) {name} by {by}.", tag.name()))
        } else {
            (454, format!("Tag {} already attached to VM(s) {name}.", tag.name()))
        };
        self.tell(code, "normal", text, Some(caller), vm);
        Reply::new(201, "tag", self.show_tag_of(Kind::Vm, vm, &tag, true))
    }

    pub(super) fn untag_vm(&mut self, vm: &str, tag: &str, caller: &Caller) -> Answer {
        self.get(Kind::Vm, vm)?;
        self.allow(caller, Permit::EditVm, Kind::Vm, vm)?;
        if !self.tagged.remove(&(vm.to_owned(), tag.to_owned())) {
            return Err(Refusal::Missing);
        }
        let name = self.find(Kind::Tag, tag).map(|tag| tag.name().to_owned()).unwrap_or_default();
        let text =
            format!("Tag {name} was detached from VM(s) {} by {}-authz.", self.vm_name(vm), caller.user);
        self.tell(446, "normal", text, Some(caller), vm);
        Reply::complete()
    }

    pub(super) fn add_group(&mut self, cluster: &str, request: &Request, caller: &Caller) -> Answer {
        self.get(Kind::Cluster, cluster)?;
        self.allow(caller, Permit::ManageAffinity, Kind::Cluster, cluster)?;
        let body = request.body("affinity_group")?;
        require(&body, "AffinityGroup", &["name"])?;
        let name = body["name"].as_str().unwrap_or_default();
        if self.parts(Kind::AffinityGroup, cluster).any(|group| group.name() == name) {
            return Err(Refusal::invalid("Cannot add Affinity Group. Affinity Group name already exists."));
        }
        let id = self.draw();
        let doc = group_doc(&body, cluster, name);
        let text = format!("Affinity Group {name} was added. (User: {}-authz)", caller.user);
        self.add(Kind::AffinityGroup, &id, cluster, doc);
        let about = [(Kind::Cluster, cluster.to_owned())];
        self.event(&Event { code: 10350, severity: "normal", text, by: Some(caller), about: &about });
        for (list, of) in [("vms", Kind::Vm), ("hosts", Kind::Host)] {
            for member in body[list][of.item()].as_array().into_iter().flatten() {
                let member = self.meant(of, member, of.item())?.id.clone();
                self.members.push((id.clone(), member));
            }
        }
        self.shown_group(201, &id)
    }

    fn shown_group(&self, status: u16, id: &str) -> Answer {
        Reply::new(
            status,
            "affinity_group",
            self.show(Kind::AffinityGroup, self.get(Kind::AffinityGroup, id)?, Extent::Full),
        )
    }

    /// A group that is not there is told by an error of the engine's own, not by 404.
    fn group(&self, cluster: &str, id: &str) -> Result<&Record, Refusal> {
        self.part(Kind::AffinityGroup, cluster, id).map_err(|_| {
            Refusal::Invalid(
                "cannot invoke \"org.ovirt.engine.core.common.scheduling.affinitygroup.getvmlabels()\" because \"ag\" is null".to_owned(),
            )
        })
    }

    pub(super) fn read_group(
        &self,
        cluster: &str,
        rest: &[&str],
        request: &Request,
        caller: &Caller,
    ) -> Answer {
        match *rest {
            [] => {
                let groups = self.parts(Kind::AffinityGroup, cluster).collect();
                self.list(Kind::AffinityGroup, groups, request, caller, &|group, extent| {
                    self.show(Kind::AffinityGroup, group, extent)
                })
            }
            [id] => {
                self.group(cluster, id)?;
                self.shown_group(200, id)
            }
            [id, of @ ("vms" | "hosts")] => {
                self.group(cluster, id)?;
                let kind = if of == "vms" { Kind::Vm } else { Kind::Host };
                let members = self.members.iter().filter(|(group, _)| group == id);
                let shown = members.filter_map(|(_, member)| self.find(kind, member)).map(|member| {
                    json!({"name": member.name(), "href": format!("{ROOT}/{of}/{}", member.id), "id": member.id})
                });
                let items: Vec<Value> = shown.collect();
                // Shown where it would be left out elsewhere.
                Reply::new(200, kind.list(), json!({kind.item(): items}))
            }
            [id, "vmlabels" | "hostlabels"] => {
                self.group(cluster, id)?;
                World::listed(Kind::AffinityLabel, Vec::new())
            }
            _ => Err(Refusal::NoPath),
        }
    }

    pub(super) fn update_group(
        &mut self,
        cluster: &str,
        id: &str,
        request: &Request,
        caller: &Caller,
    ) -> Answer {
        let group = self.group(cluster, id)?.clone();
        self.allow(caller, Permit::ManageAffinity, Kind::Cluster, cluster)?;
        let body = request.body("affinity_group")?;
        let mut doc = group.doc.clone();
        for field in ["name", "description", "enforcing", "positive", "vms_rule", "hosts_rule"] {
            if !body[field].is_null() {
                super::machines::merge(&mut doc, field, &body[field]);
            }
        }
        if let Some(record) = self.change(Kind::AffinityGroup, id) {
            record.doc = doc;
        }
        let text = format!("Affinity Group {} was updated. (User: {}-authz)", group.name(), caller.user);
        let about = [(Kind::Cluster, cluster.to_owned())];
        self.event(&Event { code: 10352, severity: "normal", text, by: Some(caller), about: &about });
        self.shown_group(200, id)
    }

    pub(super) fn remove_group(&mut self, cluster: &str, id: &str, caller: &Caller) -> Answer {
        let name = self.group(cluster, id)?.name().to_owned();
        self.allow(caller, Permit::ManageAffinity, Kind::Cluster, cluster)?;
        self.remove(Kind::AffinityGroup, |group| group.id != id);
        self.members.retain(|(group, _)| group != id);
        let text = format!("Affinity Group {name} was removed. (User: {}-authz)", caller.user);
        let about = [(Kind::Cluster, cluster.to_owned())];
        self.event(&Event { code: 10354, severity: "normal", text, by: Some(caller), about: &about });
        Reply::complete()
    }

    pub(super) fn add_member(
        &mut self,
        cluster: &str,
        group: &str,
        of: &str,
        request: &Request,
        caller: &Caller,
    ) -> Answer {
        self.group(cluster, group)?;
        self.allow(caller, Permit::ManageAffinity, Kind::Cluster, cluster)?;
        let kind = if of == "vms" { Kind::Vm } else { Kind::Host };
        let body = request.body(kind.item())?;
        let class = if kind == Kind::Vm { "VM" } else { "Host" };
        let member = self.meant(kind, &body, class)?;
        if member.reference("cluster") != cluster {
            return Err(Refusal::invalid(format!(
                "Cannot edit Affinity Group. {class} is not in the same cluster as the Affinity Group."
            )));
        }
        let member = member.id.clone();
        if self.is_member(group, &member) {
            return Err(Refusal::invalid(format!("Cannot edit Affinity Group. Duplicate {class}.")));
        }
        self.members.push((group.to_owned(), member.clone()));
        // Without a link, and 200: so it is.
        Reply::new(200, kind.item(), json!({"id": member}))
    }

    pub(super) fn remove_member(
        &mut self,
        cluster: &str,
        group: &str,
        member: &str,
        caller: &Caller,
    ) -> Answer {
        self.group(cluster, group)?;
        self.allow(caller, Permit::ManageAffinity, Kind::Cluster, cluster)?;
        if !self.is_member(group, member) {
            return Err(Refusal::Missing);
        }
        self.members.retain(|(of, id)| of != group || id != member);
        Reply::complete()
    }

    pub(super) fn add_label(&mut self, request: &Request, caller: &Caller) -> Answer {
        self.allow(caller, Permit::ManageAffinity, Kind::AffinityLabel, "")?;
        let body = request.body("affinity_label")?;
        require(&body, "AffinityLabel", &["name"])?;
        let name = body["name"].as_str().unwrap_or_default();
        if self.named(Kind::AffinityLabel, name).is_some() {
            return Err(Refusal::conflict("Affinity Label with the same name already exists."));
        }
        let id = self.draw();
        self.add(
            Kind::AffinityLabel,
            &id,
            "",
            json!({"name": name, "read_only": "false", "has_implicit_affinity_group": "false"}),
        );
        Reply::new(
            201,
            "affinity_label",
            self.show(Kind::AffinityLabel, self.get(Kind::AffinityLabel, &id)?, Extent::Full),
        )
    }

    pub(super) fn add_labelled(
        &mut self,
        label: &str,
        of: &str,
        request: &Request,
        caller: &Caller,
    ) -> Answer {
        self.get(Kind::AffinityLabel, label)?;
        self.allow(caller, Permit::ManageAffinity, Kind::AffinityLabel, label)?;
        let kind = if of == "vms" { Kind::Vm } else { Kind::Host };
        let body = request.body(kind.item())?;
        let member = self.meant(kind, &body, kind.item())?.id.clone();
        if !self.is_member(label, &member) {
            self.members.push((label.to_owned(), member.clone()));
        }
        Reply::new(
            201,
            kind.item(),
            json!({"id": member, "href": format!("{ROOT}/affinitylabels/{label}/{of}/{member}")}),
        )
    }
}

fn group_doc(body: &Value, cluster: &str, name: &str) -> Value {
    let flag = |value: &Value, default: &str| value.as_str().unwrap_or(default).to_owned();
    let rule = |rule: &Value, positive: &str| {
        json!({"enabled": flag(&rule["enabled"], "true"), "enforcing": flag(&rule["enforcing"], "false"),
               "positive": flag(&rule["positive"], positive)})
    };
    let hosts_rule = match &body["hosts_rule"] {
        Value::Null => json!({"enabled": "false", "enforcing": "false", "positive": "false"}),
        said => rule(said, "false"),
    };
    let vms_rule = match &body["vms_rule"] {
        // As it was said before there were rules.
        Value::Null => {
            json!({"enabled": "true", "enforcing": flag(&body["enforcing"], "false"), "positive": flag(&body["positive"], "false")})
        }
        said => rule(said, "false"),
    };
    let priority = body["priority"].as_str().and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    let mut doc = json!({"broken": "false", "enforcing": vms_rule["enforcing"], "hosts_rule": hosts_rule,
        "positive": vms_rule["positive"], "priority": priority, "vms_rule": vms_rule, "cluster": {"id": cluster},
        "name": name, "description": flag(&body["description"], "")});
    if priority.fract() == 0.0
        && let Ok(whole) = format!("{priority:.0}").parse::<i64>()
    {
        doc["priority"] = whole.into();
    }
    doc
}
