//! `slipway wait-for`, on a real API server with OpenShift's own definitions.

use std::fs;

use serde_json::{Value, json};
use slipway_testkit::control_plane::{ControlPlane, Options};

use crate::files::{example, file};
use crate::run::{slipway, transcript_of};

fn put(plane: &ControlPlane, kind: &str, name: &str, spec: &Value, status: &Value) {
    let object = json!({
        "apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec, "status": status,
    });
    plane.kubectl().apply_value(&object).expect("an object");
    let file = plane.scratch().write("status.json", object.to_string()).expect("a file");
    let arguments = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--subresource=status",
        "--filename",
        file.to_str().expect("UTF-8"),
    ];
    plane.kubectl().run(&arguments).expect("a status");
}

fn conditions(all: &[(&str, &str, &str)]) -> Value {
    let condition = |(kind, status, message): &(&str, &str, &str)| json!({"type": kind, "status": status, "message": message, "lastTransitionTime": "2026-11-16T11:00:00Z"});
    all.iter().map(condition).collect()
}

fn operator(plane: &ControlPlane, degraded: &str, message: &str) {
    let all = [("Available", "True", ""), ("Progressing", "False", ""), ("Degraded", degraded, message)];
    put(plane, "ClusterOperator", "ingress", &json!({}), &json!({"conditions": conditions(&all)}));
}

/// Eight seconds: an API server, and giving up takes a pause between two looks.
#[test]
fn waiting_ends_with_the_code_of_what_was_waited_for() {
    let plane = ControlPlane::start(Options::default()).expect("a control plane");
    let kinds =
        ["openshift/clusterversions.config.openshift.io", "openshift/clusteroperators.config.openshift.io"];
    plane.install_definitions(&kinds).expect("definitions");
    let (folder, _) = file(example("none.yaml", &[]));
    let run = |arguments: &[&str]| {
        let mut command = slipway(arguments);
        transcript_of(command.current_dir(folder.path()), arguments)
    };
    let made = run(&["create", "ignition-configs"]);
    assert!(made.contains("exit: 0"), "{made}");
    fs::copy(plane.kubeconfig(), folder.path().join("auth/kubeconfig")).expect("a kubeconfig");
    let all = [("Available", "True", ""), ("Progressing", "False", ""), ("Failing", "False", "")];
    let status = json!({
        "conditions": conditions(&all), "availableUpdates": null, "observedGeneration": 1, "versionHash": "x",
        "desired": {"version": "4.20.3", "image": "quay.io/ocp-release:4.20.3"},
    });
    let spec = json!({"clusterID": "5d0c1f00-0000-4000-8000-3cecef112233"});
    put(&plane, "ClusterVersion", "version", &spec, &status);
    operator(&plane, "True", "the router has no certificate");
    let wait = ["wait-for", "install-complete", "--install-timeout", "1s"];
    let said = run(&wait);
    for words in [
        "exit: 7",
        "waiting for the cluster operator ingress is degraded: the router has no certificate",
        "error: no progress for 1s",
        "the cluster operator ingress is degraded: the router has no certificate",
    ] {
        assert!(said.contains(words), "{words} is not in\n{said}");
    }
    operator(&plane, "False", "");
    let said = run(&wait);
    assert!(said.contains("exit: 0") && said.contains("installation complete"), "{said}");
}
