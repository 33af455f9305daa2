//! `slipway create`: whole runs in a directory of their own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::files::{example, file};
use crate::run::{slipway, transcript_of};

/// Files that every cluster has and that depend on its domain, or on nothing.
const DNS: &str = "manifests/cluster-dns-02-config.yml";
const SCHEDULER: &str = "manifests/cluster-scheduler-02-config.yml";

struct Directory {
    folder: TempDir,
    environment: Vec<(&'static str, String)>,
}

impl Directory {
    /// With one of the examples as its install-config.
    fn of(name: &str, edits: &[(&str, &str)]) -> Self {
        Directory { folder: file(example(name, edits)).0, environment: Vec::new() }
    }

    fn empty() -> Self {
        Directory { folder: tempfile::tempdir().expect("a directory"), environment: Vec::new() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn put(&self, path: &str, contents: &str) {
        fs::write(self.at(path), contents).expect("a file");
    }

    fn change(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.at(path)).expect("a file");
        assert!(text.contains(from), "{path} has no {from:?}");
        self.put(path, &text.replace(from, to));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = slipway(arguments);
        command.current_dir(self.folder.path()).envs(self.environment.iter().cloned());
        command
    }

    /// A run that is not looked at.
    fn run(&self, arguments: &[&str]) {
        let output = self.command(arguments).output().expect("the command runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn transcript(&self, arguments: &[&str]) -> String {
        transcript_of(&mut self.command(arguments), arguments)
    }

    /// JSON data, with the files of this test only.
    fn json(&self, arguments: &[&str]) -> (Option<i32>, Value) {
        let output = self.command(arguments).output().expect("the command runs");
        let mut value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        if let Some(files) = value.get_mut("files").and_then(Value::as_array_mut) {
            files.retain(|file| file["path"] == DNS || file["path"] == SCHEDULER);
        }
        (output.status.code(), value)
    }
}

/// Snapshots without what differs from run to run, or grows with what is generated.
macro_rules! assert_transcript {
    ($transcript:expr) => {
        insta::with_settings!({filters => vec![
            (r"(harbour|pontoon|barge|raft)-[a-z0-9]{5}\b", "$1-XXXXX"),
            (r"\d+ (written|unchanged|removed)", "N $1"),
            (r"\d{8}T\d{6}Z", "TIME"),
            (r"process \d+ on \S+ has", "process PID on HOST has"),
            (r"since \d{4}-\S+Z", "since TIME"),
        ]}, {
            insta::assert_snapshot!($transcript);
        });
    };
}

#[test]
fn manifests_and_then_nothing_to_do() {
    let directory = Directory::of("none.yaml", &[]);
    assert_transcript!(directory.transcript(&["create", "manifests"]));
    assert!(directory.at(DNS).exists());
    let state = fs::read_to_string(directory.at(".slipway/state.json")).expect("a state");
    assert_transcript!(directory.transcript(&["create", "manifests", "--dir", "."]));
    assert_eq!(fs::read_to_string(directory.at(".slipway/state.json")).expect("a state"), state);
}

#[test]
fn edits_and_deletions_are_kept() {
    let directory = Directory::of("none.yaml", &[]);
    directory.run(&["create", "manifests"]);
    directory.change(DNS, "  name: cluster\n", "  name: cluster\n  labels: {mine: edited}\n");
    fs::remove_file(directory.at(SCHEDULER)).expect("a file");
    assert_transcript!(directory.transcript(&["create", "manifests"]));
    directory.put("manifests/notes.txt", "mine");
    assert_transcript!(directory.transcript(&["create", "ignition-configs"]));
    assert!(fs::read_to_string(directory.at(DNS)).expect("a file").contains("mine: edited"));
    let bootstrap = fs::read_to_string(directory.at("bootstrap.ign")).expect("a file");
    assert!(bootstrap.contains("/opt/openshift/manifests/cluster-dns-02-config.yml"));
    assert!(!bootstrap.contains("cluster-scheduler-02-config.yml"), "it was deleted");
}

#[test]
fn a_conflict_is_explained_and_force_keeps_a_backup() {
    let directory = Directory::of("none.yaml", &[]);
    directory.run(&["create", "manifests"]);
    directory.put(DNS, "edited: true\n");
    directory.change("install-config.yaml", "baseDomain: example.com", "baseDomain: example.org");
    assert_transcript!(directory.transcript(&["create", "manifests"]));
    assert_eq!(fs::read_to_string(directory.at(DNS)).expect("a file"), "edited: true\n");
    let (exit, refused) = directory.json(&["create", "manifests", "-o", "json"]);
    assert_eq!(exit, Some(1));
    assert_eq!(refused["error"]["conflicts"], json!([{"path": DNS, "reason": "edited"}]));
    assert_eq!(refused["error"]["changed"], json!(["install-config.yaml"]));
    assert_transcript!(directory.transcript(&["create", "manifests", "--force"]));
    let text = fs::read_to_string(directory.at(DNS)).expect("a file");
    assert!(text.contains("pontoon.example.org"), "{text}");
}

#[test]
fn for_programs() {
    let directory = Directory::of("none.yaml", &[]);
    let (exit, mut done) = directory.json(&["create", "manifests", "-o", "json"]);
    assert_eq!(exit, Some(0));
    assert!(done["infraID"].as_str().is_some_and(|id| id.starts_with("pontoon-")), "{done}");
    done["infraID"] = json!("XXXXX");
    insta::assert_snapshot!(serde_json::to_string_pretty(&done).expect("JSON"));
}

#[test]
fn a_bad_install_config() {
    let directory = Directory::of("none.yaml", &[("replicas: 3", "replicas: three")]);
    assert_transcript!(directory.transcript(&["create", "manifests"]));
    let (exit, judgement) = directory.json(&["create", "ignition-configs", "-o", "json"]);
    assert_eq!((exit, &judgement["valid"]), (Some(3), &json!(false)));
    assert!(!directory.at(".slipway").exists());
}

#[test]
fn no_install_config() {
    assert_transcript!(Directory::empty().transcript(&["create", "manifests"]));
}

/// An archive about nothing would only look like an answer.
#[test]
fn nothing_to_gather() {
    let directory = Directory::empty();
    assert_transcript!(directory.transcript(&["gather"]));
    assert_eq!(fs::read_dir(directory.folder.path()).expect("a directory").count(), 0);
}

#[test]
fn passwords_that_are_not_there() {
    let edits = [("/run/secrets/vcenter-south", "south.password")];
    let directory = Directory::of("vsphere-multi-vcenter.yaml", &edits);
    assert_transcript!(directory.transcript(&["create", "manifests"]));
}

#[test]
fn a_password_file_that_everyone_can_read() {
    use std::os::unix::fs::PermissionsExt;

    let edits = [("/run/secrets/vcenter-south", "south.password")];
    let mut directory = Directory::of("vsphere-multi-vcenter.yaml", &edits);
    directory.put("south.password", "hunter2\n");
    fs::set_permissions(directory.at("south.password"), PermissionsExt::from_mode(0o644)).expect("a file");
    directory.environment =
        vec![("VCENTER_NORTH_PASSWORD", "hunter2".into()), ("VCENTER_EAST_PASSWORD", "hunter2".into())];
    let transcript = directory.transcript(&["create", "manifests"]);
    assert!(!transcript.contains("hunter2"), "{transcript}");
    assert_transcript!(transcript);
}

#[test]
fn a_directory_in_use() {
    let directory = Directory::of("none.yaml", &[]);
    fs::create_dir(directory.at(".slipway")).expect("a folder");
    let lock = fs::File::create(directory.at(".slipway/lock")).expect("a file");
    lock.lock().expect("a lock");
    let holder = json!({"pid": 4711, "host": "builder", "command": "slipway create ignition-configs", "since": "2026-11-15T12:00:00Z"});
    directory.put(".slipway/lock", &holder.to_string());
    assert_transcript!(directory.transcript(&["create", "manifests"]));
    // Not only closed: a program that another test starts has a copy for a moment.
    lock.unlock().expect("no lock");
    directory.run(&["create", "manifests"]);
}

#[test]
fn another_cluster_in_the_same_directory() {
    let directory = Directory::of("none.yaml", &[]);
    directory.run(&["create", "manifests"]);
    directory.change("install-config.yaml", "name: pontoon", "name: raft");
    assert_transcript!(directory.transcript(&["create", "manifests"]));
}

#[test]
fn a_manifest_that_is_not_yaml() {
    let directory = Directory::of("none.yaml", &[]);
    directory.run(&["create", "manifests"]);
    directory.put("manifests/mine.yaml", "kind: {\n");
    assert_transcript!(directory.transcript(&["create", "ignition-configs"]));
}

#[test]
fn a_damaged_state() {
    let directory = Directory::of("none.yaml", &[]);
    fs::create_dir(directory.at(".slipway")).expect("a folder");
    directory.put(".slipway/state.json", "garbage");
    assert_transcript!(directory.transcript(&["create", "manifests"]));
}

const VSPHERE: [&str; 32] = [
    "create",
    "install-config",
    "--platform",
    "vsphere",
    "--name",
    "harbour",
    "--base-domain",
    "example.com",
    "--pull-secret-file",
    "pull-secret.json",
    "--vcenter",
    "vcenter.example.com",
    "--vcenter-user",
    "slipway@vsphere.local",
    "--vcenter-password-env",
    "VCENTER_PASSWORD",
    "--datacenter",
    "north",
    "--compute-cluster",
    "compute",
    "--datastore",
    "vsan",
    "--network",
    "cluster-net",
    "--machine-network",
    "10.20.0.0/16",
    "--api-vip",
    "10.20.0.10",
    "--ingress-vip",
    "10.20.0.11",
    "--dir",
    "harbour",
];

fn with_pull_secret() -> Directory {
    let directory = Directory::empty();
    directory.put(
        "pull-secret.json",
        "{\"auths\":{\"registry.example.com\":{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}}}\n",
    );
    directory
}

#[test]
fn an_install_config_from_flags() {
    use std::os::unix::fs::PermissionsExt;

    let directory = with_pull_secret();
    assert_transcript!(directory.transcript(&VSPHERE));
    let path = directory.at("harbour/install-config.yaml");
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    insta::assert_snapshot!(fs::read_to_string(&path).expect("a file"));
    assert_transcript!(directory.transcript(&VSPHERE));
}

#[test]
fn an_install_config_that_would_not_be_valid() {
    let directory = with_pull_secret();
    let arguments = VSPHERE.map(|word| if word == "10.20.0.11" { "10.20.0.10" } else { word });
    let transcript = directory.transcript(&arguments);
    assert!(!transcript.contains("dXNlcjpwYXNzd29yZA"), "{transcript}");
    assert_transcript!(transcript);
    assert!(!directory.at("harbour").exists());
}

#[test]
fn an_install_config_from_a_file() {
    let directory = Directory::empty();
    let text = example("none.yaml", &[]);
    directory.put("other.yaml", &text);
    directory.run(&["create", "install-config", "--from", "other.yaml"]);
    assert_eq!(fs::read_to_string(directory.at("install-config.yaml")).expect("a file"), text);
    let change = ["create", "install-config", "--from", "other.yaml", "--name", "raft", "--dir", "raft"];
    assert_transcript!(directory.transcript(&change));
    let changed = fs::read_to_string(directory.at("raft/install-config.yaml")).expect("a file");
    assert!(changed.contains("name: raft\n"), "{changed}");
}

#[test]
fn answers_that_are_missing() {
    let directory = Directory::empty();
    assert_transcript!(directory.transcript(&["create", "install-config"]));
    assert_transcript!(directory.transcript(&["create", "install-config", "--platform", "vsphere"]));
    assert_transcript!(directory.transcript(&[
        "create",
        "install-config",
        "--platform",
        "ovirt",
        "--namespace",
        "x"
    ]));
}

/// Whatever goes wrong, a program reads it from where it reads everything else.
#[test]
fn no_install_config_for_programs() {
    let directory = Directory::of("none.yaml", &[]);
    let json = |more: &[&str]| directory.json(&[&["create", "install-config", "-o", "json"], more].concat());
    let (exit, exists) = json(&[]);
    assert_eq!(exit, Some(1));
    let message = exists["error"]["message"].as_str().expect("a message");
    assert!(message.contains("exists already"), "{message}");
    assert!(exists["error"]["hint"].is_string(), "{exists}");
    let (exit, missing) = json(&["--dir", "new", "--platform", "vsphere"]);
    assert_eq!(exit, Some(2));
    assert!(
        missing["error"]["message"].as_str().is_some_and(|message| message.contains("--name")),
        "{missing}"
    );
    let (exit, unreadable) = json(&["--dir", "new", "--from", "nowhere.yaml"]);
    assert_eq!(exit, Some(1));
    assert!(unreadable["error"]["message"].as_str().is_some_and(|message| message.contains("nowhere.yaml")));
}

#[test]
fn usage() {
    let directory = Directory::empty();
    for command in ["install-config", "manifests", "ignition-configs"] {
        insta::assert_snapshot!(directory.transcript(&["create", command, "--help"]));
    }
    insta::assert_snapshot!(directory.transcript(&["create", "--help"]));
}
