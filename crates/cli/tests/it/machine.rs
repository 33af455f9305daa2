//! `slipway machine`, on a real API server; rollouts beside the real controller of sets.

use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use slipway_operator::controllers::machine_metrics::Metrics;
use slipway_operator::controllers::machine_sets;
use slipway_operator::runtime::watches::Watches;
use slipway_providers::cluster::connect;
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::process::eventually;
use tokio::sync::watch;

use crate::run::{slipway, transcript_of};

pub(crate) const NAMESPACE: &str = "openshift-machine-api";
const TIMEOUT: Duration = Duration::from_mins(2);

/// One for the tests that only look, with machines in every state.
static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
    let plane = ControlPlane::start(Options::default()).expect("a control plane");
    define(&plane);
    plane.kubectl().apply_all(&[set("harbour-worker-0", 2)]).expect("a set");
    let owner = owner(&plane, "harbour-worker-0");
    for (name, role, owners) in [
        ("harbour-master-0", "master", json!([])),
        ("harbour-worker-0-aaaaa", "worker", owner.clone()),
        ("harbour-worker-0-bbbbb", "worker", owner),
        ("harbour-extra", "worker", json!([])),
    ] {
        let mut machine = machine(name, role);
        machine["metadata"]["ownerReferences"] = owners;
        plane.kubectl().apply_value(&machine).expect("a machine");
    }
    for (name, ready) in [("harbour-master-0", "True"), ("harbour-worker-0-aaaaa", "Unknown")] {
        join(&plane, name, ready);
    }
    let failed = json!({"phase": "Failed", "errorMessage": "the template `old` has two disks"});
    status(&plane, "machine", "harbour-worker-0-bbbbb", &failed);
    let metal = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "metal-0"}});
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "shop"}}},
    });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "shop-0", "namespace": "default", "labels": {"app": "shop"}},
        "spec": {
            "nodeName": "harbour-worker-0-aaaaa", "containers": [{"name": "c", "image": "none"}],
            "automountServiceAccountToken": false,
        },
    });
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"},
    });
    plane.kubectl().apply_all(&[metal, budget, account, pod]).expect("objects");
    plane
});

/// Kinds, and the namespace.
pub(crate) fn define(plane: &ControlPlane) {
    let names = ["openshift/machines.machine.openshift.io", "openshift/machinesets.machine.openshift.io"];
    plane.install_definitions(&names).expect("definitions");
    plane.kubectl().run(&["create", "namespace", NAMESPACE]).expect("a namespace");
}

pub(crate) fn machine(name: &str, role: &str) -> Value {
    let labels = json!({
        "machine.openshift.io/cluster-api-machine-role": role,
        "machine.openshift.io/region": "east", "machine.openshift.io/zone": "a",
    });
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"providerSpec": {"value": {"workspace": {"server": "vc1.example.com"}}}},
    })
}

pub(crate) fn set(name: &str, replicas: u32) -> Value {
    let labels = json!({"machine.openshift.io/cluster-api-machineset": name});
    let value = json!({"template": "rhcos", "numCPUs": 4, "memoryMiB": 16384});
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"providerSpec": {"value": value}}},
        },
    })
}

pub(crate) fn owner(plane: &ControlPlane, set: &str) -> Value {
    let found = get(plane, "machineset", set);
    json!([{
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": set, "controller": true,
        "uid": found["metadata"]["uid"],
    }])
}

pub(crate) fn get(plane: &ControlPlane, kind: &str, name: &str) -> Value {
    plane.kubectl().json(&["get", kind, name, "--namespace", NAMESPACE]).expect("an object")
}

fn status(plane: &ControlPlane, kind: &str, name: &str, status: &Value) {
    let patch = json!({"status": status}).to_string();
    let place = ["--namespace", NAMESPACE, "--subresource", "status", "--type", "merge", "--patch", &patch];
    plane.kubectl().run(&[&["patch", kind, name], &place[..]].concat()).expect("a status");
}

/// A machine becomes the node of its name.
fn join(plane: &ControlPlane, name: &str, ready: &str) {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    plane.kubectl().apply_value(&node).expect("a node");
    let ready = json!({"type": "Ready", "status": ready, "reason": "Test", "message": "Kubelet stopped posting node status."});
    status(plane, "node", name, &json!({"conditions": [ready]}));
    status(plane, "machine", name, &json!({"phase": "Running", "nodeRef": {"kind": "Node", "name": name}}));
}

fn transcript(kubeconfig: &Path, arguments: &[&str]) -> String {
    transcript_of(slipway(arguments).env("KUBECONFIG", kubeconfig), arguments)
}

macro_rules! assert_transcript {
    ($transcript:expr) => {
        insta::with_settings!({filters => vec![(r"\b\d+s( |\n)", "AGE$1"), (r#""created": "[^"]+""#, r#""created": "TIME""#)]}, {
            insta::assert_snapshot!($transcript);
        });
    };
}

#[test]
fn machines_are_listed() {
    assert_transcript!(transcript(PLANE.kubeconfig(), &["machine", "list"]));
    assert_transcript!(transcript(PLANE.kubeconfig(), &["machine", "list", "--output", "json"]));
}

#[test]
fn what_would_be_done_is_said_first() {
    let kubeconfig = PLANE.kubeconfig();
    let set = "harbour-worker-0";
    assert_transcript!(transcript(kubeconfig, &["machine", "scale", set, "--replicas", "0", "--plan"]));
    assert_transcript!(transcript(
        kubeconfig,
        &["machine", "scale", set, "--replicas", "4", "--plan", "-o", "json"]
    ));
    assert_transcript!(transcript(kubeconfig, &["machine", "scale", set, "--replicas", "2"]));
    assert_transcript!(transcript(kubeconfig, &["machine", "scale", set, "--replicas", "3"]));
    assert_transcript!(transcript(
        kubeconfig,
        &["machine", "create", "harbour-more", "--like", set, "--plan"]
    ));
    assert_transcript!(transcript(kubeconfig, &["machine", "roll", set, "--plan"]));
    assert_eq!(get(&PLANE, "machineset", set)["spec"]["replicas"], 2, "nothing was changed");
}

#[test]
fn what_cannot_be_done_is_refused() {
    let kubeconfig = PLANE.kubeconfig();
    assert_transcript!(transcript(kubeconfig, &["machine", "replace", "harbour-master-0", "--yes"]));
    assert_transcript!(transcript(kubeconfig, &["machine", "replace", "harbour-extra", "--yes"]));
    assert_transcript!(transcript(kubeconfig, &["machine", "replace", "nothing", "--yes"]));
    assert_transcript!(transcript(kubeconfig, &["machine", "roll", "nothing", "--yes"]));
}

/// With the controller of sets, and a cluster whose machines become nodes at once.
#[test]
fn a_set_is_rolled_out_and_one_machine_replaced() {
    let plane = ControlPlane::start(Options::default()).expect("a control plane");
    // A cluster without machines: the kind is not even there.
    assert_transcript!(transcript(plane.kubeconfig(), &["machine", "list"]));
    define(&plane);
    plane.kubectl().apply_value(&set("worker", 2)).expect("a set");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (stop, stopped) = watch::channel(false);
    let controller = runtime.spawn({
        let kubeconfig = plane.kubeconfig().to_owned();
        async move {
            let client = connect(Some(&kubeconfig), None).await.expect("a client");
            let settings = machine_sets::Settings { namespace: NAMESPACE.to_owned() };
            machine_sets::run(Watches::new(client), settings, Metrics::default(), stopped).await;
        }
    });
    let machines = || -> Vec<(String, String)> {
        let list = plane.kubectl().json(&["get", "machines.machine.openshift.io", "--namespace", NAMESPACE]);
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let list = list.expect("machines");
        let items = list["items"].as_array().expect("a list").clone();
        items.iter().map(|one| (text(&one["metadata"]["name"]), text(&one["metadata"]["uid"]))).collect()
    };
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // What the other controllers and the kubelets would do.
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                for (name, _) in machines() {
                    let object = plane.kubectl().json(&["get", "machine", &name, "--namespace", NAMESPACE]);
                    if object.is_ok_and(|object| object["status"]["nodeRef"].is_null()) {
                        join(&plane, &name, "True");
                    }
                }
                std::thread::yield_now();
            }
        });
        let two = || Ok(Some(machines()).filter(|machines| machines.len() == 2));
        let before = eventually("two machines", TIMEOUT, two).expect("two machines");
        let rolled = slipway(&["machine", "roll", "worker", "--yes"])
            .env("KUBECONFIG", plane.kubeconfig())
            .output()
            .expect("it runs");
        assert!(rolled.status.success(), "{rolled:?}");
        let after = machines();
        assert_eq!(after.len(), 2);
        assert!(after.iter().all(|one| !before.contains(one)), "{before:?} {after:?}");
        let (name, _) = &after[0];
        let replaced = slipway(&["machine", "replace", name, "--yes"])
            .env("KUBECONFIG", plane.kubeconfig())
            .output()
            .expect("it runs");
        assert!(replaced.status.success(), "{replaced:?}");
        let last = machines();
        assert!(
            last.len() == 2 && !last.contains(&after[0]) && last.contains(&after[1]),
            "{after:?} {last:?}"
        );
        ended.store(true, Ordering::Relaxed);
    });
    let set = get(&plane, "machineset", "worker");
    assert_eq!(set["spec"]["replicas"], 2);
    for gone in ["slipway.dev/rollout", "slipway.dev/rollout-state"] {
        assert_eq!(set["metadata"]["annotations"][gone], Value::Null, "{gone}");
    }
    stop.send_replace(true);
    runtime.block_on(controller).expect("it ends");
}
