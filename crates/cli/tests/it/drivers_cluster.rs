//! `slipway drivers` on a real API server with controllers, scheduler and kwok. Nobody acts as the operator here.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use slipway_testkit::control_plane::{Beside, ControlPlane, Options};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::run::{slipway, transcript_of};

fn command(kubeconfig: &Path, arguments: &[&str]) -> Command {
    let mut command = slipway(arguments);
    command.env("KUBECONFIG", kubeconfig).env("VC_PASSWORD", "hunter2");
    command
}

fn transcript(kubeconfig: &Path, arguments: &[&str]) -> String {
    transcript_of(&mut command(kubeconfig, arguments), arguments)
}

fn patch_status(plane: &ControlPlane, kind: &str, name: &str, status: &Value) {
    let patch = json!({"status": status}).to_string();
    let arguments = [
        "patch",
        kind,
        name,
        "--namespace=slipway-system",
        "--subresource=status",
        "--type=merge",
        "--patch",
        &patch,
    ];
    plane.kubectl().run(&arguments).expect("a status");
}

fn condition(about: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": about, "status": status, "reason": reason, "message": message, "observedGeneration": 1,
        "lastTransitionTime": "2026-11-16T00:00:00Z",
    })
}

/// From nothing to an operator, a connection and a status, and back to nothing.
#[test]
fn a_cluster_gets_its_operator_and_loses_it_again() {
    let beside = &[Beside::Controllers, Beside::Scheduler, Beside::Kwok];
    let plane = ControlPlane::start(Options { beside, ..Options::default() }).expect("a control plane");
    let path = plane.kubeconfig();
    insta::assert_snapshot!("drivers_nothing_yet", transcript(path, &["drivers", "status"]));
    for name in ["one", "two"] {
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": {"kubernetes.io/hostname": name}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}, "capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
        });
        let file = plane.scratch().write("node.json", node.to_string()).expect("a file");
        plane.kubectl().run(&["create", "--filename", file.to_str().expect("UTF-8")]).expect("a node");
    }
    insta::assert_snapshot!(
        "drivers_deployed",
        transcript(
            path,
            &["drivers", "deploy", "--image", "example.com/slipway-operator:test", "--timeout", "90s"]
        )
    );

    let arguments = [
        "drivers",
        "configure",
        "--server",
        "VC1.example.com",
        "--name",
        "north",
        "--user",
        "csi@vsphere.local",
        "--password-env",
        "VC_PASSWORD",
        "--thumbprint",
        "AA:BB",
        "--topology-category",
        "k8s-zone",
    ];
    let refused = transcript(path, &arguments);
    assert!(refused.contains("`--thumbprint` is not 20 or 32 bytes"), "{refused}");
    let mut arguments = arguments.to_vec();
    arguments.splice(10..12, ["--insecure"]);
    // The API server has the last word, and its refusal quotes no password.
    arguments[3] = "VC1_example.com";
    let refused = transcript(path, &arguments);
    assert!(refused.contains("spec.server") && !refused.contains("hunter2"), "{refused}");
    arguments[3] = "VC1.example.com";
    insta::assert_snapshot!("drivers_configured", transcript(path, &arguments));
    let secret =
        plane.kubectl().json(&["get", "secret", "north", "--namespace=slipway-system"]).expect("a Secret");
    assert_eq!(secret["data"]["password"], "aHVudGVyMg==");

    // What the operator would say.
    patch_status(
        &plane,
        "vsphereconnection",
        "north",
        &json!({
            "lastValidation": "2026-11-16T00:00:00Z", "nextValidation": "2026-11-16T00:20:00Z",
            "apiVersion": "8.0.3.0", "user": "VSPHERE.LOCAL\\csi",
            "conditions": [condition("Ready", "False", "PrivilegeMissing", "the user lacks Cns.Searchable on `/`; give it")],
        }),
    );
    let conditions = json!([
        condition("Available", "True", "AsExpected", ""),
        condition("Progressing", "False", "AsExpected", ""),
        condition("Degraded", "True", "PrivilegeMissing", ""),
        condition("Upgradeable", "False", "PrivilegeMissing", ""),
    ]);
    patch_status(
        &plane,
        "vdo",
        "cluster",
        &json!({
            "observedGeneration": 1, "conditions": conditions, "kubernetesVersion": "1.34.4",
            "cloudProvider": {"wantedVersion": "1.34.0", "deployedVersion": "1.34.0", "conditions": conditions},
            "nodes": {"ready": 2, "pending": 1, "skipped": 1, "pendingNames": ["three"], "skippedNames": ["metal"]},
            "failures": [{
                "subject": "connection/north", "reason": "PrivilegeMissing", "message": "the user lacks Cns.Searchable on `/`",
                "remedy": "give the user a role with it",
            }],
        }),
    );
    insta::assert_snapshot!("drivers_degraded", transcript(path, &["drivers", "status"]));
    let output =
        command(path, &["drivers", "status", "--output", "json"]).output().expect("the command runs");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((told["verdict"].as_str(), output.status.code()), (Some("Degraded"), Some(4)));

    let pinned = transcript(path, &["drivers", "upgrade", "--storage-provider", "3.7.0", "--no-wait"]);
    assert!(pinned.contains("exit: 0"), "{pinned}");
    let config = plane.kubectl().json(&["get", "vdo", "cluster"]).expect("a VDOConfig");
    assert_eq!(config["spec"]["storageProvider"]["version"], "3.7.0");

    users_are_made(&plane);

    // Nobody is there to ask; then volumes are attached; then it is forced.
    insta::assert_snapshot!("drivers_not_removed", transcript(path, &["drivers", "remove"]));
    let attachment = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "attached"},
        "spec": {"attacher": "csi.vsphere.vmware.com", "nodeName": "one", "source": {"persistentVolumeName": "pv"}},
    });
    plane.kubectl().apply_value(&attachment).expect("an attachment");
    insta::assert_snapshot!("drivers_attached", transcript(path, &["drivers", "remove", "--yes"]));
    insta::assert_snapshot!("drivers_removed", transcript(path, &["drivers", "remove", "--yes", "--force"]));
}

/// An administrator makes users for both drivers; afterwards nothing is missing and nothing is too much.
fn users_are_made(plane: &ControlPlane) {
    let vcenter = VCenter::start(&json!({
        "datacenters": [{
            "name": "DC0", "clusters": [{"name": "compute", "hosts": [{"name": "esx"}]}], "datastores": [{"name": "fast"}],
        }],
    }))
    .expect("a vCenter");
    let (port, ca) = (vcenter.port().to_string(), vcenter.ca_file().to_str().expect("UTF-8").to_owned());
    let run = |verb: &str, more: &[&str]| {
        let place =
            ["--server", "127.0.0.1", "--port", &port, "--ca-file", &ca, "--admin-password-env", "ADMIN"];
        let arguments = [&["drivers", "users", verb], &place[..], more].concat();
        let mut command = slipway(&arguments);
        let output = command
            .env("KUBECONFIG", plane.kubeconfig())
            .env("ADMIN", ADMINISTRATOR.1)
            .output()
            .expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        (output.status.code(), format!("{}--- stderr\n{}", text(&output.stdout), text(&output.stderr)))
    };
    let (code, shown) = run("create", &["--plan"]);
    insta::assert_snapshot!("drivers_users_plan", shown);
    assert_eq!(code, Some(0));
    assert_eq!(run("verify", &[]).0, Some(4), "nothing was made");
    let (code, shown) = run("create", &["--name", "vc", "--yes"]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains(ADMINISTRATOR.1), "{shown}");
    let (code, shown) = run("verify", &[]);
    assert_eq!(code, Some(0), "{shown}");
    let config = plane.kubectl().json(&["get", "vdo", "cluster"]).expect("a VDOConfig");
    assert_eq!(config["spec"]["cloudProvider"]["connections"], json!(["vc-cpi"]), "{config:#}");
    assert_eq!(config["spec"]["storageProvider"]["connections"], json!(["vc-csi"]), "{config:#}");
    assert_eq!(
        config["spec"]["storageProvider"]["topologyCategories"],
        json!(["k8s-zone"]),
        "what was there stays"
    );
    // Somebody means well.
    let too_much = json!({"permissions": [{"principal": "VSPHERE.LOCAL\\slipway-csi", "role": "Admin", "entity": "/DC0"}]});
    vcenter.control("POST", "/inventory/apply", &too_much).expect("a permission");
    let (code, shown) = run("verify", &[]);
    assert_eq!(code, Some(4));
    assert!(shown.contains("too much"), "{shown}");
}

#[test]
fn a_bundle_names_what_to_copy() {
    let output = slipway(&["drivers", "bundle", "--registry", "mirror.example.com/vsphere"])
        .output()
        .expect("it runs");
    let bundle: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let images = bundle["images"].as_array().expect("images");
    assert!(images.len() > 20, "{}", images.len());
    assert!(
        images.iter().all(|image| image["to"]
            .as_str()
            .is_some_and(|to| to.starts_with("mirror.example.com/vsphere/")))
    );
}
