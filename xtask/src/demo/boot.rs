//! `cargo xtask demo --boot`: machines that really boot, until they are a cluster, and away again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use slipway_testkit::estate::REGION;
use slipway_testkit::kubectl::Kubectl;
use slipway_testkit::lab::harbour::{ClusterOptions, Harbour, Programs};
use slipway_testkit::lab::root::{GREETING, WEB};
use slipway_testkit::lab::{Lab, Machine, root as lab_root};
use slipway_testkit::process::eventually;

use super::{inventories, metal, renew};
use crate::command::{cargo, root, run as run_command};
use crate::peers;

/// How large a cluster is booted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) control_plane: u32,
    pub(crate) compute: u32,
    /// Machines that an administrator makes, beside those of MachineSets.
    pub(crate) by_hand: usize,
    pub(crate) sites: &'static [&'static str],
}

/// The one that is shown.
pub(crate) const LARGE: Size = Size { control_plane: 3, compute: 2, by_hand: 1, sites: &["north", "south"] };
/// The one that every run of the tests boots.
#[cfg(test)]
const SMALL: Size = Size { control_plane: 1, compute: 1, by_hand: 0, sites: &["north"] };

pub(super) const NAME: &str = "harbour";
/// Where Machines are.
pub(super) const MACHINES: &str = "openshift-machine-api";
/// How long one step of a cluster may take on a busy machine.
pub(super) const LIMIT: Duration = Duration::from_mins(5);

/// What becomes of the machines when something goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    Remove,
    /// They run until this program is ended.
    Keep,
}

/// Builds what is needed, then plays.
pub(crate) fn run(size: Size, after: AfterFailure) -> anyhow::Result<()> {
    build()?;
    play(size, after)
}

/// Builds the lab and the programs of this clone.
pub(super) fn build() -> anyhow::Result<()> {
    if let Some(missing) = Lab::missing() {
        bail!("{missing}");
    }
    println!("building what the demo needs: the lab, the simulator of vCenters, slipway and its operator");
    peers::need(&["vcsim"])?;
    lab_root::build()?;
    // Together: each alone would be built with other features of what they share.
    let packages = ["slipway-cli", "slipway-operator"].map(|name| ["--package", name]);
    run_command(cargo(&["build", "--quiet", "--bins"]).args(packages.as_flattened()))
}

pub(super) fn program(name: &str) -> PathBuf {
    root().join("target/debug").join(name)
}

pub(super) fn programs() -> Programs {
    Programs { slipway: program("slipway"), operator: program("slipway-operator"), images: Vec::new() }
}

/// The play, with the time of each act.
pub(super) struct Play {
    pub(super) harbour: Harbour,
    pub(super) began: Instant,
}

impl Play {
    pub(super) fn say(&self, text: &str) {
        println!("\n\u{1b}[1m# [{:>5.1} s] {text}\u{1b}[0m", self.began.elapsed().as_secs_f32());
    }

    /// A command that talks to the cluster that was made.
    pub(super) fn slipway_in_cluster(&self, arguments: &[&str]) -> anyhow::Result<()> {
        println!("\u{1b}[32m$\u{1b}[0m slipway {}", arguments.join(" "));
        let kubeconfig = self.harbour.folder().join("auth/kubeconfig");
        run_command(self.harbour.command(arguments).arg("--kubeconfig").arg(kubeconfig))
    }

    pub(super) fn slipway(&self, arguments: &[&str]) -> anyhow::Result<()> {
        println!("\u{1b}[32m$\u{1b}[0m slipway {}", arguments.join(" "));
        run_command(&mut self.harbour.slipway(arguments))
    }
}

fn play(size: Size, after: AfterFailure) -> anyhow::Result<()> {
    let began = Instant::now();
    let wish = ClusterOptions {
        name: NAME,
        sites: size.sites,
        control_plane: size.control_plane,
        compute: size.compute,
    };
    let play = Play { harbour: Harbour::build(&wish, &programs())?, began };
    let outcome = acts(&play, size);
    see_to(&play.harbour, outcome, after)?;
    play.harbour.lab().scratch().settle();
    println!("\nthe demo took {:.0} s", began.elapsed().as_secs_f32());
    Ok(())
}

/// After a failure: what the machines have to say, and what is to become of them.
pub(super) fn see_to(
    harbour: &Harbour,
    outcome: anyhow::Result<()>,
    after: AfterFailure,
) -> anyhow::Result<()> {
    if let Err(error) = &outcome {
        explain(harbour);
        if after == AfterFailure::Keep {
            println!(
                "{error:#}\nthe machines stay until this program is ended; process {}",
                std::process::id()
            );
            loop {
                std::thread::park();
            }
        }
    }
    outcome
}

fn acts(play: &Play, size: Size) -> anyhow::Result<()> {
    let harbour = &play.harbour;
    let before = vcenters(harbour)?;
    play.say(&format!("{} vCenters with nothing but a template, and a switch.", size.sites.len()));
    play.slipway(&["create", "manifests"])?;
    want_cloud_provider_only(harbour)?;
    play.say("The operator is among the manifests, and is to install the vSphere cloud controller manager. Make the cluster.");
    play.slipway(&["create", "cluster"])?;
    let kubectl = harbour.kubectl()?;
    let masters = usize::try_from(size.control_plane)?;
    let all = masters + usize::try_from(size.compute)?;
    play.say("The control plane is there, MachineSets have made the compute machines, and the bootstrap machine has left:");
    let nodes = wait_for_nodes(&kubectl, all)?;
    show(&nodes);
    for node in &nodes {
        check_initialised(node)?;
    }
    let is_bootstrap = |machine: &Machine| machine.name().ends_with("-bootstrap");
    if harbour.lab().machines().iter().any(is_bootstrap) {
        bail!("`create cluster` has left the bootstrap machine");
    }
    let members = members(harbour)?;
    if members != masters {
        bail!("etcd has {members} members, and the control plane {masters} machines");
    }
    forget_token(&kubectl)?;
    play.say("A MachineSet is to have one machine more. It boots, and is let in by the cluster itself.");
    let set = Set::first(&kubectl)?;
    set.scale(&kubectl, set.replicas + 1)?;
    wait_for_nodes(&kubectl, all + 1)?;
    machines_have_nodes(&kubectl, all + 1)?;
    play.slipway_in_cluster(&["machine", "list"])?;
    play.say("And one fewer: its node is drained, then its machine goes.");
    set.scale(&kubectl, set.replicas)?;
    wait_for_nodes(&kubectl, all)?;
    eventually("the machine is gone", LIMIT, || Ok((harbour.lab().machines().len() == all).then_some(())))?;
    let workers: Vec<String> = (0..size.by_hand).map(|number| format!("{NAME}-worker-{number}")).collect();
    if !workers.is_empty() {
        play.say("An administrator makes a machine by hand. No Machine knows it, so its certificates are approved by hand.");
        for (number, worker) in workers.iter().enumerate() {
            harbour.add_worker(number % size.sites.len(), worker)?;
        }
        approve(play, &kubectl, &workers)?;
        wait_for_nodes(&kubectl, all + workers.len())?;
    }
    play.say("A host that no vCenter knows joins as well.");
    metal::join(harbour, &kubectl)?;
    play.say("A year passes: the certificates of all kubelets and of the control plane come to their end.");
    renew::everything(harbour, &kubectl)?;
    play.say("A pod answers through a Service.");
    serve(harbour, &kubectl)?;
    if size.control_plane > 2 {
        let holder = holder(harbour)?;
        play.say(&format!("Power off: {holder}, which holds the address of the API."));
        let cut = Instant::now();
        harbour.power_off(&holder)?;
        eventually("the API answers on its virtual address", LIMIT, || Ok(answers(harbour).then_some(())))?;
        println!("the API answers on {} again after {:.1} s", harbour.vip(), cut.elapsed().as_secs_f32());
    }
    play.say("And away with it, while a MachineSet is making another machine.");
    for worker in &workers {
        harbour.power_off(worker)?;
        harbour.destroy(worker)?;
    }
    set.scale(&kubectl, set.replicas + 1)?;
    play.slipway(&["destroy", "cluster", "--yes"])?;
    metal::remove(harbour)?;
    if vcenters(harbour)? != before {
        bail!("the vCenters are not as they were before");
    }
    eventually("all machines are gone", LIMIT, || Ok(harbour.lab().machines().is_empty().then_some(())))?;
    if !harbour.failures().is_empty() {
        bail!("between vCenters and machines: {}", harbour.failures().join("; "));
    }
    play.say("The vCenters are exactly as they were before, and no machine is left.");
    Ok(())
}

pub(super) fn vcenters(harbour: &Harbour) -> anyhow::Result<Vec<Vec<Value>>> {
    inventories(harbour.vcenters().iter().map(AsRef::as_ref))
}

/// As an administrator would edit a manifest: the machines have no image of the storage driver, and tags say where they are.
pub(super) fn want_cloud_provider_only(harbour: &Harbour) -> anyhow::Result<()> {
    let topology = json!({"regionCategory": "openshift-region", "zoneCategory": "openshift-zone"});
    let config = json!({
        "apiVersion": "slipway.dev/v1alpha1", "kind": "VDOConfig", "metadata": {"name": "cluster"},
        "spec": {"cloudProvider": {"topology": topology}},
    });
    Ok(fs_err::write(harbour.folder().join("manifests/41_vdoconfig-cluster.yaml"), config.to_string())?)
}

/// Nodes, once there are as many as wanted and all are Ready and initialised.
pub(super) fn wait_for_nodes(kubectl: &Kubectl, count: usize) -> anyhow::Result<Vec<Value>> {
    eventually("all nodes are Ready", LIMIT, || {
        let mut list = kubectl.json(&["get", "nodes", "--request-timeout=5s"])?;
        let nodes: Vec<Value> = serde_json::from_value(list["items"].take())?;
        let done = nodes.len() == count && nodes.iter().all(|node| is_ready(node) && has_machine(node));
        Ok(done.then_some(nodes))
    })
}

pub(super) fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn has_machine(node: &Value) -> bool {
    node["spec"]["providerID"].as_str().is_some_and(|id| id.starts_with("vsphere://"))
}

const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";

pub(super) fn show(nodes: &[Value]) {
    for node in nodes {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let labels = &node["metadata"]["labels"];
        let address = node["status"]["addresses"].as_array().into_iter().flatten();
        let address = address.into_iter().find(|address| address["type"] == "InternalIP");
        println!(
            "  {:<26} {:<12} {:<48} {:<28} {}",
            text(&node["metadata"]["name"]),
            address.map(|address| text(&address["address"])).unwrap_or_default(),
            text(&node["spec"]["providerID"]),
            text(&labels[INSTANCE_TYPE]),
            text(&labels[ZONE]),
        );
    }
}

/// What the cloud controller manager has to find out about a node.
pub(super) fn check_initialised(node: &Value) -> anyhow::Result<()> {
    let labels = &node["metadata"]["labels"];
    let name = &node["metadata"]["name"];
    if labels[INSTANCE_TYPE].is_null()
        || labels[ZONE].is_null()
        || labels["topology.kubernetes.io/region"] != REGION
    {
        bail!("node {name} has no type, region or zone: {labels}");
    }
    Ok(())
}

/// How many members etcd has, by its own word.
pub(super) fn members(harbour: &Harbour) -> anyhow::Result<usize> {
    let pki = "/etc/kubernetes/pki/etcd";
    let [authority, certificate, key] =
        ["ca.crt", "server.crt", "server.key"].map(|name| format!("{pki}/{name}"));
    let list = "https://127.0.0.1:2379/v3/cluster/member/list";
    let ask = ["curl", "--silent", "--fail", "--max-time", "5", "--data", "{}", list];
    let identity = ["--cacert", &authority, "--cert", &certificate, "--key", &key];
    let (machine, ask) = (master(harbour)?, [&ask[..], &identity[..]].concat());
    let answer = eventually("etcd answers", LIMIT, || machine.run(&ask).map(Some))?;
    let answer: Value = serde_json::from_str(&answer).context("reading the members of etcd")?;
    Ok(answer["members"].as_array().map_or(0, Vec::len))
}

/// As on the next day: the token that the cluster was started with has ended, and Kubernetes has removed it.
fn forget_token(kubectl: &Kubectl) -> anyhow::Result<()> {
    let tokens =
        ["secrets", "--namespace=kube-system", "--field-selector=type=bootstrap.kubernetes.io/token"];
    let list = || kubectl.run(&[&["get", "--output=name"], &tokens[..]].concat());
    let known = list()?;
    if !known.contains("bootstrap-token-") {
        bail!("there is no token to forget: {known}");
    }
    eventually("the token is forgotten", LIMIT, || {
        kubectl.run(&[&["delete"], &tokens[..]].concat())?;
        Ok(list()?.is_empty().then_some(()))
    })
}

/// A MachineSet of the cluster.
pub(super) struct Set {
    pub(super) name: String,
    replicas: u64,
}

impl Set {
    pub(super) fn first(kubectl: &Kubectl) -> anyhow::Result<Self> {
        let list = kubectl.json(&["get", "machinesets.machine.openshift.io", "--namespace", MACHINES])?;
        let sets = list["items"].as_array().into_iter().flatten();
        let mut sets = sets.filter_map(|set| {
            Some(Set {
                name: set["metadata"]["name"].as_str()?.to_owned(),
                replicas: set["spec"]["replicas"].as_u64()?,
            })
        });
        sets.find(|set| set.replicas > 0).context("there is no MachineSet with machines")
    }

    pub(super) fn scale(&self, kubectl: &Kubectl, replicas: u64) -> anyhow::Result<()> {
        let (set, replicas) =
            (format!("machinesets.machine.openshift.io/{}", self.name), format!("--replicas={replicas}"));
        println!("\u{1b}[32m$\u{1b}[0m kubectl scale {set} {replicas}");
        kubectl.run(&["scale", &set, "--namespace", MACHINES, &replicas])?;
        Ok(())
    }
}

/// Every Machine runs, and says which node it is.
pub(super) fn machines_have_nodes(kubectl: &Kubectl, count: usize) -> anyhow::Result<()> {
    eventually("all Machines run", LIMIT, || {
        let list = kubectl.json(&["get", "machines.machine.openshift.io", "--namespace", MACHINES])?;
        let machines: Vec<&Value> = list["items"].as_array().into_iter().flatten().collect();
        let runs = |machine: &&Value| {
            let status = &machine["status"];
            status["phase"] == "Running" && status["nodeRef"]["name"] == machine["metadata"]["name"]
        };
        Ok((machines.len() == count && machines.iter().all(runs)).then_some(()))
    })
}

/// Whether a machine is a node that is Ready, with both of its certificates.
fn is_in(kubectl: &Kubectl, worker: &str) -> bool {
    let node = kubectl.json(&["get", "node", worker, "--request-timeout=5s"]);
    let serving = kubectl.json(&["get", "csr", "--request-timeout=5s"]).is_ok_and(|list| {
        let requests = list["items"].as_array().cloned().unwrap_or_default();
        let from = format!("system:node:{worker}");
        requests
            .iter()
            .any(|request| request["spec"]["username"] == from && !request["status"]["certificate"].is_null())
    });
    node.is_ok_and(|node| is_ready(&node)) && serving
}

/// Nobody knows machines that were made by hand: their certificates are looked at and approved.
fn approve(play: &Play, kubectl: &Kubectl, workers: &[String]) -> anyhow::Result<()> {
    eventually("the new machines are nodes", LIMIT, || {
        if workers.iter().all(|worker| is_in(kubectl, worker)) {
            return Ok(Some(()));
        }
        let list = kubectl.json(&["get", "csr", "--request-timeout=5s"])?;
        let requests = list["items"].as_array().into_iter().flatten();
        let pending = requests.filter(|request| request["status"]["conditions"].is_null());
        let pending: Vec<&str> = pending.filter_map(|request| request["metadata"]["name"].as_str()).collect();
        if !pending.is_empty() {
            let kubeconfig = play.harbour.folder().join("auth/kubeconfig");
            let mut command = play.harbour.command(&["node", "approve", "--yes", "--kubeconfig"]);
            run_command(command.arg(kubeconfig).args(pending))?;
        }
        Ok(None)
    })
}

/// A web server in a pod on a worker, asked through its Service from a control-plane machine.
fn serve(harbour: &Harbour, kubectl: &Kubectl) -> anyhow::Result<()> {
    let labels = json!({"app": "web"});
    kubectl.apply_value(&json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default", "labels": labels},
        "spec": {"containers": [{"name": "web", "image": WEB, "imagePullPolicy": "Never"}]},
    }))?;
    kubectl.apply_value(&json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
    }))?;
    let service = kubectl.json(&["get", "service", "web"])?;
    let address = service["spec"]["clusterIP"].as_str().context("the Service has no address")?;
    let machine = master(harbour)?;
    let answer = eventually("the pod answers", LIMIT, || {
        let url = format!("http://{address}/");
        machine.run(&["curl", "--silent", "--fail", "--max-time", "2", &url]).map(Some)
    })?;
    println!("http://{address}/ on {}: {}", machine.name(), answer.trim());
    if answer.trim() != GREETING {
        bail!("the Service answers {answer:?}");
    }
    Ok(())
}

/// A machine of the control plane.
fn master(harbour: &Harbour) -> anyhow::Result<Machine> {
    let machine = harbour.lab().machines().into_iter().find(|machine| machine.name().contains("-master-"));
    machine.context("no control-plane machine")
}

/// The machine that holds the virtual address of the API.
fn holder(harbour: &Harbour) -> anyhow::Result<String> {
    let has = |machine: &Machine| {
        let addresses =
            machine.run(&["ip", "-oneline", "address", "show", "dev", "eth0"]).unwrap_or_default();
        addresses.contains(&format!(" {}/", harbour.vip()))
    };
    let machine =
        harbour.lab().machines().into_iter().find(has).context("nobody holds the address of the API")?;
    Ok(machine.name().to_owned())
}

/// Whether the API server behind the virtual address is ready.
pub(super) fn answers(harbour: &Harbour) -> bool {
    let url = format!("https://{}:6443/readyz", harbour.vip());
    let curl = harbour
        .lab()
        .command(Path::new("curl"))
        .args(["--silent", "--insecure", "--fail", "--max-time", "2", &url])
        .output();
    curl.is_ok_and(|output| output.status.success())
}

/// What may help when it goes wrong: the last words of every machine.
pub(super) fn explain(harbour: &Harbour) {
    for failure in harbour.failures() {
        println!("between vCenter and machine: {failure}");
    }
    for machine in harbour.lab().machines() {
        println!(
            "--- {} ({}, {:?})",
            machine.name(),
            if machine.is_on() { "on" } else { "off" },
            machine.guest()
        );
        let last = |text: String, count: usize| {
            let lines: Vec<&str> = text.lines().collect();
            for line in &lines[lines.len().saturating_sub(count)..] {
                println!("    {line}");
            }
        };
        last(machine.console(), 3);
        for unit in ["slipway-bootstrap.service", "slipway-join.service"] {
            last(machine.journal(Some(unit)).unwrap_or_default(), 12);
        }
    }
}

#[cfg(test)]
mod tests {
    use slipway_testkit::lab::Lab;

    use super::{AfterFailure, SMALL, play};

    /// Two minutes, most of them waiting: nothing else shows that what we write makes a cluster.
    #[test]
    fn machines_become_a_cluster() {
        assert_eq!(Lab::missing(), None);
        if let Err(error) = play(SMALL, AfterFailure::Remove) {
            panic!("{error:#}");
        }
    }
}
