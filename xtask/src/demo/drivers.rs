//! `cargo xtask lab --drivers`: the operator comes to a cluster that runs without it, by hand.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, bail};
use serde_json::Value;
use slipway_testkit::kubectl::Kubectl;
use slipway_testkit::lab::containerfile;
use slipway_testkit::lab::harbour::{ClusterOptions, Harbour, Programs, server};
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::ADMINISTRATOR;

use super::boot::{self, AfterFailure, LIMIT, Play, ZONE};
use super::drills::Run;
use crate::command::{root, run as run_command};

const SITES: &[&str] = &["north", "south"];
const NODES: u32 = 3;
const NAMESPACE: &str = "slipway-system";
const OPERATOR: &str = "slipway-operator";
/// Manifests of the operator, its kinds, and what it is told.
const ITS_MANIFESTS: [&str; 3] = ["30_", "40_", "41_"];

/// Builds what is needed, then plays.
pub(crate) fn run(after: AfterFailure) -> anyhow::Result<()> {
    boot::build()?;
    let began = Instant::now();
    let wish = ClusterOptions { name: "harbour", sites: SITES, control_plane: NODES, compute: 0 };
    let image = operators_own()?;
    // By the very words of the image's description.
    let described = fs_err::read_to_string(root().join("deploy/operator/Containerfile"))?;
    let made = containerfile::image(&image, &described, &boot::program(OPERATOR))?;
    let programs = Programs { images: vec![made], ..boot::programs() };
    let play = Play { harbour: Harbour::build(&wish, &programs)?, began };
    let outcome = acts(&play, &image);
    if outcome.is_err() {
        describe(&play.harbour);
    }
    boot::see_to(&play.harbour, outcome, after)?;
    play.harbour.lab().scratch().settle();
    println!("\nit took {:.0} s", began.elapsed().as_secs_f32());
    Ok(())
}

/// The image that `slipway drivers deploy` takes where nobody names another.
fn operators_own() -> anyhow::Result<String> {
    let text = fs_err::read_to_string(root().join("deploy/operator/deployment.yaml"))?;
    let image = text.lines().find_map(|line| line.trim().strip_prefix("image: "));
    Ok(image.context("the operator's Deployment has no image")?.to_owned())
}

fn acts(play: &Play, image: &str) -> anyhow::Result<()> {
    let harbour = &play.harbour;
    let before = boot::vcenters(harbour)?;
    play.say("A cluster of three nodes on two vCenters, without operator and drivers.");
    run_command(harbour.slipway(&["create", "manifests"]).stdout(std::process::Stdio::null()))?;
    leave_operator_out(harbour)?;
    let mut create = Run::start(harbour, "create", &["create", "cluster"])?;
    create.until(&format!("the cloud controller manager to initialise {NODES} nodes"))?;
    let kubectl = harbour.kubectl()?;
    let nodes = eventually("all nodes are Ready", LIMIT, || {
        let mut list = kubectl.json(&["get", "nodes", "--request-timeout=5s"])?;
        let nodes: Vec<Value> = serde_json::from_value(list["items"].take())?;
        let done = nodes.len() == NODES as usize && nodes.iter().all(boot::is_ready);
        Ok(done.then_some(nodes))
    })?;
    boot::show(&nodes);
    if nodes.iter().any(|node| !node["spec"]["providerID"].is_null()) {
        bail!("somebody has initialised nodes already");
    }
    let kinds = kubectl.run(&["get", "customresourcedefinitions", "--output=name"])?;
    if kinds.contains("slipway.dev") {
        bail!("the operator's kinds are there already:\n{kinds}");
    }
    play.say("Now by hand, as the guide says: the operator, then both vCenters.");
    drivers(play, &["deploy"])?;
    check_operator(&kubectl, image)?;
    for (site, vcenter) in SITES.iter().zip(harbour.vcenters()) {
        let (server, thumbprint) = (server(site), vcenter.thumbprint_sha256());
        let mut arguments = vec!["configure", "--server", &server, "--user", ADMINISTRATOR.0];
        arguments.extend(["--password-env", "VCENTER_PASSWORD", "--datacenter", site]);
        arguments.extend(["--thumbprint", thumbprint, "--without-storage-provider"]);
        arguments.extend([
            "--topology-category",
            "openshift-region",
            "--topology-category",
            "openshift-zone",
        ]);
        drivers(play, &arguments)?;
    }
    play.say("The same command waits until everything is well.");
    drivers(play, &["deploy"])?;
    drivers(play, &["status"])?;
    let nodes = boot::wait_for_nodes(&kubectl, NODES as usize)?;
    play.say("The pods that the operator made have found every machine:");
    boot::show(&nodes);
    nodes.iter().try_for_each(boot::check_initialised)?;
    let zones: BTreeSet<&str> =
        nodes.iter().filter_map(|node| node["metadata"]["labels"][ZONE].as_str()).collect();
    if zones != SITES.iter().copied().collect() {
        bail!("the nodes' zones are {zones:?}, and the sites {SITES:?}");
    }
    check_cloud_provider(&kubectl)?;
    play.say("`create cluster`, which has waited for it, is done:");
    let status = create.end()?;
    if !status.success() {
        bail!("`create cluster` ended with {status}:\n{}", create.said());
    }
    play.slipway(&["wait-for", "install-complete"])?;
    play.say("And away with it.");
    play.slipway(&["destroy", "cluster", "--yes"])?;
    if boot::vcenters(harbour)? != before {
        bail!("the vCenters are not as they were before");
    }
    Ok(())
}

/// `slipway drivers`, by the administrator's kubeconfig.
fn drivers(play: &Play, arguments: &[&str]) -> anyhow::Result<()> {
    println!("\u{1b}[32m$\u{1b}[0m slipway drivers {}", arguments.join(" "));
    let mut command = play.harbour.command(&["drivers"]);
    command.args(arguments).arg("--kubeconfig").arg(play.harbour.folder().join("auth/kubeconfig"));
    run_command(&mut command)
}

/// As an administrator would who wants to do without: files that are gone stay gone.
fn leave_operator_out(harbour: &Harbour) -> anyhow::Result<()> {
    let mut removed = 0;
    for entry in fs_err::read_dir(harbour.folder().join("manifests"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = name.starts_with("00_definition-") && name.contains(".slipway.dev");
        if kind || ITS_MANIFESTS.iter().any(|start| name.starts_with(start)) {
            fs_err::remove_file(&path)?;
            removed += 1;
        }
    }
    if removed < 10 {
        bail!("only {removed} manifests are the operator's: have they other names?");
    }
    Ok(())
}

/// Pods of a namespace by their label.
fn pods(kubectl: &Kubectl, namespace: &str, label: &str) -> anyhow::Result<Vec<Value>> {
    let mut list = kubectl.json(&["get", "pods", "--namespace", namespace, "--selector", label])?;
    Ok(serde_json::from_value(list["items"].take())?)
}

/// The operator's own image, from its own Deployment, under its own rights.
fn check_operator(kubectl: &Kubectl, image: &str) -> anyhow::Result<()> {
    let pods = pods(kubectl, NAMESPACE, &format!("app.kubernetes.io/name={OPERATOR}"))?;
    for pod in &pods {
        let container = &pod["spec"]["containers"][0];
        let status = &pod["status"]["containerStatuses"][0];
        let alike = container["image"] == image
            && container["command"].is_null()
            && pod["spec"]["serviceAccountName"] == OPERATOR
            && pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
            && status["ready"] == true
            && status["restartCount"] == 0;
        if !alike {
            bail!("a pod of the operator is not what it should be: {container} {status}");
        }
    }
    let account = format!("--as=system:serviceaccount:{NAMESPACE}:{OPERATOR}");
    let may = |arguments: &[&str]| {
        let arguments = [&["auth", "can-i", &account], arguments].concat();
        kubectl.run(&arguments).is_ok_and(|answer| answer.trim() == "yes")
    };
    let (reads, everything, elsewhere) =
        (may(&["list", "nodes"]), may(&["*", "*"]), may(&["get", "secrets", "--namespace", "default"]));
    if pods.len() != 2 || !reads || everything || elsewhere {
        bail!(
            "{} pods; reads nodes: {reads}, may do everything: {everything}, elsewhere: {elsewhere}",
            pods.len()
        );
    }
    println!("{} pods of {image} run as {OPERATOR}, with its rights and no others", pods.len());
    Ok(())
}

/// The real cloud controller manager, as the pods the operator made.
fn check_cloud_provider(kubectl: &Kubectl) -> anyhow::Result<()> {
    let mut list =
        kubectl.json(&["get", "daemonsets", "--namespace", "kube-system", "--show-managed-fields"])?;
    let sets: Vec<Value> = serde_json::from_value(list["items"].take())?;
    let image = |set: &Value| set["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    let is_ours =
        |set: &&Value| image(set).as_str().is_some_and(|image| image.contains("cloud-provider-vsphere"));
    let set = sets.iter().find(is_ours).context("there is no DaemonSet of the cloud controller manager")?;
    let managers = set["metadata"]["managedFields"].as_array().into_iter().flatten();
    let managers: BTreeSet<&str> = managers.filter_map(|entry| entry["manager"].as_str()).collect();
    let status = &set["status"];
    let number = |key: &str| status[key].as_u64().unwrap_or_default();
    let (wanted, ready) = (number("desiredNumberScheduled"), number("numberReady"));
    println!(
        "DaemonSet {} of {}: {ready} of {wanted} ready, made by {managers:?}",
        set["metadata"]["name"],
        image(set)
    );
    let by_operator = managers.iter().any(|manager| manager.starts_with("slipway"));
    if !by_operator || wanted != u64::from(NODES) || ready != wanted {
        bail!("the cloud controller manager is not the operator's, or does not run everywhere");
    }
    Ok(())
}

/// What the cluster says when it went wrong.
fn describe(harbour: &Harbour) {
    let Ok(kubectl) = harbour.kubectl() else { return };
    for arguments in [
        &["get", "pods", "--all-namespaces", "--output=wide", "--request-timeout=5s"][..],
        &[
            "get",
            "vsphereconnections,vdoconfigs",
            "--all-namespaces",
            "--output=yaml",
            "--request-timeout=5s",
        ],
        &[
            "logs",
            "--namespace",
            NAMESPACE,
            "--selector=app.kubernetes.io/name=slipway-operator",
            "--tail=15",
        ],
    ] {
        match kubectl.run(arguments) {
            Ok(text) => println!("{text}"),
            Err(error) => println!("kubectl {}: {error:#}", arguments.join(" ")),
        }
    }
}
