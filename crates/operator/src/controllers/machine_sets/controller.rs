//! The loop: all sets at once, whenever a set, a machine or a node changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions};
use kube::core::DeserializeGuard;
use kube::runtime::events::Recorder;
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};
use slipway_api::openshift::{Machine, MachineSet, MachineSetStatus};
use slipway_assess::machines::names::{CREATE_FAILURES, MAKING, annotation};
use slipway_providers::cluster::{
    AccessError, Manager, apply, call, manager_name, merge, merge_part, or_absent,
};
use slipway_providers::text::chain;
use tokio::sync::watch;
use tokio::time::Instant;

use super::capacity::capacity;
use super::decide::{Hold, Members, Plan, Problem, controller, decide, is_left_alone, selector, why_failed};
use super::intent::{chosen, to_write, written};
use super::retain::{adopted, released, retain};
use super::status::{MACHINES_CREATED, NodesByName, status, verdict};
use crate::controllers::machine_conditions::{Severity, Verdict, is_news};
use crate::controllers::machine_metrics::{Metrics, SetSight};
use crate::controllers::machine_objects::{Machines, NodeObject, Nodes};
use crate::runtime::events::publish_event;
use crate::runtime::owner::{self, Owner};
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::{Mirror, Watches};

/// The owner of what is written.
const MANAGER: &str = "slipway-machine-sets";
/// Changes within this time lead to one pass.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// What failed is tried again after this time.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// The watches tell of every change.
const RESYNC_INTERVAL: Duration = Duration::from_mins(10);
/// Machines are made one, two, four … at a time, up to so many: what is wrong shows before there are hundreds.
const MAX_WAVE: usize = 32;
/// Machines of a set that are made in a pass, so that others get their turn.
const MAX_CREATIONS: usize = 200;
/// Calls at the same time.
const MAX_CALLS: usize = 8;
/// Names that are remembered, so that no machine gets that of one that has just gone.
const MAX_NAMES: usize = 50_000;

/// What the controller is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where MachineSets and Machines are.
    pub namespace: String,
}

/// Runs until it is told to end.
pub async fn run(watches: Watches, settings: Settings, metrics: Metrics, stop: watch::Receiver<bool>) {
    let Settings { namespace } = settings;
    let trigger = Trigger::new(DEBOUNCE);
    let client = watches.client().clone();
    let mut sets = Sets {
        sets: watches.keep(Api::namespaced(client.clone(), &namespace), &trigger),
        machines: Machines::watch(&watches, &namespace, &trigger),
        nodes: Nodes::watch(&watches, &trigger),
        recorder: Recorder::new(client.clone(), MANAGER.into()),
        owner: Owner::watch(&watches, &namespace, &trigger),
        api: Api::namespaced(client.clone(), &namespace),
        sets_api: Api::namespaced(client, &namespace),
        namespace,
        metrics,
        seen: Vec::new(),
        present: BTreeSet::new(),
        used: BTreeSet::new(),
        told: BTreeMap::new(),
        yielded: BTreeSet::new(),
    };
    trigger.run(stop, &mut sets).await;
}

struct Sets {
    namespace: String,
    sets: Mirror<DeserializeGuard<MachineSet>>,
    machines: Machines,
    nodes: Nodes,
    api: Api<Machine>,
    sets_api: Api<MachineSet>,
    recorder: Recorder,
    owner: Owner,
    metrics: Metrics,
    /// What the last pass saw.
    seen: Vec<SetSight>,
    /// Names of machines that are there, as far as the copy knows.
    present: BTreeSet<String>,
    /// Names of machines that were there.
    used: BTreeSet<String>,
    /// What was last written about each set: a definition that drops a field must not have it written again and again.
    told: BTreeMap<String, MachineSetStatus>,
    /// Annotations that another writer keeps at another value.
    yielded: BTreeSet<(String, String, String)>,
}

/// When a set is due again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Soon,
    At(Timestamp),
    Sometime,
}

impl Controller for Sets {
    async fn pass(&mut self) -> Instant {
        // Nothing is decided by half a view: as long as the API server is away nothing is missing and nothing is too much.
        let (sets, ()) = tokio::join!(self.sets.wait_until_ready(), async {
            tokio::join!(self.machines.ready(), self.nodes.ready());
        });
        if sets.is_err() {
            return Instant::now() + RETRY_INTERVAL;
        }
        if self.owner.other().await.is_some() {
            return Instant::now() + owner::RESYNC_INTERVAL;
        }
        let (now, machines) = (Timestamp::now(), self.machines.all());
        if self.used.len() > MAX_NAMES {
            self.used.clear();
        }
        self.present = machines.iter().map(ResourceExt::name_any).collect();
        self.used.extend(self.present.iter().cloned());
        let nodes = self.nodes.all();
        let by_name: NodesByName<'_> =
            nodes.iter().map(|node: &Arc<NodeObject>| (node.name(), node)).collect();
        let mut sets: Vec<Arc<DeserializeGuard<MachineSet>>> = self.sets.state();
        sets.sort_by_key(|set| set.name_any());
        let mut due = Due::Sometime;
        self.seen.clear();
        for set in sets.iter().filter_map(|guarded| guarded.0.as_ref().ok()) {
            due = due.min(self.keep(set, &machines, &by_name, now).await);
        }
        self.metrics.sets(&self.seen);
        let retry = Instant::now() + RETRY_INTERVAL;
        match due {
            Due::Soon => retry,
            Due::At(time) => {
                let pause = Duration::try_from(time.duration_since(now)).unwrap_or_default();
                Instant::now() + pause.min(RESYNC_INTERVAL)
            }
            Due::Sometime => Instant::now() + RESYNC_INTERVAL,
        }
    }
}

impl Sets {
    async fn keep(
        &mut self,
        set: &MachineSet,
        machines: &[Machine],
        nodes: &NodesByName<'_>,
        now: Timestamp,
    ) -> Due {
        if is_left_alone(set) {
            return Due::Sometime;
        }
        let selector = selector(set);
        let members = selector.as_ref().ok().map(|selector| Members::of(set, selector, machines));
        let none = Members { own: Vec::new(), leaving: Vec::new(), orphans: Vec::new(), strayed: Vec::new() };
        let members = members.unwrap_or(none);
        let plan = selector.as_ref().map_err(Problem::clone).and_then(|_| decide(set, &members, now));
        let (mut due, mut trouble) = (Due::Sometime, None);
        if let Ok(plan) = &plan {
            if let Err(error) = self.carry_out(set, plan, now).await {
                tracing::warn!(set = set.name_any(), error = %chain(&error), "the set is kept later");
                due = Due::Soon;
                // Another writer was faster: that is nobody's trouble.
                trouble = (!error.is_conflict()).then(|| chain(&error));
            }
            if let Some(Hold::Failures { until, .. }) = plan.hold {
                due = due.min(Due::At(until));
            }
        }
        let hold = plan.as_ref().ok().and_then(|plan| plan.hold.as_ref());
        let verdict = match trouble {
            Some(trouble) => Verdict::fails(MACHINES_CREATED, Severity::Warning, "CallFailed", trouble),
            None => verdict(plan.as_ref().err(), hold, why_failed(&members).as_deref()),
        };
        let seen = self.with_told(set);
        let (new, next) = status(&seen, &members.own, nodes, &verdict, selector.as_ref().ok(), now);
        if let Some(next) = next {
            due = due.min(Due::At(next));
        }
        self.seen.push(SetSight::new(set, &new, &verdict));
        let old = seen.status.clone().unwrap_or_default();
        if let Err(error) = self.tell(set, &seen, &new).await {
            tracing::warn!(set = set.name_any(), error = %chain(&error), "the status of a set is not written yet");
            return Due::Soon;
        }
        if is_news(&old.conditions, &verdict) && (verdict.severity.is_some() || !old.conditions.is_empty()) {
            let is_good = verdict.severity.is_none();
            tracing::info!(
                set = set.name_any(),
                reason = verdict.reason,
                message = verdict.message,
                "machine set"
            );
            publish_event(&self.recorder, set, is_good, verdict.reason, &verdict.message, "Scale").await;
        }
        due
    }

    async fn carry_out(
        &mut self,
        set: &MachineSet,
        plan: &Plan<'_>,
        now: Timestamp,
    ) -> Result<(), AccessError> {
        // What failed is written down before another one is made.
        let failures = plan.failures.text();
        if annotation(&set.metadata, CREATE_FAILURES) != failures.as_deref() {
            let change = json!({"metadata": {"uid": set.uid(), "annotations": {CREATE_FAILURES: failures}}});
            let name = set.name_any();
            merge(&self.sets_api, &name, &format!("writing down what failed of set `{name}`"), &change)
                .await?;
        }
        for machine in &plan.adopt {
            self.change(machine, "adopting", &adopted(machine, owner_of(set))).await?;
        }
        for machine in &plan.release {
            self.change(machine, "releasing", &released(machine)).await?;
        }
        if plan.is_scaling() {
            self.scale(set, now).await?;
        } else if annotation(&set.metadata, MAKING).is_some()
            && written(set).iter().all(|name| self.present.contains(name))
        {
            let name = set.name_any();
            let change = json!({"metadata": {
                "uid": set.uid(), "resourceVersion": set.resource_version(), "annotations": {MAKING: null},
            }});
            merge(&self.sets_api, &name, &format!("all machines of set `{name}` are created"), &change)
                .await?;
        }
        self.foretell(set).await
    }

    /// Makes and gives up machines, after a second look: what the API server says now counts, not what a copy says.
    async fn scale(&mut self, set: &MachineSet, now: Timestamp) -> Result<(), AccessError> {
        let name = set.name_any();
        let live = call(&format!("looking at set `{name}` again"), self.sets_api.get_opt(&name)).await?;
        let is_same = |live: &MachineSet| {
            live.uid() == set.uid()
                && live.metadata.generation == set.metadata.generation
                && !is_left_alone(live)
        };
        let Some((live, selector)) =
            live.filter(is_same).and_then(|live| selector(&live).ok().map(|selector| (live, selector)))
        else {
            tracing::info!(set = name, "the set has changed; nothing is done before that is seen");
            return Ok(());
        };
        let here = ListParams::default().labels_from(&selector);
        let machines =
            call(&format!("listing the machines of set `{name}`"), self.api.list(&here)).await?.items;
        let members = Members::of(&live, &selector, &machines);
        let Ok(plan) = decide(&live, &members, now) else { return Ok(()) };
        if plan.create > 0 {
            self.create(&live, plan.create, &machines).await?;
        }
        self.shrink(&live, &plan, now).await
    }

    async fn change(&self, machine: &Machine, doing: &str, change: &Value) -> Result<(), AccessError> {
        let name = machine.name_any();
        merge(&self.api, &name, &format!("{doing} machine `{name}`"), change).await?;
        tracing::info!(machine = name, "{doing}");
        Ok(())
    }

    /// Makes machines in waves that double, and stops with the first that fails.
    async fn create(
        &mut self,
        set: &MachineSet,
        count: usize,
        machines: &[Machine],
    ) -> Result<(), AccessError> {
        let present: BTreeSet<String> = machines.iter().map(ResourceExt::name_any).collect();
        let (name, uid, begun) = (set.name_any(), set.uid().unwrap_or_default(), written(set));
        let exists = |name: &str| present.contains(name);
        let count = count.min(MAX_CREATIONS);
        let names = chosen(&begun, (&name, &uid), count, exists, |name| self.used.contains(name));
        if let Some(text) = to_write(&begun, &names, exists) {
            // Only if the set is what it was: of two controllers at the same time one goes on.
            let change = json!({"metadata": {
                "uid": uid, "resourceVersion": set.resource_version(), "annotations": {MAKING: text},
            }});
            let doing = format!("writing down which machines of set `{name}` are created");
            merge(&self.sets_api, &name, &doing, &change).await?;
        }
        let (mut left, mut wave, mut made) = (&names[..], 1, Vec::new());
        let mut result = Ok(());
        while !left.is_empty() && result.is_ok() {
            let (now, later) = left.split_at(wave.min(left.len()));
            let calls = now.iter().map(|name| self.make(set, name));
            for machine in join_all(calls).await {
                match machine {
                    Ok(Some(machine)) => made.push(machine.name_any()),
                    Ok(None) => {}
                    Err(error) => result = Err(error),
                }
            }
            (left, wave) = (later, (wave * 2).min(MAX_WAVE));
        }
        if !made.is_empty() {
            let message = format!("made {} machines: {}", made.len(), some(&made));
            self.metrics.set_changed(&name, "created", made.len());
            tracing::info!(set = name, made = made.len(), "machines made");
            publish_event(&self.recorder, set, true, "MachinesMade", &message, "Scale").await;
        }
        result
    }

    /// Makes one machine, or finds that it was made already. `None` if the name is another machine's.
    async fn make(&self, set: &MachineSet, name: &str) -> Result<Option<Machine>, AccessError> {
        let template = &set.spec.template;
        let mut machine = Machine::new(name, template.spec.clone());
        machine.metadata.namespace = Some(self.namespace.clone());
        machine.metadata.labels = Some(template.metadata.labels.clone());
        machine.metadata.annotations = Some(template.metadata.annotations.clone());
        machine.metadata.owner_references = Some(vec![owner_of(set)]);
        let made =
            call(&format!("making machine `{name}`"), self.api.create(&PostParams::default(), &machine))
                .await;
        match made {
            Err(error) if error.is_conflict() => {
                let found = call(&format!("looking for machine `{name}`"), self.api.get_opt(name)).await?;
                Ok(found.filter(|found| controller(found) == set.metadata.uid.as_deref()))
            }
            made => made.map(Some),
        }
    }

    async fn shrink(&mut self, set: &MachineSet, plan: &Plan<'_>, now: Timestamp) -> Result<(), AccessError> {
        let name = set.name_any();
        for machine in &plan.retain {
            retain(&self.api, machine, now).await?;
            self.metrics.set_changed(&name, "retained", 1);
            let message = format!("machine `{}` left the set and stays", machine.name_any());
            tracing::info!(set = name, machine = machine.name_any(), "retained");
            publish_event(&self.recorder, set, true, "MachineRetained", &message, "Scale").await;
        }
        let api = &self.api;
        let calls: Vec<_> =
            plan.delete.iter().map(|machine| async move { (*machine, delete(api, machine).await) }).collect();
        let (mut gone, mut result) = (Vec::new(), Ok(()));
        for (machine, deleted) in stream::iter(calls).buffered(MAX_CALLS).collect::<Vec<_>>().await {
            match deleted {
                Ok(()) => gone.push(machine.name_any()),
                Err(error) => result = Err(error),
            }
        }
        if !gone.is_empty() {
            let message = format!("deleted {} machines: {}", gone.len(), some(&gone));
            self.metrics.set_changed(&name, "deleted", gone.len());
            tracing::info!(set = name, deleted = gone.len(), "machines deleted");
            publish_event(&self.recorder, set, true, "MachinesDeleted", &message, "Scale").await;
        }
        result
    }

    /// Writes what a new node would have. An annotation that another writer keeps at another value stays.
    async fn foretell(&mut self, set: &MachineSet) -> Result<(), AccessError> {
        let (name, uid) = (set.name_any(), set.uid().unwrap_or_default());
        for (key, value) in capacity(set) {
            let entry = (uid.clone(), key.clone(), value.clone());
            if annotation(&set.metadata, &key) == Some(value.as_str()) || self.yielded.contains(&entry) {
                continue;
            }
            let object = json!({
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
                "metadata": {"name": name, "namespace": self.namespace, "annotations": {key.clone(): value}},
            });
            // One owner of fields for each, so that one that is kept by another writer does not hold up the rest.
            let manager = manager_name("slipway-capacity", &key.replace(['.', '/'], "-"));
            let doing = format!("foretelling what a node of set `{name}` has");
            match apply(&self.sets_api, Manager::yielding(&manager), &name, &doing, &object).await {
                Err(error) if error.is_conflict() => {
                    self.yielded.insert(entry);
                }
                applied => drop(applied?),
            }
        }
        Ok(())
    }

    /// A set with the conditions that were last written, where its definition keeps none.
    fn with_told(&self, set: &MachineSet) -> MachineSet {
        let mut seen = set.clone();
        let told = set.metadata.uid.as_ref().and_then(|uid| self.told.get(uid));
        if let (Some(status), Some(told)) = (&mut seen.status, told)
            && status.conditions.is_empty()
        {
            status.conditions.clone_from(&told.conditions);
            status.label_selector = status.label_selector.take().or(told.label_selector.clone());
        }
        seen
    }

    async fn tell(
        &mut self,
        set: &MachineSet,
        seen: &MachineSet,
        new: &MachineSetStatus,
    ) -> Result<(), AccessError> {
        if seen.status.as_ref() == Some(new) {
            return Ok(());
        }
        let name = set.name_any();
        let mut status = json!(new);
        for cleared in ["errorReason", "errorMessage"] {
            if status.get(cleared).is_none() {
                status[cleared] = Value::Null;
            }
        }
        let change = json!({"metadata": {"uid": set.uid()}, "status": status});
        let doing = format!("writing the status of set `{name}`");
        or_absent(merge_part(&self.sets_api, "status", &name, &doing, &change).await)?;
        self.told.insert(set.uid().unwrap_or_default(), new.clone());
        Ok(())
    }
}

/// Deletes this very machine, as it was seen: one that was changed meanwhile is looked at again first.
async fn delete(api: &Api<Machine>, machine: &Machine) -> Result<(), AccessError> {
    let name = machine.name_any();
    let preconditions = Preconditions { uid: machine.uid(), resource_version: machine.resource_version() };
    let exactly = DeleteParams::default().preconditions(preconditions);
    or_absent(call(&format!("deleting machine `{name}`"), api.delete(&name, &exactly)).await.map(|_| ()))
}

fn owner_of(set: &MachineSet) -> OwnerReference {
    OwnerReference {
        api_version: MachineSet::api_version(&()).into_owned(),
        kind: MachineSet::kind(&()).into_owned(),
        name: set.name_any(),
        uid: set.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    }
}

/// The first few names.
fn some(names: &[String]) -> String {
    let more = names.len().saturating_sub(5);
    let first = names.iter().take(5).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}
