//! The operator's rights: enough for everything it makes, and not for more.

use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};
use slipway_api::slipway::vdo_config::{CloudProvider, StorageProvider};
use slipway_assets::drivers::{Object, operator};
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::kubectl::stream;
use slipway_testkit::process::eventually;

use super::estate::Estate;
use super::kinds;

const PATIENCE: Duration = Duration::from_mins(1);
const ACCOUNT: &str = "--as=system:serviceaccount:slipway-system:slipway-operator";

/// The one cluster with the operator's rights as they are shipped.
fn plane() -> &'static ControlPlane {
    static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
        let plane = ControlPlane::start(Options::default()).unwrap();
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/operator/rbac.yaml");
        plane.kubectl().apply(&fs_err::read_to_string(shipped).unwrap()).unwrap();
        // They take a moment to be in force.
        let last = ["auth", "can-i", ACCOUNT, "create", "clusterroles.rbac.authorization.k8s.io"];
        eventually("the operator has its rights", PATIENCE, || plane.kubectl().run(&last).map(Some)).unwrap();
        plane
    });
    &PLANE
}

#[test]
fn the_operator_may_do_what_it_has_to() {
    let plane = plane();
    kinds::install(plane);
    let estate = Estate::new();
    let storage = serde_json::from_value::<StorageProvider>(json!({"storageClass": {}})).unwrap();
    let mut objects = estate.cloud("1.34.0", &CloudProvider::default()).unwrap();
    objects.extend(estate.storage("3.7.0", &storage).unwrap());
    // Nobody answers for the webhook here.
    objects.retain(|object| object.kind != "ValidatingWebhookConfiguration");
    let file = write(plane, &objects);
    let apply = ["apply", "--server-side", "--validate=strict", ACCOUNT, "--filename", &file];
    plane.kubectl().run(&apply).unwrap();
    // Again, as it does all the time.
    plane.kubectl().run(&apply).unwrap();

    may(plane, &["create", "validatingwebhookconfigurations.admissionregistration.k8s.io"], true);
    may(plane, &["patch", "vdoconfigs.slipway.dev", "--subresource=status"], true);
    may(plane, &["list", "secrets", "--namespace=slipway-system"], true);
    for forbidden in [
        &["delete", "namespaces"][..],
        &["delete", "nodes"],
        &["escalate", "clusterroles.rbac.authorization.k8s.io"],
        &["bind", "clusterroles.rbac.authorization.k8s.io"],
        &["get", "secrets", "--namespace=default"],
        &["list", "secrets", "--all-namespaces"],
        &["create", "pods", "--namespace=kube-system"],
        &["impersonate", "users"],
        &["patch", "vdoconfigs.slipway.dev"],
    ] {
        may(plane, forbidden, false);
    }

    objects.retain(|object| object.kind != "Namespace");
    let file = write(plane, &objects);
    plane.kubectl().run(&["delete", ACCOUNT, "--wait=false", "--filename", &file]).unwrap();
}

/// What it is given cannot be handed on: a role beyond its own rights is refused.
#[test]
fn the_operator_cannot_give_more_than_it_has() {
    let plane = plane();
    let greedy = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "greedy"},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["delete"]}],
    });
    let file = plane.scratch().write("greedy.json", greedy.to_string()).unwrap();
    let error = plane.kubectl().run(&["create", ACCOUNT, "--filename", file.to_str().unwrap()]).unwrap_err();
    assert!(
        error.to_string().contains("attempting to grant RBAC permissions not currently held"),
        "{error:#}"
    );
}

#[test]
fn there_are_no_wildcards() {
    let text: String = operator::objects().unwrap().iter().map(Value::to_string).collect();
    for word in ["\"*\"", "escalate", "\"bind\"", "impersonate"] {
        assert!(!text.contains(word), "{word}");
    }
}

fn write(plane: &ControlPlane, objects: &[Object]) -> String {
    let text = stream(objects.iter().map(|object| &object.value));
    plane.scratch().write("objects.yaml", text).unwrap().to_str().unwrap().to_owned()
}

fn may(plane: &ControlPlane, what: &[&str], expected: bool) {
    // "no" is an error to kubectl.
    let answer = plane.kubectl().run(&[&["auth", "can-i", ACCOUNT], what].concat());
    assert_eq!(answer.is_ok_and(|answer| answer.trim() == "yes"), expected, "{what:?}");
}
