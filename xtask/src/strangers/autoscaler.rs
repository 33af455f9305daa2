//! The cluster autoscaler on our MachineSets, with real pods and the real scheduler.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{bail, ensure};
use serde_json::{Value, json};
use slipway_testkit::autoscaler;
use slipway_testkit::control_plane::Beside;
use slipway_testkit::machine_api::NAMESPACE;
use slipway_testkit::nodes;
use slipway_testkit::process::eventually;

use super::machine_api::{machine_set, nothing_is_left};
use super::{MACHINES, Shown, Suite};
use crate::site::{self, Files};
use crate::testbed::{self, Cluster, is_made, name, text};

pub(super) const SUITE: Suite = Suite {
    name: "cluster-autoscaler",
    title: "The Kubernetes cluster autoscaler",
    module: "k8s.io/autoscaler/cluster-autoscaler",
    beside: MACHINES,
    run,
    limits: &[
        "nodes are registered by the suite and kept alive by kwok: no machine boots here",
        "its times are seconds here; their defaults are minutes",
        "OpenShift's build of it, and its operator with ClusterAutoscaler and MachineAutoscaler objects",
    ],
};

const LIMIT: Duration = Duration::from_mins(6);

fn run(shown: &mut Shown) -> anyhow::Result<()> {
    let files = Files::make(&site::debug(), 1, 0)?;
    let mut cluster = Cluster::start(&files, &[Beside::Controllers, Beside::Scheduler, Beside::Kwok])?;
    cluster.start_operator(&testbed::operator(), "machines,machine-sets,node-links,drain")?;
    let set = format!("{}-worker-0", files.infra_id);
    let kubectl = cluster.plane.kubectl();
    kubectl.apply(&machine_set(&files, 0)?)?;
    let limits = ["min-size=0", "max-size=3"]
        .map(|limit| format!("machine.openshift.io/cluster-api-autoscaler-node-group-{limit}"));
    kubectl.run(&["annotate", "machineset", &set, "--namespace", NAMESPACE, &limits[0], &limits[1]])?;
    shown.step("our MachineSet controller says what a machine of the set will have", || {
        eventually("capacity annotations", LIMIT, || {
            let set = kubectl.json(&["get", "machineset", &set, "--namespace", NAMESPACE])?;
            Ok(set["metadata"]["annotations"]["capacity.cluster-autoscaler.kubernetes.io/cpu"]
                .is_string()
                .then_some(()))
        })
    })?;
    autoscaler::start(&mut cluster.plane)?;
    let kubectl = cluster.plane.kubectl();
    shown.step(
        "it scales the MachineSet from zero to two for two pods that have no node, and they run on our machines",
        || {
            for pod in ["one", "two"] {
                eventually("the pod's account", LIMIT, || kubectl.apply_value(&pod_that_fills_a_node(pod)).map(Some))?;
            }
            eventually("both pods run", LIMIT, || {
                join(&cluster)?;
                all_run(&cluster, &["one", "two"])
            })?;
            let machines = cluster.list("machines.machine.openshift.io")?;
            ensure!(machines.len() == 2 && machines.iter().all(is_made), "there are {} Machines", machines.len());
            let seen = cluster.virtual_machines(&files)?;
            ensure!(seen.len() == 2, "VMware's client sees {} machines", seen.len());
            Ok(())
        },
    )?;
    shown.step(
        "it scales down by the machine whose pod is gone, and by no other: that one is drained and removed",
        || {
            let kept = kubectl.json(&["get", "pod", "two"])?;
            kubectl.run(&["delete", "pod", "one", "--wait=false"])?;
            let left = cluster.wait_for_machines("one machine", LIMIT, |machines| machines.len() == 1)?;
            let node = text(&left[0], "/status/nodeRef/name");
            ensure!(node == text(&kept, "/spec/nodeName"), "the machine that is left is {node}");
            let now = kubectl.json(&["get", "pod", "two"])?;
            ensure!(now["metadata"]["uid"] == kept["metadata"]["uid"], "the other pod was moved");
            all_run(&cluster, &["two"])?;
            let seen = cluster.virtual_machines(&files)?;
            ensure!(seen.len() == 1 && text(&seen[0], "/name") == name(&left[0]), "{} machines", seen.len());
            Ok(())
        },
    )?;
    shown.step("it scales down to zero when the last pod is gone, and nothing is left on the vCenter", || {
        kubectl.run(&["delete", "pod", "two", "--wait=false"])?;
        cluster.wait_for_machines("none", LIMIT, <[Value]>::is_empty)?;
        nothing_is_left(&cluster, &files)
    })
}

/// Two of them do not fit on one machine of the set.
fn pod_that_fills_a_node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [{"name": "work", "image": "registry.example.com/work:1", "resources": {"requests": {"cpu": "3"}}}],
            "terminationGracePeriodSeconds": 0,
        },
    })
}

/// Registers the nodes that booted machines would, with what the machines have.
fn join(cluster: &Cluster) -> anyhow::Result<()> {
    let known = cluster.plane.kubectl().json(&["get", "nodes"])?;
    let known: BTreeSet<&str> = known["items"].as_array().into_iter().flatten().map(name).collect();
    for machine in cluster.list("machines.machine.openshift.io")? {
        if !is_made(&machine) || known.contains(name(&machine)) {
            continue;
        }
        let id = text(&machine, "/spec/providerID");
        let mut node = nodes::living(name(&machine), id.trim_start_matches("vsphere://"));
        let spec = &machine["spec"]["providerSpec"]["value"];
        let has = json!({"cpu": spec["numCPUs"].to_string(), "memory": format!("{}Mi", spec["memoryMiB"]), "pods": "110"});
        (node["status"]["capacity"], node["status"]["allocatable"]) = (has.clone(), has);
        node["spec"]["providerID"] = json!(id);
        cluster.plane.register(&node)?;
    }
    Ok(())
}

fn all_run(cluster: &Cluster, pods: &[&str]) -> anyhow::Result<Option<()>> {
    let found = cluster.plane.kubectl().json(&["get", "pods"])?;
    let found = found["items"].as_array().cloned().unwrap_or_default();
    for pod in pods {
        let pod = found.iter().find(|one| name(one) == *pod);
        let phase = pod.map_or("gone", |pod| text(pod, "/status/phase"));
        if phase != "Running" {
            bail!("a pod is {phase}");
        }
    }
    Ok(Some(()))
}
