//! From what the engine knows to what it shows.

use serde_json::{Map, Value, json};

use super::kind::{Kind, referred};
use super::parts::domain_of;
use super::world::{Record, World};

/// Where everything lies.
pub(super) const ROOT: &str = "/ovirt-engine/api";

/// Shown after a change, and on demand.
const DETAILS: [&str; 5] = ["console", "rng_device", "soundcard_enabled", "tpm_enabled", "virtio_scsi"];

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Brief,
    /// `All-Content`, and the answers to changes.
    Full,
}

impl World {
    /// An object at the root.
    pub(super) fn show(&self, kind: Kind, record: &Record, extent: Extent) -> Value {
        let place = match kind {
            Kind::AffinityGroup => format!("{ROOT}/clusters/{}", record.parent),
            Kind::Quota => format!("{ROOT}/datacenters/{}", record.parent),
            Kind::Step => format!("{ROOT}/jobs/{}", record.parent),
            _ => ROOT.to_owned(),
        };
        self.show_at(kind, record, extent, &place)
    }

    /// An object that is part of another one, or is seen there.
    pub(super) fn show_at(&self, kind: Kind, record: &Record, extent: Extent, place: &str) -> Value {
        let href = format!("{place}/{}/{}", kind.collection(), record.id);
        let mut doc = record.doc.clone();
        doc.retain(|key, _| !key.starts_with(' '));
        match kind {
            Kind::Vm => self.complete_vm(&mut doc, record, extent),
            Kind::Template if extent == Extent::Brief => {
                doc.retain(|key, _| !DETAILS.contains(&key.as_str()));
            }
            Kind::StorageDomain => {
                // What thin disks may grow to.
                let disks = self.all(Kind::Disk).iter().filter(|disk| domain_of(disk) == record.id);
                let promised: u64 = disks
                    .filter(|disk| disk.text("sparse") == "true")
                    .map(|disk| disk.number("provisioned_size"))
                    .sum();
                doc.insert("committed".to_owned(), promised.to_string().into());
            }
            Kind::Disk if extent == Extent::Full => {
                let owners = self.all(Kind::DiskAttachment).iter().filter(|one| one.id == record.id);
                let vms: Vec<Value> = owners
                    .filter(|one| self.find(Kind::Vm, &one.parent).is_some())
                    .map(|one| json!({"id": one.parent}))
                    .collect();
                if !vms.is_empty() {
                    doc.insert("vms".to_owned(), json!({"vm": vms}));
                }
            }
            Kind::AffinityGroup | Kind::AffinityLabel => self.complete_members(&mut doc, record, kind),
            _ => {}
        }
        let mut value = Value::Object(doc);
        refer(&mut value);
        let to = |rel: &&str| json!({"href": format!("{href}/{rel}"), "rel": rel});
        if !kind.actions().is_empty() {
            value["actions"] = json!({"link": kind.actions().iter().map(to).collect::<Vec<_>>()});
        }
        if !kind.links().is_empty() {
            value["link"] = kind.links().iter().map(to).collect();
        }
        value["href"] = href.into();
        value["id"] = record.id.clone().into();
        value
    }

    fn complete_vm(&self, doc: &mut Map<String, Value>, record: &Record, extent: Extent) {
        if extent == Extent::Brief {
            doc.retain(|key, _| !DETAILS.contains(&key.as_str()));
        } else if record.text("status") != "image_locked" {
            let initialization = doc.entry("initialization").or_insert_with(|| json!({}));
            initialization["configuration"] = json!({"data": self.ovf(record), "type": "ovf"});
        }
        if self.guests.get(&record.id).is_some_and(|guest| !guest.addresses.is_empty()) {
            doc.insert("fqdn".to_owned(), record.name().into());
        }
    }

    fn complete_members(&self, doc: &mut Map<String, Value>, record: &Record, kind: Kind) {
        let members = |of: Kind| -> Vec<Value> {
            let of_this = self.members.iter().filter(|(group, _)| *group == record.id);
            of_this.filter(|(_, id)| self.find(of, id).is_some()).map(|(_, id)| json!({"id": id})).collect()
        };
        doc.insert("vms".to_owned(), json!({"vm": members(Kind::Vm)}));
        doc.insert("hosts".to_owned(), json!({"host": members(Kind::Host)}));
        if kind == Kind::AffinityGroup {
            doc.insert("vm_labels".to_owned(), json!({"affinity_label": []}));
            doc.insert("host_labels".to_owned(), json!({"affinity_label": []}));
        }
    }

    /// The description of a machine that the engine keeps on storage. What it consists of is not modelled.
    fn ovf(&self, vm: &Record) -> String {
        let disks: String = self
            .parts(Kind::DiskAttachment, &vm.id)
            .map(|disk| format!("<Disk ovf:diskId=\"{}\"/>", disk.id))
            .collect();
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ovf:Envelope xmlns:ovf=\"http://schemas.dmtf.org/ovf/envelope/1/\" \
             ovf:version=\"4.4.0.0\"><Section>{disks}</Section><Content ovf:id=\"out\"><Name>{}</Name></Content></ovf:Envelope>",
            vm.name()
        )
    }
}

/// Gives every reference its `href`.
fn refer(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object.iter_mut() {
                if let Some(collection) = referred(key) {
                    match inner {
                        Value::Object(one) => locate(one, collection),
                        Value::Array(many) => {
                            many.iter_mut()
                                .filter_map(Value::as_object_mut)
                                .for_each(|one| locate(one, collection));
                        }
                        _ => {}
                    }
                }
                refer(inner);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(refer),
        _ => {}
    }
}

fn locate(one: &mut Map<String, Value>, collection: &str) {
    if let (Some(Value::String(id)), false) = (one.get("id"), one.contains_key("href")) {
        let href = format!("{ROOT}/{collection}/{id}");
        one.insert("href".to_owned(), href.into());
    }
}
