//! From what a vCenter sends to facts. What was not asked for stays as it was.

use std::str::FromStr;

use slipway_config::ids::{CLUSTER_MARK, OBJECT_MARK};

use super::facts::{Cluster, Datastore, Facts, Host, Machine, Network};
use crate::vsphere::machines::mark;
use crate::vsphere::moref::Reference;
use crate::vsphere::properties::Object;
use crate::vsphere::soap::Element;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The tag of the port groups that carry a distributed switch's uplinks.
const UPLINKS: &str = "SYSTEM/DVS.UPLINKPG";

fn number<T: FromStr + Default>(text: &str) -> T {
    text.trim().parse().unwrap_or_default()
}

fn truth(text: &str) -> bool {
    matches!(text.trim(), "true" | "1")
}

/// Adds what was read of an object to what is known of it.
pub(super) fn absorb(facts: &mut Facts, object: &Object) {
    let known = std::mem::take(facts);
    *facts = match (&*object.moref.reference.kind, known) {
        ("ClusterComputeResource" | "ComputeResource", known) => {
            let mut cluster = if let Facts::Cluster(cluster) = known { cluster } else { Cluster::default() };
            about_cluster(&mut cluster, object);
            Facts::Cluster(cluster)
        }
        ("HostSystem", known) => {
            let mut host = if let Facts::Host(host) = known { host } else { Host::default() };
            about_host(&mut host, object);
            Facts::Host(host)
        }
        ("VirtualMachine", known) => {
            let mut machine = if let Facts::Machine(machine) = known { machine } else { Machine::default() };
            about_machine(&mut machine, object);
            Facts::Machine(machine)
        }
        ("Datastore", known) => match object.properties.get("summary") {
            Some(summary) => Facts::Datastore(datastore(summary)),
            None if known == Facts::Nothing => Facts::Datastore(Datastore::default()),
            None => known,
        },
        ("Folder" | "StoragePod", known) => match object.properties.get("childEntity") {
            Some(_) => Facts::Folder(references(object, "childEntity")),
            None => known,
        },
        (_, known) => match object.properties.get("tag") {
            Some(tags) => Facts::Network(Network {
                uplinks: tags.children.iter().any(|tag| tag.text_of("key") == UPLINKS),
            }),
            None => known,
        },
    };
}

fn references(object: &Object, property: &str) -> Vec<Reference> {
    object.references(property).into_iter().map(|moref| moref.reference).collect()
}

fn about_cluster(cluster: &mut Cluster, object: &Object) {
    for (property, list) in [
        ("host", &mut cluster.hosts),
        ("datastore", &mut cluster.datastores),
        ("network", &mut cluster.networks),
    ] {
        if object.properties.contains_key(property) {
            *list = references(object, property);
        }
    }
    let Some(settings) = object.properties.get("configurationEx") else { return };
    cluster.drs = settings.at(&["drsConfig", "enabled"]).is_some_and(|enabled| truth(&enabled.text));
    for group in settings.all("group") {
        let name = group.text_of("name").to_owned();
        if group.kind() == "ClusterHostGroup" {
            cluster.host_groups.insert(name, group.all("host").map(Reference::of).collect());
        } else {
            cluster.vm_groups.insert(name);
        }
    }
    for rule in settings.all("rule") {
        let name = rule.text_of("name").to_owned();
        if rule.kind() == "ClusterVmHostRuleInfo" {
            let groups = (rule.text_of("vmGroupName"), rule.text_of("affineHostGroupName"));
            cluster.vm_host_rules.insert(name.clone(), (groups.0.to_owned(), groups.1.to_owned()));
        }
        cluster.rules.insert(name);
    }
}

fn about_host(host: &mut Host, object: &Object) {
    let property = |name: &str| object.properties.get(name);
    if let Some(product) = property("summary.config.product") {
        product.text_of("version").clone_into(&mut host.version);
        product.text_of("apiVersion").clone_into(&mut host.api_version);
        product.text_of("build").clone_into(&mut host.build);
    }
    if let Some(state) = property("runtime.connectionState") {
        host.connected = &*state.text == "connected";
    }
    if let Some(maintenance) = property("runtime.inMaintenanceMode") {
        host.maintenance = truth(&maintenance.text);
    }
    if let Some(hardware) = property("summary.hardware") {
        host.threads = number(hardware.text_of("numCpuThreads"));
        host.memory_mib = number::<u64>(hardware.text_of("memorySize")) / MIB;
    }
    if let Some(stats) = property("summary.quickStats") {
        host.used_mib = number(stats.text_of("overallMemoryUsage"));
    }
}

fn datastore(summary: &Element) -> Datastore {
    Datastore {
        kind: summary.text_of("type").to_owned(),
        url: summary.text_of("url").to_owned(),
        accessible: summary.child("accessible").map(|accessible| truth(&accessible.text)),
        maintenance: !matches!(summary.text_of("maintenanceMode"), "" | "normal"),
        free_bytes: summary.text_of("freeSpace").trim().parse().ok(),
        capacity_bytes: summary.text_of("capacity").trim().parse().ok(),
    }
}

fn about_machine(machine: &mut Machine, object: &Object) {
    let text = |name: &str| object.properties.get(name).map(|element| element.text.trim());
    let reference = |property: &str| object.reference(property).map(|moref| moref.reference);
    if let Some(uuid) = text("config.uuid") {
        machine.uuid = uuid.parse().ok();
    }
    if let Some(uuid) = text("config.instanceUuid") {
        machine.instance_uuid = uuid.parse().ok();
    }
    if let Some(template) = text("config.template") {
        machine.template = truth(template);
    }
    if let Some(version) = text("config.version") {
        machine.hardware = version.strip_prefix("vmx-").and_then(|text| text.parse().ok());
    }
    if let Some(enabled) = text("config.flags.diskUuidEnabled") {
        machine.disk_uuid = truth(enabled);
    }
    if let Some(enabled) = text("config.changeTrackingEnabled") {
        machine.change_tracking = truth(enabled);
    }
    machine.host = reference("runtime.host").or_else(|| machine.host.take());
    machine.pool = reference("resourcePool").or_else(|| machine.pool.take());
    if let Some(devices) = object.properties.get("config.hardware.device") {
        let disks = devices.children.iter().filter(|device| device.kind() == "VirtualDisk");
        machine.disks_gib = disks.map(size_gib).collect();
    }
    for (key, known) in [(CLUSTER_MARK, &mut machine.cluster_mark), (OBJECT_MARK, &mut machine.object_mark)] {
        if let Some(said) = mark(object, key) {
            *known = Some(said.to_owned());
        }
    }
    if let Some(products) = object.properties.get("config.vAppConfig.product") {
        let mut versions = products.children.iter().map(|product| product.text_of("version"));
        machine.product = versions.find(|version| !version.is_empty()).map(str::to_owned);
    }
}

fn size_gib(disk: &Element) -> u64 {
    let bytes = match number::<u64>(disk.text_of("capacityInBytes")) {
        0 => number::<u64>(disk.text_of("capacityInKB")) << 10,
        bytes => bytes,
    };
    bytes.div_ceil(GIB)
}
