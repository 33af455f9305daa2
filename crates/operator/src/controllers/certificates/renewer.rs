//! The loop: looks at the certificates, says until when they are good, and renews them when it is time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::events::Recorder;
use kube::{Api, Client};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::json;
use slipway_assets::kubernetes::CERTIFICATES;
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_providers::cluster::{AccessError, Manager, apply, manager_name};
use slipway_providers::text::chain;
use tokio::sync::watch;
use tokio::time::timeout;

use super::look::{Earliest, LookError, earliest};
use super::neighbours::{ControlPlane, HealthScope, Neighbours};
use super::{pods, renewal};
use crate::runtime::events::publish_event;
use crate::runtime::host::{Files, ProgramError, Programs};
use crate::runtime::lease::{LeaseTimeouts, Lock};
use crate::runtime::stop::ordered;

/// A month before anybody is warned, which is 60 days before the end.
const RENEW_BEFORE: SignedDuration = SignedDuration::from_hours(90 * 24);
/// From here on a machine that is not well no longer holds the others up.
const URGENT_BEFORE: SignedDuration = SignedDuration::from_hours(14 * 24);
const LOOK_INTERVAL: Duration = Duration::from_secs(15);
/// For kubeadm.
const KUBEADM_TIMEOUT: Duration = Duration::from_mins(2);
/// Until a machine is well with its new certificates.
const RETURN_TIMEOUT: Duration = Duration::from_mins(6);
/// While a machine has its turn, its API may not answer, so the lease is held without being renewed: for longer than both of
/// the times above.
const TURN: LeaseTimeouts = LeaseTimeouts {
    duration: Duration::from_mins(10),
    deadline: Duration::from_mins(9),
    retry: Duration::from_secs(5),
};
/// For handing on the turn.
const RELEASE_TIMEOUT: Duration = Duration::from_mins(3);
/// Until it is this machine's turn: several others may come before it.
const TURN_TIMEOUT: Duration = Duration::from_mins(30);
/// The same for certificates that have ended. The API may not answer any more just because of that; so no longer than it takes a
/// turn to run out.
const LAST_TURN_TIMEOUT: Duration = Duration::from_mins(11);
/// Where kubeadm may be on a machine.
pub(crate) const PATH: &str = "PATH=/opt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Why certificates were not renewed. It is tried again.
#[derive(Debug, thiserror::Error)]
pub enum RenewError {
    #[error(transparent)]
    Look(#[from] LookError),
    #[error(transparent)]
    Files(#[from] std::io::Error),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("the control plane is not well, and must not lose another machine: {0}")]
    Unwell(String),
    #[error("it was not this machine's turn within {} minutes (Lease kube-system/{CERTIFICATES}): {trouble}", patience.as_secs() / 60)]
    NoTurn { patience: Duration, trouble: String },
    #[error("kubeadm has renewed certificates, and `{file}` still ends {until}")]
    NotRenewed { file: &'static str, until: Timestamp },
    #[error("with its new certificates this machine is not well within {} minutes: {trouble}", RETURN_TIMEOUT.as_secs() / 60)]
    NotBack { trouble: String },
}

/// Until when certificates are good.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    until: Gauge<i64, AtomicI64>,
}

impl Metrics {
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Metrics::default();
        registry.register(
            "slipway_control_plane_certificates_until_seconds",
            "When the first certificate of this machine's control plane ends, as seconds since 1970",
            metrics.until.clone(),
        );
        metrics
    }
}

/// Keeps the certificates of a machine.
pub struct Renewer<P, N> {
    client: Client,
    node: String,
    files: Files,
    programs: P,
    neighbours: N,
    metrics: Metrics,
    recorder: Recorder,
    /// What was last said about the certificates.
    published: Option<Earliest>,
    /// What was last said about failures, by their reasons.
    told: BTreeMap<&'static str, String>,
    /// Instead of the usual times until it is this machine's turn.
    turn_timeout: Option<Duration>,
}

/// How much there is to lose by waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Urgency {
    /// There is time.
    None,
    /// There is time to wait until all are well.
    Due,
    /// Soon they end.
    Urgent,
    /// They have ended: it cannot get worse.
    Ended,
}

impl Urgency {
    fn of(found: &Earliest, now: Timestamp) -> Self {
        match now.duration_until(found.until) {
            left if left <= SignedDuration::ZERO => Urgency::Ended,
            left if left < URGENT_BEFORE => Urgency::Urgent,
            left if left < RENEW_BEFORE => Urgency::Due,
            _ => Urgency::None,
        }
    }

    /// Who must be well before a machine stops its part of the control plane.
    fn needed(self) -> Option<HealthScope> {
        match self {
            Urgency::None | Urgency::Due => Some(HealthScope::All),
            Urgency::Urgent => Some(HealthScope::Majority),
            Urgency::Ended => None,
        }
    }
}

/// What is told when certificates are not renewed.
const NOT_RENEWED: &str = "CertificatesNotRenewed";
/// The reason of the Event when the end of the certificates cannot be published.
const NOT_PUBLISHED: &str = "CertificatesNotPublished";

/// It is this machine's turn.
struct Turn {
    urgency: Urgency,
    /// None if it could not be had.
    lock: Option<Lock>,
}

impl<P: Programs> Renewer<P, ControlPlane> {
    /// `files` are those of the machine, whose kubeadm is run among them.
    pub fn new(client: Client, node: &str, files: Files, programs: P, metrics: Metrics) -> Self {
        let neighbours = ControlPlane::new(files.clone());
        Renewer::among(client, node, files, programs, neighbours, metrics)
    }
}

impl<P, N> std::fmt::Debug for Renewer<P, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renewer").field("node", &self.node).finish_non_exhaustive()
    }
}

impl<P: Programs, N: Neighbours> Renewer<P, N> {
    pub fn among(
        client: Client,
        node: &str,
        files: Files,
        programs: P,
        neighbours: N,
        metrics: Metrics,
    ) -> Self {
        let recorder = Recorder::new(client.clone(), CERTIFICATES.into());
        let node = node.to_owned();
        let (published, told, turn_timeout) = (None, BTreeMap::new(), None);
        Renewer {
            client,
            node,
            files,
            programs,
            neighbours,
            metrics,
            recorder,
            published,
            told,
            turn_timeout,
        }
    }

    /// With another time until it is this machine's turn.
    #[must_use]
    pub fn with_turn_timeout(mut self, timeout: Duration) -> Self {
        self.turn_timeout = Some(timeout);
        self
    }

    /// Runs until it is told to end.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            let turn = tokio::select! {
                turn = self.turn() => turn,
                () = ordered(&mut stop) => return,
            };
            let result = match turn {
                Ok(Some(turn)) => self.take(turn, &mut stop).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            match result {
                Ok(()) => drop(self.told.remove(NOT_RENEWED)),
                Err(error) => {
                    let trouble = chain(&error);
                    tracing::warn!(
                        trouble,
                        "the certificates of this machine's control plane are not renewed"
                    );
                    self.tell(NOT_RENEWED, trouble).await;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_INTERVAL) => {}
                () = ordered(&mut stop) => return,
            }
        }
    }

    /// One look, and what follows from it.
    pub async fn round(&mut self) -> Result<(), RenewError> {
        let (_sender, mut stop) = watch::channel(false);
        match self.turn().await? {
            Some(turn) => self.take(turn, &mut stop).await,
            None => Ok(()),
        }
    }

    /// Looks at the certificates, and waits for this machine's turn if they are to be renewed.
    async fn turn(&mut self) -> Result<Option<Turn>, RenewError> {
        let found = match earliest(&self.files) {
            // kubeadm was cut off while it wrote.
            Err(LookError::Unreadable { file })
                if renewal::has_begun(&self.files) && renewal::restore(&self.files)? =>
            {
                tracing::warn!(
                    file,
                    "it cannot be read: all certificates are as they were before the renewal"
                );
                earliest(&self.files)?
            }
            found => found?,
        };
        self.metrics.until.set(found.until.as_second());
        let urgency = Urgency::of(&found, Timestamp::now());
        self.publish(found).await;
        if urgency == Urgency::None && !renewal::has_begun(&self.files) {
            return Ok(None);
        }
        let has_ended = urgency == Urgency::Ended;
        let usual = if has_ended { LAST_TURN_TIMEOUT } else { TURN_TIMEOUT };
        let patience = self.turn_timeout.unwrap_or(usual);
        let mut lock = Lock::new(self.client.clone(), SYSTEM, CERTIFICATES, &self.node, TURN);
        let lock = match lock.acquire_within(patience).await {
            Ok(()) => {
                tracing::info!("it is this machine's turn to renew its certificates");
                Some(lock)
            }
            Err(trouble) if has_ended => {
                tracing::warn!(
                    trouble,
                    "certificates have ended, and are renewed without waiting any longer"
                );
                None
            }
            Err(trouble) => return Err(RenewError::NoTurn { patience, trouble }),
        };
        Ok(Some(Turn { urgency, lock }))
    }

    /// Renews the certificates. Who is told to end meanwhile does so when no file is half written.
    async fn take(&mut self, turn: Turn, stop: &mut watch::Receiver<bool>) -> Result<(), RenewError> {
        let Turn { urgency, lock } = turn;
        let renewed = self.renew(urgency, stop).await;
        // Who has changed nothing lets others try. After anything else the others wait until the turn is over, and then
        // see for themselves whether this machine is well.
        if let Some(mut lock) = lock
            && !renewal::has_begun(&self.files)
        {
            // The API server that was just started again, or the one that has taken its address, may need a while.
            if let Err(trouble) = lock.release_within(RELEASE_TIMEOUT).await {
                tracing::warn!(trouble, "the others wait until this machine's turn has run out");
            }
        }
        if !renewed? {
            return Ok(());
        }
        let found = earliest(&self.files)?;
        tracing::info!(until = %found.until, "all certificates of this machine's control plane are renewed");
        self.metrics.until.set(found.until.as_second());
        self.publish(found).await;
        Ok(())
    }

    /// Whether it came to its end: who is told to stop while the pods start leaves the rest to the next.
    async fn renew(&self, urgency: Urgency, stop: &mut watch::Receiver<bool>) -> Result<bool, RenewError> {
        let renewal = if renewal::has_begun(&self.files) {
            renewal::read(&self.files)?
        } else {
            if let Some(scope) = urgency.needed()
                && let Some(trouble) = self.neighbours.trouble(scope).await
            {
                return Err(RenewError::Unwell(trouble));
            }
            let pods = pods::all_seen(&self.files, &self.node)?;
            Some(renewal::begin(&self.files, Timestamp::now(), pods)?)
        };
        if is_due(&earliest(&self.files)?) {
            let root = self.files.at("/").to_string_lossy().into_owned();
            let arguments = [root.as_str(), "/usr/bin/env", PATH, "kubeadm", "certs", "renew", "all"];
            self.programs.run("chroot", &arguments, KUBEADM_TIMEOUT).await?;
        }
        let found = earliest(&self.files)?;
        if is_due(&found) {
            let Earliest { file, until } = found;
            return Err(RenewError::NotRenewed { file, until });
        }
        let seen = pods::all_seen(&self.files, &self.node)?;
        let pods = pods::restart(&self.files, &found.until.to_string())?;
        let (wanted, before) = match renewal {
            Some(renewal) => (pods.all, renewal.pods),
            // Which pods there were was not written down.
            None => (pods.changed, seen),
        };
        tokio::select! {
            back = self.come_back(&wanted, &before) => back?,
            () = ordered(stop) => return Ok(false),
        }
        renewal::end(&self.files)?;
        Ok(true)
    }

    /// Waits until the pods run that were changed, and this machine does its part again.
    async fn come_back(&self, changed: &[&str], before: &BTreeSet<String>) -> Result<(), RenewError> {
        let mut trouble = String::new();
        let back = async {
            loop {
                trouble = match self.missing(changed, before)? {
                    Some(missing) => missing,
                    None => match self.neighbours.trouble(HealthScope::Own).await {
                        Some(trouble) => trouble,
                        None => return Ok::<(), RenewError>(()),
                    },
                };
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        };
        match timeout(RETURN_TIMEOUT, back).await {
            Ok(done) => done,
            Err(_) => Err(RenewError::NotBack { trouble }),
        }
    }

    fn missing(&self, changed: &[&str], before: &BTreeSet<String>) -> Result<Option<String>, RenewError> {
        for pod in changed {
            if pods::seen(&self.files, pod, &self.node)?.is_subset(before) {
                return Ok(Some(format!("the kubelet has not started {pod} anew")));
            }
        }
        Ok(None)
    }

    /// Says in the cluster until when certificates are good. Renewal goes on when that cannot be written.
    async fn publish(&mut self, found: Earliest) {
        if self.published.as_ref() == Some(&found) {
            return;
        }
        match self.write(&found).await {
            Ok(()) => {
                self.published = Some(found);
                self.told.remove(NOT_PUBLISHED);
            }
            Err(error) => {
                let trouble = chain(&error);
                tracing::warn!(trouble, "the end of the certificates cannot be published");
                self.tell(NOT_PUBLISHED, trouble).await;
            }
        }
    }

    async fn write(&self, found: &Earliest) -> Result<(), AccessError> {
        let entry = json!({"certificate": found.file, "until": found.until});
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CERTIFICATES},
            "data": {&self.node: entry.to_string()},
        });
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM);
        let name = manager_name(CERTIFICATES, &self.node);
        let doing = "saying until when certificates are good";
        apply(&maps, Manager::forcing(&name), CERTIFICATES, doing, &object).await.map(drop)
    }

    /// Tells something once.
    async fn tell(&mut self, reason: &'static str, trouble: String) {
        if self.told.get(reason) == Some(&trouble) {
            return;
        }
        // Events about a node name it by its name only.
        let metadata = ObjectMeta {
            name: Some(self.node.clone()),
            uid: Some(self.node.clone()),
            ..ObjectMeta::default()
        };
        let node = Node { metadata, ..Node::default() };
        publish_event(&self.recorder, &node, false, reason, &trouble, "Renew").await;
        self.told.insert(reason, trouble);
    }
}

fn is_due(found: &Earliest) -> bool {
    Urgency::of(found, Timestamp::now()) != Urgency::None
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use rstest::rstest;

    use super::{Earliest, HealthScope, Urgency};

    #[rstest]
    #[case::new(300, Urgency::None, Some(HealthScope::All))]
    #[case::time_to_wait(89, Urgency::Due, Some(HealthScope::All))]
    #[case::no_time_for_lost_machines(13, Urgency::Urgent, Some(HealthScope::Majority))]
    #[case::over(-1, Urgency::Ended, None)]
    fn the_nearer_the_end_the_less_must_be_well(
        #[case] days: i64,
        #[case] urgency: Urgency,
        #[case] needed: Option<HealthScope>,
    ) {
        let now: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
        let until = now + SignedDuration::from_hours(24 * days);
        let found = Urgency::of(&Earliest { file: "admin.conf", until }, now);
        assert_eq!((found, found.needed()), (urgency, needed));
    }
}
