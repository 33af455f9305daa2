//! One thing broken on a vCenter, and exactly that is found.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use slipway_assess::check::Options;
use slipway_assess::check::target::{CheckTarget, Declared, Source, Zone};
use slipway_providers::vsphere::{Client, Endpoint, Login, Proxy};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::bench::{
    ID, cluster, inventory, options, problems, round, round_with, sessions, start, start_all, subject,
};

/// The datacenter's part of an inventory.
fn dc(inventory: &mut Value) -> &mut Value {
    &mut inventory["datacenters"][0]
}

type Break = fn(&mut Value);

const BROKEN: &[(Break, &[&str])] = &[
    (|i| i["vcenter"] = json!({"version": "6.5.0"}), &["127.0.0.1: Failure vcenter-version 6.5.0"]),
    (|i| i["vcenter"] = json!({"version": "7.0.1"}), &["127.0.0.1: Warning vcenter-version 7.0.1"]),
    (|i| i["vcenter"] = json!({"version": "7.0.3"}), &["127.0.0.1: Warning vcenter-version 7.0.3"]),
    (
        |i| dc(i)["vms"][1]["hardware_version"] = json!("vmx-13"),
        &["node-0-1: Failure node-hardware /dc1/vm/node-0-1"],
    ),
    (|i| dc(i)["vms"][1]["extra_config"] = json!({}), &["node-0-1: Failure node-disk-uuid /dc1/vm/node-0-1"]),
    (
        |i| dc(i)["clusters"][0]["hosts"][0]["version"] = json!("6.5.0"),
        &[
            "node-0-0: Failure node-host /dc1/host/compute/esx-0",
            "node-0-1: Failure node-host /dc1/host/compute/esx-1",
        ],
    ),
    (
        |i| dc(i)["clusters"][0]["hosts"][0]["version"] = json!("7.0.1"),
        &[
            "node-0-0: Warning node-host /dc1/host/compute/esx-0",
            "node-0-1: Warning node-host /dc1/host/compute/esx-1",
        ],
    ),
    (|i| dc(i)["vms"][1]["change_tracking"] = json!(true), &["cluster: Warning node-change-tracking nodes"]),
    (
        |i| dc(i)["vms"][0]["disk_latency_ms"] = json!(150),
        &["node-0-0: Failure node-latency /dc1/vm/node-0-0"],
    ),
    // It matters on the control plane only.
    (|i| dc(i)["vms"][1]["disk_latency_ms"] = json!(150), &[]),
    (
        |i| dc(i)["vms"][1]["uuid"] = json!("11111111-2222-4333-8444-555555555555"),
        &["node-0-1: Failure node-machine node-0-1"],
    ),
    (
        |i| {
            let mut copy = dc(i)["vms"][1].clone();
            copy["name"] = json!("copy");
            copy["instance_uuid"] = json!("11111111-2222-4333-8444-555555555555");
            dc(i)["vms"].as_array_mut().unwrap().push(copy);
        },
        &["node-0-1: Failure node-machine node-0-1"],
    ),
    // The id as firmware writes it.
    (|i| dc(i)["vms"][1]["uuid"] = json!("456f1642-106f-466d-0000-000000000001"), &[]),
    (
        |i| dc(i)["datastores"][0]["maintenance"] = json!("inMaintenance"),
        &["127.0.0.1: Failure datastore /dc1/datastore/fast"],
    ),
    (
        |i| dc(i)["datastores"][0]["pod"] = json!("pods"),
        &["127.0.0.1: Warning datastore /dc1/datastore/pods/fast"],
    ),
    (
        |i| {
            dc(i)["networks"][0]["name"] = json!("nets");
            dc(i)["vms"][0]["networks"] = json!(["nets"]);
            dc(i)["vms"][1]["networks"] = json!(["nets"]);
        },
        &["127.0.0.1: Failure places net"],
    ),
    (|i| i["categories"][0]["tags"][0]["name"] = json!("asia"), &["127.0.0.1: Failure zone-tags /dc1"]),
    (|i| i["categories"][1]["name"] = json!("zone"), &["127.0.0.1: Failure zone-tags /dc1/host/compute"]),
    // By name, not by id: the same names made anew are the same zones.
    (|i| i["categories"].as_array_mut().unwrap().reverse(), &[]),
    (
        |i| i["storage_policies"][0]["name"] = json!("gold"),
        &["127.0.0.1: Failure storage-classes openshift-storage-policy-harbour-x7k2p"],
    ),
    (
        |i| i["categories"][2]["tags"][0]["attach"] = json!([]),
        &["127.0.0.1: Failure storage-policy /dc1/datastore/fast"],
    ),
];

#[tokio::test]
async fn one_broken_thing_is_one_finding() {
    let whole = start("127.0.0.2", &inventory(1, 2), &[]);
    let mut vcenters = vec![start("127.0.0.1", &inventory(0, 2), &[]), whole];
    let cluster = cluster(2, 2);
    assert_eq!(problems(&round(&subject(&vcenters), &cluster).await), Vec::<String>::new());
    for (position, (break_it, expected)) in BROKEN.iter().enumerate() {
        let mut broken = inventory(0, 2);
        break_it(&mut broken);
        if dc(&mut broken)["datastores"][0]["pod"] == "pods" {
            broken["categories"][2]["tags"][0]["attach"] = json!(["/dc1/datastore/pods/fast"]);
        }
        vcenters[0] = start("127.0.0.1", &broken, &[]);
        let found = problems(&round(&subject(&vcenters), &cluster).await);
        assert_eq!(found, *expected, "case {position}");
    }
}

/// Groups of hosts, the group of machines and the rule that binds them.
#[tokio::test]
async fn host_groups_are_looked_at() {
    let zoned = |vcenters: &[VCenter]| {
        let mut subject = subject(vcenters);
        subject.domains[0].zone_kind = Zone::HostGroup {
            hosts: "rack".to_owned(),
            machines: Some("machines".to_owned()),
            rule: Some("bind".to_owned()),
        };
        subject
    };
    let cases: [(Break, &[&str]); 5] = [
        (|_| {}, &[]),
        (
            |i| dc(i)["clusters"][0]["groups"][0]["name"] = json!("racks"),
            &["127.0.0.1: Failure host-groups bind", "127.0.0.1: Failure host-groups rack"],
        ),
        (|i| dc(i)["clusters"][0]["rules"] = json!([]), &["127.0.0.1: Failure host-groups bind"]),
        (
            |i| {
                dc(i)["clusters"][0]["groups"][1]["name"] = json!("others");
                dc(i)["clusters"][0]["rules"][0]["vm_group"] = json!("others");
            },
            &["127.0.0.1: Failure host-groups bind", "127.0.0.1: Failure host-groups machines"],
        ),
        (
            |i| i["categories"][1]["tags"][0]["attach"] = json!(["/dc1/host/compute/esx-1"]),
            &["127.0.0.1: Failure zone-tags rack"],
        ),
    ];
    let other = start("127.0.0.2", &inventory(1, 0), &[]);
    let mut vcenters = vec![start("127.0.0.1", &inventory(0, 0), &[]), other];
    for (position, (break_it, expected)) in cases.into_iter().enumerate() {
        let mut estate = inventory(0, 0);
        estate["categories"][1]["tags"][0]["attach"] =
            json!(["/dc1/host/compute/esx-0", "/dc1/host/compute/esx-1"]);
        if position == 1 {
            dc(&mut estate)["clusters"][0]["rules"][0]["host_group"] = json!("racks");
        }
        break_it(&mut estate);
        vcenters[0] = start("127.0.0.1", &estate, &[]);
        let found = problems(&round(&zoned(&vcenters), &cluster(2, 0)).await);
        assert_eq!(found, expected, "case {position}");
    }
}

#[tokio::test]
async fn certificates_that_end_are_told() {
    for (end, expected) in [("240h", "Warning"), ("-1h", "Failure")] {
        let vcenters = [start("127.0.0.1", &inventory(0, 1), &["--tls-not-after", end])];
        let found = problems(&round(&subject(&vcenters), &cluster(1, 1)).await);
        assert_eq!(found, [format!("127.0.0.1: {expected} certificate certificate")]);
    }
}

type Tweak = fn(&mut CheckTarget);

/// What is wrong on this side of a vCenter that is well.
#[tokio::test]
async fn configurations_that_do_not_agree_are_told() {
    let vcenters = start_all(2, 1);
    let cluster = cluster(2, 1);
    let declared = |by, second: &str, datacenter: &str| Declared {
        by,
        vcenters: vec![
            ("127.0.0.1".to_owned(), vec!["dc1".to_owned()]),
            (second.to_owned(), vec![datacenter.to_owned()]),
        ],
    };
    let sound = |by| declared(by, "127.0.0.2", "dc1");
    let with = |one: Declared, other: Declared| {
        let mut subject = subject(&vcenters);
        subject.declared = vec![one, other];
        subject
    };
    let (infra, cloud) = (Source::Infrastructure, Source::CloudConfig);
    let cases: Vec<(CheckTarget, &[&str])> = vec![
        (with(sound(infra), sound(cloud)), &[]),
        (
            with(sound(infra), declared(cloud, "vc9.example.com", "dc1")),
            &[
                "127.0.0.2: Failure infra-config 127.0.0.2",
                "vc9.example.com: Failure infra-config vc9.example.com",
            ],
        ),
        (
            with(sound(infra), declared(cloud, "127.0.0.2", "dc2")),
            &["127.0.0.2: Failure datacenter-consistency fd-1"],
        ),
        (
            with(declared(infra, "127.0.0.2", "dc2"), sound(cloud)),
            &["127.0.0.2: Failure datacenter-consistency fd-1"],
        ),
    ];
    for (position, (subject, expected)) in cases.into_iter().enumerate() {
        assert_eq!(problems(&round(&subject, &cluster).await), expected, "case {position}");
    }
    let tweaks: [(Tweak, &[&str]); 5] = [
        (|s| s.domains[1].datacenter = "/dc7".to_owned(), &["127.0.0.2: Failure places /dc7"]),
        (
            |s| s.domains[1].datastore = "/dc1/datastore/slow".to_owned(),
            &["127.0.0.2: Failure datastore /dc1/datastore/slow"],
        ),
        (|s| s.domains.truncate(1), &["127.0.0.2: Warning infra-config 127.0.0.2"]),
        (
            |s| s.domains[1].server = "vc9.example.com".to_owned(),
            &["127.0.0.2: Warning infra-config 127.0.0.2", "cluster: Failure infra-config fd-1"],
        ),
        (
            |s| s.vcenters[1].resources = vec!["/dc1/datastore/slow".to_owned(), "/dc1".to_owned()],
            &["127.0.0.2: Failure places /dc1/datastore/slow"],
        ),
    ];
    for (position, (tweak, expected)) in tweaks.into_iter().enumerate() {
        let mut subject = subject(&vcenters);
        tweak(&mut subject);
        let mut found = problems(&round(&subject, &cluster).await);
        found.sort();
        assert_eq!(found, expected, "tweak {position}");
    }
}

#[tokio::test]
async fn clocks_that_differ_are_told() {
    let vcenters = start_all(1, 1);
    for (seconds, expected) in [(120, "Warning"), (-400, "Failure")] {
        let clock = move || Timestamp::now() + SignedDuration::from_secs(seconds);
        let options = Options { clock: Arc::new(clock), ..options() };
        let found = problems(&round_with(&subject(&vcenters), &cluster(1, 1), options).await);
        assert_eq!(found, [format!("127.0.0.1: {expected} clock clock")]);
    }
}

/// A program logs in and never out.
#[tokio::test]
async fn too_many_sessions_are_told() {
    let vcenters = start_all(1, 1);
    let subject = subject(&vcenters);
    let login = || Login { user: ADMINISTRATOR.0.to_owned(), password: ADMINISTRATOR.1.into() };
    let checked = &subject.vcenters[0];
    let endpoint = Endpoint {
        server: checked.server.as_str().into(),
        port: checked.port,
        trust: checked.trust.clone(),
        proxy: Proxy::None,
        timeout: std::time::Duration::from_secs(30),
    };
    let mut forgotten = Vec::new();
    for _ in 0..99 {
        let client = Client::new(endpoint.clone(), login()).unwrap();
        client.user().await.unwrap();
        forgotten.push(client);
    }
    let found = problems(&round(&subject, &cluster(1, 1)).await);
    assert_eq!(found, ["127.0.0.1: Warning sessions VSPHERE.LOCAL\\Administrator"]);
    assert_eq!(sessions(&vcenters[0]).0, 99, "ours are not among them");
}

/// A second cluster with the same id shows as volumes that we do not know.
#[tokio::test]
async fn volumes_of_others_with_our_id_are_told() {
    let vcenters = start_all(1, 1);
    let subject = subject(&vcenters);
    let checked = &subject.vcenters[0];
    let endpoint = Endpoint {
        server: checked.server.as_str().into(),
        port: checked.port,
        trust: checked.trust.clone(),
        proxy: Proxy::None,
        timeout: std::time::Duration::from_secs(30),
    };
    let login = Login { user: ADMINISTRATOR.0.to_owned(), password: ADMINISTRATOR.1.into() };
    let client = Client::new(endpoint, login).unwrap();
    let datastore = client.find("/dc1/datastore/fast").await.unwrap().unwrap();
    client.logout().await.unwrap();
    make_volume(&vcenters[0], &datastore.reference.id).await;
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let found = problems(&round(&subject, &cluster(1, 1)).await);
        if found == [format!("127.0.0.1: Warning cluster-id {ID}")] {
            return;
        }
        assert!(found.is_empty() && tokio::time::Instant::now() < deadline, "{found:?}");
    }
}

/// As the storage driver of another cluster would.
async fn make_volume(vcenter: &VCenter, datastore: &str) {
    let pem = fs_err::read(vcenter.ca_file()).unwrap();
    let http = reqwest::Client::builder()
        .tls_certs_only([reqwest::Certificate::from_pem(&pem).unwrap()])
        .no_proxy()
        .build()
        .unwrap();
    let post = async |path: &str, body: String, cookie: &str| {
        let envelope = format!(
            "<Envelope xmlns=\"http://schemas.xmlsoap.org/soap/envelope/\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><Body>{body}</Body></Envelope>"
        );
        let request = http.post(format!("https://{}{path}", vcenter.address())).header("cookie", cookie);
        request.header("content-type", "text/xml").body(envelope).send().await.unwrap()
    };
    let login = format!(
        "<Login xmlns=\"urn:vim25\"><_this type=\"SessionManager\">SessionManager</_this>\
         <userName>{}</userName><password>{}</password></Login>",
        ADMINISTRATOR.0, ADMINISTRATOR.1
    );
    let answer = post("/sdk", login, "").await;
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let create = format!(
        "<CnsCreateVolume xmlns=\"urn:vsan\"><_this type=\"CnsVolumeManager\">cns-volume-manager</_this>\
         <createSpecs><name>pvc-theirs</name><volumeType>BLOCK</volumeType>\
         <datastores type=\"Datastore\">{datastore}</datastores><metadata><containerCluster>\
         <clusterType>KUBERNETES</clusterType><clusterId>{ID}</clusterId><vSphereUser>x</vSphereUser>\
         </containerCluster></metadata><backingObjectDetails xsi:type=\"CnsBlockBackingDetails\">\
         <capacityInMb>10</capacityInMb></backingObjectDetails></createSpecs></CnsCreateVolume>"
    );
    assert!(post("/vsanHealth", create, &cookie).await.status().is_success());
}
