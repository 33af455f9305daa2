//! A cluster's API beside vCenters, with everything there that a controller of Machines asks for: ours, and others'.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use slipway_testkit::control_plane::{Beside, ControlPlane, Network, Options};
use slipway_testkit::machine_api::NAMESPACE;
use slipway_testkit::network::free_port;
use slipway_testkit::process::{Process, Start, eventually};
use slipway_testkit::python;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::command::root;
use crate::site::{self, Files};

/// Where the operator is, with its connections.
const OPERATOR: &str = "slipway-system";
const ACCOUNT: &str = "system:serviceaccount:slipway-system:slipway-operator";
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// OpenShift's own definitions: what they take, ours take too.
const DEFINITIONS: [&str; 7] = [
    "openshift/machines.machine.openshift.io",
    "openshift/machinesets.machine.openshift.io",
    "openshift/machinehealthchecks.machine.openshift.io",
    "openshift/infrastructures.config.openshift.io",
    "openshift/dnses.config.openshift.io",
    "cluster-api/ipaddressclaims.ipam.cluster.x-k8s.io",
    "cluster-api/ipaddresses.ipam.cluster.x-k8s.io",
];

/// What an installer has made of the files before the first Machine: all but machines.
const MANIFESTS: [&str; 5] = [
    "manifests/cluster-infrastructure-02-config.yml",
    "manifests/cluster-dns-02-config.yml",
    "manifests/cloud-provider-config.yaml",
    "openshift/99_openshift-cluster-api_master-user-data-secret.yaml",
    "openshift/99_openshift-cluster-api_worker-user-data-secret.yaml",
];

/// A control plane in a network of its own, and vCenters in it. No controller runs yet.
pub(crate) struct Cluster {
    // Ended in this order: clients before servers.
    operator: Option<Process>,
    pub(crate) vcenters: Vec<VCenter>,
    pub(crate) plane: ControlPlane,
}

impl Cluster {
    /// From the files of a cluster.
    pub(crate) fn start(files: &Files, beside: &'static [Beside]) -> anyhow::Result<Self> {
        let plane = ControlPlane::start(Options { beside, network: Network::Private(site::hosts()) })?;
        let vcenters = site::start(files.vcenters, &plane)?;
        for vcenter in &vcenters {
            let estate = json!({
                "datacenters": [{"name": "dc", "folders": {"vm": [files.infra_id]}}],
                "categories": [{"name": format!("openshift-{}", files.infra_id), "tags": [{"name": files.infra_id}]}],
            });
            vcenter.control("POST", "/inventory/apply", &estate)?;
        }
        let cluster = Cluster { operator: None, vcenters, plane };
        cluster.prepare(files)?;
        Ok(cluster)
    }

    fn prepare(&self, files: &Files) -> anyhow::Result<()> {
        let kubectl = self.plane.kubectl();
        self.plane.install_definitions(&DEFINITIONS)?;
        let deploy = root().join("deploy");
        for entry in fs_err::read_dir(deploy.join("crds"))? {
            kubectl.apply(&fs_err::read_to_string(entry?.path())?)?;
        }
        for rights in ["rbac.yaml", "rbac-machines.yaml"] {
            kubectl.apply(&fs_err::read_to_string(deploy.join("operator").join(rights))?)?;
        }
        self.plane.wait_for_definitions()?;
        kubectl.run(&["create", "namespace", "openshift-config"])?;
        for path in MANIFESTS {
            kubectl.apply(&fs_err::read_to_string(files.manifest(path))?)?;
        }
        let status = files.manifest(MANIFESTS[0]);
        let status = status.to_str().context("a path in UTF-8")?;
        let apply =
            ["apply", "--server-side", "--force-conflicts", "--subresource=status", "--filename", status];
        kubectl.run(&apply)?;
        self.log_in_with(ADMINISTRATOR.1)
    }

    /// The login of every vCenter, where OpenShift's controller looks for it and where ours does.
    pub(crate) fn log_in_with(&self, password: &str) -> anyhow::Result<()> {
        let mut shared = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vsphere-cloud-credentials", "namespace": NAMESPACE},
            "stringData": {},
        });
        let mut objects = Vec::new();
        for (index, vcenter) in (0..).zip(&self.vcenters) {
            let server = site::server(index);
            shared["stringData"][format!("{server}.username")] = json!(ADMINISTRATOR.0);
            shared["stringData"][format!("{server}.password")] = json!(password);
            let metadata = json!({"name": format!("vcenter-{index}"), "namespace": OPERATOR});
            let trusted = fs_err::read_to_string(vcenter.ca_file())?;
            objects.push(json!({
                "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth", "metadata": metadata,
                "stringData": {"server": server, "username": ADMINISTRATOR.0, "password": password},
            }));
            objects.push(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": trusted},
            }));
            objects.push(json!({
                "apiVersion": "slipway.dev/v1alpha1", "kind": "VSphereConnection", "metadata": metadata,
                "spec": {
                    "server": server, "credentialsSecret": {"name": metadata["name"]},
                    "tls": {"caBundle": {"name": metadata["name"]}},
                },
            }));
        }
        objects.push(shared);
        self.plane.kubectl().apply_all(&objects).map(drop)
    }

    /// Starts our operator as it is shipped, with its account's rights, and waits until it leads. One that runs is ended.
    pub(crate) fn start_operator(&mut self, program: &Path, controllers: &str) -> anyhow::Result<&Process> {
        self.operator = None;
        let kubeconfig = self.plane.kubeconfig_for(ACCOUNT, Some("system:serviceaccounts"))?;
        let mut arguments: Vec<OsString> = vec!["run".into(), "--kubeconfig".into(), kubeconfig.into()];
        arguments.extend([format!("--controllers={controllers}").into(), "--identity=operator".into()]);
        arguments.push(format!("--health-listen=127.0.0.1:{}", free_port()?).into());
        let network = self.plane.network().context("the control plane has no network of its own")?;
        let mut operator = Process::start(Start {
            name: "slipway-operator",
            program,
            arguments,
            environment: Vec::new(),
            log: self.plane.scratch().join("slipway-operator.log"),
            network_of: Some(network.holder()),
        })?;
        let mut log = String::new();
        operator.wait_until(START_TIMEOUT, || {
            log = std::fs::read_to_string(self.plane.scratch().join("slipway-operator.log"))
                .unwrap_or_default();
            log.contains("leading")
        })?;
        Ok(self.operator.insert(operator))
    }

    /// What is there of a kind where Machines are.
    pub(crate) fn list(&self, kind: &str) -> anyhow::Result<Vec<Value>> {
        let mut list = self.plane.kubectl().json(&["get", kind, "--namespace", NAMESPACE])?;
        serde_json::from_value(list["items"].take()).context("a list of objects")
    }

    /// Waits until the Machines are as they are wanted; where that does not come they are shown.
    pub(crate) fn wait_for_machines(
        &self,
        what: &str,
        limit: Duration,
        are: impl Fn(&[Value]) -> bool,
    ) -> anyhow::Result<Vec<Value>> {
        eventually(what, limit, || {
            let machines = self.list("machines.machine.openshift.io")?;
            if are(&machines) {
                return Ok(Some(machines));
            }
            let brief: Vec<String> = machines.iter().map(brief).collect();
            bail!("the Machines are {}", brief.join("; "))
        })
    }

    /// The cluster's virtual machines as VMware's own client sees them.
    pub(crate) fn virtual_machines(&self, files: &Files) -> anyhow::Result<Vec<Value>> {
        let mut found = Vec::new();
        for (index, vcenter) in (0..).zip(&self.vcenters) {
            let network = self.plane.network().context("the control plane has no network of its own")?;
            let url = format!("https://{}/sdk", site::server(index));
            let all = read_back(network.command(&python::find()?), vcenter, &url)?;
            let folder = format!("/dc/vm/{}/", files.infra_id);
            found
                .extend(all.into_iter().filter(|machine| {
                    machine["path"].as_str().is_some_and(|path| path.starts_with(&folder))
                }));
        }
        Ok(found)
    }
}

/// The virtual machines of a vCenter, read by pyVmomi. `python` is started as it is.
pub(crate) fn read_back(mut python: Command, vcenter: &VCenter, url: &str) -> anyhow::Result<Vec<Value>> {
    let output = python
        .arg(root().join("peers/vcsim/testdata/readback.py"))
        .args([url, ADMINISTRATOR.0, ADMINISTRATOR.1])
        .arg(vcenter.ca_file())
        .output()?;
    if !output.status.success() {
        bail!("VMware's client: {}", String::from_utf8_lossy(&output.stderr));
    }
    let mut estate: Value = serde_json::from_slice(&output.stdout)?;
    serde_json::from_value(estate["vms"].take()).context("no list of machines")
}

/// Our operator, built for tests.
pub(crate) fn operator() -> PathBuf {
    root().join("target/debug/slipway-operator")
}

pub(crate) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// A Machine in a few words.
fn brief(machine: &Value) -> String {
    let (phase, error) = (text(machine, "/status/phase"), text(machine, "/status/errorMessage"));
    format!("{} {phase} {error}", name(machine))
}

/// Whether a Machine has a virtual machine with an address.
pub(crate) fn is_made(machine: &Value) -> bool {
    let addresses = machine["status"]["addresses"].as_array();
    let has_address = addresses.is_some_and(|all| all.iter().any(|one| one["type"] == "InternalIP"));
    has_address && text(machine, "/spec/providerID").starts_with("vsphere://")
}
