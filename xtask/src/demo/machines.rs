//! `cargo xtask lab --machines`: what becomes of the machines of a cluster on later days.

use std::time::Instant;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use slipway_testkit::kubectl::Kubectl;
use slipway_testkit::lab::harbour::{ClusterOptions, Harbour};
use slipway_testkit::lab::root::WEB;
use slipway_testkit::process::eventually;

use super::boot::{self, AfterFailure, LIMIT, MACHINES, Play, Set};

const SITES: &[&str] = &["north", "south"];
const CONTROL_PLANE: u32 = 3;
/// One for each site.
const COMPUTE: u32 = 2;
/// How long a drain may take here that a disruption budget holds up.
const DRAIN: &str = "20s";

pub(crate) fn run(after: AfterFailure) -> anyhow::Result<()> {
    boot::build()?;
    let began = Instant::now();
    let wish =
        ClusterOptions { name: boot::NAME, sites: SITES, control_plane: CONTROL_PLANE, compute: COMPUTE };
    let play = Play { harbour: Harbour::build(&wish, &boot::programs())?, began };
    let outcome = acts(&play);
    boot::see_to(&play.harbour, outcome, after)?;
    play.harbour.lab().scratch().settle();
    println!("\nit took {:.0} s", began.elapsed().as_secs_f32());
    Ok(())
}

fn acts(play: &Play) -> anyhow::Result<()> {
    let harbour = &play.harbour;
    let before = boot::vcenters(harbour)?;
    play.slipway(&["create", "manifests"])?;
    boot::want_cloud_provider_only(harbour)?;
    play.say("Two vCenters, three machines of the control plane, and a MachineSet on each vCenter. Make the cluster.");
    play.slipway(&["create", "cluster"])?;
    let kubectl = harbour.kubectl()?;
    let masters = usize::try_from(CONTROL_PLANE)?;
    let mut all = masters + usize::try_from(COMPUTE)?;
    for node in &boot::wait_for_nodes(&kubectl, all)? {
        boot::check_initialised(node)?;
    }
    let set = Set::first(&kubectl)?;
    play.say("A MachineSet has no machine any more, and then three.");
    set.scale(&kubectl, 0)?;
    boot::wait_for_nodes(&kubectl, all - 1)?;
    set.scale(&kubectl, 3)?;
    all += 2;
    boot::wait_for_nodes(&kubectl, all)?;
    boot::machines_have_nodes(&kubectl, all)?;
    play.slipway_in_cluster(&["machine", "list"])?;

    play.say("A worker loses its power. Its health check has it replaced.");
    kubectl.apply_value(&health_check())?;
    let lost = of_set(&kubectl, &set)?.into_iter().next().context("the set has no machine")?;
    harbour.power_off(&lost)?;
    let cut = Instant::now();
    eventually("the machine that was lost is gone", LIMIT, || {
        Ok((!of_set(&kubectl, &set)?.contains(&lost)).then_some(()))
    })?;
    boot::wait_for_nodes(&kubectl, all)?;
    println!("{lost} was replaced {:.0} s after its power was cut", cut.elapsed().as_secs_f32());

    play.say("The set is to have one machine. A disruption budget keeps a pod, until the drain's deadline.");
    let kept = of_set(&kubectl, &set)?.into_iter().next().context("the set has no machine")?;
    keep(&kubectl, &kept)?;
    set.scale(&kubectl, 1)?;
    let said = eventually("the drain says which pod it waits for", LIMIT, || {
        let machine = machine(&kubectl, &kept)?;
        let drained = condition(&machine, "Drained");
        Ok((drained["reason"] == "PodsBlocked").then(|| drained["message"].to_string()))
    })?;
    println!("{said}");
    if !said.contains("default/keeper") || !said.contains("the drain ends at") {
        bail!("the drain of {kept} does not say what it waits for, and how long");
    }
    all -= 2;
    boot::wait_for_nodes(&kubectl, all)?;
    if of_set(&kubectl, &set)?.contains(&kept) {
        bail!("{kept} has outlived its drain");
    }

    let old = masters_of(&kubectl)?.into_iter().next().context("there is no Machine of the control plane")?;
    play.say(&format!("{old} of the control plane is replaced: the new machine joins etcd first."));
    play.slipway_in_cluster(&["machine", "replace", &old, "--plan"])?;
    play.slipway_in_cluster(&["machine", "replace", &old, "--yes"])?;
    boot::wait_for_nodes(&kubectl, all)?;
    let now = masters_of(&kubectl)?;
    if now.contains(&old) || now.len() != masters {
        bail!("the control plane has {}", now.join(", "));
    }
    let members = boot::members(harbour)?;
    if members != masters {
        bail!("etcd has {members} members, and the control plane {masters} machines");
    }
    println!("the control plane has {}; etcd has {members} members", now.join(", "));
    nothing_was_approved_by_hand(&kubectl)?;
    play.slipway_in_cluster(&["machine", "list"])?;

    play.say("And away with it.");
    play.slipway(&["destroy", "cluster", "--yes"])?;
    if boot::vcenters(harbour)? != before {
        bail!("the vCenters are not as they were before");
    }
    if !harbour.failures().is_empty() {
        bail!("between vCenters and machines: {}", harbour.failures().join("; "));
    }
    Ok(())
}

fn health_check() -> Value {
    let role = json!({"machine.openshift.io/cluster-api-machine-role": "worker"});
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck",
        "metadata": {"name": "workers", "namespace": MACHINES},
        "spec": {
            "selector": {"matchLabels": role}, "maxUnhealthy": "100%",
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "10s"}],
        },
    })
}

fn machines(kubectl: &Kubectl) -> anyhow::Result<Vec<Value>> {
    let list = kubectl.json(&["get", "machines.machine.openshift.io", "--namespace", MACHINES])?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

fn machine(kubectl: &Kubectl, name: &str) -> anyhow::Result<Value> {
    kubectl.json(&["get", "machines.machine.openshift.io", name, "--namespace", MACHINES])
}

fn name(machine: &Value) -> String {
    machine["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// The machines of a set, by name.
fn of_set(kubectl: &Kubectl, set: &Set) -> anyhow::Result<Vec<String>> {
    let all = machines(kubectl)?;
    Ok(all.iter().filter(|one| one["metadata"]["ownerReferences"][0]["name"] == set.name).map(name).collect())
}

/// The machines of the control plane, by name.
fn masters_of(kubectl: &Kubectl) -> anyhow::Result<Vec<String>> {
    let role = "machine.openshift.io/cluster-api-machine-role";
    let all = machines(kubectl)?;
    Ok(all.iter().filter(|one| one["metadata"]["labels"][role] == "master").map(name).collect())
}

fn condition<'m>(machine: &'m Value, about: &str) -> &'m Value {
    let conditions = machine["status"]["conditions"].as_array();
    conditions.and_then(|all| all.iter().find(|one| one["type"] == about)).unwrap_or(&Value::Null)
}

/// A pod on the machine's node that may not be evicted, and the machine is the first of its set to go.
fn keep(kubectl: &Kubectl, machine: &str) -> anyhow::Result<()> {
    let labels = json!({"app": "keeper"});
    kubectl.apply_value(&json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "keeper", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
    }))?;
    kubectl.apply_value(&json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "keeper", "namespace": "default", "labels": labels},
        "spec": {
            "nodeName": machine, "containers": [{"name": "web", "image": WEB, "imagePullPolicy": "Never"}],
        },
    }))?;
    eventually("the pod runs, and its budget counts it", LIMIT, || {
        let budget = kubectl.json(&["get", "poddisruptionbudget", "keeper", "--namespace", "default"])?;
        Ok((budget["status"]["currentHealthy"] == 1).then_some(()))
    })?;
    let marks =
        ["machine.openshift.io/delete-machine=true".to_owned(), format!("slipway.dev/drain-timeout={DRAIN}")];
    let object = format!("machines.machine.openshift.io/{machine}");
    kubectl.run(&["annotate", &object, "--namespace", MACHINES, &marks[0], &marks[1]])?;
    Ok(())
}

/// Every certificate was approved by the cluster itself, and none waits.
fn nothing_was_approved_by_hand(kubectl: &Kubectl) -> anyhow::Result<()> {
    let list = kubectl.json(&["get", "csr"])?;
    let requests = list["items"].as_array().cloned().unwrap_or_default();
    let pending: Vec<String> =
        requests.iter().filter(|request| request["status"]["conditions"].is_null()).map(name).collect();
    if !pending.is_empty() {
        bail!("certificate requests wait: {}", pending.join(", "));
    }
    Ok(())
}
