//! What `create cluster` makes, as the official client sees it.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rstest::rstest;
use serde_json::{Value, json};
use slipway_engine::Plan;
use slipway_lifecycle::install::Purpose;
use slipway_lifecycle::preflight::report::Outcome;
use slipway_providers::vsphere::kinds::Action;

use crate::bench::{Bench, ZONES, assert_same, read_back, requests};

/// Machines by vCenter: the failure domains take turns.
fn expected(count: usize, position: usize) -> Vec<String> {
    let mut roles: Vec<String> =
        (0..3).filter(|index| index % count == position).map(|index| format!("master-{index}")).collect();
    if position == 0 {
        roles.push("bootstrap".to_owned());
    }
    roles.sort();
    roles
}

/// The configuration a machine is started with.
fn decoded(config: &Value) -> Vec<u8> {
    let data = config["guestinfo.ignition.config.data"].as_str().unwrap();
    let bytes = STANDARD.decode(data).unwrap();
    match config["guestinfo.ignition.config.data.encoding"].as_str().unwrap() {
        "base64" => bytes,
        "gzip+base64" => unzipped(bytes),
        other => panic!("Ignition does not know {other}"),
    }
}

fn unzipped(bytes: Vec<u8>) -> Vec<u8> {
    let mut command = Command::new("gzip");
    let mut child = command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // Neither side may wait for the other with a full pipe.
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// Changes a number in the file of a machine.
fn edit(bench: &Bench, role: &str, from: &str, to: &str) {
    let path = bench.path(&format!("cluster-api/machines/10_inframachine_{}.yaml", bench.name(role)));
    let text = fs_err::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs_err::write(path, text.replace(from, to)).unwrap();
}

#[rstest]
#[case::two(2)]
#[case::three(3)]
fn machines_are_where_and_how_the_files_say(#[case] count: usize) {
    let bench = Bench::new(count);
    let before = bench.snapshot();
    edit(&bench, "master-1", "numCPUs: 4", "numCPUs: 8");
    edit(&bench, "master-1", "diskGiB: 120", "diskGiB: 250");
    bench.create();

    let mut uuids = BTreeMap::new();
    for (position, vcenter) in bench.vcenters.iter().enumerate() {
        let zone = ZONES[position];
        let folder = format!("/{zone}/vm/{}", bench.infra_id);
        let observed = read_back(vcenter);
        let machines: Vec<&Value> =
            observed["vms"].as_array().unwrap().iter().filter(|vm| vm["template"] == false).collect();
        let names: Vec<&str> = machines.iter().map(|vm| vm["path"].as_str().unwrap()).collect();
        let desired: Vec<String> =
            expected(count, position).iter().map(|role| format!("{folder}/{}", bench.name(role))).collect();
        assert_eq!(names, desired);
        for machine in machines {
            let name = machine["name"].as_str().unwrap();
            let (cpus, disk) = if name.ends_with("master-1") { (8, 250) } else { (4, 120) };
            let told = |key: &str| machine[key].clone();
            assert_eq!(told("power"), "poweredOn", "{name}");
            assert_eq!(told("pool"), format!("/{zone}/host/compute/Resources"), "{name}");
            assert_eq!(told("datastore"), json!([format!("/{zone}/datastore/vsan")]), "{name}");
            assert_eq!(told("network"), json!([format!("/{zone}/network/cluster-net")]), "{name}");
            assert_eq!((told("cpus"), told("memory_mb")), (json!(cpus), json!(16384)), "{name}");
            assert_eq!(told("disks_gb"), json!([disk]), "{name}");
            assert!(machine["ip"].as_str().unwrap().starts_with("10."), "{name}: {machine}");
            let config = &machine["extra_config"];
            let file = if name.ends_with("bootstrap") { "bootstrap.ign" } else { "master.ign" };
            assert_eq!(decoded(config), fs_err::read(bench.path(file)).unwrap(), "{name}");
            assert_eq!(config["guestinfo.hostname"], name);
            assert_eq!(config["slipway.dev/cluster"], bench.infra_id);
            assert_eq!(config["slipway.dev/id"], machine["instance_uuid"], "{name}");
            let object = vcenter.object(machine["path"].as_str().unwrap()).unwrap().unwrap();
            assert_eq!(
                object["tags"],
                json!([format!("openshift-{id}/{id}", id = bench.infra_id)]),
                "{name}"
            );
            assert!(uuids.insert(told("instance_uuid").to_string(), name.to_owned()).is_none(), "{uuids:?}");
        }
        let cluster = &observed["clusters"][0];
        let apart: Vec<String> = expected(count, position)
            .iter()
            .filter(|role| role.starts_with("master"))
            .map(|role| format!("{folder}/{}", bench.name(role)))
            .collect();
        let rules = cluster["rules"].as_array().unwrap();
        if apart.len() > 1 {
            assert_eq!(rules.len(), 1, "{rules:?}");
            assert_eq!((&rules[0]["vms"], &rules[0]["enabled"]), (&json!(apart), &json!(true)));
        } else {
            assert_eq!(rules.len(), 0, "{rules:?}");
        }
        assert_eq!(vcenter.object(&folder).unwrap().unwrap()["tags"].as_array().unwrap().len(), 1);
    }
    assert_eq!(uuids.len(), 4);

    assert!(bench.plan(Purpose::Create).unwrap().plan.is_empty(), "there is nothing left to do");
    bench.destroy();
    assert_same(&before, &bench.snapshot(), "after destroy");
    assert!(bench.plan(Purpose::Destroy).unwrap().plan.is_empty());
}

/// The Ignition configuration of a machine may be large: it is still the file.
#[test]
fn large_configurations_arrive_whole() {
    let bench = Bench::new(1);
    let path = bench.path("bootstrap.ign");
    let mut config: Value = serde_json::from_slice(&fs_err::read(&path).unwrap()).unwrap();
    let file = json!({"path": "/opt/large", "mode": 420, "contents": {"source": format!("data:,{}", "x".repeat(600_000))}});
    config["storage"]["files"].as_array_mut().unwrap().push(file);
    fs_err::write(&path, config.to_string()).unwrap();
    bench.create();
    let observed = read_back(&bench.vcenters[0]);
    let machines = observed["vms"].as_array().unwrap();
    let machine = machines.iter().find(|vm| vm["name"] == bench.name("bootstrap")).unwrap();
    assert_eq!(decoded(&machine["extra_config"]), fs_err::read(&path).unwrap());
    bench.destroy();
}

/// A saved plan holds for the world it was made for, and no other.
#[test]
fn a_saved_plan_is_refused_when_the_world_has_moved() {
    let bench = Bench::new(2);
    let text = serde_json::to_string(&bench.plan(Purpose::Create).unwrap().plan).unwrap();
    let saved: Plan<Action> = serde_json::from_str(&text).unwrap();
    bench.plan(Purpose::Create).unwrap().plan.same_as(&saved).unwrap();
    let foreign = json!({"datacenters": [{
        "name": "south", "folders": {"vm": [bench.infra_id]},
        "vms": [{"name": bench.name("master-1"), "folder": bench.infra_id, "cluster": "compute", "datastore": "vsan"}],
    }]});
    bench.vcenters[1].control("POST", "/inventory/apply", &foreign).unwrap();
    let moved = bench.plan(Purpose::Create).unwrap().plan.same_as(&saved).unwrap_err();
    let endpoint = bench.vcenters[1].address();
    let differences = [
        format!("folder `/south/vm/{}` on {endpoint} is not as it was", bench.infra_id),
        format!("machine `{}` on {endpoint} is not as it was", bench.name("master-1")),
    ];
    assert_eq!(moved.differences, differences);
}

/// Calls at the vCenters for each of thirty machines.
#[test]
fn thirty_machines_cost_few_calls() {
    const MACHINES: usize = 30;
    let bench = Bench::new(2);
    let (id, folder) = (&bench.infra_id, "cluster-api/machines");
    for number in 3..MACHINES - 1 {
        for kind in ["machine", "inframachine"] {
            let like = fs_err::read_to_string(
                bench.path(&format!("{folder}/10_{kind}_{id}-master-{}.yaml", number % 2)),
            );
            let text = like
                .unwrap()
                .replace(&format!("{id}-master-{}", number % 2), &format!("{id}-master-{number}"));
            fs_err::write(bench.path(&format!("{folder}/10_{kind}_{id}-master-{number}.yaml")), text)
                .unwrap();
        }
    }
    bench.forget_requests();
    bench.create();
    let mut methods: BTreeMap<String, usize> = BTreeMap::new();
    for request in bench.vcenters.iter().flat_map(requests) {
        *methods.entry(request["method"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    let calls: usize = methods.values().sum();
    assert_eq!(methods["CloneVM_Task"], MACHINES);
    assert!(calls <= 12 * MACHINES, "{calls} calls: {methods:?}");
    bench.destroy();
}

/// What goes on by itself when the last machine has its address ends before the session does, however slow the vCenter is.
#[test]
fn no_session_is_left() {
    let bench = Bench::new(1);
    let vcenter = &bench.vcenters[0];
    for slow in [
        json!({"on": {"method": "DestroyPropertyCollector"}, "fault": {"delay_ms": 300}}),
        // The process does not end with its last word.
        json!({"on": {"kind": "rest", "method": "DELETE", "path": "/rest/com/vmware/cis/session"}, "fault": {"delay_ms": 1000}}),
    ] {
        vcenter.control("POST", "/faults", &slow).unwrap();
    }
    bench.create();
    let stats = vcenter.control("GET", "/stats", &Value::Null).unwrap();
    assert_eq!((&stats["soap_sessions"], &stats["rest_sessions"]), (&json!(0), &json!(0)), "{stats}");
}

/// The files are what `create` goes by, so that they are what `preflight` judges.
#[test]
fn edits_are_what_preflight_judges() {
    let bench = Bench::new(1);
    let failures = || -> Vec<(&'static str, String, Vec<String>)> {
        let report = bench.preflight();
        let failed = report.findings.into_iter().filter(|finding| finding.outcome == Outcome::Failure);
        failed.map(|finding| (finding.check.code(), finding.object, finding.failure_domains)).collect()
    };
    assert_eq!(failures(), []);
    let (master, place) = (vec![bench.name("master-1")], "/north/host/compute".to_owned());
    edit(&bench, "master-1", "numCPUs: 4", "numCPUs: 999");
    assert_eq!(failures(), [("cpu", place, Vec::new())]);
    edit(&bench, "master-1", "numCPUs: 999", "numCPUs: 4");
    edit(&bench, "master-1", "datastore: /north/datastore/vsan", "datastore: /north/datastore/lost");
    assert_eq!(failures(), [("datastore", "/north/datastore/lost".to_owned(), master.clone())]);
    edit(&bench, "master-1", "datastore: /north/datastore/lost", "datastore: /north/datastore/vsan");
    let folder = format!("folder: /north/vm/{}", bench.infra_id);
    edit(&bench, "master-1", &folder, "folder: /north/vm/rhcos");
    assert_eq!(failures(), [("folder", "/north/vm/rhcos".to_owned(), master)]);
    edit(&bench, "master-1", "folder: /north/vm/rhcos", "folder: [");
    let failed: Vec<&str> = failures().iter().map(|(code, ..)| *code).collect();
    assert_eq!(failed, ["files"], "what cannot be read is not judged by what it was");
}
