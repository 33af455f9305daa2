//! The loop: all machines and all nodes at once, whenever one of them changes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use kube::runtime::events::Recorder;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use slipway_api::openshift::Machine;
use slipway_providers::cluster::{AccessError, Manager, apply_status, merge};
use slipway_providers::text::chain;
use tokio::sync::watch;
use tokio::time::Instant;

use super::decide::{Found, lacking, linked, links};
use crate::controllers::machine_conditions::{Severity, Verdict, find, is_news, merge as with_times};
use crate::controllers::machine_metrics::Metrics;
use crate::controllers::machine_objects::{Machines, NodeObject, Nodes};
use crate::runtime::events::publish_event;
use crate::runtime::owner::{self, Owner};
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::Watches;

/// The owner of what is written.
const MANAGER: &str = "slipway-node-links";
/// The condition of a machine whose node is not certain. There is none where it is.
const NODE_LINKED: &str = "NodeLinked";
/// Changes within this time lead to one pass.
const DEBOUNCE: Duration = Duration::from_millis(500);
/// What failed is tried again after this time.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// The watches tell of every change.
const RESYNC_INTERVAL: Duration = Duration::from_mins(10);
/// Machines that are written at the same time.
const MAX_WRITES: usize = 8;

/// What the controller is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where Machines are.
    pub namespace: String,
}

/// Runs until it is told to end.
pub async fn run(watches: Watches, settings: Settings, metrics: Metrics, stop: watch::Receiver<bool>) {
    let trigger = Trigger::new(DEBOUNCE);
    let client = watches.client().clone();
    let machines = Machines::watch(&watches, &settings.namespace, &trigger);
    let nodes = Nodes::watch(&watches, &trigger);
    let recorder = Recorder::new(client.clone(), MANAGER.into());
    let owner = Owner::watch(&watches, &settings.namespace, &trigger);
    let mut links =
        Links { client, machines, nodes, recorder, owner, metrics, namespace: settings.namespace };
    trigger.run(stop, &mut links).await;
}

struct Links {
    client: Client,
    machines: Machines,
    nodes: Nodes,
    recorder: Recorder,
    owner: Owner,
    metrics: Metrics,
    namespace: String,
}

impl Controller for Links {
    async fn pass(&mut self) -> Instant {
        tokio::join!(self.machines.ready(), self.nodes.ready());
        if self.owner.other().await.is_some() {
            return Instant::now() + owner::RESYNC_INTERVAL;
        }
        let (machines, nodes) = (self.machines.all(), self.nodes.all());
        let found = links(&machines, &nodes);
        self.metrics.links(
            &machines.iter().zip(&found).map(|(machine, found)| state(machine, found)).collect::<Vec<_>>(),
        );
        let work: Vec<_> =
            machines.iter().zip(&found).map(|(machine, found)| self.settle(machine, found, &nodes)).collect();
        let failed =
            stream::iter(work).buffer_unordered(MAX_WRITES).collect::<Vec<bool>>().await.contains(&true);
        Instant::now() + if failed { RETRY_INTERVAL } else { RESYNC_INTERVAL }
    }
}

/// As metrics call it. A link that is written down stays where nothing new is known.
fn state(machine: &Machine, found: &Found) -> &'static str {
    match found {
        Found::Ambiguous(_) => "ambiguous",
        Found::Nothing if linked(machine).is_none() => "unlinked",
        Found::Nothing | Found::Node(_) => "linked",
    }
}

impl Links {
    /// Writes what is new about a machine and its node. Whether something could not be written.
    async fn settle(&self, machine: &Machine, found: &Found, nodes: &[Arc<NodeObject>]) -> bool {
        let result = match found {
            Found::Nothing => self.link(machine, None, None).await,
            Found::Ambiguous(words) => self.link(machine, None, Some(words)).await,
            Found::Node(at) => self.join(machine, &nodes[*at]).await,
        };
        match result {
            Ok(()) => false,
            // Another writer was faster, or the machine or its node is gone: what there is now is looked at next time.
            Err(error) if error.is_conflict() || error.is_absent() => true,
            Err(error) => {
                tracing::warn!(machine = machine.name_any(), error = %chain(&error), "not linked yet");
                true
            }
        }
    }

    async fn join(&self, machine: &Machine, node: &NodeObject) -> Result<(), AccessError> {
        self.link(machine, Some(node), None).await?;
        if let Some(change) = lacking(machine, node) {
            let nodes: Api<NodeObject> = Api::all(self.client.clone());
            let (name, own) = (node.name(), machine.name_any());
            merge(&nodes, name, &format!("handing node `{name}` what machine `{own}` says"), &change).await?;
        }
        Ok(())
    }

    /// Writes the link, and whether there is doubt about it.
    async fn link(
        &self,
        machine: &Machine,
        node: Option<&NodeObject>,
        doubt: Option<&String>,
    ) -> Result<(), AccessError> {
        let status = machine.status.clone().unwrap_or_default();
        let reference =
            node.map(|node| json!({"kind": "Node", "name": node.name(), "uid": node.metadata.uid}));
        let written = status.node_ref.as_ref();
        let is_same = |node: &NodeObject| {
            written
                .is_some_and(|one| one.name.as_deref() == Some(node.name()) && one.uid == node.metadata.uid)
        };
        let doubted = find(&status.conditions, NODE_LINKED);
        let verdict =
            doubt.map(|words| Verdict::fails(NODE_LINKED, Severity::Error, "AmbiguousNode", words.clone()));
        let is_told = match (&verdict, doubted) {
            (None, None) => true,
            (Some(verdict), Some(old)) => old.message.as_deref() == Some(verdict.message.as_str()),
            _ => false,
        };
        if is_told && node.is_none_or(is_same) {
            return Ok(());
        }
        // What is not applied again is taken away, so the link that stays is applied with what is new.
        let reference = reference.or_else(|| written.map(|one| json!(one)));
        let conditions = with_times(&status.conditions, verdict.as_slice(), Timestamp::now());
        let mut new = json!({"conditions": conditions});
        if let Some(reference) = reference {
            new["nodeRef"] = reference;
        }
        self.write(machine, &new).await?;
        if let (Some(node), None) = (node, linked(machine)) {
            let message = format!("it is node `{}`", node.name());
            tracing::info!(machine = machine.name_any(), node = node.name(), "linked");
            publish_event(&self.recorder, machine, true, NODE_LINKED, &message, "Link").await;
        }
        if let Some(verdict) = verdict.filter(|verdict| is_news(&status.conditions, verdict)) {
            publish_event(&self.recorder, machine, false, verdict.reason, &verdict.message, "Link").await;
        }
        Ok(())
    }

    async fn write(&self, machine: &Machine, status: &Value) -> Result<(), AccessError> {
        let name = machine.name_any();
        let object = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "namespace": self.namespace, "uid": machine.uid()},
            "status": status,
        });
        let api: Api<Machine> = Api::namespaced(self.client.clone(), &self.namespace);
        let doing = format!("writing the node of machine `{name}`");
        apply_status(&api, Manager::forcing(MANAGER), &name, &doing, &object).await
    }
}
