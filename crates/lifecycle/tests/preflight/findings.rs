//! One thing broken on a vCenter, and exactly that is found.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use slipway_assets::Identity;
use slipway_config::ids::InfraId;
use slipway_config::install_config::load;
use slipway_lifecycle::preflight::Options;
use slipway_lifecycle::preflight::report::Readiness;
use slipway_testkit::vcenter::ADMINISTRATOR;

use crate::bench::{config, inventory, options, problems, remove, run, run_as, start, start_all, topology};

type Break = fn(&mut Value);

/// The datacenter's part of an inventory.
fn dc(inventory: &mut Value) -> &mut Value {
    &mut inventory["datacenters"][0]
}

const BROKEN: &[(Break, &str)] = &[
    (|i| i["vcenter"] = json!({"version": "7.0.1", "build": "17694817"}), "Failure vcenter-version 7.0.1"),
    (|i| i["vcenter"] = json!({"version": "7.0.3", "build": "19717403"}), "Warning vcenter-version 7.0.3"),
    (|i| i["vcenter"] = json!({"version": "8.0.0", "build": "20519527"}), "Failure vcenter-version 8.0.0"),
    (
        |i| dc(i)["clusters"][0]["hosts"][0]["version"] = json!("7.0.1"),
        "Failure hosts /dc1/host/compute/esx-0, Failure hosts /dc1/host/compute/esx-1, Failure hosts /dc1/host/compute/esx-2",
    ),
    (|i| dc(i)["clusters"][0]["hosts"][0]["maintenance"] = json!(true), "Failure hosts /dc1/host/compute"),
    (|i| dc(i)["clusters"][0]["hosts"][0]["memory_mb"] = json!(20_000), "Failure memory /dc1/host/compute"),
    (
        |i| dc(i)["clusters"][0]["hosts"][0]["memory_used_mb"] = json!(250_000),
        "Warning memory /dc1/host/compute",
    ),
    (|i| dc(i)["clusters"][0]["hosts"][0]["cores"] = json!(2), "Warning cpu /dc1/host/compute"),
    (|i| dc(i)["datastores"][0]["free_gb"] = json!(300), "Warning storage /dc1/datastore/fast"),
    (|i| dc(i)["datastores"][0]["free_gb"] = json!(20), "Failure storage /dc1/datastore/fast"),
    (
        |i| dc(i)["datastores"][0]["maintenance"] = json!("inMaintenance"),
        "Failure datastore /dc1/datastore/fast",
    ),
    (|i| dc(i)["networks"][0]["name"] = json!("nets"), "Failure network net"),
    (|i| dc(i)["vms"][0]["hardware_version"] = json!("vmx-14"), "Failure template /dc1/vm/templates/rhcos"),
    (|i| dc(i)["vms"][0]["disks_gb"] = json!([16, 16]), "Failure template /dc1/vm/templates/rhcos"),
    (|i| dc(i)["vms"][0]["disks_gb"] = json!([200]), "Failure template /dc1/vm/templates/rhcos"),
    (|i| dc(i)["vms"][0]["template"] = json!(false), "Warning template /dc1/vm/templates/rhcos"),
    (|i| dc(i)["vms"][0]["product"]["version"] = json!("416.1"), "Failure template /dc1/vm/templates/rhcos"),
    (|i| dc(i)["vms"][0]["folder"] = json!(""), "Failure template /dc1/vm/templates/rhcos"),
    (|i| i["categories"][0]["tags"][0]["name"] = json!("asia"), "Failure region-tag /dc1"),
    (|i| i["categories"][1]["name"] = json!("zone"), "Failure zone-tag /dc1/host/compute"),
];

#[tokio::test]
async fn one_broken_thing_is_one_finding() {
    let whole = start("127.0.0.2", &inventory(1), &[]);
    let mut vcenters = vec![start("127.0.0.1", &inventory(0), &[]), whole];
    for (position, (break_it, expected)) in BROKEN.iter().enumerate() {
        let mut broken = inventory(0);
        break_it(&mut broken);
        if dc(&mut broken)["networks"][0]["name"] == "nets" {
            dc(&mut broken)["vms"][0]["networks"] = json!(["nets"]);
        }
        vcenters[0] = start("127.0.0.1", &broken, &[]);
        let report = run(&config(&vcenters)).await;
        let expected: Vec<String> = expected.split(", ").map(|line| format!("127.0.0.1: {line}")).collect();
        assert_eq!(problems(&report), expected, "case {position}");
    }
}

/// Tags further up count: on the folder of clusters, and on the root.
#[tokio::test]
async fn tags_are_inherited() {
    let mut estate = inventory(0);
    estate["categories"][0]["tags"][0]["attach"] = json!(["/"]);
    estate["categories"][1]["tags"][0]["attach"] = json!(["/dc1/host"]);
    let vcenters = [start("127.0.0.1", &estate, &[]), start("127.0.0.2", &inventory(1), &[])];
    assert_eq!(problems(&run(&config(&vcenters)).await), Vec::<String>::new());
}

/// One failure domain needs no tags, and preflight does not ask for them.
#[tokio::test]
async fn one_failure_domain_needs_no_tags() {
    let mut estate = inventory(0);
    estate["categories"] = json!([]);
    let vcenters = [start("127.0.0.1", &estate, &[])];
    assert_eq!(problems(&run(&config(&vcenters)).await), Vec::<String>::new());
    let requests = vcenters[0].control("GET", "/requests", &Value::Null).unwrap();
    let rest = requests["requests"].as_array().unwrap().iter().filter(|request| request["kind"] == "rest");
    assert_eq!(rest.count(), 0);
}

#[tokio::test]
async fn a_zone_can_be_a_group_of_hosts() {
    let zoned = |mut config: Value| {
        topology(&mut config, 0)["hostGroup"] = json!("rack");
        let domain = &mut config["platform"]["vsphere"]["failureDomains"][0];
        (domain["regionType"], domain["zoneType"]) = (json!("ComputeCluster"), json!("HostGroup"));
        config
    };
    let cases: [(Break, &[&str]); 4] = [
        (|_| {}, &[]),
        // Two control-plane machines are bound to it, and are to run on different hosts.
        (
            |i| dc(i)["clusters"][0]["groups"] = json!([{"name": "rack", "hosts": ["esx-0"]}]),
            &["127.0.0.1: Warning anti-affinity rack"],
        ),
        (
            |i| dc(i)["clusters"][0]["groups"] = json!([{"name": "racks", "hosts": ["esx-0"]}]),
            &["127.0.0.1: Failure host-group rack"],
        ),
        (
            |i| i["categories"][1]["tags"][0]["attach"] = json!(["/dc1/host/compute/esx-2"]),
            &["127.0.0.1: Failure zone-tag rack"],
        ),
    ];
    let other = start("127.0.0.2", &inventory(1), &[]);
    let mut vcenters = vec![start("127.0.0.1", &inventory(0), &[]), other];
    for (break_it, expected) in cases {
        let mut estate = inventory(0);
        estate["categories"][0]["tags"][0]["attach"] = json!(["/dc1/host/compute"]);
        estate["categories"][1]["tags"][0]["attach"] =
            json!(["/dc1/host/compute/esx-0", "/dc1/host/compute/esx-1"]);
        break_it(&mut estate);
        vcenters[0] = start("127.0.0.1", &estate, &[]);
        let report = run(&zoned(config(&vcenters))).await;
        assert_eq!(problems(&report), expected);
    }
}

#[tokio::test]
async fn certificates_that_end_are_told() {
    for (end, expected) in [("240h", "Warning"), ("-1h", "Failure")] {
        let vcenters = [start("127.0.0.1", &inventory(0), &["--tls-not-after", end])];
        let found = problems(&run(&config(&vcenters)).await);
        assert_eq!(found, [format!("127.0.0.1: {expected} certificate certificate")]);
    }
}

#[tokio::test]
async fn clocks_that_differ_are_told() {
    let vcenters = start_all(1);
    for (seconds, expected) in [(120, "Warning"), (-400, "Failure")] {
        let clock = move || Timestamp::now() + SignedDuration::from_secs(seconds);
        let options = Options { clock: std::sync::Arc::new(clock), ..options() };
        let found = problems(&run_as(&config(&vcenters), ADMINISTRATOR, None, options).await);
        assert_eq!(found, [format!("127.0.0.1: {expected} clock clock")]);
    }
}

/// Machines of an earlier run are ours; others with our names are in the way.
#[tokio::test]
async fn names_that_are_taken_are_told() {
    let vcenters = start_all(1);
    let name = load(&config(&vcenters).to_string()).config.unwrap().name;
    let identity = Identity {
        infra_id: InfraId::new(&name, |_| 3),
        cluster_id: uuid::Uuid::from_u128(7),
        created: Timestamp::UNIX_EPOCH,
        kubeadmin_password: "".into(),
        kubeadmin_hash: "".into(),
    };
    let infra_id = identity.infra_id.as_str();
    let machine = |role: &str, uuid: Option<String>| {
        let mut machine = json!({
            "name": format!("{infra_id}-{role}"), "folder": infra_id, "cluster": "compute", "datastore": "fast",
            "networks": ["net"], "disks_gb": [1],
        });
        machine["instance_uuid"] = uuid.map_or(Value::Null, Value::from);
        machine
    };
    let ours = identity.object_id(&format!("{infra_id}-master-0")).to_string();
    let mut estate = inventory(0);
    estate["datacenters"][0]["folders"]["vm"] = json!(["templates", infra_id]);
    let machines = estate["datacenters"][0]["vms"].as_array_mut().unwrap();
    machines.extend([
        machine("master-0", Some(ours)),
        machine("master-1", Some(uuid::Uuid::from_u128(9).to_string())),
    ]);
    let vcenters = [start("127.0.0.1", &estate, &[])];
    let report = run_as(&config(&vcenters), ADMINISTRATOR, Some(identity.clone()), options()).await;
    let folder = format!("/dc1/vm/{infra_id}");
    assert_eq!(
        problems(&report),
        [
            format!("127.0.0.1: Failure collisions {folder}/{infra_id}-master-1"),
            format!("127.0.0.1: Warning collisions {folder}"),
        ],
    );
}

/// Files can be made of it, machines cannot.
#[tokio::test]
async fn what_machines_need_is_missed() {
    let vcenters = start_all(1);
    let without = |release: bool, template: bool| {
        let mut config = config(&vcenters);
        if release {
            remove(&mut config, "payload");
        }
        if template {
            remove(topology(&mut config, 0), "template");
        }
        config
    };
    let mut upstream = without(false, true);
    upstream["payload"] = json!({
        "type": "Kubernetes", "version": "v1.34.4", "slipwayImage": "registry.example.com/slipway:1",
    });
    let missed = [
        "install-config.yaml: Failure release-image payload.releaseImage",
        "install-config.yaml: Failure os-image platform.vsphere.clusterOSImage",
    ];
    for (config, expected) in [
        (without(true, false), &missed[..1]),
        // A release has an image of its own.
        (without(true, true), &missed[..1]),
        (upstream, &missed[1..]),
    ] {
        let report = run(&config).await;
        assert_eq!(problems(&report), expected);
        assert_eq!(report.verdict(), Readiness::Incomplete);
    }
}

/// Slashes are common in names of port groups; vSphere stores them escaped.
#[tokio::test]
async fn a_network_may_have_a_slash_in_its_name() {
    let mut estate = inventory(0);
    dc(&mut estate)["networks"][0]["name"] = json!("VLAN 10/20");
    dc(&mut estate)["vms"][0]["networks"] = json!(["VLAN 10/20"]);
    let vcenters = [start("127.0.0.1", &estate, &[])];
    let on = |network: &str| {
        let mut config = config(&vcenters);
        topology(&mut config, 0)["networks"] = json!([network]);
        config
    };
    for name in ["VLAN 10/20", "VLAN 10%2f20", "/dc1/network/VLAN 10%2f20"] {
        assert_eq!(problems(&run(&on(name)).await), Vec::<String>::new(), "{name}");
    }
    assert_eq!(problems(&run(&on("VLAN 10")).await), ["127.0.0.1: Failure network VLAN 10"]);
}
