//! `slipway check` and `slipway node add`: whole runs, against a simulated vCenter and a real API server.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::estate::{self, PASSWORD_VARIABLE, Server, Site};
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::VCenter;
use tempfile::TempDir;

use crate::files::file;
use crate::node::{BOOTSTRAPPER, Kubelet, ask_as, is_approved};
use crate::run::{slipway, transcript_of};

const PASSWORD: &str = "swordfish";
const NODE: &str = "42166f45-6f10-6d46-4b2d-7f7e4f5b7a01";

/// One node's machine is fine, the others' are old.
fn vcenter() -> VCenter {
    let site = Site::new("north");
    let machine = |name: &str, uuid: &str, hardware: &str| {
        site.machine(&json!({
            "name": name, "disks_gb": [1], "uuid": uuid, "hardware_version": hardware,
            "extra_config": {"disk.EnableUUID": "TRUE"},
        }))
    };
    let mut inventory = site.inventory();
    inventory["users"] = json!([{"name": "slipway", "password": PASSWORD}]);
    inventory["permissions"] =
        json!([{"principal": "slipway@vsphere.local", "role": "Admin", "entity": "/"}]);
    inventory["categories"] = json!([]);
    let datacenter = &mut inventory["datacenters"][0];
    datacenter["clusters"][0]["hosts"][0]["count"] = json!(2);
    datacenter["datastores"][0] = json!({"name": "vsan", "capacity_gb": 1000, "free_gb": 500});
    datacenter["vms"] = json!([
        machine("worker-0", NODE, "vmx-19"),
        machine("worker-1", &NODE.replace("7a01", "7a02"), "vmx-13"),
        machine("worker-2", &NODE.replace("7a01", "7a03"), "vmx-13"),
    ]);
    VCenter::start_at(Ipv4Addr::LOCALHOST.into(), &inventory, &[]).expect("a vCenter")
}

fn directory(vcenter: &VCenter, datastore: &str) -> TempDir {
    let site = Site { datastore: datastore.to_owned(), ..Site::new("north") };
    let mut config = estate::install_config("harbour", [(&site, Server::of(vcenter))]);
    let vsphere = &mut config["platform"]["vsphere"];
    vsphere["vcenters"][0]["user"] = json!("slipway@vsphere.local");
    file(config.to_string()).0
}

fn command(directory: &TempDir, arguments: &[&str]) -> Command {
    let mut command = slipway(arguments);
    command.current_dir(directory.path()).env(PASSWORD_VARIABLE, PASSWORD);
    command
}

fn plane() -> &'static ControlPlane {
    static PLANE: OnceLock<ControlPlane> = OnceLock::new();
    PLANE.get_or_init(|| ControlPlane::start(Options::default()).expect("a control plane"))
}

#[test]
fn a_directory_is_enough_for_the_vcenters() {
    let vcenter = vcenter();
    let sound = directory(&vcenter, "vsan");
    let arguments = ["check", "--dir", "."];
    let transcript = |directory: &TempDir| transcript_of(&mut command(directory, &arguments), &arguments);
    insta::assert_snapshot!(transcript(&sound));
    insta::assert_snapshot!(transcript(&directory(&vcenter, "gone")));
    assert!(!sound.path().join(".slipway").exists(), "nothing is left behind");
    let stats = vcenter.control("GET", "/stats", &Value::Null).expect("figures");
    assert_eq!((&stats["soap_sessions"], &stats["rest_sessions"]), (&json!(0), &json!(0)));
}

#[test]
fn what_cannot_be_started_says_why() {
    let empty = tempfile::tempdir().expect("a directory");
    let code = |arguments: &[&str]| {
        let mut command = slipway(arguments);
        let output = command.current_dir(empty.path()).env("HOME", empty.path()).output();
        output.expect("the command runs").status.code()
    };
    assert_eq!(code(&["check", "--dir", "."]), Some(3));
    assert_eq!(code(&["check", "--timeout", "0s"]), Some(2));
    assert_eq!(code(&["check", "--every", "1m"]), Some(2), "without --watch it means nothing");
    assert_eq!(code(&["check"]), Some(1));
}

fn node(name: &str, uuid: &str, provider: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "spec": {"providerID": provider},
        "status": {"nodeInfo": {
            "systemUUID": uuid, "machineID": "", "bootID": "", "kernelVersion": "", "osImage": "",
            "containerRuntimeVersion": "", "kubeletVersion": "v1.34.4", "kubeProxyVersion": "",
            "operatingSystem": "linux", "architecture": "amd64",
        }},
    })
}

/// A cluster with two old machines, one that is gone and a host of the user's.
#[test]
fn a_cluster_is_checked() {
    let plane = plane();
    let vcenter = vcenter();
    let provider = |uuid: &str| format!("vsphere://{uuid}");
    for (name, uuid, with) in [
        ("check-worker-0", NODE.to_owned(), true),
        ("check-worker-1", NODE.replace("7a01", "7a02"), true),
        ("check-worker-2", NODE.replace("7a01", "7a03"), true),
        ("check-worker-3", NODE.replace("7a01", "7a04"), true),
        ("check-metal-0", "5d0c1f00-0000-4000-8000-3cecef112233".to_owned(), false),
    ] {
        let id = provider(&uuid);
        let object = node(name, &uuid, with.then_some(&*id));
        let file = plane.scratch().write(&format!("{name}.json"), object.to_string()).expect("a file");
        plane.kubectl().run(&["create", "--filename", file.to_str().expect("UTF-8")]).expect("a node");
    }
    let directory = directory(&vcenter, "vsan");
    let kubeconfig = plane.kubeconfig().to_str().expect("UTF-8");
    let run = |arguments: &[&str]| {
        let all = [&["check", "--dir", ".", "--kubeconfig", kubeconfig], arguments].concat();
        command(&directory, &all).output().expect("the command runs")
    };
    let output = run(&["--report", "report.html"]);
    assert_eq!(output.status.code(), Some(4));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    insta::assert_snapshot!(text);
    let page = fs_err::read_to_string(directory.path().join("report.html")).expect("a report");
    insta::with_settings!({filters => vec![(r"looked at \S+</p>", "looked at TIME</p>"), (r"(?s)<style>.*</style>", "<style/>")]}, {
        insta::assert_snapshot!(page);
    });
    assert!(!page.contains("http"), "it needs nothing else");

    let output = run(&["--output", "json"]);
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&told["healthy"], &told["failures"]), (&json!(false), &json!(3)));
    let states: Vec<(&str, &str)> = told["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .filter_map(|node| Some((node["name"].as_str()?, node["state"].as_str()?)))
        .filter(|(name, _)| name.starts_with("check-"))
        .collect();
    assert_eq!(
        states,
        [
            ("check-metal-0", "skipped"),
            ("check-worker-0", "checked"),
            ("check-worker-1", "checked"),
            ("check-worker-2", "checked"),
            ("check-worker-3", "missing"),
        ]
    );
    assert!(!String::from_utf8_lossy(&output.stdout).contains(PASSWORD));
}

/// Rounds go on until the user ends them, and what changes is printed.
#[test]
fn a_watch_tells_what_changes_and_leaves_no_session() {
    let vcenter = vcenter();
    let directory = directory(&vcenter, "vsan");
    let arguments = ["check", "--dir", ".", "--watch", "--every", "200ms", "--output", "json"];
    let out = directory.path().join("out");
    let mut child = command(&directory, &arguments)
        .stdout(fs_err::File::create(&out).expect("a file").into_parts().0)
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    let patience = std::time::Duration::from_secs(30);
    let lines = |count: usize| {
        eventually(&format!("{count} rounds are told"), patience, || {
            let text = fs_err::read_to_string(&out)?;
            Ok((text.lines().count() >= count).then_some(text))
        })
        .expect("rounds")
    };
    lines(1);
    vcenter
        .control("POST", "/datastores/north/datastore/vsan/state", &json!({"maintenance": "inMaintenance"}))
        .expect("a change");
    let told = lines(2);
    let healthy: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&healthy[0]["healthy"], &healthy[1]["healthy"]), (&json!(true), &json!(false)));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("a signal").success());
    assert_eq!(child.wait().expect("an end").code(), Some(4), "that of the last round");
    let stats = vcenter.control("GET", "/stats", &Value::Null).expect("figures");
    assert_eq!((&stats["soap_sessions"], &stats["rest_sessions"]), (&json!(0), &json!(0)));
    assert_eq!(vcenter.calls().expect("calls")["Login"], 1, "one session for all rounds");
}

/// From the workers' configuration to a node: the host asks for what its administrator confirmed, and for more.
#[test]
fn a_host_is_added() {
    let plane = plane();
    let kubectl = plane.kubectl();
    let directory = tempfile::tempdir().expect("a directory");
    fs_err::write(directory.path().join("worker.ign"), r#"{"ignition":{"version":"3.2.0"}}"#)
        .expect("a file");
    let arguments = [
        "node",
        "add",
        "--bare-metal",
        "metal-7",
        "--address",
        "10.0.0.40",
        "--device",
        "/dev/nvme0n1",
        "--dir",
        ".",
        "--no-wait",
    ];
    let mut prepare = slipway(&arguments);
    insta::assert_snapshot!(transcript_of(prepare.current_dir(directory.path()), &arguments));
    let remote = [&arguments[..], &["--ignition-url", "https://files.example.com/metal-7.ign"]].concat();
    let output = slipway(&remote).current_dir(directory.path()).output().expect("the command runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let written = fs_err::read(directory.path().join("metal-7.ign")).expect("a configuration");
    let digest =
        Command::new("sha512sum").arg(directory.path().join("metal-7.ign")).output().expect("a digest");
    let digest = String::from_utf8(digest.stdout).expect("UTF-8");
    let expected =
        format!("--ignition-hash=sha512-{} --platform=metal", digest.split(' ').next().expect("a digest"));
    assert!(text.contains(&expected), "{text}");
    assert!(serde_json::from_slice::<Value>(&written).is_ok());

    kubectl
        .run(&[
            "create",
            "clusterrolebinding",
            "ask-hosts",
            "--clusterrole=system:node-bootstrapper",
            "--group=system:authenticated",
        ])
        .expect("a right");
    let log = directory.path().join("log");
    let mut child = slipway(&arguments[..arguments.len() - 1])
        .args(["--yes", "--timeout", "2m", "--kubeconfig"])
        .arg(plane.kubeconfig())
        .current_dir(directory.path())
        .stdout(Stdio::null())
        .stderr(fs_err::File::create(&log).expect("a file").into_parts().0)
        .spawn()
        .expect("the command runs");
    let said = |what: &str| {
        eventually(what, std::time::Duration::from_mins(1), || {
            Ok(fs_err::read_to_string(&log)?.contains(what).then_some(()))
        })
        .unwrap_or_else(|error| panic!("{error}: {}", fs_err::read_to_string(&log).unwrap_or_default()));
    };
    let first = [
        "system:serviceaccounts",
        "system:serviceaccounts:openshift-machine-config-operator",
        "system:authenticated",
    ];
    ask_as(plane, "host-1-client", &Kubelet::client("metal-7"), BOOTSTRAPPER, &first);
    ask_as(plane, "host-2-other", &Kubelet::client("metal-8"), BOOTSTRAPPER, &first);
    said("approved host-1-client");
    let own = ["system:nodes", "system:authenticated"];
    let me = "system:node:metal-7";
    ask_as(plane, "host-3-foreign", &Kubelet::serving("metal-7", &["10.0.0.40", "10.0.0.41"]), me, &own);
    said("ForeignAddress");
    ask_as(plane, "host-4-serving", &Kubelet::serving("metal-7", &["10.0.0.40"]), me, &own);
    assert_eq!(
        child.wait().expect("an end").code(),
        Some(0),
        "{}",
        fs_err::read_to_string(&log).unwrap_or_default()
    );
    for (name, expected) in [
        ("host-1-client", true),
        ("host-2-other", false),
        ("host-3-foreign", false),
        ("host-4-serving", true),
    ] {
        assert_eq!(is_approved(plane, name), expected, "{name}");
    }
}
