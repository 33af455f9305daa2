//! OpenShift's Machine API, both ways: its controllers on top of our Machine controller, and its Machine controller on what we write.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use slipway_testkit::machine_api::{self, Controller, NAMESPACE};
use slipway_testkit::nodes;
use slipway_testkit::process::eventually;

use super::{MACHINES, Shown, Suite};
use crate::site::{self, Files};
use crate::testbed::{self, Cluster, is_made, name, text};

pub(super) const SUITE: Suite = Suite {
    name: "machine-api",
    title: "OpenShift's Machine API",
    module: "github.com/openshift/machine-api-operator",
    beside: MACHINES,
    run,
    limits: &[
        "its webhooks, and its operator, which deploys these controllers on OpenShift",
        "nodes are registered by the suite: no machine boots here",
        "the vCenters are simulated, with one failure domain each",
    ],
};

const LIMIT: Duration = Duration::from_mins(6);

fn run(shown: &mut Shown) -> anyhow::Result<()> {
    on_ours(shown).context("its controllers on our Machine controller")?;
    on_what_we_write(shown).context("its Machine controller on our manifests")
}

fn on_ours(shown: &mut Shown) -> anyhow::Result<()> {
    let files = Files::make(&site::debug(), 1, 0)?;
    let mut cluster = Cluster::start(&files, &[])?;
    cluster.start_operator(&testbed::operator(), "machines,drain")?;
    for controller in [Controller::MachineSets, Controller::HealthChecks, Controller::NodeLinks] {
        machine_api::start(&mut cluster.plane, controller, &[])?;
    }
    let (kubectl, set) = (cluster.plane.kubectl(), format!("{}-worker-0", files.infra_id));
    kubectl.apply(&machine_set(&files, 2)?)?;
    let made = shown.step(
        "its MachineSet controller makes two Machines, and ours makes a virtual machine of each",
        || {
            let are = |machines: &[Value]| machines.len() == 2 && machines.iter().all(is_made);
            let made = cluster.wait_for_machines("two machines", LIMIT, are)?;
            run_on_the_vcenters(&cluster, &files, &made)?;
            Ok(made)
        },
    )?;
    shown.step("its node link controller finds the node of each, and ours calls them Running", || {
        made.iter().try_for_each(|machine| join(&cluster, machine))?;
        let is = |machine: &Value| {
            text(machine, "/status/phase") == "Running"
                && text(machine, "/status/nodeRef/name") == name(machine)
        };
        cluster.wait_for_machines("nodes", LIMIT, |machines| machines.iter().all(is))?;
        let node = kubectl.json(&["get", "node", name(&made[0])])?;
        let says = &node["metadata"]["annotations"]["machine.openshift.io/machine"];
        ensure!(*says == format!("{NAMESPACE}/{}", name(&made[0])), "the node says it is of {says}");
        Ok(())
    })?;
    shown.step("its MachineSet counts both as ready and available", || {
        eventually("two ready", LIMIT, || {
            let set = kubectl.json(&["get", "machineset", &set, "--namespace", NAMESPACE])?;
            let status = &set["status"];
            Ok((status["readyReplicas"] == 2 && status["availableReplicas"] == 2).then_some(()))
        })
    })?;
    shown.step(
        "its MachineHealthCheck deletes the Machine of a node that is silent: ours drains and removes it, with its node, and \
         makes the next one",
        || replaced(&cluster, &files, &set, &made),
    )?;
    shown.step("scaled to none by it, ours leaves no machine, and no node that it removed", || {
        scale(&cluster, &set, 0)?;
        cluster.wait_for_machines("none", LIMIT, <[Value]>::is_empty)?;
        nothing_is_left(&cluster, &files)?;
        let nodes = kubectl.run(&["get", "nodes", "--output=name"])?;
        ensure!(nodes.trim().is_empty(), "there are {nodes}");
        Ok(())
    })
}

fn on_what_we_write(shown: &mut Shown) -> anyhow::Result<()> {
    let files = Files::make(&site::debug(), 2, 0)?;
    let mut cluster = Cluster::start(&files, &[])?;
    for controller in [Controller::MachineSets, Controller::VSphere] {
        machine_api::start(&mut cluster.plane, controller, &[])?;
    }
    let kubectl = cluster.plane.kubectl();
    for index in 0..3 {
        let file = format!("openshift/99_openshift-cluster-api_master-machines-{index}.yaml");
        kubectl.apply(&fs_err::read_to_string(files.manifest(&file))?)?;
    }
    kubectl.apply(&machine_set(&files, 1)?)?;
    shown.step(
        "its vSphere controller makes virtual machines of the control-plane Machines and of the MachineSet that \
         `slipway create manifests` writes, on two vCenters, with our Infrastructure, cloud config and user data",
        || {
            let are = |machines: &[Value]| machines.len() == 4 && machines.iter().all(is_made);
            let made = cluster.wait_for_machines("four machines", LIMIT, are)?;
            let seen = run_on_the_vcenters(&cluster, &files, &made)?;
            for vm in &seen {
                let has = |key: &str| vm["extra_config"][key].as_str().is_some_and(|text| !text.is_empty());
                ensure!(has("guestinfo.ignition.config.data"), "{} has no Ignition", vm["path"]);
            }
            Ok(())
        },
    )?;
    shown.step("it removes them again", || {
        let set = format!("{}-worker-0", files.infra_id);
        scale(&cluster, &set, 0)?;
        kubectl.run(&["delete", "machines", "--all", "--namespace", NAMESPACE, "--wait=false"])?;
        cluster.wait_for_machines("none", LIMIT, <[Value]>::is_empty)?;
        nothing_is_left(&cluster, &files)
    })
}

/// The MachineSet that `create manifests` has written, with another number of replicas.
pub(super) fn machine_set(files: &Files, replicas: usize) -> anyhow::Result<String> {
    let text = fs_err::read_to_string(
        files.manifest("openshift/99_openshift-cluster-api_worker-machineset-0.yaml"),
    )?;
    ensure!(text.contains("replicas: 0"), "the MachineSet does not begin with no replicas:\n{text}");
    Ok(text.replace("replicas: 0", &format!("replicas: {replicas}")))
}

fn scale(cluster: &Cluster, set: &str, replicas: usize) -> anyhow::Result<()> {
    let replicas = format!("--replicas={replicas}");
    cluster.plane.kubectl().run(&["scale", "machineset", set, &replicas, "--namespace", NAMESPACE])?;
    Ok(())
}

/// Machines that run, by VMware's own client: one for each Machine, by its name and providerID.
fn run_on_the_vcenters(cluster: &Cluster, files: &Files, wanted: &[Value]) -> anyhow::Result<Vec<Value>> {
    let seen = cluster.virtual_machines(files)?;
    ensure!(seen.len() == wanted.len(), "VMware's client sees {} machines, not {}", seen.len(), wanted.len());
    for machine in wanted {
        let vm = seen.iter().find(|vm| text(vm, "/name") == name(machine));
        let vm = vm.with_context(|| format!("VMware's client does not see {}", name(machine)))?;
        ensure!(vm["power"] == "poweredOn", "{} is {}", vm["path"], vm["power"]);
        let id = format!("vsphere://{}", text(vm, "/uuid"));
        ensure!(
            text(machine, "/spec/providerID") == id,
            "{} is {id} and not {}",
            name(machine),
            machine["spec"]
        );
        let wanted = machine["spec"]["providerSpec"]["value"]["numCPUs"].as_i64();
        ensure!(vm["cpus"].as_i64() == wanted, "{} has {} processors", vm["path"], vm["cpus"]);
    }
    Ok(seen)
}

pub(super) fn nothing_is_left(cluster: &Cluster, files: &Files) -> anyhow::Result<()> {
    let left = cluster.virtual_machines(files)?;
    ensure!(
        left.is_empty(),
        "VMware's client still sees {:?}",
        left.iter().map(|vm| &vm["path"]).collect::<Vec<_>>()
    );
    Ok(())
}

/// A node of a Machine, as it registers itself. Its state changes only by the suite.
fn join(cluster: &Cluster, machine: &Value) -> anyhow::Result<()> {
    let id = text(machine, "/spec/providerID");
    let mut node = nodes::node(name(machine), id.trim_start_matches("vsphere://"));
    node["spec"]["providerID"] = json!(id);
    node["status"]["conditions"] = ready("True");
    cluster.plane.register(&node)
}

fn ready(status: &str) -> Value {
    json!([{
        "type": "Ready", "status": status, "reason": "Suite", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "lastHeartbeatTime": "2026-01-01T00:00:00Z",
    }])
}

fn replaced(cluster: &Cluster, files: &Files, set: &str, made: &[Value]) -> anyhow::Result<()> {
    let kubectl = cluster.plane.kubectl();
    kubectl.apply_value(&json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck",
        "metadata": {"name": "workers", "namespace": NAMESPACE},
        "spec": {
            "selector": {"matchLabels": {"machine.openshift.io/cluster-api-machineset": set}},
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "1s"}],
            "maxUnhealthy": 1,
        },
    }))?;
    let (silent, other) = (name(&made[0]), name(&made[1]));
    let status = json!({"status": {"conditions": ready("Unknown")}}).to_string();
    kubectl.run(&[
        "patch",
        "node",
        silent,
        "--subresource=status",
        "--type=strategic",
        "--patch",
        &status,
    ])?;
    let are = |machines: &[Value]| {
        let is_other = |machine: &Value| name(machine) != silent;
        machines.len() == 2 && machines.iter().all(|machine| is_other(machine) && is_made(machine))
    };
    let now = cluster.wait_for_machines("a new machine", LIMIT, are)?;
    ensure!(now.iter().any(|machine| name(machine) == other), "the healthy one was replaced, too");
    run_on_the_vcenters(cluster, files, &now)?;
    let node = kubectl.run(&["get", "node", silent, "--ignore-not-found", "--output=name"])?;
    ensure!(node.trim().is_empty(), "the node is still there");
    Ok(())
}
