//! The loop: all checks at once, whenever a check, a machine, a set or a node changes, and when a machine becomes unhealthy by the
//! mere passing of time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{DeleteParams, Preconditions};
use kube::core::{DeserializeGuard, SelectorExt};
use kube::runtime::events::Recorder;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use slipway_api::openshift::{Machine, MachineHealthCheck, MachineHealthCheckStatus, MachineSet};
use slipway_assess::machines::domain::FailureDomain;
use slipway_assess::machines::names::{PAUSED, ROLLOUT, annotation, is_kept};
use slipway_providers::cluster::{AccessError, call, merge_part, or_absent};
use slipway_providers::text::chain;
use tokio::sync::watch;
use tokio::time::Instant;

use super::decide::{Decision, Judged, REMEDIATION_ALLOWED, decide, held_sentence};
use super::health::{Cause, Health, judge};
use super::rules::Rules;
use crate::controllers::machine_conditions::{Severity, Verdict, is_news, merge};
use crate::controllers::machine_metrics::{CheckSight, Metrics};
use crate::controllers::machine_objects::{Machines, NodeObject, Nodes};
use crate::controllers::machine_sets::retain::retain;
use crate::runtime::events::publish_event;
use crate::runtime::owner::{self, Owner};
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::{Mirror, Watches};

/// The owner of what is written.
const MANAGER: &str = "slipway-machine-health-checks";
/// Changes within this time lead to one pass. Nodes change often, and nothing here is urgent.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// What failed is tried again after this time; a machine that waits for a budget gets its turn then.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);
/// The watches tell of every change.
const RESYNC_INTERVAL: Duration = Duration::from_mins(10);
/// A machine that was told to go counts as going for so long, whatever a copy says.
const GOING_TIMEOUT: Duration = Duration::from_mins(1);

/// What the controller is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where MachineHealthChecks and Machines are.
    pub namespace: String,
}

/// Runs until it is told to end.
pub async fn run(watches: Watches, settings: Settings, metrics: Metrics, stop: watch::Receiver<bool>) {
    let Settings { namespace } = settings;
    let trigger = Trigger::new(DEBOUNCE);
    let client = watches.client().clone();
    let mut checks = Checks {
        checks: watches.keep(Api::namespaced(client.clone(), &namespace), &trigger),
        sets: watches.keep(Api::namespaced(client.clone(), &namespace), &trigger),
        machines: Machines::watch(&watches, &namespace, &trigger),
        nodes: Nodes::watch(&watches, &trigger),
        recorder: Recorder::new(client.clone(), MANAGER.into()),
        owner: Owner::watch(&watches, &namespace, &trigger),
        api: Api::namespaced(client.clone(), &namespace),
        client,
        namespace,
        metrics,
        seen: Vec::new(),
        going: BTreeMap::new(),
        told: BTreeMap::new(),
    };
    trigger.run(stop, &mut checks).await;
}

struct Checks {
    client: Client,
    namespace: String,
    checks: Mirror<DeserializeGuard<MachineHealthCheck>>,
    sets: Mirror<DeserializeGuard<MachineSet>>,
    machines: Machines,
    nodes: Nodes,
    api: Api<Machine>,
    recorder: Recorder,
    owner: Owner,
    metrics: Metrics,
    /// What the last pass saw.
    seen: Vec<CheckSight>,
    /// Machines that were told to go, by their ids.
    going: BTreeMap<String, Instant>,
    /// The last reason that was told about a machine that is not replaced, by its id.
    told: BTreeMap<String, &'static str>,
}

/// What a pass looks at.
struct Sight {
    machines: Vec<Machine>,
    nodes: BTreeMap<String, Arc<NodeObject>>,
    /// Sets that are being rolled out.
    rollouts: BTreeSet<String>,
    now: Timestamp,
}

impl Sight {
    fn node_of(&self, machine: &Machine) -> Option<&NodeObject> {
        let name = machine.status.as_ref()?.node_ref.as_ref()?.name.as_deref()?;
        self.nodes.get(name).map(|node| &**node)
    }
}

impl Controller for Checks {
    async fn pass(&mut self) -> Instant {
        let objects = async { tokio::join!(self.checks.wait_until_ready(), self.sets.wait_until_ready()) };
        let ((checks, sets), (), ()) = tokio::join!(objects, self.machines.ready(), self.nodes.ready());
        if checks.is_err() || sets.is_err() {
            return Instant::now() + RETRY_INTERVAL;
        }
        if self.owner.other().await.is_some() {
            return Instant::now() + owner::RESYNC_INTERVAL;
        }
        self.going.retain(|_, since| since.elapsed() < GOING_TIMEOUT);
        let sight = self.sight(Timestamp::now());
        let mut all: Vec<Arc<DeserializeGuard<MachineHealthCheck>>> = self.checks.state();
        all.sort_by_key(|check| check.name_any());
        let mut due = Instant::now() + RESYNC_INTERVAL;
        self.seen.clear();
        for check in all.iter().filter_map(|guarded| guarded.0.as_ref().ok()) {
            match self.follow(check, &sight).await {
                Ok(pause) => due = due.min(Instant::now() + pause.min(RESYNC_INTERVAL)),
                Err(error) => {
                    tracing::warn!(check = check.name_any(), error = %chain(&error), "followed later");
                    due = due.min(Instant::now() + RETRY_INTERVAL);
                }
            }
        }
        self.metrics.checks(&self.seen);
        let known: BTreeSet<&str> =
            sight.machines.iter().filter_map(|machine| machine.metadata.uid.as_deref()).collect();
        self.told.retain(|uid, _| known.contains(uid.as_str()));
        due
    }
}

impl Checks {
    fn sight(&self, now: Timestamp) -> Sight {
        let nodes = self.nodes.all().into_iter().map(|node| (node.name().to_owned(), node)).collect();
        let sets = self.sets.state();
        let rolling = sets.iter().filter_map(|set| set.0.as_ref().ok()).filter(|set| is_rolled_out(set, now));
        let rollouts = rolling.filter_map(|set| set.metadata.uid.clone()).collect();
        Sight { machines: self.machines.all(), nodes, rollouts, now }
    }

    fn note(&mut self, check: &MachineHealthCheck, states: Vec<(&'static str, usize)>, is_allowed: bool) {
        self.seen.push(CheckSight { name: check.name_any(), states, is_allowed });
    }

    /// Follows one check. How long it may rest.
    async fn follow(&mut self, check: &MachineHealthCheck, sight: &Sight) -> Result<Duration, AccessError> {
        if check.metadata.deletion_timestamp.is_some() {
            return Ok(RESYNC_INTERVAL);
        }
        if annotation(&check.metadata, PAUSED).is_some() {
            let message = format!("the annotation `{PAUSED}` is there");
            let paused = Verdict::fails(REMEDIATION_ALLOWED, Severity::Info, "Paused", message);
            self.note(check, Vec::new(), false);
            self.tell(check, check.status.clone().unwrap_or_default(), &[paused]).await?;
            return Ok(RESYNC_INTERVAL);
        }
        let rules = match Rules::of(&check.spec) {
            Ok(rules) => rules,
            Err(problem) => {
                let broken = Verdict::fails(
                    REMEDIATION_ALLOWED,
                    Severity::Error,
                    "InvalidConfiguration",
                    problem.to_string(),
                );
                self.note(check, Vec::new(), false);
                self.tell(check, check.status.clone().unwrap_or_default(), &[broken]).await?;
                return Ok(RESYNC_INTERVAL);
            }
        };
        let none = BTreeMap::new();
        let selected = sight
            .machines
            .iter()
            .filter(|machine| rules.selector.matches(machine.metadata.labels.as_ref().unwrap_or(&none)));
        let judged: Vec<Judged<'_>> = selected.map(|machine| self.judged(machine, &rules, sight)).collect();
        let decision = decide(&judged, rules.max, &sight.rollouts);
        let held = decision.held.len();
        let states = vec![("expected", decision.expected), ("healthy", decision.healthy), ("held", held)];
        let refused = |verdict: &Verdict| verdict.about == REMEDIATION_ALLOWED && verdict.severity.is_some();
        self.note(check, states, !decision.verdicts.iter().any(refused));
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let status = MachineHealthCheckStatus {
            expected_machines: Some(count(decision.expected)),
            current_healthy: Some(count(decision.healthy)),
            remediations_allowed: count(decision.allowed),
            conditions: Vec::new(),
        };
        self.tell(check, status, &decision.verdicts).await?;
        self.tell_held(&judged, &decision).await;
        let mut failed = None;
        for (at, cause) in &decision.replace {
            if let Err(error) = self.replace(check, judged[*at].machine, cause, &rules).await {
                failed = Some(error);
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let until =
            decision.due.map(|due| Duration::try_from(due.duration_since(sight.now)).unwrap_or_default());
        let waits = (!decision.held.is_empty() || !decision.replace.is_empty()).then_some(RETRY_INTERVAL);
        // A second later: times of Kubernetes are whole seconds.
        let until = until.map(|until| until + Duration::from_secs(1));
        Ok(until.into_iter().chain(waits).min().unwrap_or(RESYNC_INTERVAL))
    }

    fn judged<'m>(&self, machine: &'m Machine, rules: &Rules, sight: &'m Sight) -> Judged<'m> {
        let is_going = machine.metadata.uid.as_ref().is_some_and(|uid| self.going.contains_key(uid));
        Judged {
            machine,
            health: judge(machine, sight.node_of(machine), rules, sight.now),
            is_leaving: is_going || machine.metadata.deletion_timestamp.is_some(),
            domain: FailureDomain::of(machine),
        }
    }

    /// Has a machine replaced, after a second look at it and its node: what they say now counts, not what a copy says.
    async fn replace(
        &mut self,
        check: &MachineHealthCheck,
        machine: &Machine,
        cause: &Cause,
        rules: &Rules,
    ) -> Result<(), AccessError> {
        let name = machine.name_any();
        let live = call(&format!("looking at machine `{name}` again"), self.api.get_opt(&name)).await?;
        let Some(live) = live.filter(|live| live.uid() == machine.uid()) else { return Ok(()) };
        let linked = live.status.as_ref().and_then(|status| status.node_ref.as_ref()?.name.clone());
        let node = match linked {
            None => None,
            Some(node) => {
                let nodes: Api<NodeObject> = Api::all(self.client.clone());
                call(&format!("looking at node `{node}` again"), nodes.get_opt(&node)).await?
            }
        };
        let health = judge(&live, node.as_ref(), rules, Timestamp::now());
        if live.metadata.deletion_timestamp.is_some() || !matches!(health, Health::Unhealthy(_)) {
            tracing::info!(machine = name, "it is not unhealthy any more, or going already");
            return Ok(());
        }
        let (reason, result, word) = if is_kept(&live.metadata) {
            retain(&self.api, &live, Timestamp::now()).await?;
            ("MachineRetained", "retained", "left its set and stays")
        } else {
            let exactly = Preconditions { uid: live.uid(), resource_version: live.resource_version() };
            let exactly = DeleteParams::default().preconditions(exactly);
            let deleted = call(&format!("deleting machine `{name}`"), self.api.delete(&name, &exactly)).await;
            or_absent(deleted.map(|_| ()))?;
            ("MachineDeleted", "deleted", "is deleted and replaced")
        };
        self.metrics.remediated(&check.name_any(), result);
        self.going.extend(live.uid().map(|uid| (uid, Instant::now())));
        let message = format!("machine `{name}` {word}: {}", cause.message);
        tracing::info!(check = check.name_any(), machine = name, cause = cause.reason, "{reason}");
        publish_event(&self.recorder, &live, false, reason, &message, "Remediate").await;
        Ok(())
    }

    /// Tells of machines that are not replaced, once for each reason.
    async fn tell_held(&mut self, judged: &[Judged<'_>], decision: &Decision) {
        for (at, cause, hold) in &decision.held {
            let machine = judged[*at].machine;
            let uid = machine.metadata.uid.clone().unwrap_or_default();
            if self.told.insert(uid, hold.reason()) != Some(hold.reason()) {
                let message = held_sentence(machine, cause, hold);
                tracing::info!(machine = machine.name_any(), reason = hold.reason(), message, "not replaced");
                publish_event(&self.recorder, machine, false, hold.reason(), &message, "Remediate").await;
            }
        }
    }

    async fn tell(
        &self,
        check: &MachineHealthCheck,
        status: MachineHealthCheckStatus,
        verdicts: &[Verdict],
    ) -> Result<(), AccessError> {
        let old = check.status.clone().unwrap_or_default();
        let new = MachineHealthCheckStatus {
            conditions: merge(&old.conditions, verdicts, Timestamp::now()),
            ..status
        };
        if check.status.as_ref() == Some(&new) {
            return Ok(());
        }
        let name = check.name_any();
        let checks: Api<MachineHealthCheck> = Api::namespaced(self.client.clone(), &self.namespace);
        let change = json!({"metadata": {"uid": check.uid()}, "status": new});
        let doing = format!("writing the status of health check `{name}`");
        or_absent(merge_part(&checks, "status", &name, &doing, &change).await)?;
        for verdict in verdicts.iter().filter(|verdict| is_news(&old.conditions, verdict)) {
            if verdict.severity.is_some() || !old.conditions.is_empty() {
                let is_good = verdict.severity.is_none();
                publish_event(&self.recorder, check, is_good, verdict.reason, &verdict.message, "Check")
                    .await;
            }
        }
        Ok(())
    }
}

/// Whether a set is being rolled out: its annotation says until when, so that a rollout that was cut off ends too.
fn is_rolled_out(set: &MachineSet, now: Timestamp) -> bool {
    let until = annotation(&set.metadata, ROLLOUT).and_then(|text| text.parse::<Timestamp>().ok());
    until.is_some_and(|until| until > now)
}
