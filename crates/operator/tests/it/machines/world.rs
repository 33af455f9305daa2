//! A cluster with two vCenters, and the Machine controller in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use slipway_assets::drivers::operator;
use slipway_operator::controllers::connections::Insecure;
use slipway_operator::controllers::machines::{self, Metrics, Pace, Settings};
use slipway_operator::runtime::sessions::Sessions;
use slipway_operator::runtime::watches::Watches;
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::estate::Site;
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::gate::{self, Gate};

pub(super) const TIMEOUT: Duration = Duration::from_secs(90);
pub(super) const INFRA_ID: &str = "harbour-x7k2p";
pub(super) const MACHINES: &str = "openshift-machine-api";
const OPERATOR: &str = "slipway-system";
const ACCOUNT: &str = "system:serviceaccount:slipway-system:slipway-operator";

/// One question for each role, about what came last.
const RIGHTS: [&[&str]; 3] = [
    &["patch", "machines.machine.openshift.io", "--subresource=status", "--namespace", MACHINES],
    &["delete", "nodes"],
    &["get", "secrets", "--namespace", OPERATOR],
];

/// A cluster, its vCenters, and the controller.
pub(super) struct World {
    pub(super) plane: ControlPlane,
    pub(super) north: VCenter,
    pub(super) south: Option<VCenter>,
    pub(super) runtime: Runtime,
    kubeconfig: PathBuf,
    controller: Option<(watch::Sender<bool>, JoinHandle<()>)>,
    registry: Registry,
    metrics: Metrics,
}

/// An inventory whose vCenter has an id of its own, and hands out addresses.
pub(super) fn inventory(name: &str, instance: &str, network: &str) -> Value {
    let mut inventory = Site::new(name).inventory();
    inventory["vcenter"]["instance_uuid"] = json!(instance);
    inventory["dhcp"] = json!(network);
    inventory
}

impl World {
    pub(super) fn new() -> Self {
        let plane = ControlPlane::start(Options::default()).unwrap();
        let kubectl = plane.kubectl();
        plane
            .install_definitions(&[
                "openshift/machines.machine.openshift.io",
                "cluster-api/ipaddressclaims.ipam.cluster.x-k8s.io",
                "cluster-api/ipaddresses.ipam.cluster.x-k8s.io",
            ])
            .unwrap();
        let deploy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
        for entry in fs_err::read_dir(format!("{deploy}/crds")).unwrap() {
            kubectl.apply(&fs_err::read_to_string(entry.unwrap().path()).unwrap()).unwrap();
        }
        kubectl.apply(&fs_err::read_to_string(format!("{deploy}/operator/rbac.yaml")).unwrap()).unwrap();
        kubectl.apply_all(operator::machine_controllers(|name| name == "machines").unwrap().iter()).unwrap();
        plane.wait_for_definitions().unwrap();
        for question in RIGHTS {
            let may = [&["auth", "can-i", "--as", ACCOUNT], question].concat();
            eventually("the rights", TIMEOUT, || kubectl.run(&may).map(Some)).unwrap();
        }
        let north =
            VCenter::start(&inventory("north", "11111111-0000-4000-8000-000000000001", "10.0.0.0/24"))
                .unwrap();
        let south =
            VCenter::start(&inventory("south", "22222222-0000-4000-8000-000000000002", "10.0.1.0/24"))
                .unwrap();
        let kubeconfig = plane.kubeconfig_for(ACCOUNT, Some("system:serviceaccounts")).unwrap();
        let runtime = Runtime::new().unwrap();
        let mut registry = Registry::default();
        let metrics = Metrics::register(&mut registry);
        let (south, controller) = (Some(south), None);
        let world = World { plane, north, south, runtime, kubeconfig, controller, registry, metrics };
        world.connect("north", "127.0.0.1", &world.north);
        world.connect("south", "localhost", world.south.as_ref().unwrap());
        let data = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "worker-user-data", "namespace": MACHINES},
            "stringData": {"userData": r#"{"ignition":{"version":"3.4.0"}}"#},
        });
        world.plane.kubectl().apply_value(&data).unwrap();
        world
    }

    /// A connection to a vCenter, with its login and authority.
    pub(super) fn connect(&self, name: &str, server: &str, vcenter: &VCenter) {
        self.login(name, server, ADMINISTRATOR.1);
        let ca = fs_err::read_to_string(vcenter.ca_file()).unwrap();
        let metadata = json!({"name": name, "namespace": OPERATOR});
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": ca}});
        let connection = json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": "VSphereConnection", "metadata": metadata,
            "spec": {
                "server": server, "port": vcenter.port(), "credentialsSecret": {"name": name},
                "tls": {"caBundle": {"name": name}},
            },
        });
        self.plane.kubectl().apply_all([&map, &connection]).unwrap();
    }

    pub(super) fn login(&self, name: &str, server: &str, password: &str) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth",
            "metadata": {"name": name, "namespace": OPERATOR},
            "stringData": {"server": server, "username": ADMINISTRATOR.0, "password": password},
        });
        self.plane.kubectl().apply_value(&secret).unwrap();
    }

    /// Starts the controller as the operator's account.
    pub(super) fn start(&mut self) {
        self.start_through(Arc::new(Gate::default()));
    }

    pub(super) fn start_through(&mut self, gate: Arc<Gate>) {
        let (stop, stopped) = watch::channel(false);
        let pace = Pace {
            first: Duration::from_millis(300),
            longest: Duration::from_secs(2),
            second_look: Duration::from_millis(300),
            shutdown: Duration::from_secs(5),
            ..Pace::default()
        };
        let vips = vec!["10.0.0.2".parse().unwrap()];
        let settings = Settings { namespace: OPERATOR.to_owned(), insecure: Insecure::Refused, vips, pace };
        let (kubeconfig, metrics) = (self.kubeconfig.clone(), self.metrics.clone());
        let running = self.runtime.spawn(async move {
            let watches = Watches::new(gate::client(&kubeconfig, gate).await);
            let sessions = Sessions::default();
            machines::run(watches, settings, sessions.clone(), metrics, stopped).await;
            sessions.close().await;
        });
        self.controller = Some((stop, running));
    }

    /// Ends the controller as a signal does.
    pub(super) fn stop(&mut self) {
        if let Some((stop, running)) = self.controller.take() {
            stop.send(true).unwrap();
            self.runtime.block_on(running).unwrap();
        }
    }

    /// Ends the controller as a power cut does.
    pub(super) fn kill(&mut self) {
        if let Some((_, running)) = self.controller.take() {
            running.abort();
            let _ = self.runtime.block_on(running);
        }
    }

    /// Makes a Machine at a site.
    pub(super) fn machine(&self, name: &str, server: &str, site: &str) {
        self.machine_with(name, server, site, &json!({}));
    }

    /// The same; `change` replaces parts of its providerSpec.
    pub(super) fn machine_with(&self, name: &str, server: &str, site: &str, change: &Value) {
        self.plane.kubectl().apply_value(&machine(name, server, site, change)).unwrap();
    }

    /// The same, with the mark that the installer puts on Machines.
    pub(super) fn marked_machine(&self, name: &str, server: &str, site: &str, mark: &str) {
        let mut machine = machine(name, server, site, &json!({}));
        machine["metadata"]["labels"]["slipway.dev/id"] = json!(mark);
        self.plane.kubectl().apply_value(&machine).unwrap();
    }

    /// What the controller counts.
    pub(super) fn metrics_text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        text
    }

    /// Whether the controller knows of another owner.
    pub(super) fn wait_until_observing(&self, observing: bool) {
        let line = format!("slipway_machines_observed_only {}", u8::from(observing));
        eventually(&line, TIMEOUT, || Ok(self.metrics_text().contains(&line).then_some(()))).unwrap();
    }

    /// A Machine, or nothing where there is none.
    pub(super) fn get(&self, name: &str) -> Value {
        let get = ["get", "machine", name, "--namespace", MACHINES, "--ignore-not-found", "--output=json"];
        let found = self.plane.kubectl().run(&get).unwrap();
        if found.trim().is_empty() { Value::Null } else { serde_json::from_str(&found).unwrap() }
    }

    pub(super) fn wait_until(&self, name: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("{name}: {what}"), TIMEOUT, || {
            let machine = self.get(name);
            Ok(is(&machine).then_some(machine))
        })
        .unwrap_or_else(|error| panic!("{error:#}: {:#}", self.get(name)))
    }

    /// Waits until a Machine runs and has an address.
    pub(super) fn wait_until_made(&self, name: &str) -> Value {
        self.wait_until(name, "made, with an address", |machine| {
            machine["status"]["phase"] == "Provisioned" && addresses(machine).len() > 2
        })
    }

    pub(super) fn delete(&self, name: &str) {
        let delete = ["delete", "machine", name, "--namespace", MACHINES, "--wait=false"];
        self.plane.kubectl().run(&delete).unwrap();
    }

    pub(super) fn wait_until_gone(&self, name: &str) {
        self.wait_until(name, "gone", Value::is_null);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A Machine at a site; `change` replaces parts of its providerSpec.
pub(super) fn machine(name: &str, server: &str, site: &str, change: &Value) -> Value {
    let mut machine = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {
            "name": name, "namespace": MACHINES,
            "labels": {"machine.openshift.io/cluster-api-cluster": INFRA_ID},
        },
        "spec": {"providerSpec": {"value": {
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "VSphereMachineProviderSpec",
            "template": "rhcos", "numCPUs": 4, "numCoresPerSocket": 2, "memoryMiB": 8192, "diskGiB": 32,
            "userDataSecret": {"name": "worker-user-data"},
            "workspace": {
                "server": server, "datacenter": site, "datastore": format!("/{site}/datastore/vsan"),
                "folder": format!("/{site}/vm/{INFRA_ID}"), "resourcePool": format!("/{site}/host/compute/Resources"),
            },
            "network": {"devices": [{"networkName": "cluster-net"}]},
        }}},
    });
    for (key, value) in change.as_object().unwrap() {
        machine["spec"]["providerSpec"]["value"][key] = value.clone();
    }
    machine
}

pub(super) fn addresses(machine: &Value) -> Vec<(String, String)> {
    let text = |address: &Value, key: &str| address[key].as_str().unwrap().to_owned();
    let addresses = machine["status"]["addresses"].as_array().cloned().unwrap_or_default();
    addresses.iter().map(|address| (text(address, "type"), text(address, "address"))).collect()
}

pub(super) fn condition<'m>(machine: &'m Value, about: &str) -> &'m Value {
    let conditions = machine["status"]["conditions"].as_array();
    conditions.and_then(|all| all.iter().find(|one| one["type"] == about)).unwrap_or(&Value::Null)
}

/// The virtual machines of the cluster on a vCenter, by name.
pub(super) fn virtual_machines(vcenter: &VCenter, site: &str) -> Vec<(String, Value)> {
    let below = format!("/{site}/vm/{INFRA_ID}/");
    let mut found: Vec<(String, Value)> = vcenter
        .objects()
        .unwrap()
        .into_iter()
        .filter(|object| object["type"] == "VirtualMachine")
        .filter_map(|object| {
            let name = object["path"].as_str()?.strip_prefix(&below)?.to_owned();
            Some((name, object))
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// How often a method was called.
pub(super) fn calls(vcenter: &VCenter, method: &str) -> u64 {
    vcenter.calls().unwrap()[method].as_u64().unwrap_or_default()
}
