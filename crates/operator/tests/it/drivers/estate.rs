//! A cluster on two vCenters, and the operator in it.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_api::slipway::vdo_config::Images;
use slipway_assets::drivers::signature::{PublicKey, draw, sign};
use slipway_config::secret::Secret;
use slipway_lifecycle::drivers::deploy::remove_old_copies;
use slipway_lifecycle::drivers::status::{Status, status};
use slipway_operator::controllers::drivers::matrix::{MatrixSource, Source};
use slipway_operator::controllers::{checks, connections, drivers};
use slipway_operator::manager;
use slipway_operator::manager::{End, Settings};
use slipway_operator::runtime::lease;
use slipway_operator::runtime::metrics::Metrics;
use slipway_providers::cluster::connect;
use slipway_testkit::control_plane::{Beside, ControlPlane, Options};
use slipway_testkit::nodes;
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(super) const TIMEOUT: Duration = Duration::from_secs(90);
/// Within this time whoever looks sees what is wrong.
pub(super) const FAILURE_TIMEOUT: Duration = Duration::from_secs(10);
pub(super) const NAMESPACE: &str = "slipway-system";
pub(super) const NORTH: &str = "42166f45-6f10-6d46-4b2d-7f7e4f5b7a01";
pub(super) const SOUTH: &str = "42166f45-6f10-6d46-4b2d-7f7e4f5b7a02";

/// Five lines.
pub(super) const CONFIG: &str = "apiVersion: slipway.dev/v1alpha1
kind: VDOConfig
metadata: {name: cluster}
spec:
  {cloudProvider: {}, storageProvider: {topologyCategories: [k8s-region, k8s-zone]}}
";

pub(super) fn inventory(name: &str, uuid: &str, address: &str) -> Value {
    json!({
        "vcenter": {"version": "8.0.3"},
        "users": [{"name": "driver", "password": "Str0ng!"}],
        "permissions": [{"principal": "VSPHERE.LOCAL\\driver", "role": "ReadOnly", "entity": "/"}],
        "categories": [{"name": "k8s-region"}, {"name": "k8s-zone"}],
        "datacenters": [{
            "name": name,
            "clusters": [{"name": "compute", "hosts": [{"name": "esx"}]}],
            "datastores": [{"name": "fast"}],
            "networks": [{"name": "net"}],
            "vms": [{"name": name, "cluster": "compute", "datastore": "fast", "power": "on", "hostname": name,
                     "ips": [address], "uuid": uuid, "networks": ["net"], "hardware_version": "vmx-19",
                     "extra_config": {"disk.EnableUUID": "TRUE"}}],
        }],
    })
}

/// Definitions and rights as they are in the repository.
pub(super) fn install(plane: &ControlPlane) {
    let deploy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
    for entry in fs_err::read_dir(format!("{deploy}/crds")).unwrap() {
        plane.kubectl().apply(&fs_err::read_to_string(entry.unwrap().path()).unwrap()).unwrap();
    }
    plane.kubectl().apply(&fs_err::read_to_string(format!("{deploy}/operator/rbac.yaml")).unwrap()).unwrap();
    plane.wait_for_definitions().unwrap();
}

/// A cluster, its vCenters, and whoever operates it.
pub(super) struct Estate {
    pub(super) plane: ControlPlane,
    pub(super) north: VCenter,
    pub(super) south: VCenter,
    runtime: Runtime,
    /// The administrator's.
    client: kube::Client,
    operator: Option<(watch::Sender<bool>, JoinHandle<End>)>,
    key: Secret,
    public: PublicKey,
    copies: u32,
    /// How much faster than elsewhere the operator's pauses pass.
    pub(super) haste: u32,
    pub(super) metrics: Metrics,
}

impl Estate {
    /// With the definitions and the rights as they are in the repository, and no operator yet.
    pub(super) fn new() -> Self {
        let beside = &[Beside::Controllers, Beside::Scheduler, Beside::Kwok];
        let plane = ControlPlane::start(Options { beside, ..Options::default() }).unwrap();
        install(&plane);
        let north = VCenter::start_beside(&inventory("north", NORTH, "10.0.0.5"), &plane).unwrap();
        let south = VCenter::start_beside(&inventory("south", SOUTH, "10.0.1.5"), &plane).unwrap();
        let (key, public) = draw().unwrap();
        let runtime = Runtime::new().unwrap();
        let client = runtime.block_on(connect(Some(plane.kubeconfig()), None)).unwrap();
        let estate = Estate {
            plane,
            north,
            south,
            runtime,
            client,
            operator: None,
            key,
            public,
            copies: 0,
            haste: 1,
            metrics: Metrics::default(),
        };
        estate.credentials("north", ADMINISTRATOR);
        estate.credentials("south", ADMINISTRATOR);
        estate.connection("north", "127.0.0.1", &estate.north);
        estate.connection("south", "localhost", &estate.south);
        estate
    }

    /// As `slipway drivers upgrade` does at its end.
    pub(super) fn remove_old_copies(&self) -> Vec<String> {
        let removed = std::cell::RefCell::new(Vec::new());
        let told = |what: &str| removed.borrow_mut().push(what.to_owned());
        self.runtime.block_on(remove_old_copies(&self.client, told)).unwrap();
        removed.into_inner()
    }

    pub(super) fn credentials(&self, name: &str, (user, password): (&str, &str)) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth",
            "metadata": {"name": name, "namespace": NAMESPACE},
            // They have the same logins.
            "stringData": {"server": "127.0.0.1 localhost", "username": user, "password": password},
        });
        self.plane.kubectl().apply_value(&secret).unwrap();
    }

    pub(super) fn connection(&self, name: &str, server: &str, vcenter: &VCenter) {
        self.connection_at(name, server, vcenter.port(), vcenter);
    }

    /// To a port, trusting the authority of some vCenter.
    pub(super) fn connection_at(&self, name: &str, server: &str, port: u16, vcenter: &VCenter) {
        let ca = fs_err::read_to_string(vcenter.ca_file()).unwrap();
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": NAMESPACE}, "data": {"ca.crt": ca},
        });
        self.plane.kubectl().apply_value(&map).unwrap();
        let connection = json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": "VSphereConnection",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "server": server, "port": port, "datacenters": [name],
                "credentialsSecret": {"name": name}, "tls": {"caBundle": {"name": name}},
            },
        });
        self.plane.kubectl().apply_value(&connection).unwrap();
    }

    /// A node as its kubelet registers it; kwok keeps it alive.
    pub(super) fn node(&self, name: &str, uuid: &str, provider: Option<&str>, initialised: bool) {
        let mut node = nodes::living(name, uuid);
        if !initialised {
            node["spec"]["taints"] = json!([nodes::uninitialized()]);
        }
        if let Some(provider) = provider {
            node["spec"]["providerID"] = json!(provider);
        }
        let labels = &mut node["metadata"]["labels"];
        if initialised && provider.is_some_and(|provider| provider.starts_with("vsphere://")) {
            labels["node.kubernetes.io/instance-type"] = json!("vsphere-vm");
        }
        if !provider.is_some_and(|provider| provider.starts_with("metal://")) {
            labels["node-role.kubernetes.io/control-plane"] = json!("");
        }
        self.plane.register(&node).unwrap();
    }

    /// Publishes the matrix of the operator.
    pub(super) fn matrix(&self, newest: &str) {
        self.signed(&matrix_up_to(newest));
    }

    pub(super) fn signed(&self, text: &str) {
        self.publish(text, &self.signature(text));
    }

    pub(super) fn signature(&self, text: &str) -> String {
        sign(text, &self.key).unwrap().0
    }

    pub(super) fn publish(&self, text: &str, signature: &str) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "matrix", "namespace": NAMESPACE},
            "data": {"matrix.yaml": text, "matrix.yaml.sig": signature},
        });
        self.plane.kubectl().apply_value(&map).unwrap();
    }

    /// Starts the operator as its own account.
    pub(super) fn operate(&mut self, step: Duration) {
        let place = MatrixSource::ConfigMap("matrix".to_owned());
        self.operate_from(Source { place, ..Source::default() }, step);
    }

    /// The same with a matrix from elsewhere.
    pub(super) fn operate_from(&mut self, matrix: Source, step: Duration) {
        let matrix = Source { keys: vec![self.public.clone()], ..matrix };
        let account = format!("system:serviceaccount:{NAMESPACE}:slipway-operator");
        let kubeconfig = self.plane.kubeconfig_for(&account, Some("system:serviceaccounts")).unwrap();
        self.copies += 1;
        let settings = Settings {
            machine_metrics: slipway_operator::controllers::machine_metrics::Metrics::default(),
            namespace: NAMESPACE.to_owned(),
            identity: format!("copy-{}", self.copies),
            lease: lease::LeaseTimeouts {
                duration: Duration::from_secs(2),
                deadline: Duration::from_millis(1500),
                retry: Duration::from_millis(200),
            },
            connections: Some(connections::ConnectionIntervals {
                well: connections::ConnectionIntervals::default().well / self.haste,
                first: Duration::from_millis(500),
                longest: Duration::from_secs(1),
                ..connections::ConnectionIntervals::default()
            }),
            insecure: connections::Insecure::Refused,
            drivers: Some(drivers::Settings {
                insecure: connections::Insecure::Refused,
                namespace: NAMESPACE.to_owned(),
                matrix,
                images: Images::default(),
                pace: drivers::DriverTimeouts {
                    rest: drivers::DriverTimeouts::default().rest / self.haste.max(60),
                    step,
                    redeploy: step * 2,
                },
                checked: true,
            }),
            checks: Some(checks::Settings {
                insecure: connections::Insecure::Refused,
                namespace: NAMESPACE.to_owned(),
                options: slipway_assess::check::Options {
                    proxy: slipway_providers::vsphere::Proxy::None,
                    ..slipway_assess::check::Options::default()
                },
                pace: checks::CheckIntervals {
                    gather: Duration::from_millis(100),
                    least: Duration::from_millis(200),
                    haste: self.haste,
                },
            }),
            machines: None,
            csr: None,
            machine_sets: None,
            machine_health_checks: None,
            node_links: None,
            drain: None,
            out_of_service: None,
            address_pools: None,
        };
        let (stop, stopped) = watch::channel(false);
        let metrics = self.metrics.clone();
        let running = self.runtime.spawn(async move {
            let client = connect(Some(&kubeconfig), None).await.unwrap();
            // A busy machine may cost it its lease; its Deployment would start it again.
            loop {
                let copy = (client.clone(), settings.clone(), metrics.clone(), stopped.clone());
                match manager::run(copy.0, copy.1, copy.2, copy.3).await {
                    End::LeaseLost => {}
                    end => return end,
                }
            }
        });
        self.operator = Some((stop, running));
    }

    /// Ends the operator as a signal does.
    pub(super) fn stop(&mut self) -> Option<End> {
        let (stop, running) = self.operator.take()?;
        stop.send(true).unwrap();
        Some(self.runtime.block_on(running).unwrap())
    }

    /// What `slipway drivers status` says.
    pub(super) fn status(&self) -> Status {
        self.runtime.block_on(async {
            let client = connect(Some(self.plane.kubeconfig()), None).await.unwrap();
            status(&client).await.unwrap()
        })
    }

    /// Ends the operator as a power cut does.
    pub(super) fn kill(&mut self) {
        if let Some((_, running)) = self.operator.take() {
            running.abort();
        }
    }

    /// An object, or nothing where there is none.
    pub(super) fn get(&self, kind: &str, namespace: &str, name: &str) -> Value {
        let get = ["get", kind, name, "--namespace", namespace, "--ignore-not-found", "--output=json"];
        let found = self.plane.kubectl().run(&get).unwrap();
        if found.is_empty() { Value::Null } else { serde_json::from_str(&found).unwrap() }
    }

    /// An object of ours, without a program for every look: there are hundreds of them.
    fn look_at(&self, path: &str) -> anyhow::Result<Value> {
        let request =
            axum::http::Request::get(format!("/apis/slipway.dev/v1alpha1/{path}")).body(Vec::new())?;
        Ok(self.runtime.block_on(self.client.request(request))?)
    }

    pub(super) fn config(&self) -> Value {
        // A connection that ended with its server is noticed when it is used.
        let look = || self.look_at("vdoconfigs/cluster");
        look().or_else(|_| look()).unwrap()
    }

    /// Waits until a condition of the VDOConfig has this status.
    pub(super) fn wait_for(&self, condition: &str, status: &str) -> Value {
        self.wait_until(&format!("{condition} is {status}"), |config| {
            condition_of(&config["status"], condition)["status"] == status
        })
    }

    pub(super) fn wait_until(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        eventually(what, TIMEOUT, || {
            let config = self.config();
            Ok(is(&config).then_some(config))
        })
        .unwrap_or_else(|error| panic!("{error:#}: {:#}", self.config()["status"]))
    }

    /// Waits until a connection is ready, or not for this reason.
    pub(super) fn wait_for_connection(&self, name: &str, reason: &str) -> Value {
        let path = format!("namespaces/{NAMESPACE}/vsphereconnections/{name}");
        let get = || self.look_at(&path).unwrap_or_default();
        eventually(&format!("{name} is {reason}"), TIMEOUT, || {
            let connection = get();
            let ready = condition_of(&connection["status"], "Ready").clone();
            Ok((ready["reason"] == reason).then_some(ready))
        })
        .unwrap_or_else(|error| panic!("{error:#}: {:#}", get()["status"]))
    }

    pub(super) fn patch(&self, kind: &str, name: &str, patch: &Value) {
        let patch = patch.to_string();
        let arguments = ["patch", kind, name, "--namespace", NAMESPACE, "--type", "merge", "--patch", &patch];
        self.plane.kubectl().run(&arguments).unwrap();
    }
}

impl Drop for Estate {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The built-in matrix, without the versions of the storage driver above this one.
pub(super) fn matrix_up_to(newest: &str) -> String {
    let mut matrix = slipway_config::yaml::from_yaml(slipway_config::matrix::EMBEDDED).unwrap();
    let rows = matrix["storageProvider"].as_array_mut().unwrap();
    let newest: semver::Version = newest.parse().unwrap();
    rows.retain(|row| row["version"].as_str().unwrap().parse::<semver::Version>().unwrap() <= newest);
    matrix.to_string()
}

pub(super) fn condition_of<'c>(status: &'c Value, about: &str) -> &'c Value {
    let conditions = status["conditions"].as_array();
    conditions.and_then(|all| all.iter().find(|one| one["type"] == about)).unwrap_or(&Value::Null)
}
