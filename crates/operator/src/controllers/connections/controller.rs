//! The loop: every connection is validated in a task of its own, so that none waits for another.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kube::runtime::events::Recorder;
use kube::{Api, Client, Resource};
use serde_json::json;
use slipway_api::slipway::condition::READY;
use slipway_api::slipway::{VSphereConnection, VSphereConnectionStatus};
use slipway_providers::cluster::{AccessError, Manager, apply_status};
use slipway_providers::text::chain;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::demands::Demands;
use super::intervals::ConnectionIntervals;
use super::judge::judge;
use super::observe::{Observed, observe};
use super::problem::Problem;
use super::read::{Insecure, Read, read};
use crate::controllers::objects::{Objects, Versions};
use crate::runtime::conditions::news;
use crate::runtime::events::publish_event;
use crate::runtime::metrics::Metrics;
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::Watches;

/// Who writes the status.
const MANAGER: &str = "slipway-connections";
/// Changes within this time are looked at together.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// How long looks may take to end once the operator is told to.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// After the API server did not take a status.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// Without connections nothing is due.
const IDLE_INTERVAL: Duration = Duration::from_hours(1);

/// Everything a validation depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Input {
    uid: Option<String>,
    generation: Option<i64>,
    versions: Versions,
    demands: Demands,
}

/// A connection that has been looked at, or is being.
#[derive(Debug)]
struct Entry {
    input: Input,
    running: bool,
    failures: u32,
    next: Instant,
}

/// A look that has ended.
struct Done {
    name: String,
    problems: Vec<Problem>,
    /// Whether the status was written.
    written: bool,
}

/// Runs until it is told to end.
pub async fn run(
    watches: Watches,
    namespace: String,
    pace: ConnectionIntervals,
    insecure: Insecure,
    metrics: Metrics,
    stop: watch::Receiver<bool>,
) {
    let trigger = Trigger::new(DEBOUNCE);
    let objects = Objects::watch(&watches, &namespace, &trigger);
    let client = watches.client().clone();
    let recorder = Recorder::new(client.clone(), "slipway-operator".into());
    let (ended, results) = mpsc::unbounded_channel();
    let mut validations = Validations {
        objects,
        validator: Validator { client, namespace, insecure, recorder },
        pace,
        metrics,
        entries: BTreeMap::new(),
        looks: JoinSet::new(),
        ended,
        results,
        trigger: trigger.clone(),
    };
    trigger.run(stop, &mut validations).await;
    // A look that is cut off leaves a session in the vCenter.
    let mut looks = validations.looks;
    let _ = timeout(STOP_TIMEOUT, async { while looks.join_next().await.is_some() {} }).await;
}

struct Validations {
    objects: Objects,
    validator: Validator,
    pace: ConnectionIntervals,
    metrics: Metrics,
    entries: BTreeMap<String, Entry>,
    looks: JoinSet<()>,
    ended: mpsc::UnboundedSender<Done>,
    results: mpsc::UnboundedReceiver<Done>,
    trigger: Trigger,
}

impl Controller for Validations {
    async fn pass(&mut self) -> Instant {
        self.objects.ready().await;
        self.take_results();
        let config = self.objects.config();
        let connections = self.objects.connections();
        let named = |name: &str| connections.iter().any(|one| one.metadata.name.as_deref() == Some(name));
        for (gone, _) in self.entries.extract_if(.., |name, entry| !entry.running && !named(name)) {
            self.metrics.forget_connection(&gone);
        }
        for object in connections {
            let name = object.metadata.name.clone().unwrap_or_default();
            let input = Input {
                uid: object.metadata.uid.clone(),
                generation: object.metadata.generation,
                versions: self.objects.versions(&object.spec),
                demands: Demands::of(&name, config.as_ref().map(|config| &config.spec)),
            };
            self.observe(name, object, input);
        }
        let due = self.entries.values().filter(|entry| !entry.running).map(|entry| entry.next).min();
        due.unwrap_or_else(|| Instant::now() + IDLE_INTERVAL)
    }
}

impl Validations {
    /// Notes how looks have ended since the last pass.
    fn take_results(&mut self) {
        while self.looks.try_join_next().is_some() {}
        while let Ok(Done { name, problems, written }) = self.results.try_recv() {
            self.metrics.connection(&name, problems.is_empty());
            if let Some(entry) = self.entries.get_mut(&name) {
                entry.running = false;
                entry.failures = if problems.is_empty() { 0 } else { entry.failures + 1 };
                let wait = if written { self.pace.wait(&problems, entry.failures) } else { RETRY_INTERVAL };
                entry.next = Instant::now() + wait;
            }
        }
    }

    /// Begins a look, if one is due and none is under way.
    fn observe(&mut self, name: String, object: VSphereConnection, input: Input) {
        let now = Instant::now();
        let fresh = || Entry { input: input.clone(), running: false, failures: 0, next: now };
        let entry = self.entries.entry(name).or_insert_with(fresh);
        if entry.running || (entry.input == input && now < entry.next) {
            return;
        }
        if entry.input != input {
            entry.failures = 0;
        }
        let demands = input.demands.clone();
        entry.input = input;
        entry.running = true;
        let (validator, pace, failures) = (self.validator.clone(), self.pace, entry.failures);
        let (ended, trigger) = (self.ended.clone(), self.trigger.clone());
        self.looks.spawn(async move {
            // Nothing receives it once the controller has ended.
            let _ = ended.send(validator.validate(object, &demands, pace, failures).await);
            trigger.wake();
        });
    }
}

#[derive(Clone)]
struct Validator {
    client: Client,
    namespace: String,
    insecure: Insecure,
    recorder: Recorder,
}

impl Validator {
    /// Looks, and writes down what was seen.
    async fn validate(
        &self,
        object: VSphereConnection,
        demands: &Demands,
        pace: ConnectionIntervals,
        failures: u32,
    ) -> Done {
        let name = object.metadata.name.clone().unwrap_or_default();
        let seen = match read(&self.client, &self.namespace, &name, &object.spec, self.insecure).await {
            Ok(Ok(Read { connection, login, version })) => {
                let seen = observe(&connection, login, &object.spec, demands).await;
                Observed { credentials_version: version, ..seen }
            }
            Ok(Err(problem)) => Observed { problems: vec![problem], ..Observed::default() },
            Err(error) => {
                tracing::warn!(connection = name, error = chain(&error), "not validated");
                return Done { name, problems: Vec::new(), written: false };
            }
        };
        let failures = if seen.problems.is_empty() { 0 } else { failures + 1 };
        let now = Timestamp::now();
        let next = now.checked_add(pace.wait(&seen.problems, failures)).unwrap_or(Timestamp::MAX);
        let before = object.status.clone().unwrap_or_default();
        let status = judge(&seen, &before, object.metadata.generation, now, next);
        let written = self.write(&name, &status).await;
        match &written {
            Ok(()) => {
                for condition in news(&before.conditions, &status.conditions) {
                    let good = condition.status == "True";
                    if condition.type_ == READY {
                        tracing::info!(
                            connection = name,
                            ready = good,
                            reason = condition.reason,
                            "validated"
                        );
                        publish_event(
                            &self.recorder,
                            &object,
                            good,
                            &condition.reason,
                            &condition.message,
                            "Validate",
                        )
                        .await;
                    }
                }
            }
            Err(error) => {
                tracing::warn!(connection = name, error = chain(error), "the status was not written");
            }
        }
        Done { name, problems: seen.problems, written: written.is_ok() }
    }

    async fn write(&self, name: &str, status: &VSphereConnectionStatus) -> Result<(), AccessError> {
        let api: Api<VSphereConnection> = Api::namespaced(self.client.clone(), &self.namespace);
        let patch = json!({
            "apiVersion": VSphereConnection::api_version(&()),
            "kind": VSphereConnection::kind(&()),
            "metadata": {"name": name},
            "status": status,
        });
        let doing = format!("writing the status of the connection `{name}`");
        apply_status(&api, Manager::forcing(MANAGER), name, &doing, &patch).await
    }
}
