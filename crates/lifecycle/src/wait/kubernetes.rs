//! Until nodes and system pods are well.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use slipway_api::openshift::{Machine, MachineSet};
use slipway_assess::check::cluster::UNINITIALIZED;
use slipway_assets::names::MACHINES_NAMESPACE;
use slipway_providers::cluster::{AccessError, or_absent};

use super::{Goal, View, WaitTarget, compute};

const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
/// The kubelet's words for it.
const NO_NETWORK: [&str; 3] =
    ["NetworkPluginNotReady", "cni plugin not initialized", "network plugin is not ready"];
/// How many of a kind are named.
const NAMED: usize = 4;

pub(super) async fn look(subject: &WaitTarget) -> View {
    let read = async {
        let client = subject.client().await?;
        let all = ListParams::default();
        let nodes: Api<Node> = Api::all(client.clone());
        let pods: Api<Pod> = Api::namespaced(client.clone(), "kube-system");
        let machines: Api<Machine> = Api::namespaced(client.clone(), MACHINES_NAMESPACE);
        let sets: Api<MachineSet> = Api::namespaced(client, MACHINES_NAMESPACE);
        let nodes = subject.call("listing nodes", nodes.list(&all)).await?.items;
        let pods = subject.call("listing system pods", pods.list(&all)).await?.items;
        let machines = async { Ok(subject.call("listing Machines", machines.list(&all)).await?.items) };
        let sets = async { Ok(subject.call("listing MachineSets", sets.list(&all)).await?.items) };
        let (machines, sets) = (or_absent(machines.await)?, or_absent(sets.await)?);
        Ok::<_, AccessError>(Seen { nodes, pods, machines, sets })
    };
    match read.await {
        Ok(seen) => judge(&seen, subject.control_plane, subject.compute),
        Err(error) => {
            let why = subject.explain(&error);
            View { waiting: vec![format!("the API ({why})")], cause: Some(why), ..View::of(Goal::Install) }
        }
    }
}

/// What the cluster has.
#[derive(Debug, Default)]
pub struct Seen {
    pub nodes: Vec<Node>,
    pub pods: Vec<Pod>,
    pub machines: Vec<Machine>,
    pub sets: Vec<MachineSet>,
}

/// What a node lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Lack {
    Network,
    Other(String),
}

/// What is waited for.
pub fn judge(seen: &Seen, control_plane: usize, expected_compute: usize) -> View {
    let Seen { nodes, pods, machines, sets } = seen;
    let mut view = View::of(Goal::Install);
    let is_master = |node: &&Node| node.labels().contains_key(CONTROL_PLANE);
    let (masters, workers): (Vec<&Node>, Vec<&Node>) = nodes.iter().partition(is_master);
    let masters = masters.len();
    if masters < control_plane {
        view.waiting.push(format!("{masters} of {control_plane} control-plane machines have a node"));
    }
    let lacking: Vec<(String, Lack)> =
        nodes.iter().filter_map(|node| Some((node.name_any(), lack(node)?))).collect();
    let only_network = !lacking.is_empty() && lacking.iter().all(|(_, lack)| *lack == Lack::Network);
    if only_network && masters >= control_plane {
        view.waiting
            .push(format!("only the network plugin: without it {} nodes are not Ready", lacking.len()));
        view.cause = Some("no network plugin (CNI) runs; everything else about the nodes is well".to_owned());
        view.hint = Some(
            "apply one: kubectl apply; the next cluster can have it from the start by `payload.networkManifests`".to_owned(),
        );
        return view;
    }
    for (name, lack) in lacking.iter().take(NAMED) {
        let why = match lack {
            Lack::Network => "its network plugin is not ready",
            Lack::Other(why) => why,
        };
        view.waiting.push(format!("node {name} to be Ready: {why}"));
    }
    let uninitialized = nodes.iter().filter(|node| is_uninitialized(node)).count();
    if uninitialized > 0 {
        view.waiting.push(format!(
            "the cloud controller manager to initialise {uninitialized} nodes; until then most pods are kept away from them"
        ));
    }
    let mut late: Vec<String> = pods.iter().filter_map(late).collect();
    late.sort();
    let more = late.len().saturating_sub(NAMED);
    if !late.is_empty() {
        late.truncate(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        view.waiting.push(format!("system pods: {}{more}", late.join(", ")));
    }
    let behind = compute::judge(&workers, machines, sets, expected_compute);
    view.waiting.extend(behind.waiting);
    view.hint = behind.hint;
    view.cause = view.waiting.first().cloned();
    view
}

pub(super) fn is_ready(node: &Node) -> bool {
    lack(node).is_none()
}

fn lack(node: &Node) -> Option<Lack> {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let Some(ready) = conditions.into_iter().find(|condition| condition.type_ == "Ready") else {
        return Some(Lack::Other("its kubelet has not said anything yet".to_owned()));
    };
    let message = ready.message.clone().unwrap_or_default();
    match ready.status.as_str() {
        "True" => None,
        "False" if NO_NETWORK.iter().any(|words| message.contains(words)) => Some(Lack::Network),
        _ => Some(Lack::Other(message)),
    }
}

fn is_uninitialized(node: &Node) -> bool {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.into_iter().any(|taint| taint.key == UNINITIALIZED)
}

/// A pod that is not ready, and why if it says so.
fn late(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    if status.phase.as_deref() == Some("Succeeded") || pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let condition = |kind: &str| status.conditions.iter().flatten().find(|found| found.type_ == kind);
    if condition("Ready").is_some_and(|ready| ready.status == "True") {
        return None;
    }
    let waiting = status.container_statuses.iter().flatten().find_map(|container| {
        let waiting = container.state.as_ref()?.waiting.as_ref()?;
        waiting.reason.clone()
    });
    let unscheduled = condition("PodScheduled").filter(|found| found.status == "False");
    let why = waiting.or_else(|| unscheduled.and_then(|found| found.reason.clone()));
    let why = why.or_else(|| status.phase.clone()).unwrap_or_else(|| "not ready".to_owned());
    Some(format!("{} ({why})", pod.name_any()))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Node, Pod};
    use serde_json::{Value, json};

    use super::{Seen, judge};

    fn node(name: &str, master: bool, ready: &str, message: &str, taints: &Value) -> Node {
        let labels = if master { json!({"node-role.kubernetes.io/control-plane": ""}) } else { json!({}) };
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": labels}, "spec": {"taints": taints},
            "status": {"conditions": [{"type": "Ready", "status": ready, "message": message}]},
        }))
        .unwrap()
    }

    fn pod(name: &str, ready: &str, status: Value) -> Pod {
        let mut status = status;
        status["conditions"] = json!([{"type": "Ready", "status": ready}]);
        serde_json::from_value(json!({"metadata": {"name": name}, "status": status})).unwrap()
    }

    fn seen<const N: usize, const P: usize>(nodes: [Node; N], pods: [Pod; P]) -> Seen {
        Seen { nodes: nodes.into(), pods: pods.into(), ..Seen::default() }
    }

    const CNI: &str = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady \
        message:Network plugin returns error: cni plugin not initialized";

    #[test]
    fn only_the_network_plugin() {
        let nodes = [node("a", true, "False", CNI, &json!([])), node("b", false, "False", CNI, &json!([]))];
        let pods = [pod("coredns", "False", json!({"phase": "Pending"}))];
        let view = judge(&seen(nodes, pods), 1, 1);
        assert_eq!(view.waiting, ["only the network plugin: without it 2 nodes are not Ready"]);
        assert!(view.cause.unwrap().contains("CNI"));
    }

    #[test]
    fn everything_that_is_behind_is_named() {
        let taint =
            json!([{"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}]);
        let nodes = [
            node("a", true, "True", "", &taint),
            node("b", false, "Unknown", "Kubelet stopped posting", &json!([])),
        ];
        let waiting = json!({"phase": "Pending", "containerStatuses": [
            {"name": "c", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
        ]});
        let pods = [
            pod("proxy", "True", json!({})),
            pod("ccm", "False", waiting),
            pod("job", "False", json!({"phase": "Succeeded"})),
        ];
        let view = judge(&seen(nodes, pods), 2, 3);
        assert_eq!(
            view.waiting,
            [
                "1 of 2 control-plane machines have a node",
                "node b to be Ready: Kubelet stopped posting",
                "the cloud controller manager to initialise 1 nodes; until then most pods are kept away from them",
                "system pods: ccm (ImagePullBackOff)",
                "0 of 3 compute machines are Ready nodes",
            ]
        );
    }

    #[test]
    fn all_is_well() {
        let nodes = [node("a", true, "True", "", &json!([]))];
        let view = judge(&seen(nodes, [pod("proxy", "True", json!({}))]), 1, 0);
        assert!(view.is_done() && view.notes.is_empty());
    }
}
