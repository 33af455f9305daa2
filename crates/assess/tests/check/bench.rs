//! vCenters and a cluster that fit each other, and ways to break them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use slipway_assess::check::cluster::{Cluster, DRIVER, Driver, Node, StorageClass};
use slipway_assess::check::report::Round;
use slipway_assess::check::target::{CheckTarget, Domain, VCenter as Checked, Zone};
use slipway_assess::check::{Context, Options};
use slipway_config::install_config::vsphere::RegionKind;
use slipway_providers::vsphere::{Login, Proxy, Trust};
use slipway_testkit::estate::Site;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};
use uuid::Uuid;

/// The addresses of vCenters; all of 127.0.0.0/8 is this machine.
pub(crate) const SERVERS: [&str; 3] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
pub(crate) const ID: &str = "harbour-x7k2p";

/// The BIOS id of a node's machine.
pub(crate) fn id(position: usize, number: usize) -> Uuid {
    Uuid::from_u128(0x4216_6f45_6f10_6d46_0000_0000_0000_0000 + ((position as u128) << 32) + number as u128)
}

/// The machines of so many nodes, and everything they need.
pub(crate) fn inventory(position: usize, nodes: usize) -> Value {
    let site = Site {
        zone: format!("zone-{position}"),
        datastore: "fast".to_owned(),
        network: "net".to_owned(),
        ..Site::new("dc1")
    };
    let machine = |number: usize| {
        site.machine(&json!({
            "name": format!("node-{position}-{number}"), "disks_gb": [1], "hardware_version": "vmx-19",
            "uuid": id(position, number), "extra_config": {"disk.EnableUUID": "TRUE"},
        }))
    };
    let mut inventory = site.inventory();
    let datacenter = &mut inventory["datacenters"][0];
    let cluster = &mut datacenter["clusters"][0];
    cluster["hosts"] = json!([{"name": "esx", "count": 2}]);
    cluster["pools"] = json!([{"name": "own"}]);
    cluster["groups"] =
        json!([{"name": "rack", "hosts": ["esx-0", "esx-1"]}, {"name": "machines", "vms": []}]);
    cluster["rules"] =
        json!([{"name": "bind", "kind": "vm-host", "vm_group": "machines", "host_group": "rack"}]);
    datacenter["datastores"] = json!([
        {"name": "fast", "capacity_gb": 40000, "free_gb": 30000, "url": "ds:///vmfs/volumes/fast/"},
    ]);
    datacenter["vms"] = (0..nodes).map(machine).collect();
    let category = format!("openshift-{ID}");
    let own = json!({
        "name": category, "cardinality": "SINGLE", "tags": [{"name": ID, "attach": ["/dc1/datastore/fast"]}],
    });
    inventory["categories"].as_array_mut().unwrap().push(own);
    inventory["storage_policies"] =
        json!([{"name": format!("openshift-storage-policy-{ID}"), "category": category, "tag": ID}]);
    inventory
}

pub(crate) fn start(server: &str, inventory: &Value, arguments: &[&str]) -> VCenter {
    VCenter::start_at(server.parse().unwrap(), inventory, arguments).unwrap()
}

pub(crate) fn start_all(count: usize, nodes: usize) -> Vec<VCenter> {
    let servers = SERVERS.iter().take(count).enumerate();
    servers.map(|(position, server)| start(server, &inventory(position, nodes), &[])).collect()
}

/// One failure domain on each vCenter.
pub(crate) fn subject(vcenters: &[VCenter]) -> CheckTarget {
    let checked = |vcenter: &VCenter| Checked {
        server: vcenter.host().to_owned(),
        port: vcenter.port(),
        trust: Trust::Fingerprint(
            vcenter
                .thumbprint_sha256()
                .split(':')
                .map(|byte| u8::from_str_radix(byte, 16).unwrap())
                .collect(),
        ),
        login: Ok(Login { user: ADMINISTRATOR.0.to_owned(), password: ADMINISTRATOR.1.into() }),
        resources: Vec::new(),
    };
    CheckTarget {
        name: ID.to_owned(),
        vcenters: vcenters.iter().map(checked).collect(),
        domains: vcenters
            .iter()
            .enumerate()
            .map(|(position, vcenter)| domain(position, vcenter.host()))
            .collect(),
        declared: Vec::new(),
        cluster_id: Some(ID.to_owned()),
        volumes_per_node: None,
    }
}

pub(crate) fn domain(position: usize, server: &str) -> Domain {
    Domain {
        name: format!("fd-{position}"),
        server: server.to_owned(),
        region: "europe".to_owned(),
        region_kind: RegionKind::Datacenter,
        zone: format!("zone-{position}"),
        zone_kind: Zone::Cluster,
        datacenter: "/dc1".to_owned(),
        cluster: Some("/dc1/host/compute".to_owned()),
        datastore: "/dc1/datastore/fast".to_owned(),
        pool: None,
        folder: None,
        networks: vec!["net".to_owned()],
    }
}

/// A node of a vCenter; the first of each is of the control plane.
pub(crate) fn node(position: usize, number: usize) -> Node {
    let mut labels = BTreeMap::from([
        ("topology.kubernetes.io/region".to_owned(), "europe".to_owned()),
        ("topology.kubernetes.io/zone".to_owned(), format!("zone-{position}")),
        ("node.kubernetes.io/instance-type".to_owned(), "vsphere-vm.cpu-4.mem-16gb.os-unknown".to_owned()),
    ]);
    if number == 0 {
        labels.insert("node-role.kubernetes.io/control-plane".to_owned(), String::new());
    }
    Node {
        name: format!("node-{position}-{number}"),
        provider_id: Some(format!("vsphere://{}", id(position, number))),
        system_uuid: id(position, number).to_string(),
        labels,
        ready: true,
        ..Node::default()
    }
}

/// A host that no vCenter knows.
pub(crate) fn metal(name: &str) -> Node {
    Node {
        name: name.to_owned(),
        system_uuid: "5d0c1f00-0000-4000-8000-3cecef112233".to_owned(),
        ready: true,
        ..Node::default()
    }
}

/// The nodes that live on so many vCenters, and a storage class.
pub(crate) fn cluster(vcenters: usize, nodes: usize) -> Cluster {
    let policy = ("StoragePolicyName".to_owned(), format!("openshift-storage-policy-{ID}"));
    let class = StorageClass {
        name: "thin-csi".to_owned(),
        provisioner: DRIVER.to_owned(),
        parameters: [policy].into(),
    };
    let nodes = (0..vcenters).flat_map(|position| (0..nodes).map(move |number| node(position, number)));
    Cluster {
        nodes: Arc::new(nodes.collect()),
        storage_classes: vec![class],
        driver: Driver::Ours,
        ..Cluster::default()
    }
}

pub(crate) fn options() -> Options {
    Options { proxy: Proxy::None, logout: Duration::from_mins(1), ..Options::default() }
}

/// One round, and nothing left open.
pub(crate) async fn round(subject: &CheckTarget, cluster: &Cluster) -> Round {
    round_with(subject, cluster, options()).await
}

pub(crate) async fn round_with(subject: &CheckTarget, cluster: &Cluster, options: Options) -> Round {
    let mut context = Context::new(options);
    let round = context.round(subject, Some(cluster)).await;
    context.close().await;
    round
}

/// What is not fine.
pub(crate) fn problems(round: &Round) -> Vec<String> {
    let line = |finding: &slipway_assess::check::report::Finding| {
        let place = finding.node.as_deref().or(finding.endpoint.as_deref()).unwrap_or("cluster");
        format!("{place}: {:?} {} {}", finding.outcome, finding.check.code(), finding.object)
    };
    round.findings.iter().map(line).collect()
}

/// Open sessions, by SOAP and by REST.
pub(crate) fn sessions(vcenter: &VCenter) -> (u64, u64) {
    let stats = vcenter.control("GET", "/stats", &Value::Null).unwrap();
    (stats["soap_sessions"].as_u64().unwrap(), stats["rest_sessions"].as_u64().unwrap())
}

/// SOAP and REST calls since the log was cleared.
pub(crate) fn calls(vcenter: &VCenter) -> usize {
    let log = vcenter.control("GET", "/requests", &Value::Null).unwrap();
    let requests = log["requests"].as_array().unwrap().iter();
    requests.filter(|request| request["kind"] == "soap" || request["kind"] == "rest").count()
}
