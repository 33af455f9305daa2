//! What is read below an object.

use serde_json::{Value, json};

use super::fault::Refusal;
use super::inventory::STATUS_THERE;
use super::kind::Kind;
use super::render::{Extent, ROOT};
use super::route::{Answer, Reply, Request};
use super::world::{Caller, Record, World};

impl World {
    pub(super) fn read_part(
        &self,
        kind: Kind,
        id: &str,
        rest: &[&str],
        request: &Request,
        caller: &Caller,
    ) -> Answer {
        let place = format!("{ROOT}/{}/{id}", kind.collection());
        match (kind, rest) {
            (Kind::Vm, ["reporteddevices"]) => self.reported_devices(id, &place),
            (Kind::Vm, ["nics", nic, "reporteddevices"]) => {
                self.part(Kind::Nic, id, nic)?;
                self.reported_devices(id, &format!("{place}/nics/{nic}"))
            }
            (Kind::Vm | Kind::Template, ["nics"]) => self.list_parts(Kind::Nic, id, &place, request, caller),
            (Kind::Vm | Kind::Template, ["nics", nic]) => self.show_part(Kind::Nic, id, nic, &place),
            (Kind::Vm | Kind::Template, ["diskattachments"]) => {
                let records = self.parts(Kind::DiskAttachment, id).collect();
                self.list(Kind::DiskAttachment, records, request, caller, &|record, _| {
                    let mut shown = self.show_at(Kind::DiskAttachment, record, Extent::Brief, &place);
                    // In lists they have this, alone they do not.
                    shown["link"] = json!([]);
                    shown
                })
            }
            (Kind::Vm | Kind::Template, ["diskattachments", disk]) => {
                self.show_part(Kind::DiskAttachment, id, disk, &place)
            }
            (Kind::Vm, ["graphicsconsoles"]) => {
                self.list_parts(Kind::GraphicsConsole, id, &place, request, caller)
            }
            (Kind::Vm | Kind::Host | Kind::Template | Kind::User, ["tags"]) => {
                let tags = self.all(Kind::Tag).iter().filter(|tag| self.is_tagged(id, &tag.id)).collect();
                self.list(Kind::Tag, tags, request, caller, &|tag, _| self.show_tag_of(kind, id, tag, false))
            }
            (Kind::Vm | Kind::Host | Kind::Template, ["tags", tag]) => {
                let tag = self.get(Kind::Tag, tag)?;
                if !self.is_tagged(id, &tag.id) {
                    return Err(Refusal::Missing);
                }
                Reply::new(200, "tag", self.show_tag_of(kind, id, tag, false))
            }
            (Kind::Vm | Kind::Host, ["affinitylabels"]) => {
                let labels = self.all(Kind::AffinityLabel).iter();
                let of_this = labels.filter(|label| self.is_member(&label.id, id)).collect();
                self.list(Kind::AffinityLabel, of_this, request, caller, &|label, extent| {
                    self.show(Kind::AffinityLabel, label, extent)
                })
            }
            (Kind::Cluster, ["affinitygroups", rest @ ..]) => self.read_group(id, rest, request, caller),
            (Kind::AffinityLabel, ["vms" | "hosts"]) => {
                let of = if rest == ["vms"] { Kind::Vm } else { Kind::Host };
                let members = self.all(of).iter().filter(|one| self.is_member(id, &one.id));
                let show = |one: &Record| json!({"id": one.id, "href": format!("{place}/{}/{}", of.collection(), one.id)});
                World::listed(of, members.map(show).collect())
            }
            (Kind::Cluster, ["networks"]) => {
                let center = self.data_center_of(id);
                self.list_where(Kind::Network, request, caller, |one| one.reference("data_center") == center)
            }
            (Kind::Cluster, ["cpuprofiles"]) => {
                self.list_where(Kind::CpuProfile, request, caller, |one| one.reference("cluster") == id)
            }
            (Kind::DataCenter, ["clusters"]) => {
                self.list_where(Kind::Cluster, request, caller, |one| one.reference("data_center") == id)
            }
            (Kind::DataCenter, ["networks"]) => {
                self.list_where(Kind::Network, request, caller, |one| one.reference("data_center") == id)
            }
            (Kind::DataCenter, ["quotas"]) => {
                self.list_where(Kind::Quota, request, caller, |one| one.parent == id)
            }
            (Kind::DataCenter, ["quotas", quota]) => {
                let quota = self.part(Kind::Quota, id, quota)?;
                Reply::new(200, "quota", self.show(Kind::Quota, quota, Extent::Brief))
            }
            (Kind::DataCenter, ["storagedomains"]) => {
                let domains = self.all(Kind::StorageDomain).iter().filter(|one| is_attached(one, id));
                World::listed(
                    Kind::StorageDomain,
                    domains.map(|one| self.attached(one, id, &place)).collect(),
                )
            }
            (Kind::DataCenter, ["storagedomains", domain]) => {
                let domain = self.find(Kind::StorageDomain, domain).filter(|one| is_attached(one, id));
                let domain = domain.ok_or(Refusal::Missing)?;
                Reply::new(200, "storage_domain", self.attached(domain, id, &place))
            }
            (Kind::StorageDomain, ["disks"]) => {
                self.list_where(Kind::Disk, request, caller, |one| domain_of(one) == id)
            }
            (Kind::StorageDomain, ["diskprofiles"]) => {
                self.list_where(Kind::DiskProfile, request, caller, |one| {
                    one.reference("storage_domain") == id
                })
            }
            (Kind::Network, ["vnicprofiles"]) => {
                self.list_where(Kind::VnicProfile, request, caller, |one| one.reference("network") == id)
            }
            (Kind::Job, ["steps"]) => self.list_parts(Kind::Step, id, &place, request, caller),
            (_, ["permissions"]) => {
                self.list_where(Kind::Permission, request, caller, |one| one.reference(kind.item()) == id)
            }
            // The engine has more below its objects than is modelled; there is nothing in it here.
            (_, [part]) if kind.links().contains(part) => Reply::new(200, unmodelled(part), json!({})),
            _ => Err(Refusal::NoPath),
        }
    }

    fn list_where(
        &self,
        kind: Kind,
        request: &Request,
        caller: &Caller,
        is_meant: impl Fn(&Record) -> bool,
    ) -> Answer {
        let records =
            self.all(kind).iter().filter(|record| is_meant(record) && self.sees(caller, kind, &record.id));
        self.list(kind, records.collect(), request, caller, &|record, extent| self.show(kind, record, extent))
    }

    fn list_parts(&self, kind: Kind, of: &str, place: &str, request: &Request, caller: &Caller) -> Answer {
        let records = self.parts(kind, of).collect();
        self.list(kind, records, request, caller, &|record, extent| self.show_at(kind, record, extent, place))
    }

    fn show_part(&self, kind: Kind, of: &str, id: &str, place: &str) -> Answer {
        let record = self.part(kind, of, id)?;
        Reply::new(200, kind.item(), self.show_at(kind, record, Extent::Brief, place))
    }

    pub(super) fn is_member(&self, group: &str, id: &str) -> bool {
        self.members.iter().any(|(of, member)| of == group && member == id)
    }

    pub(super) fn is_tagged(&self, id: &str, tag: &str) -> bool {
        self.tagged.contains(&(id.to_owned(), tag.to_owned()))
    }

    /// In its data center a storage domain has a status.
    fn attached(&self, domain: &Record, center: &str, place: &str) -> Value {
        let mut shown = self.show_at(Kind::StorageDomain, domain, Extent::Brief, place);
        shown["status"] = domain.text(STATUS_THERE).into();
        shown["data_center"] = json!({"href": format!("{ROOT}/datacenters/{center}"), "id": center});
        let href = shown["href"].as_str().unwrap_or_default().to_owned();
        let to = |rel: &str| json!({"href": format!("{href}/{rel}"), "rel": rel});
        shown["actions"] = json!({"link": [to("activate"), to("deactivate")]});
        shown["link"] = json!([to("disks")]);
        shown
    }

    fn reported_devices(&self, vm: &str, place: &str) -> Answer {
        let addresses = self.guests.get(vm).map(|guest| guest.addresses.clone()).unwrap_or_default();
        let nic = self.parts(Kind::Nic, vm).next();
        let (Some(nic), false) = (nic, addresses.is_empty()) else {
            return Reply::new(200, "reported_devices", json!({}));
        };
        let ips: Vec<Value> = addresses
            .iter()
            .map(|address| json!({"address": address, "version": if address.contains(':') { "v6" } else { "v4" }}))
            .collect();
        // Made of machine and name, so that it stays the same.
        let id = format!("{}{}", &nic.id[..24], &vm[24..]);
        let device = json!({"ips": {"ip": ips}, "mac": nic.doc.get("mac"), "name": "eth0", "type": "network", "description": "guest reported data",
            "vm": {"href": format!("{ROOT}/vms/{vm}"), "id": vm}, "href": format!("{place}/reporteddevices/{id}"), "id": id});
        Reply::new(200, "reported_devices", json!({"reported_device": [device]}))
    }
}

fn is_attached(domain: &Record, center: &str) -> bool {
    domain.doc.get("data_centers").is_some_and(|centers| centers["data_center"][0]["id"] == center)
}

/// The storage domain of a disk.
pub(super) fn domain_of(disk: &Record) -> &str {
    disk.doc
        .get("storage_domains")
        .and_then(|domains| domains["storage_domain"][0]["id"].as_str())
        .unwrap_or_default()
}

/// The names of lists that are always empty here.
fn unmodelled(segment: &str) -> &'static str {
    match segment {
        "applications" => "applications",
        "backups" => "backups",
        "cdroms" => "cdroms",
        "checkpoints" => "checkpoints",
        "disksnapshots" => "disk_snapshots",
        "graphicsconsoles" => "graphics_consoles",
        "devices" | "hostdevices" => "host_devices",
        "mediateddevices" => "vm_mediated_devices",
        "networkfilterparameters" => "network_filter_parameters",
        "networklabels" => "network_labels",
        "nics" => "nics",
        "numanodes" => "vm_numa_nodes",
        "sessions" => "sessions",
        "snapshots" => "snapshots",
        "statistics" => "statistics",
        "storageconnections" => "storage_connections",
        "templates" => "templates",
        "vms" => "vms",
        "watchdogs" => "watchdogs",
        _ => "collection",
    }
}
