//! From what a vCenter sends to facts.

use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::properties::Object;
use slipway_providers::vsphere::soap::Element;

use crate::preflight::estate::{Cluster, Datastore, Facts, Host, Machine};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn number<T: std::str::FromStr + Default>(text: &str) -> T {
    text.trim().parse().unwrap_or_default()
}

fn truth(text: &str) -> bool {
    matches!(text.trim(), "true" | "1")
}

pub(super) fn facts(object: &Object) -> Facts {
    match &*object.moref.reference.kind {
        "ClusterComputeResource" | "ComputeResource" => Facts::Cluster(cluster(object)),
        "HostSystem" => Facts::Host(host(object)),
        "Datastore" => object.properties.get("summary").map_or(Facts::Nothing, |summary| {
            Facts::Datastore(Datastore {
                accessible: truth(summary.text_of("accessible")),
                maintenance: !matches!(summary.text_of("maintenanceMode"), "" | "normal"),
                free_gib: number::<u64>(summary.text_of("freeSpace")) / GIB,
            })
        }),
        "VirtualMachine" => Facts::Machine(machine(object)),
        _ => Facts::Nothing,
    }
}

fn cluster(object: &Object) -> Cluster {
    let references = |property: &str| -> Vec<Reference> {
        object.references(property).into_iter().map(|moref| moref.reference).collect()
    };
    Cluster {
        hosts: references("host"),
        datastores: references("datastore"),
        networks: references("network"),
        ..Cluster::default()
    }
}

/// The cluster with what its settings say.
pub(super) fn settings(settings: &Element, mut cluster: Cluster) -> Cluster {
    cluster.drs = settings.at(&["drsConfig", "enabled"]).is_some_and(|enabled| truth(&enabled.text));
    for group in settings.all("group") {
        let name = group.text_of("name").to_owned();
        if group.kind() == "ClusterHostGroup" {
            cluster.host_groups.insert(name, group.all("host").map(Reference::of).collect());
        } else {
            cluster.machine_names.insert(name);
        }
    }
    cluster.machine_names.extend(settings.all("rule").map(|rule| rule.text_of("name").to_owned()));
    cluster
}

fn host(object: &Object) -> Host {
    let empty = Element::default();
    let property = |name: &str| object.properties.get(name).unwrap_or(&empty);
    let (product, hardware) = (property("summary.config.product"), property("summary.hardware"));
    Host {
        version: product.text_of("version").to_owned(),
        build: product.text_of("build").to_owned(),
        connected: object.text("runtime.connectionState") == "connected",
        maintenance: truth(object.text("runtime.inMaintenanceMode")),
        threads: number(hardware.text_of("numCpuThreads")),
        memory_mib: number::<u64>(hardware.text_of("memorySize")) / MIB,
        used_mib: number(property("summary.quickStats").text_of("overallMemoryUsage")),
    }
}

fn machine(object: &Object) -> Machine {
    let devices = object.properties.get("config.hardware.device").map(|list| list.children.as_slice());
    let disks = devices.unwrap_or_default().iter().filter(|device| device.kind() == "VirtualDisk");
    let products = object.properties.get("config.vAppConfig.product").map(|list| list.children.as_slice());
    let versions = products.unwrap_or_default().iter().map(|product| product.text_of("version"));
    Machine {
        template: truth(object.text("config.template")),
        hardware: object.text("config.version").strip_prefix("vmx-").and_then(|text| text.parse().ok()),
        disks_gib: disks.map(size_gib).collect(),
        product: versions.filter(|version| !version.is_empty()).map(str::to_owned).next(),
        instance_uuid: object.text("config.instanceUuid").to_owned(),
    }
}

/// Rounded up: a disk that is a little larger does not fit.
fn size_gib(disk: &Element) -> u64 {
    let bytes = match number::<u64>(disk.text_of("capacityInBytes")) {
        0 => number::<u64>(disk.text_of("capacityInKB")) << 10,
        bytes => bytes,
    };
    bytes.div_ceil(GIB)
}
