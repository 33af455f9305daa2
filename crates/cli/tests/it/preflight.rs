//! `slipway preflight`: whole runs, against a simulated vCenter and where no server answers.

use std::net::Ipv4Addr;
use std::process::Command;

use serde_json::{Value, json};
use slipway_testkit::estate::{self, PASSWORD_VARIABLE, Server, Site};
use slipway_testkit::vcenter::VCenter;
use tempfile::TempDir;

use crate::files::file;
use crate::run::{slipway, transcript_of};

const PASSWORD: &str = "swordfish";

fn vcenter() -> VCenter {
    let site = Site::new("north");
    let mut inventory = site.inventory();
    inventory["users"] = json!([{"name": "slipway", "password": PASSWORD}]);
    inventory["permissions"] = json!([
        {"principal": "slipway@vsphere.local", "role": "Admin", "entity": "/"},
        {"principal": "slipway@vsphere.local", "role": "ReadOnly", "entity": site.path("network/cluster-net")},
    ]);
    inventory["categories"] = json!([]);
    let datacenter = &mut inventory["datacenters"][0];
    datacenter["datastores"][0] = json!({"name": "vsan", "capacity_gb": 1000, "free_gb": 500});
    datacenter["vms"][0]["product"] =
        json!({"name": "coreos", "vendor": "x", "version": "420.94.202501010000-0"});
    VCenter::start_at(Ipv4Addr::LOCALHOST.into(), &inventory, &[]).expect("a vCenter")
}

/// An install-config for a vCenter. The user's load balancer answers, whatever its address is.
fn config(port: u16, thumbprint: &str) -> Value {
    let server = Server::at("127.0.0.1", port, json!({"thumbprint": thumbprint}));
    let mut config = estate::install_config("harbour", [(&Site::new("north"), server)]);
    config["compute"][0]["replicas"] = json!(3);
    config["networking"]["machineNetwork"] = json!([{"cidr": "10.20.0.0/16"}]);
    let vsphere = &mut config["platform"]["vsphere"];
    vsphere["apiVIPs"] = json!(["10.20.0.10"]);
    vsphere["ingressVIPs"] = json!(["10.20.0.11"]);
    vsphere["loadBalancer"] = json!({"type": "UserManaged"});
    vsphere["vcenters"][0]["user"] = json!("slipway@vsphere.local");
    config
}

fn directory(port: u16, thumbprint: &str) -> TempDir {
    file(config(port, thumbprint).to_string()).0
}

fn command(directory: &TempDir, arguments: &[&str]) -> Command {
    let mut command = slipway(arguments);
    command.current_dir(directory.path()).env(PASSWORD_VARIABLE, PASSWORD);
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
fn no_server_answers() {
    // No server listens on port 1.
    let directory = directory(1, &"00".repeat(20));
    let arguments = ["preflight", "--timeout", "30s"];
    assert_transcript!(transcript_of(&mut command(&directory, &arguments), &arguments));
}

/// What only the install-config lacks is said to be its fault.
#[test]
fn what_the_install_config_lacks_is_said_first() {
    let mut config = config(1, &"00".repeat(20));
    assert!(config.as_object_mut().expect("an object").remove("payload").is_some());
    let directory = file(config.to_string()).0;
    let output = command(&directory, &["preflight", "-o", "json"]).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stdout));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&told["ready"], &told["verdict"]),
        (&Value::from(false), &Value::from("incomplete")),
        "{told}"
    );
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
    let output = unknown.env_remove(PASSWORD_VARIABLE).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("vcenters[0].passwordEnv"));
}
