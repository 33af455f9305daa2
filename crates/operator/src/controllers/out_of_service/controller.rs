//! The loop: the nodes of machines that are off, and of those that are back.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::runtime::events::Recorder;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use slipway_api::openshift::Machine;
use slipway_providers::cluster::{AccessError, call, merge};
use slipway_providers::text::chain;
use tokio::sync::watch;
use tokio::time::Instant;

use super::decide::{Next, OUT_OF_SERVICE, OWN_MARK, is_said_to_be_off, next, taints};
use crate::controllers::machine_objects::{Machines, NodeObject, Nodes};
use crate::runtime::events::publish_event;
use crate::runtime::owner::{self, Owner};
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::Watches;

/// The owner of what is written.
const MANAGER: &str = "slipway-out-of-service";
/// Changes within this time lead to one pass.
const DEBOUNCE: Duration = Duration::from_millis(500);
/// What failed is tried again after this time, and what is left on a node that is back is looked at again.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// The watches tell of every change.
const RESYNC_INTERVAL: Duration = Duration::from_mins(10);

/// What the controller is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where Machines are.
    pub namespace: String,
}

/// Runs until it is told to end.
pub async fn run(watches: Watches, settings: Settings, stop: watch::Receiver<bool>) {
    let trigger = Trigger::new(DEBOUNCE);
    let client = watches.client().clone();
    let mut deaths = Deaths {
        machines: Machines::watch(&watches, &settings.namespace, &trigger),
        nodes: Nodes::watch(&watches, &trigger),
        recorder: Recorder::new(client.clone(), MANAGER.into()),
        owner: Owner::watch(&watches, &settings.namespace, &trigger),
        client,
        said: BTreeMap::new(),
    };
    trigger.run(stop, &mut deaths).await;
}

struct Deaths {
    client: Client,
    machines: Machines,
    nodes: Nodes,
    recorder: Recorder,
    owner: Owner,
    /// Since when the hypervisor says that a machine is off, by its id. Whatever else it says takes that back.
    said: BTreeMap<String, Timestamp>,
}

impl Controller for Deaths {
    async fn pass(&mut self) -> Instant {
        tokio::join!(self.machines.ready(), self.nodes.ready());
        if self.owner.other().await.is_some() {
            return Instant::now() + owner::RESYNC_INTERVAL;
        }
        let now = Timestamp::now();
        let machines = self.machines.all();
        let off: BTreeMap<String, Timestamp> = machines
            .iter()
            .filter(|machine| is_said_to_be_off(machine))
            .filter_map(ResourceExt::uid)
            .map(|uid| (uid.clone(), self.said.get(&uid).copied().unwrap_or(now)))
            .collect();
        let nodes: BTreeMap<String, _> =
            self.nodes.all().into_iter().map(|node| (node.name().to_owned(), node)).collect();
        let mut due = Instant::now() + RESYNC_INTERVAL;
        for machine in &machines {
            let linked = machine.status.as_ref().and_then(|status| status.node_ref.as_ref()?.name.as_ref());
            let Some(node) = linked.and_then(|name| nodes.get(name)) else { continue };
            let said = machine.uid().and_then(|uid| self.said.get(&uid).copied());
            let done = match next(machine, node, said, now) {
                Next::Leave => continue,
                Next::Again(at) => {
                    let pause = Duration::try_from(at.duration_since(now)).unwrap_or_default();
                    due = due.min(Instant::now() + pause);
                    continue;
                }
                Next::Taint => self.declare_dead(machine, node, now).await,
                Next::Clean => self.take_back(machine, node).await,
            };
            match done {
                Ok(true) => {}
                Ok(false) => due = due.min(Instant::now() + RETRY_INTERVAL),
                Err(error) => {
                    tracing::warn!(machine = machine.name_any(), error = %chain(&error), "decided later");
                    due = due.min(Instant::now() + RETRY_INTERVAL);
                }
            }
        }
        self.said = off;
        due
    }
}

impl Deaths {
    /// After a second look at the node: its kubelet may have been heard of since.
    async fn declare_dead(
        &self,
        machine: &Machine,
        node: &NodeObject,
        now: Timestamp,
    ) -> Result<bool, AccessError> {
        let (nodes, name): (Api<NodeObject>, &str) = (Api::all(self.client.clone()), node.name());
        let live = call(&format!("looking at node `{name}` again"), nodes.get_opt(name)).await?;
        let Some(live) = live.filter(|live| live.uid() == node.uid() && live.is_unreachable()) else {
            return Ok(true);
        };
        let change = json!({
            "metadata": {
                "uid": live.uid(), "resourceVersion": live.resource_version(),
                "annotations": {OWN_MARK: now.to_string()},
            },
            "spec": {"taints": taints(&live, true)},
        });
        merge(&nodes, name, &format!("declaring node `{name}` dead"), &change).await?;
        let message = format!("its virtual machine is off: node `{name}` has the taint `{OUT_OF_SERVICE}`");
        tracing::warn!(machine = machine.name_any(), node = name, "out of service");
        publish_event(&self.recorder, machine, false, "OutOfService", &message, "Fence").await;
        Ok(true)
    }

    /// When all pods of before are gone: one that is still there could come to life beside its successor.
    async fn take_back(&self, machine: &Machine, node: &NodeObject) -> Result<bool, AccessError> {
        let name = node.name();
        let pods: Api<Pod> = Api::all(self.client.clone());
        let here = ListParams::default().fields(&format!("spec.nodeName={name}"));
        let listed = call(&format!("listing the pods of node `{name}`"), pods.list(&here)).await?;
        if listed.items.iter().any(|pod| pod.metadata.deletion_timestamp.is_some()) {
            return Ok(false);
        }
        let nodes: Api<NodeObject> = Api::all(self.client.clone());
        let change = json!({
            "metadata": {
                "uid": node.uid(), "resourceVersion": node.resource_version(), "annotations": {OWN_MARK: null},
            },
            "spec": {"taints": taints(node, false)},
        });
        merge(&nodes, name, &format!("taking node `{name}` back into service"), &change).await?;
        tracing::info!(machine = machine.name_any(), node = name, "back in service");
        publish_event(
            &self.recorder,
            machine,
            true,
            "BackInService",
            &format!("node `{name}` is back"),
            "Fence",
        )
        .await;
        Ok(true)
    }
}
