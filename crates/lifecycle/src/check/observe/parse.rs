//! From what a vCenter sends to facts.

use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::inventory::Paths;
use slipway_providers::vsphere::properties::Object;
use slipway_providers::vsphere::soap::Element;

use crate::check::estate::{Cluster, Datastore, Host, Kind, Machine};

fn truth(text: &str) -> bool {
    matches!(text.trim(), "true" | "1")
}

pub(super) fn kind(object: &Object) -> Kind {
    let empty = Element::default();
    let property = |name: &str| object.properties.get(name).unwrap_or(&empty);
    match &*object.moref.reference.kind {
        "ClusterComputeResource" | "ComputeResource" => Kind::Cluster(cluster(object)),
        "HostSystem" => {
            let product = property("summary.config.product");
            Kind::Host(Host {
                version: product.text_of("version").to_owned(),
                api_version: product.text_of("apiVersion").to_owned(),
            })
        }
        "Datastore" => {
            let summary = property("summary");
            Kind::Datastore(Datastore {
                kind: summary.text_of("type").to_owned(),
                url: summary.text_of("url").to_owned(),
                accessible: truth(summary.text_of("accessible")),
                maintenance: !matches!(summary.text_of("maintenanceMode"), "" | "normal"),
            })
        }
        _ => Kind::Place,
    }
}

fn cluster(object: &Object) -> Cluster {
    let networks = object.references("network").into_iter().map(|moref| moref.reference).collect();
    let mut cluster = Cluster { networks, ..Cluster::default() };
    let Some(settings) = object.properties.get("configurationEx") else { return cluster };
    for group in settings.all("group") {
        let name = group.text_of("name").to_owned();
        if group.kind() == "ClusterHostGroup" {
            cluster.host_groups.insert(name, group.all("host").map(Reference::of).collect());
        } else {
            cluster.machine_groups.insert(name);
        }
    }
    for rule in settings.all("rule").filter(|rule| rule.kind() == "ClusterVmHostRuleInfo") {
        let binds = (rule.text_of("vmGroupName").to_owned(), rule.text_of("affineHostGroupName").to_owned());
        cluster.rules.insert(rule.text_of("name").to_owned(), binds);
    }
    cluster
}

/// None for templates, and for machines whose id is not known yet.
pub(super) fn machine(object: &Object, paths: &Paths) -> Option<Machine> {
    if truth(object.text("config.template")) {
        return None;
    }
    let reference = |property: &str| object.reference(property).map(|moref| moref.reference);
    Some(Machine {
        id: object.moref.reference.clone(),
        // What is in a vApp has no folder.
        path: paths.of(object).unwrap_or_else(|| object.text("name").to_owned()),
        uuid: object.text("config.uuid").trim().parse().ok()?,
        hardware: object.text("config.version").strip_prefix("vmx-").and_then(|text| text.parse().ok()),
        disk_uuid: truth(object.text("config.flags.diskUuidEnabled")),
        change_tracking: truth(object.text("config.changeTrackingEnabled")),
        host: reference("runtime.host"),
        pool: reference("resourcePool"),
    })
}
