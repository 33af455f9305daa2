//! The loop: every machine that is being deleted and is not drained yet gets a round, some of them at the same time.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::runtime::events::Recorder;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use slipway_api::openshift::Machine;
use slipway_assess::machines::names::{CONTROL_PLANE, DRAINABLE, DRAINED, is_control_plane};
use slipway_assess::machines::pods::called;
use slipway_providers::cluster::{AccessError, Manager, apply_status, call, merge};
use slipway_providers::text::chain;
use tokio::sync::watch;
use tokio::time::Instant;

use super::decide::{Gate, Round, deadline, gate, pods, turn, verdict};
use super::evict::{Outcome, evict};
use crate::controllers::machine_conditions::{Severity, Verdict, are_there, is_news, merge as with_times};
use crate::controllers::machine_metrics::Metrics;
use crate::controllers::machine_objects::{Machines, NodeObject};
use crate::runtime::events::publish_event;
use crate::runtime::owner::{self, Owner};
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::Watches;

/// The owner of what is written.
const MANAGER: &str = "slipway-drain";
/// Changes within this time lead to one pass.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// Between two rounds of a node: as often as a pod may be asked to leave.
const ROUND_INTERVAL: Duration = Duration::from_secs(5);
/// While nothing is drained.
const RESYNC_INTERVAL: Duration = Duration::from_mins(10);
/// Nodes that are drained at the same time.
const MAX_NODES: usize = 8;
/// Pods of a node that are evicted at the same time.
const MAX_EVICTIONS: usize = 8;

/// A round could not be finished.
const CALL_FAILED: &str = "CallFailed";

/// What the controller is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where Machines are.
    pub namespace: String,
    /// Between two rounds of a node.
    pub interval: Duration,
}

impl Settings {
    pub fn new(namespace: &str) -> Self {
        Settings { namespace: namespace.to_owned(), interval: ROUND_INTERVAL }
    }
}

/// Runs until it is told to end.
pub async fn run(watches: Watches, settings: Settings, metrics: Metrics, stop: watch::Receiver<bool>) {
    let trigger = Trigger::new(DEBOUNCE);
    let client = watches.client().clone();
    let machines = Machines::watch(&watches, &settings.namespace, &trigger);
    let recorder = Recorder::new(client.clone(), MANAGER.into());
    let owner = Owner::watch(&watches, &settings.namespace, &trigger);
    let mut drain = Drain { client, machines, recorder, owner, metrics, settings };
    trigger.run(stop, &mut drain).await;
}

struct Drain {
    client: Client,
    machines: Machines,
    recorder: Recorder,
    owner: Owner,
    metrics: Metrics,
    settings: Settings,
}

/// Why there is more to do about a machine; `None` if there is not.
struct Open(Option<&'static str>);

impl Controller for Drain {
    async fn pass(&mut self) -> Instant {
        self.machines.ready().await;
        if self.owner.other().await.is_some() {
            return Instant::now() + owner::RESYNC_INTERVAL;
        }
        let mut leaving: Vec<Machine> = self.machines.all();
        leaving.retain(|machine| machine.metadata.deletion_timestamp.is_some());
        // Who began first goes on first: of the control plane there is one at a time.
        leaving.sort_by_key(|machine| {
            let since = machine.metadata.deletion_timestamp.as_ref().map(|time| time.0);
            (since, machine.name_any())
        });
        let (of_control_plane, others): (Vec<&Machine>, Vec<&Machine>) =
            leaving.iter().partition(|machine| is_master(machine));
        let rounds: Vec<_> = others.into_iter().map(|machine| self.attend(machine)).collect();
        let rounds = stream::iter(rounds).buffer_unordered(MAX_NODES);
        let masters = async {
            let mut open = Vec::new();
            for machine in of_control_plane {
                open.push(self.attend(machine).await);
            }
            open
        };
        let (others, masters) = tokio::join!(rounds.collect::<Vec<Open>>(), masters);
        let open: Vec<&'static str> = others.into_iter().chain(masters).filter_map(|open| open.0).collect();
        self.metrics.drains(&open);
        Instant::now() + if open.is_empty() { RESYNC_INTERVAL } else { self.settings.interval }
    }
}

impl Drain {
    /// One round of a machine. Why there is more to do.
    async fn attend(&self, machine: &Machine) -> Open {
        let looked = self.round(machine).await;
        let verdict = match looked {
            Ok(None) => return Open(None),
            Ok(Some(verdict)) => verdict,
            Err(error) => {
                let name = machine.name_any();
                tracing::warn!(machine = name, error = %chain(&error), "the drain continues later");
                return Open(Some(CALL_FAILED));
            }
        };
        if let Err(error) = self.say(machine, &verdict).await {
            tracing::warn!(machine = machine.name_any(), error = %chain(&error), "the drain is not told yet");
            return Open(Some(CALL_FAILED));
        }
        Open(verdict.severity.map(|_| verdict.reason))
    }

    async fn round(&self, machine: &Machine) -> Result<Option<Verdict>, AccessError> {
        // Without a link an id is looked for among all nodes; that is rare.
        let unlinked = machine.status.as_ref().is_none_or(|status| status.node_ref.is_none());
        let nodes: Api<NodeObject> = Api::all(self.client.clone());
        let known = match (unlinked, &machine.spec.provider_id) {
            (true, Some(_)) => call("listing nodes", nodes.list(&ListParams::default())).await?.items,
            _ => Vec::new(),
        };
        let by_id = |id: &str| {
            let has_it = |node: &&NodeObject| {
                node.spec.provider_id.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(id))
            };
            known.iter().find(has_it).map(|node| node.name().to_owned())
        };
        let name = match gate(machine, by_id) {
            Gate::Leave => return Ok(None),
            Gate::Done(verdict) | Gate::Held(verdict) => return Ok(Some(verdict)),
            Gate::Node(name) => name,
        };
        // Not from a copy: that a node is gone must be certain.
        let node = call(&format!("looking for node `{name}`"), nodes.get_opt(&name)).await?;
        let Some(node) = node else {
            let message = format!("node `{name}` is gone");
            return Ok(Some(Verdict::holds(DRAINED, "NodeGone", message)));
        };
        if is_control_plane(&node.metadata)
            && let Some(waits) = turn(&name, &self.cordoned_control_plane(&nodes).await?)
        {
            return Ok(Some(waits));
        }
        if !node.spec.unschedulable {
            let change = json!({"metadata": {"uid": node.uid()}, "spec": {"unschedulable": true}});
            merge(&nodes, &name, &format!("cordoning node `{name}`"), &change).await?;
            tracing::info!(machine = machine.name_any(), node = name, "cordoned");
        }
        let round = self.evict_from(&name, node.is_unreachable()).await?;
        Ok(Some(verdict(&round, &name, deadline(machine), Timestamp::now())))
    }

    /// Asks every pod to leave that has to.
    async fn evict_from(&self, node: &str, is_unreachable: bool) -> Result<Round, AccessError> {
        let all: Api<Pod> = Api::all(self.client.clone());
        let here = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let listed = call(&format!("listing the pods of node `{node}`"), all.list(&here)).await?.items;
        let found = pods(&listed, is_unreachable, Timestamp::now());
        let mut round = Round { leaving: found.leaving.clone(), ..Round::default() };
        if found.is_empty() {
            return Ok(round);
        }
        let leaving = found.evict.iter().filter_map(|at| listed.get(*at));
        let evictions: Vec<_> = leaving
            .map(|pod| async move { (called(pod), evict(&self.client, pod, is_unreachable).await) })
            .collect();
        for (pod, outcome) in stream::iter(evictions).buffered(MAX_EVICTIONS).collect::<Vec<_>>().await {
            self.metrics.evicted(outcome.result());
            match outcome {
                Outcome::Gone => {}
                Outcome::Leaving => round.leaving.push(pod),
                Outcome::Kept(why) => round.kept.push((pod, why)),
                Outcome::Failed(why) => round.failed.push((pod, why)),
            }
        }
        Ok(round)
    }

    /// Nodes of the control plane that take no pods, read now: a copy may not know yet what the last round did.
    async fn cordoned_control_plane(&self, nodes: &Api<NodeObject>) -> Result<Vec<String>, AccessError> {
        let mut cordoned = Vec::new();
        for label in CONTROL_PLANE {
            let with_label = ListParams::default().labels(label);
            let listed = call("listing the nodes of the control plane", nodes.list(&with_label)).await?;
            let names = listed.items.iter().filter(|node| node.spec.unschedulable);
            cordoned.extend(names.map(|node| node.name().to_owned()));
        }
        cordoned.sort();
        cordoned.dedup();
        Ok(cordoned)
    }

    /// Writes it into the machine's status, if it is not there yet.
    async fn say(&self, machine: &Machine, verdict: &Verdict) -> Result<(), AccessError> {
        let old = machine.status.as_ref().map(|status| &status.conditions[..]).unwrap_or_default();
        let mut verdicts = vec![verdict.clone()];
        if verdict.about == DRAINABLE {
            let message = "nothing is drained while a hook is there";
            verdicts.push(Verdict::fails(DRAINED, Severity::Info, "HookPresent", message));
        } else {
            verdicts.push(Verdict::holds(DRAINABLE, "NoHook", ""));
        }
        let conditions = with_times(old, &verdicts, Timestamp::now());
        if are_there(old, &conditions) {
            return Ok(());
        }
        let name = machine.name_any();
        let object = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "namespace": self.settings.namespace, "uid": machine.uid()},
            "status": {"conditions": conditions},
        });
        let api: Api<Machine> = Api::namespaced(self.client.clone(), &self.settings.namespace);
        let doing = format!("writing how far the drain of machine `{name}` is");
        match apply_status(&api, Manager::forcing(MANAGER), &name, &doing, &object).await {
            // It went meanwhile.
            Err(error) if error.is_absent() => return Ok(()),
            said => said?,
        }
        if is_news(old, verdict) {
            let is_good = verdict.severity.is_none_or(|severity| severity == Severity::Info);
            tracing::info!(machine = name, reason = verdict.reason, message = verdict.message, "drain");
            publish_event(&self.recorder, machine, is_good, verdict.reason, &verdict.message, "Drain").await;
        }
        Ok(())
    }
}

/// Whether a machine is one of the control plane, so that it takes its turn.
fn is_master(machine: &Machine) -> bool {
    machine.labels().get(slipway_assets::names::MACHINE_ROLE).is_some_and(|role| role == "master")
}
