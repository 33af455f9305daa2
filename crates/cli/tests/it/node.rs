//! `slipway node approve`, on a real API server.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};
use slipway_testkit::control_plane::{ControlPlane, Options};

use crate::run::{slipway, transcript_of};

pub(crate) const BOOTSTRAPPER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";

/// What a kubelet asks for.
pub(crate) struct Kubelet {
    node: String,
    /// None for a client's certificate.
    addresses: Option<Vec<String>>,
}

impl Kubelet {
    pub(crate) fn client(node: &str) -> Self {
        Kubelet { node: node.to_owned(), addresses: None }
    }

    pub(crate) fn serving(node: &str, addresses: &[&str]) -> Self {
        let addresses = addresses.iter().map(|address| (*address).to_owned()).collect();
        Kubelet { node: node.to_owned(), addresses: Some(addresses) }
    }
}

/// A request, made as the given user.
pub(crate) fn ask_as(plane: &ControlPlane, name: &str, kubelet: &Kubelet, user: &str, groups: &[&str]) {
    let Kubelet { node, addresses } = kubelet;
    let names = addresses.iter().flatten().cloned().chain(addresses.iter().map(|_| node.clone()));
    let mut params = CertificateParams::new(names.collect::<Vec<_>>()).expect("names");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
    params.distinguished_name.push(DnType::CommonName, format!("system:node:{node}"));
    let key = KeyPair::generate().expect("a key");
    let pem = params.serialize_request(&key).and_then(|request| request.pem()).expect("a request");
    let (usage, signer) = match addresses {
        None => ("client auth", "kubernetes.io/kube-apiserver-client-kubelet"),
        Some(_) => ("server auth", "kubernetes.io/kubelet-serving"),
    };
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {
            "request": STANDARD.encode(pem), "usages": ["digital signature", usage], "signerName": signer,
        },
    });
    let file = plane.scratch().write(&format!("{name}.json"), object.to_string()).expect("a file");
    let file = format!("--filename={}", file.display());
    let groups: Vec<String> = groups.iter().map(|group| format!("--as-group={group}")).collect();
    let mut arguments = vec!["create", &file, "--as", user];
    arguments.extend(groups.iter().map(String::as_str));
    plane.kubectl().run(&arguments).expect("a request");
}

/// A request for the first certificate of a node.
fn ask(plane: &ControlPlane, name: &str, node: &str, user: &str, groups: &[&str]) {
    ask_as(plane, name, &Kubelet::client(node), user, groups);
}

fn transcript(kubeconfig: &Path, arguments: &[&str]) -> String {
    transcript_of(slipway(arguments).env("KUBECONFIG", kubeconfig), arguments)
}

pub(crate) fn is_approved(plane: &ControlPlane, name: &str) -> bool {
    let found = plane.kubectl().json(&["get", "csr", name]).expect("a request");
    found["status"]["conditions"][0]["type"] == "Approved"
}

macro_rules! assert_transcript {
    ($transcript:expr) => {
        insta::with_settings!({filters => vec![(r"asked \S+", "asked TIME"), (r"sha256:\S+", "sha256:KEY")]}, {
            insta::assert_snapshot!($transcript);
        });
    };
}

#[test]
fn requests_are_listed_judged_and_approved() {
    let plane = ControlPlane::start(Options::default()).expect("a control plane");
    let kubectl = plane.kubectl();
    let path = plane.kubeconfig();
    // A cluster without machines: the kind is not even there.
    assert_transcript!(transcript(path, &["node", "approve"]));
    plane.install_definitions(&["openshift/machines.machine.openshift.io"]).expect("definitions");
    let machine = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": "harbour-worker-0", "namespace": "openshift-machine-api"}, "spec": {"providerSpec": {}},
    });
    for namespace in ["openshift-machine-api", "slipway-system"] {
        kubectl.run(&["create", "namespace", namespace]).expect("a namespace");
    }
    kubectl.apply_value(&machine).expect("a machine");
    let status = json!({"status": {"addresses": [{"type": "InternalDNS", "address": "harbour-worker-0"}]}})
        .to_string();
    kubectl
        .run(&[
            "patch",
            "machine",
            "harbour-worker-0",
            "--namespace=openshift-machine-api",
            "--subresource=status",
            "--type=merge",
            "--patch",
            &status,
        ])
        .expect("a status");
    kubectl
        .run(&[
            "create",
            "clusterrolebinding",
            "ask",
            "--clusterrole=system:node-bootstrapper",
            "--group=system:authenticated",
        ])
        .expect("a right");
    let namespace = "system:serviceaccounts:openshift-machine-config-operator";
    let groups = ["system:serviceaccounts", namespace, "system:authenticated"];
    ask(&plane, "csr-1-good", "harbour-worker-0", BOOTSTRAPPER, &groups);
    ask(&plane, "csr-2-pirate", "harbour-worker-0", "pirate", &["system:authenticated"]);
    // There is no terminal to ask at.
    assert_transcript!(transcript(path, &["node", "approve"]));
    assert!(!is_approved(&plane, "csr-1-good"));
    // What the rules refuse is left alone.
    let output = slipway(&["node", "approve", "--yes", "--output", "json"])
        .env("KUBECONFIG", path)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let verdicts: Vec<_> = told["requests"]
        .as_array()
        .expect("requests")
        .iter()
        .map(|one| (one["name"].as_str(), one["reason"].as_str(), one["approved"].as_bool()))
        .collect();
    assert_eq!(
        verdicts,
        [
            (Some("csr-1-good"), Some("FirstCertificate"), Some(true)),
            (Some("csr-2-pirate"), Some("AskedByStranger"), Some(false)),
        ]
    );
    assert!(is_approved(&plane, "csr-1-good") && !is_approved(&plane, "csr-2-pirate"));
    // A person may know better, and must say which one; `--kubeconfig` comes before KUBECONFIG.
    let file = path.to_str().expect("UTF-8");
    let run = |arguments: &[&str]| {
        let all = [arguments, &["--kubeconfig", file, "--context", "test"]].concat();
        slipway(&all).env("KUBECONFIG", "/nonexistent").output().expect("the command runs")
    };
    let unknown = run(&["node", "approve", "csr-3", "--yes"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("pending under the name `csr-3`"));
    assert_eq!(run(&["node", "approve", "csr-2-pirate", "--yes"]).status.code(), Some(0));
    assert!(is_approved(&plane, "csr-2-pirate"));
    what_was_confirmed_is_remembered(&plane, &groups);
    the_approver_says_who_asks(&plane);
}

/// An administrator lets a node in that has no machine: from then on it renews by itself, what was confirmed and nothing else.
/// Who comes with another key for a machine is shown to the administrator, who may know why.
fn what_was_confirmed_is_remembered(plane: &ControlPlane, groups: &[&str]) {
    let approve = |arguments: &[&str]| {
        let all = [&["node", "approve", "--yes", "--output", "json"], arguments].concat();
        let output = slipway(&all).env("KUBECONFIG", plane.kubeconfig()).output().expect("the command runs");
        let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let requests = told["requests"].as_array().expect("requests").clone();
        let short =
            |one: &Value| format!("{} {} {}", one["name"], one["reason"], one["approved"]).replace('"', "");
        requests.iter().map(short).collect::<Vec<String>>()
    };
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "own-0"}});
    let (me, own) = ("system:node:own-0", ["system:nodes", "system:authenticated"]);
    ask(plane, "own-1-first", "own-0", BOOTSTRAPPER, groups);
    assert_eq!(approve(&["own-1-first"]), ["own-1-first NoSuchMachine true"]);
    plane.kubectl().apply_value(&node).expect("a node");
    ask(plane, "own-2-renewal", "own-0", me, &own);
    ask_as(plane, "own-3-serving", &Kubelet::serving("own-0", &["10.0.0.60"]), me, &own);
    assert_eq!(approve(&[]), ["own-2-renewal Renewal true", "own-3-serving ForeignAddress false"]);
    assert_eq!(approve(&["own-3-serving"]), ["own-3-serving ForeignAddress true"]);
    ask_as(plane, "own-4-serving", &Kubelet::serving("own-0", &["10.0.0.60"]), me, &own);
    ask_as(plane, "own-5-more", &Kubelet::serving("own-0", &["10.0.0.61"]), me, &own);
    assert_eq!(approve(&[]), ["own-4-serving Serving true", "own-5-more ForeignAddress false"]);
    ask(plane, "own-6-again", "harbour-worker-0", BOOTSTRAPPER, groups);
    let again = approve(&[]);
    assert_eq!(again, ["own-5-more ForeignAddress false", "own-6-again AnotherKey false"]);
    assert_eq!(approve(&["own-6-again"])[1], "own-6-again AnotherKey true");
    plane.kubectl().run(&["delete", "csr", "own-5-more"]).expect("a request less");
}

/// In a cluster of Slipway's own, machines ask with its token.
fn the_approver_says_who_asks(plane: &ControlPlane) {
    let labels = json!({"app": "approver"});
    let command = ["slipway-operator", "csr-approver", "--bootstrapper=worker=system:bootstrap:abcdef"];
    let approver = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "slipway-csr-approver", "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "csr-approver", "image": "slipway", "command": command}]},
        }},
    });
    plane.kubectl().apply_value(&approver).expect("an approver");
    let groups = ["system:bootstrappers", "system:bootstrappers:slipway", "system:authenticated"];
    for (name, user) in
        [("csr-4-ours", "system:bootstrap:abcdef"), ("csr-5-other", "system:bootstrap:fedcba")]
    {
        ask(plane, name, "harbour-worker-9", user, &groups);
    }
    let told = slipway(&["node", "approve", "--yes", "--output", "json"])
        .env("KUBECONFIG", plane.kubeconfig())
        .output()
        .expect("the command runs");
    let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    let requests = told["requests"].as_array().expect("requests").iter();
    let reasons: Vec<_> = requests.map(|one| (one["name"].as_str(), one["reason"].as_str())).collect();
    let expected =
        [(Some("csr-4-ours"), Some("NoSuchMachine")), (Some("csr-5-other"), Some("AskedByStranger"))];
    assert_eq!(reasons, expected);
}

#[test]
fn access_is_explained() {
    let empty = tempfile::tempdir().expect("a directory");
    let run =
        |arguments: &[&str]| slipway(arguments).env("HOME", empty.path()).output().expect("the command runs");
    let output = run(&["node", "approve"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no kubeconfig was found"));
    let output = run(&["node", "approve", "--kubeconfig", "absent"]);
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("the kubeconfig `absent` cannot be used: reading")
    );
    // A parser would show the lines around its trouble.
    let broken = empty.path().join("broken");
    for text in [
        "users:\n- user:\n    token: hunter2\n   bad: hunter2\n",
        "users:\n- name: u\n  user: {token: [hunter2]}\n",
    ] {
        std::fs::write(&broken, text).expect("a file");
        let by_flag = run(&["node", "approve", "--kubeconfig", broken.to_str().expect("UTF-8")]);
        let mut command = slipway(&["node", "approve", "--output=json"]);
        let by_variable = command.env("KUBECONFIG", &broken).output().expect("the command runs");
        for output in [&by_flag, &by_variable] {
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(told.contains("broken`") && told.contains("it is not understood from line"), "{told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
        // A program that reads JSON is told as well.
        let told: Value = serde_json::from_slice(&by_variable.stdout).expect("JSON");
        let message = told["error"]["message"].as_str().expect("a message");
        assert!(message.contains("cannot be used") && !told.to_string().contains("hunter2"), "{told}");
    }
    // Who does not answer has a name.
    let text = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [],
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": ""}}]}"#;
    std::fs::write(&broken, text).expect("a file");
    let output = run(&["node", "approve", "--kubeconfig", broken.to_str().expect("UTF-8")]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("the API server at https://127.0.0.1:1/ cannot be reached"), "{told}");
    assert_eq!(run(&["node", "approve", "--bootstrapper", "pirate"]).status.code(), Some(2));
}
