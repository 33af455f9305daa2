//! `slipway drivers` on a real API server with controllers, scheduler and kwok. No operator runs here.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use slipway_testkit::control_plane::{Beside, ControlPlane, Options};
use slipway_testkit::nodes;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::run::{slipway, transcript_of};
use crate::terminal::{DOWN, ENTER, Terminal};

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
    there_is_nothing_yet(path);
    for name in ["one", "two"] {
        plane.register(&nodes::living(name, "")).expect("a node");
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
        "--untried",
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
    assert_eq!(secret["data"]["server"], "dmMxLmV4YW1wbGUuY29t", "whom the login is for");

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

    nodes_are_waited_for(&plane);
    let pinned = transcript(path, &["drivers", "upgrade", "--storage-provider", "3.7.0", "--no-wait"]);
    assert!(pinned.contains("exit: 0"), "{pinned}");
    let config = plane.kubectl().json(&["get", "vdo", "cluster"]).expect("a VDOConfig");
    assert_eq!(config["spec"]["storageProvider"]["version"], "3.7.0");

    users_are_made(&plane);
    whoever_sits_there_is_asked(&plane);

    it_goes_again(&plane);
}

fn there_is_nothing_yet(path: &Path) {
    let nothing = transcript(path, &["drivers", "remove", "--yes"]);
    assert!(nothing.contains("there is nothing to remove") && nothing.contains("exit: 0"), "{nothing}");
    let nothing = transcript(path, &["drivers", "upgrade", "--unpin"]);
    assert!(
        nothing.contains("error: the cluster has no VDOConfig") && nothing.contains("exit: 1"),
        "{nothing}"
    );
}

fn it_goes_again(plane: &ControlPlane) {
    let path = plane.kubeconfig();
    // There is no terminal to ask at; then volumes are attached; then it is forced.
    insta::assert_snapshot!("drivers_not_removed", transcript(path, &["drivers", "remove"]));
    let attachment = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "attached"},
        "spec": {"attacher": "csi.vsphere.vmware.com", "nodeName": "one", "source": {"persistentVolumeName": "pv"}},
    });
    plane.kubectl().apply_value(&attachment).expect("an attachment");
    insta::assert_snapshot!("drivers_attached", transcript(path, &["drivers", "remove", "--yes"]));
    // The administrator has copied an object of a driver with its labels.
    let copy = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "copy", "namespace": "vmware-system-csi", "labels": {"slipway.dev/driver": "storage-provider"}},
    });
    plane.kubectl().apply_value(&copy).expect("a copy");
    insta::assert_snapshot!("drivers_removed", transcript(path, &["drivers", "remove", "--yes", "--force"]));
    plane.kubectl().json(&["get", "configmap", "copy", "--namespace=vmware-system-csi"]).expect("the copy");
}

/// Healthy drivers are not the end as long as nodes wait for them.
fn nodes_are_waited_for(plane: &ControlPlane) {
    let conditions = json!([
        condition("Available", "True", "AsExpected", ""),
        condition("Progressing", "False", "AsExpected", ""),
        condition("Degraded", "False", "AsExpected", ""),
    ]);
    let deploy = |time: &str| {
        let image = "example.com/slipway-operator:test";
        transcript(plane.kubeconfig(), &["drivers", "deploy", "--image", image, "--timeout", time])
    };
    patch_status(plane, "vdo", "cluster", &json!({"conditions": conditions, "failures": null}));
    let told = deploy("2s");
    assert!(told.contains("exit: 0") && told.contains("not all nodes are served yet"), "{told}");
    patch_status(plane, "vdo", "cluster", &json!({"nodes": {"pending": 0, "pendingNames": null}}));
    let told = deploy("90s");
    assert!(told.contains("exit: 0") && !told.contains("not all nodes"), "{told}");
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
    assert_eq!(run("verify", &[]).0, Some(4), "nothing was created");
    // Users can be looked for in any domain, and made in one.
    let (code, shown) = run("create", &["--domain", "elsewhere.example", "--yes"]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("own domain `vsphere.local`, and not in `elsewhere.example`"), "{shown}");
    let (code, shown) = run("create", &["--name", "vc"]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("nothing was created; `--plan` shows what would be, then add `--yes`"), "{shown}");
    assert_eq!(run("verify", &[]).0, Some(4), "nothing was created");
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
    // A login that does not work does not take the place of one that does.
    let secret = || {
        let place = ["get", "secret", "vc-csi", "--namespace=slipway-system"];
        plane.kubectl().json(&place).expect("a Secret")["data"].clone()
    };
    let before = secret();
    let place = ["--server", "127.0.0.1", "--port", &port, "--ca-file", &ca, "--name", "vc-csi"];
    let login = ["--user", "slipway-csi@vsphere.local", "--password-env", "VC_PASSWORD"];
    let refused =
        transcript(plane.kubeconfig(), &[&["drivers", "configure"], &place[..], &login[..]].concat());
    assert!(refused.contains("exit: 4") && refused.contains("nothing was applied"), "{refused}");
    assert_eq!(secret(), before);
    // An administrator grants more than is needed.
    let too_much = json!({"permissions": [{"principal": "VSPHERE.LOCAL\\slipway-csi", "role": "Admin", "entity": "/DC0"}]});
    vcenter.control("POST", "/inventory/apply", &too_much).expect("a permission");
    let (code, shown) = run("verify", &[]);
    assert_eq!(code, Some(4));
    assert!(shown.contains("too much"), "{shown}");
}

/// The survey on a terminal: a certificate is shown before anything is sent, and the result before it is applied.
fn whoever_sits_there_is_asked(plane: &ControlPlane) {
    plane.kubectl().run(&["delete", "vdo", "cluster"]).expect("no VDOConfig");
    let inventory = json!({"datacenters": [{"name": "attic"}, {"name": "east"}]});
    let vcenter = VCenter::start_at([127, 0, 0, 1].into(), &inventory, &[]).expect("a vCenter");
    let home = tempfile::tempdir().expect("a directory");
    let none = home.path().join("no-authorities.pem");
    std::fs::write(&none, "").expect("a file");
    let mut command = slipway(&["drivers", "configure", "--name", "surveyed"]);
    command.env("KUBECONFIG", plane.kubeconfig()).env("HOME", home.path());
    command.env("SSL_CERT_FILE", none).env("SSL_CERT_DIR", home.path());
    let mut terminal = Terminal::run(&command);
    terminal
        .answer("vCenter", &vcenter.address())
        .expect("is not trusted")
        .expect(vcenter.thumbprint_sha256());
    assert_eq!(vcenter.calls().expect("calls")["Login"], Value::Null, "nothing was sent yet");
    terminal.answer("Trust this certificate", "y").answer("User of the drivers on", ADMINISTRATOR.0);
    terminal.answer("Password of", "wrong").expect("refuses").answer("Password of", ADMINISTRATOR.1);
    terminal.expect("? Datacenters").expect("attic").expect("east").send(DOWN).send(DOWN).send(ENTER);
    terminal.answer("Another datacenter", "");
    // Connections that are there count: with several of them the storage driver needs categories.
    terminal.answer("Drivers", "").answer("Tag categories", "").expect("needs them");
    terminal.send("k8s-zone").send(ENTER).answer("Updates", "");
    terminal.expect("secrets are hidden").expect("VSphereConnection").expect("VDOConfig").answer("Apply", "");
    terminal.expect("applied VDOConfig cluster");
    assert_eq!(terminal.finish(), 0, "{}", terminal.text());
    assert!(!terminal.text().contains(ADMINISTRATOR.1), "{}", terminal.text());
    let get = |kind: &str, name: &str| {
        plane.kubectl().json(&["get", kind, name, "--namespace=slipway-system"]).expect("an object")
    };
    let connection = get("vsphereconnection", "surveyed");
    assert_eq!(connection["spec"]["datacenters"], json!(["east"]));
    assert_eq!(connection["spec"]["tls"]["thumbprint"], vcenter.thumbprint_sha256());
    let config = get("vdo", "cluster");
    assert_eq!(config["spec"]["storageProvider"]["topologyCategories"], json!(["k8s-zone"]));

    // A file, for scripts: everything or nothing.
    let file = plane.scratch().write("drivers.yaml", "kind: Pod\napiVersion: v1\nmetadata: {name: x}\n");
    let file = file.expect("a file").to_str().expect("UTF-8").to_owned();
    let refused = transcript(plane.kubeconfig(), &["drivers", "configure", "--file", &file]);
    assert!(refused.contains("none of the kinds") && refused.contains("exit: 1"), "{refused}");
    let text = "apiVersion: slipway.dev/v1alpha1\nkind: VDOConfig\nmetadata: {name: cluster}\n\
                spec: {storageProvider: {}, updatePolicy: lts}\n";
    plane.scratch().write("drivers.yaml", text).expect("a file");
    let applied = transcript(plane.kubeconfig(), &["drivers", "configure", "--file", &file]);
    assert!(applied.contains("applied VDOConfig cluster") && applied.contains("exit: 0"), "{applied}");
    assert_eq!(get("vdo", "cluster")["spec"]["updatePolicy"], "lts");
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
