//! The loop, and the pass.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::PartialObjectMeta;
use kube::runtime::events::Recorder;
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource};
use semver::Version;
use serde_json::json;
use slipway_api::slipway::condition::DEGRADED;
use slipway_api::slipway::vdo_config::Images;
use slipway_api::slipway::vdo_status::{DriverStatus, Failure};
use slipway_api::slipway::{VDO_CONFIG_NAME, VDOConfig, VDOConfigStatus};
use slipway_assets::drivers::object::DRIVER_LABEL;
use slipway_assets::drivers::{Connection, DriverError, NodeMark, cloud, storage};
use slipway_config::matrix::Driver;
use slipway_providers::cluster::{AccessError, Manager, apply_status};
use slipway_providers::text::chain;
use slipway_providers::vsphere::pool::Pool;
use tokio::sync::watch;
use tokio::time::Instant;

use super::apply::{Ledger, label};
use super::build::{BuildInput, build, mark_redeployed, upto};
use super::census::Census;
use super::checked::{Checked, checked};
use super::choose::{DesiredDriver, KnownConnection, desired, failure, setup};
use super::fetch::{FetchError, Fetched, fetch};
use super::health::{Workload, places};
use super::marks::{Search, unmarked};
use super::matrix::{Library, Source};
use super::upgrade::{self, Next, Plan};
use super::{ADOPT, MANAGER, status};
use crate::controllers::connections::Insecure;
use crate::controllers::objects::Objects;
use crate::runtime::conditions::{find, news};
use crate::runtime::events::publish_event;
use crate::runtime::metrics::Metrics;
use crate::runtime::nodes::Nodes;
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::Watches;

/// Changes within this time are looked at together.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// After a pass that could not be finished.
const RETRY_INTERVAL: Duration = Duration::from_secs(3);
/// All objects are applied this often, whatever was seen.
const RESYNC_INTERVAL: Duration = Duration::from_mins(10);

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct DriverTimeouts {
    /// Between two passes when nothing happens.
    pub rest: Duration,
    /// For one step of an upgrade.
    pub step: Duration,
    /// How long a driver may be unwell before its pods are replaced.
    pub redeploy: Duration,
}

impl Default for DriverTimeouts {
    fn default() -> Self {
        DriverTimeouts {
            rest: Duration::from_mins(1),
            step: Duration::from_mins(10),
            redeploy: Duration::from_mins(10),
        }
    }
}

/// What the controller is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where connections and their Secrets are.
    pub namespace: String,
    pub matrix: Source,
    /// Where images come from, unless the VDOConfig says so.
    pub images: Images,
    pub pace: DriverTimeouts,
    /// Whether connections may do without verifying certificates.
    pub insecure: Insecure,
    /// Whether somebody makes health checks, whose results are waited for.
    pub checked: bool,
}

/// Runs until it is told to end.
pub async fn run(
    watches: Watches,
    settings: Settings,
    pool: Pool,
    metrics: Metrics,
    stop: watch::Receiver<bool>,
) -> Result<(), String> {
    let Settings { namespace, matrix, images, pace, insecure, checked } = settings;
    let trigger = Trigger::new(DEBOUNCE);
    let objects = Objects::watch(&watches, &namespace, &trigger);
    follow_objects(&watches, &trigger);
    let nodes = watches.nodes();
    watches.spawn(follow_nodes(nodes.clone(), trigger.clone()));
    let client = watches.client().clone();
    let recorder = Recorder::new(client.clone(), "slipway-operator".into());
    let library = Library::new(matrix, trigger.clone())?;
    let mut controller = DriversController {
        client,
        namespace,
        objects,
        nodes,
        images,
        pace,
        insecure,
        checked,
        metrics,
        recorder,
        library,
        ledger: Ledger::default(),
        search: Search::new(pool),
        whole: Instant::now(),
    };
    trigger.run(stop, &mut controller).await;
    Ok(())
}

/// What the drivers consist of changes when somebody else writes to it, or it becomes ready.
fn follow_objects(watches: &Watches, trigger: &Trigger) {
    let client = || watches.client().clone();
    let labelled = || Config::default().labels(DRIVER_LABEL);
    for place in [cloud::SECRET_NAMESPACE, storage::NAMESPACE] {
        let secrets: Api<PartialObjectMeta<Secret>> = Api::namespaced(client(), place);
        watches.keep_some(secrets, labelled(), trigger);
    }
    for place in [cloud::NAMESPACE, storage::NAMESPACE] {
        let maps: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(client(), place);
        watches.keep_some(maps, labelled(), trigger);
        let sets: Api<PartialObjectMeta<DaemonSet>> = Api::namespaced(client(), place);
        watches.keep_some(sets, labelled(), trigger);
        let deployments: Api<PartialObjectMeta<Deployment>> = Api::namespaced(client(), place);
        watches.keep_some(deployments, labelled(), trigger);
    }
}

/// Nodes change all the time; most of it is of no interest.
async fn follow_nodes(mut nodes: Nodes, trigger: Trigger) {
    let census = |nodes: &Nodes| [true, false].map(|cloud| Census::of(&nodes.now(), cloud));
    nodes.wait_until_ready().await;
    let mut known = census(&nodes);
    loop {
        nodes.changed().await;
        tokio::time::sleep(DEBOUNCE).await;
        let now = census(&nodes);
        if now != known {
            known = now;
            trigger.wake();
        }
    }
}

struct DriversController {
    client: Client,
    namespace: String,
    objects: Objects,
    nodes: Nodes,
    images: Images,
    pace: DriverTimeouts,
    insecure: Insecure,
    checked: bool,
    metrics: Metrics,
    recorder: Recorder,
    library: Library,
    ledger: Ledger,
    search: Search,
    whole: Instant,
}

impl Controller for DriversController {
    async fn pass(&mut self) -> Instant {
        self.objects.ready().await;
        self.nodes.wait_until_ready().await;
        let mut pause = self.pace.rest;
        if let Some(config) = self.objects.config() {
            match self.reconcile(config).await {
                Ok(()) => self.metrics.pass("done"),
                Err(error) => {
                    self.metrics.pass("failed");
                    tracing::warn!(error = chain(&error), "reconciling failed");
                    pause = RETRY_INTERVAL;
                }
            }
        }
        Instant::now() + pause
    }
}

impl DriversController {
    async fn reconcile(&mut self, mut config: VDOConfig) -> Result<(), ReconcileError> {
        let connections = self.objects.connections();
        let census = &Census::of(&self.nodes.now(), config.spec.cloud_provider.is_some());
        fill(config.spec.images.get_or_insert_default(), &self.images);
        if self.whole.elapsed() > RESYNC_INTERVAL {
            self.ledger.clear();
            self.whole = Instant::now();
        }
        self.library.recall(config.status.as_ref().and_then(|status| status.matrix.as_ref()));
        self.library.refresh(&self.client, &self.namespace).await;
        let facts = fetch(&self.client, &self.namespace, &config, connections, self.insecure).await?;
        let now = Timestamp::now();
        let before = config.status.clone().unwrap_or_default();
        let mut failures: Vec<Failure> = Vec::new();
        if let Some(reason) = &self.library.status().refused {
            let remedy = "the drivers stay as they are; `slipway drivers matrix validate` says what is wrong with a file";
            failures.push(failure("matrix", "MatrixRefused", reason, Some(remedy)));
        }
        let (cloud, wrong) = self.driver(Driver::CloudProvider, &config, &facts, census, now).await;
        failures.extend(wrong);
        let (storage, wrong) = self.driver(Driver::StorageProvider, &config, &facts, census, now).await;
        failures.extend(wrong);
        if config.spec.storage_provider.is_some() && mark(&config, &facts, census) == NodeMark::Slipway {
            let connections: Vec<Connection> =
                facts.connections.iter().filter_map(|known| known.read.as_ref().ok().cloned()).collect();
            let unmarked = unmarked(&self.nodes.now());
            if let Err(error) = self.search.mark(&self.client, unmarked, &connections).await {
                tracing::warn!(error = chain(&error), "nodes were not labelled");
            }
        }
        let mut distinct: Vec<Failure> = Vec::new();
        for failure in failures {
            if !distinct.contains(&failure) {
                distinct.push(failure);
            }
        }
        let drivers: Vec<(&'static str, &DriverStatus)> =
            [("cloudProvider", &cloud), ("storageProvider", &storage)]
                .into_iter()
                .filter_map(|(name, status)| Some((name, status.as_ref()?)))
                .collect();
        for (name, status) in &drivers {
            for condition in &status.conditions {
                self.metrics.condition(name, &condition.type_, condition.status == "True");
            }
        }
        let node = facts.workloads.iter().find(|live| live.is_at(&places(Driver::StorageProvider)[1]));
        let counts = census.counts(storage.as_ref().and(node).map(|node| node.available));
        for (state, number) in
            [("ready", counts.ready), ("pending", counts.pending), ("skipped", counts.skipped)]
        {
            self.metrics.nodes(state, number);
        }
        let generation = config.metadata.generation;
        let status = VDOConfigStatus {
            observed_generation: generation,
            conditions: status::together(&drivers, &distinct, &before.conditions, generation, now),
            nodes: Some(counts),
            connections: used(&config, &facts),
            failures: distinct.into_iter().take(100).collect(),
            matrix: Some(self.library.status().clone()),
            kubernetes_version: Some(facts.kubernetes.to_string()),
            cloud_provider: cloud,
            storage_provider: storage,
            // Somebody else writes it.
            checks: before.checks.clone(),
        };
        if status != before {
            self.write(&status).await?;
            for condition in news(&before.conditions, &status.conditions) {
                let good = (condition.status == "True") != (condition.type_ == DEGRADED);
                tracing::info!(
                    condition = condition.type_,
                    status = condition.status,
                    reason = condition.reason,
                    "changed"
                );
                publish_event(
                    &self.recorder,
                    &config,
                    good,
                    &condition.reason,
                    &condition.message,
                    &condition.type_,
                )
                .await;
            }
        }
        Ok(())
    }

    /// One driver, from what is wanted to its status and what is wrong with it. What fails here concerns no other.
    async fn driver(
        &mut self,
        driver: Driver,
        config: &VDOConfig,
        facts: &Fetched,
        census: &Census,
        now: Timestamp,
    ) -> (Option<DriverStatus>, Vec<Failure>) {
        let before = config.status.as_ref().and_then(|status| match driver {
            Driver::CloudProvider => status.cloud_provider.clone(),
            Driver::StorageProvider => status.storage_provider.clone(),
        });
        let before = before.unwrap_or_default();
        let generation = config.metadata.generation;
        if let Some(owner) = facts.owners.get(&driver) {
            let wanted = setup(&config.spec, driver).is_some();
            return (wanted.then(|| status::of_owner(owner, &before, generation, now)), Vec::new());
        }
        if setup(&config.spec, driver).is_none() {
            return (None, self.remove(driver, facts).await);
        }
        let places = places(driver);
        let workloads: Vec<Workload> = facts
            .workloads
            .iter()
            .filter(|live| places.iter().any(|place| live.is_at(place)))
            .cloned()
            .collect();
        let deployed = before.deployed_version.as_ref().and_then(|version| version.parse::<Version>().ok());
        let labelled =
            workloads.iter().filter(|live| live.ours).filter_map(|live| live.version.clone()).min();
        let (matrix, settled) = (self.library.matrix(), self.library.is_settled());
        let there = deployed.or(labelled);
        let mut desired = desired(
            driver,
            &config.spec,
            &facts.connections,
            matrix,
            settled,
            facts.kubernetes,
            there.clone(),
        );
        let Checked { failures, upgrade, install } = checked(driver, config, self.checked);
        desired.failures.extend(failures);
        desired.upgrade = upgrade;
        desired.install = install.filter(|_| there.is_none());
        if desired.install.is_some() {
            desired.version = None;
        }
        let adopt = config.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(ADOPT));
        if let Some(foreign) = workloads.iter().find(|live| !live.ours).filter(|_| !adopt) {
            let message = format!(
                "{} {}/{} was installed by another owner",
                foreign.kind, foreign.namespace, foreign.name
            );
            let remedy =
                "remove that driver, or annotate the VDOConfig with slipway.dev/adopt=true to take it over";
            desired.failures.push(failure(driver.key(), "ForeignDriver", &message, Some(remedy)));
            desired.version = None;
            desired.connections.clear();
        }
        let held = desired.upgrade.iter().map(|held| held.message.clone());
        let obstacles: Vec<String> =
            desired.failures.iter().map(|failure| failure.message.clone()).chain(held).collect();
        let next = upgrade::next(&upgrade::Observed {
            wanted: desired.version.as_ref(),
            asked: desired.asked,
            obstacles: &obstacles,
            before: &before,
            places,
            workloads: &workloads,
            silent: census.silent,
            generation,
            now,
            patience: self.pace.step,
        });
        let failures =
            self.carry_out(driver, config, facts, census, &desired, &next, &workloads, &before, now).await;
        if next.upgrade != before.upgrade || next.rollback != before.rollback {
            self.report(config, driver, &before, &next).await;
        }
        let (status, failures) = status::judge(&status::DriverState {
            driver,
            desired: &desired,
            next: &next,
            places,
            workloads: &workloads,
            silent: census.silent,
            failures: &failures,
            before: &before,
            generation,
            now,
            patience: self.pace.step,
        });
        (Some(status), failures)
    }

    /// Makes the objects of the plan, applies them, and deletes what is over.
    #[expect(clippy::too_many_arguments, reason = "the parts of one pass")]
    async fn carry_out(
        &mut self,
        driver: Driver,
        config: &VDOConfig,
        facts: &Fetched,
        census: &Census,
        desired: &DesiredDriver,
        next: &Next,
        workloads: &[Workload],
        before: &DriverStatus,
        now: Timestamp,
    ) -> Vec<Failure> {
        let (version, step) = match &next.plan {
            Plan::Nothing => return Vec::new(),
            Plan::All(version) => (version, usize::MAX),
            Plan::Upto(version, step) => (version, *step),
        };
        // What is wrong with the connections has been said; whatever runs goes on with what it has.
        if desired.connections.is_empty() {
            return Vec::new();
        }
        let Some(row) = self.library.matrix().row(driver, version) else {
            let message =
                format!("{version} is installed, and is not in the matrix: its objects are left as they are");
            let remedy = "use a matrix that has this version, or let another one be chosen";
            return vec![failure(driver.key(), "NotInMatrix", &message, Some(remedy))];
        };
        let mut failures = Vec::new();
        let mut pull_secrets = BTreeMap::new();
        for (name, content) in &facts.pull_secrets {
            if let Some(content) = content {
                pull_secrets.insert(name.clone(), content.clone());
            } else {
                let message = format!("there is no Secret `{name}` for pulling images");
                let remedy = "create it in the operator's namespace";
                failures.push(failure(driver.key(), "PullSecretMissing", &message, Some(remedy)));
            }
        }
        let site = BuildInput {
            spec: &config.spec,
            control_plane_nodes: census.control_plane,
            hash_key: &facts.keys.hash,
            webhook: &facts.keys.webhook,
            cluster_id: &facts.cluster_id,
            pull_secrets: &pull_secrets,
            workloads,
            node_mark: mark(config, facts, census),
        };
        let mut objects = match build(&site, row, &desired.connections) {
            Ok(objects) => objects,
            Err(error) => {
                let reason = match &error {
                    DriverError::SameServer { .. } => "SameServer",
                    DriverError::Manifests { .. } => "BadManifests",
                    DriverError::Unwritable(_) | DriverError::Json(_) => "Unwritable",
                    _ => "Refused",
                };
                failures.push(failure(driver.key(), reason, &chain(&error), None));
                return failures;
            }
        };
        if step == usize::MAX {
            self.redeploy(&mut objects, workloads, census, before, now);
        }
        let due = upto(objects.clone(), places(driver), step, workloads);
        let (_, wrong) = self.ledger.apply(&self.client, driver, &due, &facts.live).await;
        let whole = step == usize::MAX && wrong.is_empty();
        failures.extend(wrong);
        if whole {
            failures.extend(self.ledger.prune(&self.client, driver, &objects, &facts.live).await);
        }
        failures
    }

    /// Replaces pods of a driver that has been unwell for long.
    fn redeploy(
        &self,
        objects: &mut [slipway_assets::drivers::Object],
        workloads: &[Workload],
        census: &Census,
        before: &DriverStatus,
        now: Timestamp,
    ) {
        let long = |since: Timestamp| {
            let limit = self.pace.redeploy.try_into().unwrap_or(jiff::SignedDuration::MAX);
            now.duration_since(since) > limit
        };
        let unwell = find(&before.conditions, DEGRADED)
            .is_some_and(|one| one.reason == "NotHealthy" && long(one.last_transition_time.0));
        if !unwell {
            return;
        }
        let sick = workloads
            .iter()
            .filter(|live| live.ours && !live.is_complete(census.silent) && live.redeployed.is_none_or(long));
        for live in sick {
            let object =
                objects.iter_mut().find(|object| object.kind == live.kind && object.name == live.name);
            if let Some(object) = object {
                tracing::warn!(object = object.describe(), "unhealthy for too long: replacing its pods");
                mark_redeployed(object, &now.to_string());
            }
        }
    }

    /// A driver that is no longer wanted goes, unless volumes would be cut off.
    async fn remove(&mut self, driver: Driver, facts: &Fetched) -> Vec<Failure> {
        let there = facts.live.iter().any(|live| live.driver == label(driver));
        if !there {
            return Vec::new();
        }
        if driver == Driver::StorageProvider && facts.attached > 0 {
            let message = format!(
                "the storage driver is no longer wanted, but {} volumes are attached",
                facts.attached
            );
            let remedy = "end the pods that use them; then it is removed by itself";
            return vec![failure(driver.key(), "VolumesAttached", &message, Some(remedy))];
        }
        self.ledger.prune(&self.client, driver, &[], &facts.live).await
    }

    /// Tells how an upgrade goes.
    async fn report(&self, config: &VDOConfig, driver: Driver, before: &DriverStatus, next: &Next) {
        let (good, reason, message) = match (&before.upgrade, &next.upgrade, &next.rollback) {
            (None, Some(upgrade), _) => {
                (true, "UpgradeStarted", format!("{driver}: from {} to {}", upgrade.from, upgrade.to))
            }
            (Some(_), None, Some(rollback)) => (
                false,
                "RolledBack",
                format!("{driver}: {} back to {}: {}", rollback.from, rollback.to, rollback.message),
            ),
            (Some(upgrade), None, None)
                if next.deployed.as_ref().is_some_and(|version| version.to_string() == upgrade.to) =>
            {
                (true, "UpgradeDone", format!("{driver}: {} is everywhere", upgrade.to))
            }
            _ => return,
        };
        tracing::info!(driver = %driver, reason, message, "upgrade");
        publish_event(&self.recorder, config, good, reason, &message, "Upgrade").await;
    }

    async fn write(&self, status: &VDOConfigStatus) -> Result<(), AccessError> {
        let api: Api<VDOConfig> = Api::all(self.client.clone());
        let patch = json!({
            "apiVersion": VDOConfig::api_version(&()),
            "kind": VDOConfig::kind(&()),
            "metadata": {"name": VDO_CONFIG_NAME},
            "status": VDOConfigStatus { checks: None, ..status.clone() },
        });
        let doing = "writing the status of the VDOConfig";
        apply_status(&api, Manager::forcing(MANAGER), VDO_CONFIG_NAME, doing, &patch).await
    }
}

/// What the VDOConfig does not say about images, the operator was told.
fn fill(images: &mut Images, told: &Images) {
    if images.registry.is_none() {
        images.registry.clone_from(&told.registry);
    }
    if images.pull_secrets.is_empty() {
        images.pull_secrets.clone_from(&told.pull_secrets);
    }
}

/// Somebody has to set the label: a cloud provider, of ours or of the release, or else the operator. Where the operator has
/// done so it goes on: a cloud provider looks at new nodes only, and pods must not leave the others.
fn mark(config: &VDOConfig, facts: &Fetched, census: &Census) -> NodeMark {
    let cloud = config.spec.cloud_provider.is_some() || facts.owners.contains_key(&Driver::CloudProvider);
    if cloud && !census.marked_only { NodeMark::InstanceType } else { NodeMark::Slipway }
}

/// The connections that a driver uses.
fn used(config: &VDOConfig, facts: &Fetched) -> Vec<slipway_api::slipway::vdo_status::ConnectionSummary> {
    let setups: Vec<_> = Driver::ALL.iter().filter_map(|driver| setup(&config.spec, *driver)).collect();
    let is_used =
        |name: &String| setups.iter().any(|setup| setup.connections.is_none_or(|names| names.contains(name)));
    facts
        .connections
        .iter()
        .filter(|known| is_used(&known.name))
        .map(KnownConnection::summary)
        .take(32)
        .collect()
}

/// What kept a pass from being finished.
#[derive(Debug, thiserror::Error)]
enum ReconcileError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Access(#[from] AccessError),
}
