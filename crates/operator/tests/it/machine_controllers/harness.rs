//! A namespace for each test, and controllers that have the shipped rights there.

use std::sync::Once;
use std::time::Duration;

use kube::Client;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use slipway_assets::drivers::operator;
use slipway_operator::controllers::machine_metrics::Metrics;
use slipway_operator::controllers::{
    address_pools, drain, machine_health_checks, machine_sets, node_links, out_of_service,
};
use slipway_operator::runtime::watches::Watches;
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::kubectl::stream;
use slipway_testkit::process::eventually;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::shipped;

pub(super) const TIMEOUT: Duration = Duration::from_mins(1);
/// OpenShift's own definitions: what they take, ours take too.
const DEFINITIONS: [&str; 3] = [
    "openshift/machines.machine.openshift.io",
    "openshift/machinesets.machine.openshift.io",
    "openshift/machinehealthchecks.machine.openshift.io",
];

/// The control plane that all of these tests share.
pub(super) fn plane() -> &'static ControlPlane {
    static DEFINED: Once = Once::new();
    let plane = ControlPlane::shared();
    DEFINED.call_once(|| plane.install_definitions(&DEFINITIONS).unwrap());
    plane
}

/// Where a test has its machines.
pub(super) struct Place {
    pub(super) plane: &'static ControlPlane,
    pub(super) namespace: String,
}

/// A controller that runs until it is dropped or stopped.
pub(super) struct Running {
    registry: Registry,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Running {
    /// Whether its metrics have this line.
    pub(super) fn counts(&self, line: &str) -> Option<()> {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        text.lines().any(|one| one == line).then_some(())
    }

    pub(super) async fn stop(self) {
        self.stop.send_replace(true);
        self.task.await.unwrap();
    }

    /// Ends it as a crash does: in the middle of whatever it does.
    pub(super) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

impl Place {
    pub(super) fn new() -> Self {
        tokio::task::block_in_place(Self::made)
    }

    fn made() -> Self {
        let plane = plane();
        let namespace = plane.namespace().unwrap();
        // Pods need it, and a controller makes it.
        let account = ["get", "serviceaccount", "default", "--namespace", &namespace];
        eventually("the account", TIMEOUT, || plane.kubectl().run(&account).map(Some)).unwrap();
        Place { plane, namespace }
    }

    /// A client with the rights of a controller as they are shipped, in this namespace instead of that of the machines.
    pub(super) async fn account(&self, controller: &str) -> Client {
        account(self.plane, &self.namespace, controller).await
    }

    /// Starts a controller by its name.
    pub(super) async fn start(&self, controller: &str) -> Running {
        start(self.account(controller).await, &self.namespace, controller)
    }

    /// Applies objects here; nodes are everywhere.
    pub(super) fn apply(&self, objects: &[Value]) {
        let mut objects = objects.to_vec();
        for object in objects.iter_mut().filter(|object| object["kind"] != "Node") {
            object["metadata"]["namespace"] = json!(self.namespace);
        }
        self.plane.kubectl().apply_all(&objects).unwrap();
    }

    /// Runs kubectl in the namespace.
    pub(super) fn run(&self, arguments: &[&str]) -> String {
        let place = ["--namespace", &self.namespace];
        self.plane.kubectl().run(&[arguments, &place].concat()).unwrap()
    }

    pub(super) fn get(&self, kind: &str, name: &str) -> Value {
        self.plane.kubectl().json(&["get", kind, name, "--namespace", &self.namespace]).unwrap()
    }

    pub(super) fn list(&self, kind: &str) -> Vec<Value> {
        let list = self.plane.kubectl().json(&["get", kind, "--namespace", &self.namespace]).unwrap();
        list["items"].as_array().unwrap().clone()
    }

    /// Merges something into the status of an object.
    pub(super) fn status(&self, kind: &str, name: &str, status: &Value) {
        let patch = json!({"status": status}).to_string();
        self.run(&["patch", kind, name, "--subresource", "status", "--type", "merge", "--patch", &patch]);
    }

    /// Merges something into an object.
    pub(super) fn patch(&self, kind: &str, name: &str, change: &Value) {
        self.run(&["patch", kind, name, "--type", "merge", "--patch", &change.to_string()]);
    }

    /// Waits for something that there is about an object; where it does not come, the namespace is named.
    pub(super) fn wait<T>(&self, what: &str, mut check: impl FnMut() -> Option<T>) -> T {
        eventually(&format!("{what} in {}", self.namespace), TIMEOUT, || Ok(check())).unwrap()
    }

    /// A condition of an object, once it has this reason.
    pub(super) fn condition(&self, kind: &str, name: &str, about: &str, reason: &str) -> Value {
        let what = format!("{about} of {name} is {reason}");
        let found = eventually(&what, TIMEOUT, || {
            let object = self.get(kind, name);
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let found =
                conditions.iter().find(|one| one["type"] == about && one["reason"] == reason).cloned();
            anyhow::ensure!(found.is_some(), "it has {}", json!(conditions));
            Ok(found)
        });
        found.unwrap()
    }

    /// Reasons of the events about an object.
    pub(super) fn events(&self, name: &str) -> Vec<String> {
        let events = self.list("events.events.k8s.io");
        let about = events.iter().filter(|event| event["regarding"]["name"] == name);
        about.filter_map(|event| event["reason"].as_str().map(str::to_owned)).collect()
    }
}

/// The shipped rights of a controller, in another namespace and for an account of that name.
pub(super) async fn account(plane: &ControlPlane, namespace: &str, controller: &str) -> Client {
    let objects = operator::machine_controllers(|name| name == controller).unwrap();
    let text = stream(objects.iter().filter(|object| object["kind"] != "Namespace"));
    let (user, account) = (format!("{namespace}-{controller}"), format!("{namespace}-account"));
    let text = text
        .replace("openshift-machine-api", namespace)
        .replace(&format!("slipway-operator-{controller}"), &user)
        .replace("slipway-operator", &user)
        .replace("slipway-system", &account);
    tokio::task::block_in_place(|| {
        plane.kubectl().apply(&text).unwrap();
    });
    let user = format!("system:serviceaccount:{account}:{user}");
    let may = ["auth", "can-i", "--as", &user, "--namespace", namespace];
    tokio::task::block_in_place(|| {
        let common = [&["create", "events.events.k8s.io"][..], &["list", "nodes"]];
        let own = [&["patch", "ipaddressclaims.ipam.cluster.x-k8s.io", "--subresource=status"][..]];
        for question in if controller == "address-pools" { &own[..] } else { &common[..] } {
            eventually("the rights", TIMEOUT, || {
                plane.kubectl().run(&[&may[..], *question].concat()).map(Some)
            })
            .unwrap();
        }
    });
    shipped::client_with(plane, |login| login.impersonate = Some(user)).await
}

/// Starts a controller with a client.
pub(super) fn start(client: Client, namespace: &str, controller: &str) -> Running {
    let (stop, stopped) = watch::channel(false);
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let (watches, namespace) = (Watches::new(client), namespace.to_owned());
    let task = match controller {
        "machine-sets" => {
            tokio::spawn(machine_sets::run(watches, machine_sets::Settings { namespace }, metrics, stopped))
        }
        "machine-health-checks" => {
            let settings = machine_health_checks::Settings { namespace };
            tokio::spawn(machine_health_checks::run(watches, settings, metrics, stopped))
        }
        "node-links" => {
            tokio::spawn(node_links::run(watches, node_links::Settings { namespace }, metrics, stopped))
        }
        "drain" => {
            let settings = drain::Settings { interval: Duration::from_millis(500), namespace };
            tokio::spawn(drain::run(watches, settings, metrics, stopped))
        }
        "out-of-service" => {
            tokio::spawn(out_of_service::run(watches, out_of_service::Settings { namespace }, stopped))
        }
        "address-pools" => {
            tokio::spawn(address_pools::run(watches, address_pools::Settings { namespace }, stopped))
        }
        other => panic!("{other}"),
    };
    Running { registry, stop, task }
}

pub(super) fn machine(name: &str, spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["providerSpec"] = json!({"value": {}});
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": {"name": name}, "spec": spec,
    })
}

/// A set that names its machines by a label of its own.
pub(super) fn set(name: &str, replicas: usize) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": {"name": name},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"set": name}},
            "template": {
                "metadata": {"labels": {"set": name}},
                "spec": {"providerSpec": {"value": {"numCPUs": 4, "memoryMiB": 8192}}},
            },
        },
    })
}
