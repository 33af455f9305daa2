//! The loop: one round at a time, over one connection per vCenter.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::storage::v1::{CSIDriver, StorageClass};
use kube::core::PartialObjectMeta;
use kube::runtime::events::Recorder;
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource};
use serde_json::json;
use slipway_api::openshift::Infrastructure;
use slipway_api::slipway::vdo_status::ChecksStatus;
use slipway_api::slipway::{VDO_CONFIG_NAME, VDOConfig, VSphereConnection};
use slipway_assess::check::catalog::Check;
use slipway_assess::check::cluster::{Driver, read};
use slipway_assess::check::conditions::verdict;
use slipway_assess::check::metrics::series;
use slipway_assess::check::report::Round;
use slipway_assess::check::{Context, Options, schedule};
use slipway_providers::cluster::{AccessError, Manager, apply_status, call};
use slipway_providers::text::chain;
use slipway_providers::vsphere::pool::Pool;
use tokio::sync::watch;
use tokio::time::Instant;

use super::MANAGER;
use super::input::{ConfigInput, ConnectionInput, Input, adopts, nodes, skip_refused_logins};
use super::status::{Times, news, of_round, unread};
use crate::controllers::connections::Insecure;
use crate::controllers::objects::{Objects, Versions};
use crate::runtime::events::publish_event;
use crate::runtime::metrics::Metrics;
use crate::runtime::nodes::{All, Nodes};
use crate::runtime::stop::stopped;
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::{Mirror, Watches, versions};

/// Where OpenShift keeps logins and the cloud provider's configuration.
const OPENSHIFT: [(&str, &str); 2] =
    [("kube-system", "vsphere-creds"), ("openshift-config", "cloud-provider-config")];

/// How fast changes are followed. How long to wait between rounds is in [`schedule`].
#[derive(Debug, Clone, Copy)]
pub struct CheckIntervals {
    /// Changes within this time are looked at together.
    pub gather: Duration,
    /// Between two rounds, whatever changes.
    pub least: Duration,
    /// Pauses between rounds are divided by it.
    pub haste: u32,
}

impl Default for CheckIntervals {
    fn default() -> Self {
        CheckIntervals { gather: Duration::from_secs(1), least: Duration::from_secs(30), haste: 1 }
    }
}

/// What the controller is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where connections and their Secrets are.
    pub namespace: String,
    pub options: Options,
    pub pace: CheckIntervals,
    /// Whether connections may do without verifying certificates.
    pub insecure: Insecure,
}

type Meta<K> = PartialObjectMeta<K>;

/// Without anything to check nothing is due.
const IDLE_INTERVAL: Duration = Duration::from_hours(1);

/// Copies of everything that a round depends on.
struct Watched {
    objects: Objects,
    classes: Mirror<Meta<StorageClass>>,
    drivers: Mirror<Meta<CSIDriver>>,
    openshift: Option<OpenShift>,
}

struct OpenShift {
    infrastructure: Mirror<Meta<Infrastructure>>,
    logins: Mirror<Meta<Secret>>,
    cloud: Mirror<Meta<ConfigMap>>,
}

impl Watched {
    async fn start(watches: &Watches, namespace: &str, trigger: &Trigger) -> Self {
        let client = || watches.client().clone();
        let named = |name: &str| Config::default().fields(&format!("metadata.name={name}"));
        let openshift = is_openshift(watches.client()).await.then(|| {
            let [(kube_system, logins), (openshift_config, cloud)] = OPENSHIFT;
            OpenShift {
                infrastructure: watches.keep(Api::all(client()), trigger),
                logins: watches.keep_some(Api::namespaced(client(), kube_system), named(logins), trigger),
                cloud: watches.keep_some(Api::namespaced(client(), openshift_config), named(cloud), trigger),
            }
        });
        Watched {
            objects: Objects::watch(watches, namespace, trigger),
            classes: watches.keep(Api::all(client()), trigger),
            drivers: watches.keep(Api::all(client()), trigger),
            openshift,
        }
    }

    /// The writers live as long as the watches do.
    async fn ready(&self) {
        let others = async { tokio::join!(self.classes.wait_until_ready(), self.drivers.wait_until_ready()) };
        let _ = tokio::join!(self.objects.ready(), others);
    }

    fn input(&self, config: &VDOConfig, connections: &[VSphereConnection], all: &All) -> Input {
        let mut all_versions = Vec::new();
        for connection in connections {
            let Versions { secret, authorities } = self.objects.versions(&connection.spec);
            all_versions.extend([secret, authorities]);
        }
        all_versions.extend(versions(&self.classes));
        all_versions.extend(versions(&self.drivers));
        if let Some(openshift) = &self.openshift {
            all_versions.extend(versions(&openshift.infrastructure));
            all_versions.extend(versions(&openshift.logins));
            all_versions.extend(versions(&openshift.cloud));
        }
        Input {
            config: ConfigInput::of(config),
            connections: connections.iter().map(ConnectionInput::of).collect(),
            versions: all_versions,
            nodes: nodes(all),
        }
    }
}

/// A watch on a kind that is not there would complain for ever.
async fn is_openshift(client: &Client) -> bool {
    let group = client.list_api_group_resources("config.openshift.io/v1");
    let found = call("asking for OpenShift's kinds", group).await;
    found.is_ok_and(|list| list.resources.iter().any(|resource| resource.name == "infrastructures"))
}

/// Runs until it is told to end.
pub async fn run(
    watches: Watches,
    settings: Settings,
    pool: Pool,
    metrics: Metrics,
    mut stop: watch::Receiver<bool>,
) {
    let Settings { namespace, options, pace, insecure } = settings;
    let trigger = Trigger::new(pace.gather);
    let watched = tokio::select! {
        watched = Watched::start(&watches, &namespace, &trigger) => watched,
        () = stopped(&mut stop) => return,
    };
    let nodes = watches.nodes();
    let (mut followed, woken) = (nodes.clone(), trigger.clone());
    watches.spawn(async move {
        loop {
            followed.changed().await;
            woken.wake();
        }
    });
    let client = watches.client().clone();
    let recorder = Recorder::new(client.clone(), "slipway-operator".into());
    let now = Instant::now();
    let checker = Checker {
        client,
        namespace,
        context: Context::sharing(options.clone(), pool.clone()),
        options,
        pool,
        insecure,
        metrics,
        recorder,
        last: None,
        bad: 0,
    };
    let mut rounds = Rounds { watched, nodes, pace, checker, seen: None, due: now, earliest: now };
    trigger.run(stop, &mut rounds).await;
    rounds.checker.context.close().await;
}

/// When to check.
struct Rounds {
    watched: Watched,
    nodes: Nodes,
    pace: CheckIntervals,
    checker: Checker,
    /// What the last round depended on.
    seen: Option<Input>,
    /// Of the next round while nothing changes, and whatever changes.
    due: Instant,
    earliest: Instant,
}

impl Controller for Rounds {
    async fn pass(&mut self) -> Instant {
        self.watched.ready().await;
        self.nodes.wait_until_ready().await;
        let config = self.watched.objects.config();
        let is_wanted = |config: &&VDOConfig| config.spec.checks.clone().unwrap_or_default().enabled;
        let Some(config) = config.as_ref().filter(is_wanted) else {
            self.seen = None;
            self.checker.rest(config.as_ref()).await;
            return Instant::now() + IDLE_INTERVAL;
        };
        let connections = self.watched.objects.connections();
        let input = self.watched.input(config, &connections, &self.nodes.now());
        let same = self.seen.as_ref() == Some(&input);
        let at = if same { self.due } else { self.earliest };
        if Instant::now() < at {
            return at;
        }
        if !same {
            // Somebody is at work: pauses begin anew, so that the next repair is seen soon.
            self.checker.bad = 0;
        }
        let pause = self.checker.look(config, &connections).await;
        self.seen = Some(input);
        self.earliest = Instant::now() + self.pace.least;
        self.due = Instant::now() + pause / self.pace.haste.max(1);
        self.due
    }
}

struct Checker {
    client: Client,
    namespace: String,
    options: Options,
    /// What other controllers use, too.
    pool: Pool,
    insecure: Insecure,
    metrics: Metrics,
    recorder: Recorder,
    context: Context,
    last: Option<Round>,
    /// Bad rounds in a row.
    bad: u32,
}

impl Checker {
    /// A round, and what it means. Says how long to wait for the next one.
    async fn look(&mut self, config: &VDOConfig, connections: &[VSphereConnection]) -> Duration {
        let generation = config.metadata.generation;
        let before = config.status.as_ref().and_then(|status| status.checks.clone());
        let old = before.as_ref().map(|before| &*before.conditions).unwrap_or_default();
        let (round, installed) = match self.round(config, connections).await {
            Ok(done) => done,
            Err(error) => {
                let why = chain(&error);
                tracing::warn!(error = why, "nothing could be checked");
                let pause = schedule::pause_after_failure(self.bad);
                self.bad += 1;
                let times = Times { now: Timestamp::now(), pause };
                let status = unread(&why, old, generation, times);
                return if self.write(Some(&status)).await { pause } else { schedule::MIN_INTERVAL };
            }
        };
        let meaning = verdict(&round, installed);
        self.metrics.board().replace(series(&round, &meaning));
        let pause = schedule::pause(&round, self.bad);
        self.bad = if round.is_clear() { 0 } else { self.bad + 1 };
        let times = Times { now: Timestamp::now(), pause };
        let status = of_round(&round, &meaning, old, generation, times);
        let written = self.write(Some(&status)).await;
        let known = before.as_ref().filter(|_| self.last.is_none()).map(|before| &*before.failing);
        for one in news(schedule::changes(self.last.as_ref(), &round), &round, known) {
            tracing::info!(reason = one.reason, message = one.message, "a check changed");
            publish_event(&self.recorder, config, one.good, &one.reason, &one.message, "Check").await;
        }
        self.last = Some(round);
        if written { pause } else { schedule::MIN_INTERVAL }
    }

    async fn round(
        &mut self,
        config: &VDOConfig,
        connections: &[VSphereConnection],
    ) -> Result<(Round, bool), read::Error> {
        let mut subject = read::subject(&self.client, Some(&self.namespace)).await?;
        skip_refused_logins(&mut subject, connections, self.insecure);
        let storage = config.spec.storage_provider.as_ref();
        subject.volumes_per_node = storage.map(|storage| storage.max_volumes_per_node);
        let cluster = read::cluster(&self.client).await?;
        let round = self.context.round(&subject, Some(&cluster)).await;
        let silenced = config.spec.checks.iter().flat_map(|checks| &checks.silenced);
        let mut silenced: BTreeSet<Check> = silenced.filter_map(|code| Check::of_code(code)).collect();
        if adopts(config) {
            silenced.insert(Check::ExistingDriver);
        }
        Ok((round.without(&silenced), cluster.driver == Driver::Ours))
    }

    /// Nobody wants checks: what was said about them is over.
    async fn rest(&mut self, config: Option<&VDOConfig>) {
        let fresh = Context::sharing(self.options.clone(), self.pool.clone());
        let context = std::mem::replace(&mut self.context, fresh);
        context.close().await;
        self.metrics.board().replace(Vec::new());
        self.last = None;
        self.bad = 0;
        let said =
            config.and_then(|config| config.status.as_ref()).is_some_and(|status| status.checks.is_some());
        if said {
            self.write(None).await;
        }
    }

    /// Only what is ours: the rest of the status is written by others.
    async fn write(&self, status: Option<&ChecksStatus>) -> bool {
        let written = self.apply(status).await;
        if let Err(error) = &written {
            tracing::warn!(error = chain(error), "the result of the checks was not written");
        }
        written.is_ok()
    }

    async fn apply(&self, status: Option<&ChecksStatus>) -> Result<(), AccessError> {
        let api: Api<VDOConfig> = Api::all(self.client.clone());
        let status = status.map_or_else(|| json!({}), |status| json!({"checks": status}));
        let patch = json!({
            "apiVersion": VDOConfig::api_version(&()),
            "kind": VDOConfig::kind(&()),
            "metadata": {"name": VDO_CONFIG_NAME},
            "status": status,
        });
        let doing = "writing the result of the checks";
        apply_status(&api, Manager::forcing(MANAGER), VDO_CONFIG_NAME, doing, &patch).await
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use rstest::rstest;
    use serde_json::json;
    use slipway_assess::check::cluster::read;

    use slipway_api::slipway::CHECK_CODES;
    use slipway_assess::check::catalog::Check;

    /// The definition refuses codes that do not exist.
    #[test]
    fn the_definition_knows_all_codes() {
        assert_eq!(CHECK_CODES, Check::ALL.map(Check::code));
    }

    /// Until when certificates are good is not known where nobody says so, and where it cannot be read; the latter is told.
    #[rstest]
    #[case::not_said(404, &[])]
    #[case::refused(403, &["certificates of the control plane"])]
    #[tokio::test]
    async fn what_cannot_be_read_is_told(#[case] code: u16, #[case] expected: &[&str]) {
        let server = tower::service_fn(move |request: Request<Body>| async move {
            let is_list = !request.uri().path().ends_with("/configmaps/slipway-certificates");
            let refused =
                json!({"kind": "Status", "code": code, "reason": "No", "message": "no", "status": "Failure"});
            let answer = if is_list { json!({"metadata": {}, "items": []}) } else { refused };
            let body = Body::from(answer.to_string().into_bytes());
            let code = if is_list { 200 } else { code };
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        });
        let cluster = read::cluster(&Client::new(server, "default")).await.unwrap();
        let unread: Vec<&str> = cluster.unread.iter().map(|(what, _)| what.as_str()).collect();
        assert_eq!(unread, expected);
    }
}
