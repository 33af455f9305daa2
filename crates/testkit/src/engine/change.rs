//! From requests that change something to what carries them out.

use serde_json::{Value, json};

use super::access::Permit;
use super::fault::Refusal;
use super::kind::Kind;
use super::route::{Answer, Reply, Request};
use super::world::{Caller, World};

impl World {
    pub(super) fn post(&mut self, segments: &[&str], request: &Request, caller: &Caller) -> Answer {
        match *segments {
            ["vms"] => self.add_vm(request, caller),
            ["templates"] => self.add_template(request, caller),
            ["disks"] => self.add_disk(request, caller),
            ["tags"] => self.add_tag(request, caller),
            ["affinitylabels"] => self.add_label(request, caller),
            ["imagetransfers"] => self.add_transfer(request, caller),
            ["vms", vm, "nics"] => self.add_nic(vm, request, caller),
            ["vms", vm, "diskattachments"] => self.add_attachment(vm, request, caller),
            ["vms", vm, "tags"] => self.tag_vm(vm, request, caller),
            ["clusters", cluster, "affinitygroups"] => self.add_group(cluster, request, caller),
            ["clusters", cluster, "affinitygroups", group, of @ ("vms" | "hosts")] => {
                self.add_member(cluster, group, of, request, caller)
            }
            ["affinitylabels", label, of @ ("vms" | "hosts")] => {
                self.add_labelled(label, of, request, caller)
            }
            [collection, id, "permissions"] => self.add_permission(collection, id, request, caller),
            ["vms", vm, action] => self.act_on_vm(vm, action, request, caller),
            ["vms", vm, "nics", nic, action @ ("activate" | "deactivate")] => {
                self.allow(caller, Permit::EditVm, Kind::Vm, vm)?;
                self.part(Kind::Nic, vm, nic)?;
                if let Some(nic) = self.change(Kind::Nic, nic) {
                    nic.set("plugged", (action == "activate").to_string());
                }
                Reply::complete()
            }
            ["imagetransfers", transfer, action] => self.act_on_transfer(transfer, action, caller),
            [collection] | [collection, _] => {
                Kind::of_collection(collection).ok_or(Refusal::NoPath)?;
                Err(Refusal::NotAllowed)
            }
            _ => Err(Refusal::NoPath),
        }
    }

    pub(super) fn put(&mut self, segments: &[&str], request: &Request, caller: &Caller) -> Answer {
        match *segments {
            ["vms", vm] => self.update_vm(vm, request, caller),
            ["templates", template] => self.update_template(template, request, caller),
            ["disks", disk] => self.update_disk(disk, request, caller),
            ["tags", tag] => self.update_tag(tag, request, caller),
            ["vms", vm, "nics", nic] => self.update_nic(vm, nic, request, caller),
            ["vms", vm, "diskattachments", disk] => self.update_attachment(vm, disk, request, caller),
            ["clusters", cluster, "affinitygroups", group] => {
                self.update_group(cluster, group, request, caller)
            }
            [_] => Err(Refusal::NotAllowed),
            _ => Err(Refusal::NoPath),
        }
    }

    pub(super) fn delete(&mut self, segments: &[&str], request: &Request, caller: &Caller) -> Answer {
        match *segments {
            ["vms", vm] => self.remove_vm(vm, request, caller),
            ["templates", template] => self.remove_template(template, caller),
            ["disks", disk] => self.remove_disk(disk, caller),
            ["tags", tag] => self.remove_tag(tag, caller),
            ["affinitylabels", label] => {
                self.allow(caller, Permit::ManageAffinity, Kind::AffinityLabel, label)?;
                self.get(Kind::AffinityLabel, label)?;
                self.remove(Kind::AffinityLabel, |one| one.id != label);
                self.members.retain(|(group, _)| group != label);
                Reply::complete()
            }
            ["vms", vm, "nics", nic] => self.remove_nic(vm, nic, caller),
            ["vms", vm, "diskattachments", disk] => self.remove_attachment(vm, disk, request, caller),
            ["vms", vm, "graphicsconsoles", console] => {
                self.allow(caller, Permit::EditVm, Kind::Vm, vm)?;
                self.part(Kind::GraphicsConsole, vm, console)?;
                self.remove(Kind::GraphicsConsole, |one| one.parent != vm || one.id != console);
                Reply::complete()
            }
            ["vms", vm, "tags", tag] => self.untag_vm(vm, tag, caller),
            ["clusters", cluster, "affinitygroups", group] => self.remove_group(cluster, group, caller),
            ["clusters", cluster, "affinitygroups", group, "vms" | "hosts", member] => {
                self.remove_member(cluster, group, member, caller)
            }
            ["affinitylabels", label, "vms" | "hosts", member] => {
                self.allow(caller, Permit::ManageAffinity, Kind::AffinityLabel, label)?;
                if !self.is_member(label, member) {
                    return Err(Refusal::Missing);
                }
                self.members.retain(|(of, id)| of != label || id != member);
                Reply::complete()
            }
            [collection, _] => {
                Kind::of_collection(collection).ok_or(Refusal::NoPath)?;
                Err(Refusal::NotAllowed)
            }
            _ => Err(Refusal::NoPath),
        }
    }

    fn add_permission(&mut self, collection: &str, id: &str, request: &Request, caller: &Caller) -> Answer {
        let kind = Kind::of_collection(collection).ok_or(Refusal::NoPath)?;
        self.get(kind, id)?;
        self.allow(caller, Permit::ManagePermissions, kind, id)?;
        let body = request.body("permission")?;
        require(&body, "Permission", &["user.id|name", "role.id|name"])?;
        let role = self.meant(Kind::Role, &body["role"], "Role")?;
        let (role, role_name) = (role.id.clone(), role.name().to_owned());
        let user = self.meant(Kind::User, &body["user"], "User")?.id.clone();
        let name = self
            .access
            .names()
            .find(|(_, of)| *of == user)
            .map(|(name, _)| name.to_owned())
            .unwrap_or_default();
        self.access
            .grant(&name, super::Grant { role: role_name, on: Some((collection.to_owned(), id.to_owned())) });
        let permission = self.draw();
        let mut doc = json!({"role": {"id": role}, "user": {"id": user}});
        doc[kind.item()] = json!({"id": id});
        self.add(Kind::Permission, &permission, "", doc);
        let record = self.get(Kind::Permission, &permission)?;
        Reply::new(201, "permission", self.show(Kind::Permission, record, super::render::Extent::Full))
    }
}

/// What a body must have: `a.id|name` means either, below `a`.
pub(super) fn require(body: &Value, class: &str, fields: &[&str]) -> Result<(), Refusal> {
    for wanted in fields {
        let (prefix, ways) = match wanted.rsplit_once('.').filter(|_| wanted.matches('.').count() == 1) {
            Some((prefix, ways)) => (Some(prefix), ways),
            None => (None, *wanted),
        };
        let is_there = ways.split('|').any(|way| {
            let start = prefix.map_or(body, |prefix| &body[prefix]);
            let found = way.split('.').fold(start, |value, step| &value[step]);
            !found.is_null() && found != ""
        });
        if !is_there {
            return Err(Refusal::Incomplete(format!("{class} [{wanted}] required for add")));
        }
    }
    Ok(())
}

/// What names may consist of.
pub(super) fn is_plain_name(name: &str) -> bool {
    name.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '_' | '-' | '.'))
}

/// A number that a checked body has.
pub(super) fn number(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}

/// Whether a checked body says so.
pub(super) fn says(value: &Value) -> Option<bool> {
    value.as_str().map(|text| text == "true")
}
