//! The loop: every connection is validated in a task of its own, so that none waits for another.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::runtime::events::Recorder;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Resource};
use serde_json::json;
use slipway_api::slipway::condition::READY;
use slipway_api::slipway::{VDO_CONFIG_NAME, VDOConfig, VSphereConnection, VSphereConnectionStatus};
use slipway_providers::cluster::{AccessError, Manager, apply_status};
use slipway_providers::text::chain;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::demands::Demands;
use super::judge::judge;
use super::look::{Seen, look};
use super::pace::Pace;
use super::problem::Problem;
use super::read::{Insecure, Read, read};
use crate::controllers::csr::controller::keep;
use crate::runtime::conditions::news;
use crate::runtime::events::tell;
use crate::runtime::metrics::Metrics;

/// Who writes the status.
const MANAGER: &str = "slipway-connections";
/// Changes within this time are looked at together.
const GATHER: Duration = Duration::from_millis(100);
/// How long looks may take to end once the operator is told to.
const FAREWELL: Duration = Duration::from_secs(5);
/// After the API server did not take a status.
const AGAIN: Duration = Duration::from_secs(10);

type Guarded = DeserializeGuard<VSphereConnection>;

/// Everything a validation depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Input {
    uid: Option<String>,
    generation: Option<i64>,
    secret: Option<String>,
    authorities: Option<String>,
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

/// Runs until it is told to end.
pub async fn run(
    client: Client,
    namespace: String,
    pace: Pace,
    insecure: Insecure,
    metrics: Metrics,
    mut stop: watch::Receiver<bool>,
) {
    let changed = Arc::new(Notify::new());
    let mut watches = JoinSet::new();
    let config = watcher::Config::default();
    let connections: Api<Guarded> = Api::namespaced(client.clone(), &namespace);
    let connections = keep(&mut watches, &changed, watcher(connections, config.clone()));
    let vdo: Api<DeserializeGuard<VDOConfig>> = Api::all(client.clone());
    let vdo = keep(&mut watches, &changed, watcher(vdo, config.clone()));
    let secrets: Api<PartialObjectMeta<Secret>> = Api::namespaced(client.clone(), &namespace);
    let secrets = keep(&mut watches, &changed, watcher(secrets, config.clone()));
    let maps: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(client.clone(), &namespace);
    let maps = keep(&mut watches, &changed, watcher(maps, config));
    let recorder = Recorder::new(client.clone(), "slipway-operator".into());
    let validator = Validator { client, namespace, insecure, recorder };
    let mut looks: JoinSet<(String, Vec<Problem>, bool)> = JoinSet::new();
    let work = async {
        // The writers live as long as the watches do.
        let _ = tokio::join!(
            connections.wait_until_ready(),
            vdo.wait_until_ready(),
            secrets.wait_until_ready(),
            maps.wait_until_ready()
        );
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        loop {
            let config = vdo.get(&ObjectRef::new(VDO_CONFIG_NAME)).and_then(|config| config.0.clone().ok());
            let objects: BTreeMap<String, VSphereConnection> = connections
                .state()
                .iter()
                .filter_map(|object| object.0.as_ref().ok())
                .filter_map(|object| Some((object.metadata.name.clone()?, object.clone())))
                .collect();
            for (gone, _) in
                entries.extract_if(.., |name, entry| !entry.running && !objects.contains_key(name))
            {
                metrics.forget_connection(&gone);
            }
            for (name, object) in objects {
                let input = Input {
                    uid: object.metadata.uid.clone(),
                    generation: object.metadata.generation,
                    secret: version(&secrets, &validator.namespace, &object.spec.credentials_secret.name),
                    authorities: object
                        .spec
                        .tls
                        .as_ref()
                        .and_then(|tls| tls.ca_bundle.as_ref())
                        .and_then(|bundle| version(&maps, &validator.namespace, &bundle.name)),
                    demands: Demands::of(&name, config.as_ref().map(|config| &config.spec)),
                };
                let now = Instant::now();
                let entry = entries.entry(name.clone()).or_insert_with(|| Entry {
                    input: input.clone(),
                    running: false,
                    failures: 0,
                    next: now,
                });
                if entry.running || (entry.input == input && now < entry.next) {
                    continue;
                }
                if entry.input != input {
                    entry.failures = 0;
                }
                let demands = input.demands.clone();
                entry.input = input;
                entry.running = true;
                let (validator, failures) = (validator.clone(), entry.failures);
                looks.spawn(async move { validator.validate(object, &demands, pace, failures).await });
            }
            let next = entries.values().filter(|entry| !entry.running).map(|entry| entry.next).min();
            let next = next.unwrap_or_else(|| Instant::now() + Duration::from_hours(1));
            tokio::select! {
                () = changed.notified() => tokio::time::sleep(GATHER).await,
                Some(done) = looks.join_next() => {
                    let Ok((name, problems, written)) = done else { continue };
                    metrics.connection(&name, problems.is_empty());
                    if let Some(entry) = entries.get_mut(&name) {
                        entry.running = false;
                        entry.failures = if problems.is_empty() { 0 } else { entry.failures + 1 };
                        let wait = if written { pace.wait(&problems, entry.failures) } else { AGAIN };
                        entry.next = Instant::now() + wait;
                    }
                }
                () = sleep_until(next) => {}
            }
        }
    };
    tokio::select! {
        () = work => {}
        _ = async { stop.wait_for(|stop| *stop).await.is_ok() } => {}
    }
    // A look that is cut off leaves a session in the vCenter.
    let _ = timeout(FAREWELL, async { while looks.join_next().await.is_some() {} }).await;
}

/// The version of an object, if it exists.
pub(crate) fn version<K>(store: &Store<PartialObjectMeta<K>>, namespace: &str, name: &str) -> Option<String>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
    PartialObjectMeta<K>: Resource<DynamicType = ()>,
{
    let found = store.get(&ObjectRef::new(name).within(namespace))?;
    found.metadata.resource_version.clone()
}

#[derive(Clone)]
struct Validator {
    client: Client,
    namespace: String,
    insecure: Insecure,
    recorder: Recorder,
}

impl Validator {
    /// Looks, and writes down what was seen. Whether that worked is the last of the results.
    async fn validate(
        &self,
        object: VSphereConnection,
        demands: &Demands,
        pace: Pace,
        failures: u32,
    ) -> (String, Vec<Problem>, bool) {
        let name = object.metadata.name.clone().unwrap_or_default();
        let seen = match read(&self.client, &self.namespace, &name, &object.spec, self.insecure).await {
            Ok(Ok(Read { connection, login, version })) => {
                let seen = look(&connection, login, &object.spec, demands).await;
                Seen { credentials_version: version, ..seen }
            }
            Ok(Err(problem)) => Seen { problems: vec![problem], ..Seen::default() },
            Err(error) => {
                tracing::warn!(connection = name, error = chain(&error), "not validated");
                return (name, Vec::new(), false);
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
                        tell(
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
        (name, seen.problems, written.is_ok())
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
