//! `slipway preflight`: whole runs, against a simulated vCenter and against nobody.

use std::net::Ipv4Addr;
use std::process::Command;

use serde_json::{Value, json};
use slipway_testkit::vcenter::VCenter;
use tempfile::TempDir;

use crate::files::file;
use crate::run::{slipway, transcript_of};

const PASSWORD: &str = "swordfish";

fn vcenter() -> VCenter {
    let inventory = json!({
        "users": [{"name": "slipway", "password": PASSWORD}],
        "permissions": [
            {"principal": "slipway@vsphere.local", "role": "Admin", "entity": "/"},
            {"principal": "slipway@vsphere.local", "role": "ReadOnly", "entity": "/north/network/cluster-net"},
        ],
        "datacenters": [{
            "name": "north",
            "clusters": [{"name": "compute", "hosts": [{"name": "esx", "count": 3}]}],
            "datastores": [{"name": "vsan", "capacity_gb": 1000, "free_gb": 500}],
            "networks": [{"name": "cluster-net"}],
            "vms": [{"name": "rhcos", "template": true, "cluster": "compute", "datastore": "vsan",
                     "networks": ["cluster-net"], "disks_gb": [16], "hardware_version": "vmx-15",
                     "product": {"name": "coreos", "vendor": "x", "version": "420.94.202501010000-0"}}],
        }],
    });
    VCenter::start_at(Ipv4Addr::LOCALHOST.into(), &inventory, &[]).expect("a vCenter")
}

/// A directory with an install-config for a vCenter. The user's load balancer answers, whatever its address is.
fn directory(port: u16, thumbprint: &str) -> TempDir {
    let text = format!(
        r#"apiVersion: v1
baseDomain: example.com
metadata: {{name: harbour}}
networking: {{machineNetwork: [{{cidr: 10.20.0.0/16}}]}}
platform:
  vsphere:
    apiVIPs: [10.20.0.10]
    ingressVIPs: [10.20.0.11]
    loadBalancer: {{type: UserManaged}}
    vcenters:
    - server: 127.0.0.1
      port: {port}
      user: slipway@vsphere.local
      passwordEnv: VCENTER_PASSWORD
      datacenters: [north]
      tls: {{thumbprint: "{thumbprint}"}}
    failureDomains:
    - name: north
      region: europe
      zone: north
      server: 127.0.0.1
      topology:
        datacenter: north
        computeCluster: /north/host/compute
        datastore: /north/datastore/vsan
        networks: [cluster-net]
        template: /north/vm/rhcos
payload: {{releaseImage: "quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64"}}
pullSecret: '{{"auths":{{"registry.example.com":{{"auth":"dXNlcjpwYXNzd29yZA=="}}}}}}'
"#
    );
    file(text).0
}

fn command(directory: &TempDir, arguments: &[&str]) -> Command {
    let mut command = slipway(arguments);
    command.current_dir(directory.path()).env("VCENTER_PASSWORD", PASSWORD);
    command
}

macro_rules! assert_transcript {
    ($transcript:expr) => {
        insta::with_settings!({filters => vec![(r"valid until \S+", "valid until TIME"), (r"127\.0\.0\.1:\d{2,}", "127.0.0.1:PORT")]}, {
            insta::assert_snapshot!($transcript);
        });
    };
}

#[test]
fn what_is_wrong_comes_with_its_cure() {
    let vcenter = vcenter();
    let directory = directory(vcenter.port(), vcenter.thumbprint_sha256());
    let transcript = |arguments: &[&str]| transcript_of(&mut command(&directory, arguments), arguments);
    assert_transcript!(transcript(&["preflight"]));
    assert_transcript!(transcript(&["preflight", "--verbose"]));
    assert!(!directory.path().join(".slipway").exists(), "nothing is left behind");

    let output = command(&directory, &["preflight", "-o", "json"]).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(4));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&told["ready"], &told["failures"], &told["unknown"]), (&json!(false), &json!(1), &json!(0)));
    let finding = &told["findings"][0];
    assert_eq!(finding["check"], "privileges");
    assert_eq!(finding["endpoint"], vcenter.address(), "as the plan has it");
    assert_eq!(finding["object"], "/north/network/cluster-net");
    assert!(!String::from_utf8_lossy(&output.stdout).contains(PASSWORD));
}

#[test]
fn nobody_answers() {
    // Nobody has listened there for decades.
    let directory = directory(1, &"00".repeat(20));
    let arguments = ["preflight", "--timeout", "30s"];
    assert_transcript!(transcript_of(&mut command(&directory, &arguments), &arguments));
}

/// Where nobody was asked nothing is ready, and what only the install-config lacks is said to be its fault.
#[test]
fn what_was_not_looked_at_is_not_ready() {
    let file = |name: &str| {
        let path = format!("{}/../../examples/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        // Nobody else's addresses are tried.
        file(std::fs::read_to_string(path).expect("an example").replace("192.168.", "127.20.")).0
    };
    let verdict = |directory: &TempDir, expected: i32| {
        let output = command(directory, &["preflight", "-o", "json"]).output().expect("the command runs");
        assert_eq!(output.status.code(), Some(expected), "{}", String::from_utf8_lossy(&output.stdout));
        let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(told["ready"], false, "{told}");
        told["verdict"].as_str().expect("a verdict").to_owned()
    };
    for platform in ["ovirt", "kubevirt"] {
        assert_eq!(verdict(&file(platform), 9), "not-checked");
    }
    let directory = directory(1, &"00".repeat(20));
    let path = directory.path().join("install-config.yaml");
    let text = std::fs::read_to_string(&path).expect("a configuration");
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("payload")).collect();
    std::fs::write(&path, text.join("\n")).expect("a configuration");
    assert_eq!(verdict(&directory, 3), "incomplete");
}

#[test]
fn what_cannot_be_started_says_why() {
    let empty = tempfile::tempdir().expect("a directory");
    let output = slipway(&["preflight"]).current_dir(empty.path()).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(3));
    let directory = directory(443, &"00".repeat(20));
    let output = command(&directory, &["preflight", "--timeout", "0s"]).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    let mut unknown = command(&directory, &["preflight"]);
    let output = unknown.env_remove("VCENTER_PASSWORD").output().expect("the command runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("vcenters[0].passwordEnv"));
}
