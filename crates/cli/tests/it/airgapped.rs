//! The drivers at a site without the internet: a registry, a vCenter and a control plane in a network that has nothing else.
//!
//! There is no cloud provider, so that only the operator says which nodes are of a vCenter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use clap::Parser;
use serde_json::{Value, json};
use slipway_operator::args::Args;
use slipway_operator::run::run;
use slipway_testkit::control_plane::{Beside, ControlPlane, Network, Options};
use slipway_testkit::network::PrivateNetwork;
use slipway_testkit::nodes;
use slipway_testkit::process::{Process, Start, eventually};
use slipway_testkit::registry::{LOGIN, Registry};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

const TIMEOUT: Duration = Duration::from_secs(90);
const UUID: &str = "42166f45-6f10-6d46-4b2d-7f7e4f5b7a01";
const REGISTRY: &str = "registry.site.example";
const VCENTER: &str = "vcenter.site.example";
/// The arguments of the operator below, as JSON.
const ARGUMENTS: &str = "SLIPWAY_OPERATOR_ARGUMENTS";

/// The operator, which the test below starts in its network.
#[test]
#[ignore = "a part of `without_the_internet`"]
fn operator() {
    let arguments = std::env::var(ARGUMENTS).expect("arguments");
    let arguments: Vec<String> = serde_json::from_str(&arguments).expect("JSON");
    run(Args::parse_from(arguments)).expect("it ends well");
}

struct Site {
    plane: ControlPlane,
    registry: Registry,
    vcenter: VCenter,
}

impl Site {
    fn new() -> Self {
        let beside = &[Beside::Controllers, Beside::Scheduler, Beside::Kwok];
        let address = |last: u8| std::net::IpAddr::from([127, 0, 0, last]);
        let hosts = [(REGISTRY.to_owned(), address(2)), (VCENTER.to_owned(), address(3))].into();
        let options = Options { beside, network: Network::Private(hosts) };
        let plane = ControlPlane::start(options).expect("a control plane");
        let network = plane.network().expect("a network");
        let registry = Registry::start(network, REGISTRY, 5000).expect("a registry");
        let machine = json!({
            "name": "north", "cluster": "compute", "datastore": "fast", "power": "on", "hostname": "north",
            "ips": ["10.0.0.5"], "uuid": UUID, "networks": ["net"], "hardware_version": "vmx-19",
            "extra_config": {"disk.EnableUUID": "TRUE"},
        });
        let inventory = json!({
            "vcenter": {"version": "8.0.3"},
            "datacenters": [{
                "name": "DC0", "clusters": [{"name": "compute", "hosts": [{"name": "esx"}]}],
                "datastores": [{"name": "fast"}], "networks": [{"name": "net"}], "vms": [machine],
            }],
        });
        let vcenter = VCenter::start_at_name(&inventory, network, VCENTER, 443).expect("a vCenter");
        let site = Site { plane, registry, vcenter };
        site.node("north", UUID);
        site.node("metal", "5d0c1f00-0000-4000-8000-3cecef112233");
        site
    }

    fn network(&self) -> &PrivateNetwork {
        self.plane.network().expect("a network")
    }

    /// A node as a kubelet without a cloud provider registers it.
    fn node(&self, name: &str, uuid: &str) {
        let mut node = nodes::living(name, uuid);
        node["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] = json!("");
        self.plane.register(&node).expect("a node");
    }

    fn get(&self, arguments: &[&str]) -> Value {
        self.plane.kubectl().json(&[&["get"], arguments].concat()).unwrap_or_default()
    }

    /// The command inside of the network: exit code, stdout and stderr.
    fn slipway(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command: Command = self.network().command(&cargo_bin("slipway"));
        command.args(arguments).env("KUBECONFIG", self.plane.kubeconfig()).env("VC", ADMINISTRATOR.1);
        command.env_remove("REGISTRY_AUTH_FILE").env("HOME", self.plane.scratch().path());
        let output = command.output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// What a command prints that has to succeed.
    fn done(&self, arguments: &[&str]) -> String {
        let (code, stdout, stderr) = self.slipway(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {stderr}\n{stdout}");
        stdout
    }

    fn write(&self, name: &str, text: &str) -> String {
        let file = self.plane.scratch().write(name, text).expect("a file");
        file.to_str().expect("UTF-8").to_owned()
    }

    /// Starts the operator as its Deployment would, with its account's rights.
    fn operate(&self) -> Process {
        let account = "system:serviceaccount:slipway-system:slipway-operator";
        let kubeconfig = self.plane.kubeconfig_for(account, Some("system:serviceaccounts"));
        let kubeconfig = kubeconfig.expect("access");
        let deployment = self.get(&["deployment", "slipway-operator", "--namespace=slipway-system"]);
        let args = deployment.pointer("/spec/template/spec/containers/0/args").expect("arguments");
        let mut arguments = vec![json!("slipway-operator")];
        arguments.extend(args.as_array().expect("a list").iter().cloned());
        arguments.extend([json!("--kubeconfig"), json!(kubeconfig)]);
        let program: PathBuf = std::env::current_exe().expect("this program");
        let started = Process::start(Start {
            name: "operator",
            program: &program,
            arguments: ["--exact", "airgapped::operator", "--ignored", "--nocapture"].map(Into::into).into(),
            environment: vec![(ARGUMENTS, json!(arguments).to_string().into())],
            log: self.plane.scratch().join("operator.log"),
            network_of: Some(self.network().holder()),
        });
        started.expect("an operator")
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Every image of every workload.
fn images(workloads: &Value) -> Vec<String> {
    let mut images = Vec::new();
    for workload in workloads["items"].as_array().expect("workloads") {
        for list in ["containers", "initContainers"] {
            let containers = workload.pointer(&format!("/spec/template/spec/{list}"));
            let containers = containers.and_then(Value::as_array).into_iter().flatten();
            images.extend(containers.filter_map(|one| one["image"].as_str()).map(str::to_owned));
        }
    }
    images
}

#[test]
fn without_the_internet() {
    let site = Site::new();
    let mirror = format!("{}/mirror", site.registry.address());

    // What has to be copied is in the registry.
    let bundle: Value =
        serde_json::from_str(&site.done(&["drivers", "bundle", "--registry", &mirror])).expect("JSON");
    let list = bundle["images"].as_array().expect("images").iter();
    let copies: Vec<String> = list.map(|image| image["to"].as_str().expect("an image").to_owned()).collect();
    let pushed = site.registry.push(site.network(), &copies).expect("images");
    let pushed: BTreeMap<String, String> = pushed.into_iter().collect();
    assert_eq!(pushed.len(), copies.len());

    // Tags become digests, for those who may see them.
    let ca = path(site.registry.ca_file()).to_owned();
    let pin = ["drivers", "matrix", "pin", "--registry", &mirror, "--ca-file", &ca];
    let (code, stdout, stderr) = site.slipway(&pin);
    assert_eq!((code, stdout.as_str()), (Some(4), ""), "{stderr}");
    assert!(stderr.contains("does not let us see") && stderr.contains("--auth-file"), "{stderr}");
    let (code, _, stderr) = site.slipway(&pin[..5]);
    assert_eq!(code, Some(4));
    assert!(stderr.contains("certificate") && stderr.contains("--ca-file"), "{stderr}");
    let logins = site.registry.auth_file().expect("a file");
    let matrix = site.done(&[&pin[..], &["--auth-file", path(&logins)]].concat());
    for (image, digest) in pushed.iter().filter(|(image, _)| !image.contains("slipway-operator")) {
        let own = image.strip_prefix(&format!("{mirror}/")).expect("a copy");
        assert!(matrix.contains(&format!("/{own}@{digest}")), "{own} {digest}: {matrix}");
    }
    assert!(!format!("{matrix}{stderr}").contains(LOGIN.1));

    // The matrix goes into the bundle, and the bundle into the cluster.
    let file = site.write("matrix.yaml", &matrix);
    let key = site.write("unused", "").replace("unused", "matrix.key");
    let public = site.done(&["drivers", "matrix", "sign", &file, "--key", &key]);
    let with = ["--matrix", &file, "--matrix-key", public.trim()];
    let bundle = site.done(&[&["drivers", "bundle", "--registry", &mirror], &with[..]].concat());
    let bundle = site.write("bundle.json", &bundle);
    site.done(&["drivers", "deploy", "--bundle", &bundle, "--timeout", "60s"]);
    let operator = site.operate();
    let certificate = path(site.vcenter.ca_file());
    let configure = ["drivers", "configure", "--server", VCENTER, "--user", ADMINISTRATOR.0];
    let more = ["--password-env", "VC", "--ca-file", certificate, "--without-cloud-provider"];
    site.done(&[&configure[..], &more[..]].concat());

    let healthy = eventually("the storage driver is healthy", TIMEOUT, || {
        let (_, stdout, stderr) = site.slipway(&["drivers", "status", "--output", "json"]);
        let status: Value = serde_json::from_str(&stdout)?;
        // Nodes are labelled after the driver is there.
        let settled = status["verdict"] == "Healthy" && status["nodes"]["ready"] != 0;
        anyhow::ensure!(settled, "{status:#}{stderr}");
        Ok(Some(status))
    });
    let status = healthy.unwrap_or_else(|error| panic!("{error:#}\n{}", operator.log()));
    assert_eq!(status["matrix"]["source"], "configmap:slipway-matrix", "{status:#}");
    assert_eq!(
        (&status["nodes"]["ready"], &status["nodes"]["skipped"]),
        (&json!(1), &json!(1)),
        "{status:#}"
    );
    assert_eq!(status["nodes"]["skippedNames"], json!(["metal"]));

    // Everything comes from the registry, and what the drivers run is what was looked up.
    let workloads = site.get(&["deployments,daemonsets", "--all-namespaces"]);
    let images = images(&workloads);
    assert!(images.len() > 10, "{images:?}");
    for image in &images {
        assert!(image.starts_with(&format!("{mirror}/")), "{image}");
        let known = pushed.iter().any(|(copy, digest)| {
            *image == format!("{copy}@{digest}") || (*image == *copy && copy.contains("slipway-operator"))
        });
        assert!(known, "{image} is not in the registry");
    }

    // Without a cloud provider the operator says which node is of a vCenter, and only that one has the driver.
    let label = "slipway.dev/vsphere-node";
    assert!(site.get(&["node", "north"])["metadata"]["labels"][label].is_string());
    assert!(site.get(&["node", "metal"])["metadata"]["labels"][label].is_null());
    let set = site.get(&["daemonset", "vsphere-csi-node", "--namespace=vmware-system-csi"]);
    let affinity = set["spec"]["template"]["spec"]["affinity"].to_string();
    assert!(affinity.contains(label) && !affinity.contains("instance-type"), "{affinity}");
    let pods = site.get(&["pods", "--namespace=vmware-system-csi", "--selector=app=vsphere-csi-node"]);
    let places: Vec<&Value> =
        pods["items"].as_array().expect("pods").iter().map(|pod| &pod["spec"]["nodeName"]).collect();
    assert_eq!(places, [&json!("north")]);

    // An upgrade of the operator keeps its arguments.
    site.done(&["drivers", "upgrade", "--operator", "--no-wait"]);
    let deployment = site.get(&["deployment", "slipway-operator", "--namespace=slipway-system"]);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert!(container["image"].as_str().is_some_and(|image| image.starts_with(&mirror)), "{container:#}");
    assert!(container["args"].to_string().contains("--matrix=configmap:slipway-matrix"), "{container:#}");
}
