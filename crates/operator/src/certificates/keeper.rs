//! The loop: looks at the certificates, says until when they are good, and renews them when it is time.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::runtime::events::Recorder;
use kube::{Api, Client};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::json;
use slipway_assets::kubernetes::CERTIFICATES;
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_lifecycle::access::{AccessError, call};
use slipway_lifecycle::text::chain;
use tokio::sync::watch;
use tokio::time::timeout;

use super::look::{Earliest, LookError, earliest};
use super::neighbours::{ControlPlane, Neighbours, Whose};
use super::pods;
use crate::host::{Files, ProgramError, Programs};
use crate::lease::{Lock, Pace};
use crate::tell::tell;

/// A third of a month before anybody is warned.
const RENEW_BEFORE: SignedDuration = SignedDuration::from_hours(90 * 24);
const LOOK_INTERVAL: Duration = Duration::from_secs(15);
/// For kubeadm.
const KUBEADM_TIMEOUT: Duration = Duration::from_mins(2);
/// Until a machine is well with its new certificates.
const RETURN_TIMEOUT: Duration = Duration::from_mins(6);
/// While a machine has its turn, its API may not answer, so the lease is held without being renewed: for longer than both of
/// the times above.
const TURN: Pace = Pace {
    duration: Duration::from_mins(10),
    deadline: Duration::from_mins(9),
    retry: Duration::from_secs(5),
};
/// Is there from before the first certificate changes until all pods have been started with the new ones.
const MARK: &str = "/var/lib/slipway/renewing-certificates";
/// Where kubeadm may be on a machine.
const PATH: &str = "PATH=/opt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

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
pub struct Keeper<P, N> {
    client: Client,
    node: String,
    files: Files,
    programs: P,
    neighbours: N,
    metrics: Metrics,
    recorder: Recorder,
    /// What was last said about the certificates.
    published: Option<Earliest>,
    /// What was last said about a failure.
    told: Option<String>,
}

impl<P: Programs> Keeper<P, ControlPlane> {
    /// `files` are those of the machine, whose kubeadm is run among them.
    pub fn new(client: Client, node: &str, files: Files, programs: P, metrics: Metrics) -> Self {
        let neighbours = ControlPlane::new(files.clone());
        Keeper::among(client, node, files, programs, neighbours, metrics)
    }
}

impl<P, N> std::fmt::Debug for Keeper<P, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper").field("node", &self.node).finish_non_exhaustive()
    }
}

impl<P: Programs, N: Neighbours> Keeper<P, N> {
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
        Keeper { client, node, files, programs, neighbours, metrics, recorder, published: None, told: None }
    }

    /// Runs until it is told to end.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let work = async {
            loop {
                match self.round().await {
                    Ok(()) => self.told = None,
                    Err(error) => self.tell(&chain(&error)).await,
                }
                tokio::time::sleep(LOOK_INTERVAL).await;
            }
        };
        tokio::select! {
            () = work => {}
            _ = async { stop.wait_for(|stop| *stop).await.is_ok() } => {}
        }
    }

    /// One look, and what follows from it.
    pub async fn round(&mut self) -> Result<(), RenewError> {
        let found = earliest(&self.files)?;
        self.metrics.until.set(found.until.as_second());
        let due = is_due(&found, Timestamp::now()) || self.files.exists(MARK);
        self.publish(found).await?;
        if !due {
            return Ok(());
        }
        let mut lock = Lock::new(self.client.clone(), SYSTEM, CERTIFICATES, &self.node, TURN);
        lock.acquire().await;
        tracing::info!("it is this machine's turn to renew its certificates");
        let renewed = self.renew().await;
        // Who has changed nothing lets others try. After anything else the others wait until the turn is over, and then
        // see for themselves whether this machine is well.
        if !self.files.exists(MARK) {
            lock.release().await;
        }
        renewed?;
        let found = earliest(&self.files)?;
        tracing::info!(until = %found.until, "all certificates of this machine's control plane are renewed");
        self.metrics.until.set(found.until.as_second());
        self.publish(found).await
    }

    async fn renew(&self) -> Result<(), RenewError> {
        if !self.files.exists(MARK) {
            if let Some(trouble) = self.neighbours.trouble(Whose::All).await {
                return Err(RenewError::Unwell(trouble));
            }
            self.files.write(MARK, 0o600, &format!("{}\n", Timestamp::now()))?;
        }
        if is_due(&earliest(&self.files)?, Timestamp::now()) {
            let root = self.files.at("/").to_string_lossy().into_owned();
            let arguments = [root.as_str(), "/usr/bin/env", PATH, "kubeadm", "certs", "renew", "all"];
            self.programs.run("chroot", &arguments, KUBEADM_TIMEOUT).await?;
        }
        let Earliest { file, until } = earliest(&self.files)?;
        if is_due(&Earliest { file, until }, Timestamp::now()) {
            return Err(RenewError::NotRenewed { file, until });
        }
        let before = pods::all_seen(&self.files, &self.node)?;
        let changed = pods::restart(&self.files, &until.to_string())?;
        self.come_back(&changed, &before).await?;
        self.files.remove(MARK)?;
        Ok(())
    }

    /// Waits until the pods run that were changed, and this machine does its part again.
    async fn come_back(&self, changed: &[&str], before: &BTreeSet<String>) -> Result<(), RenewError> {
        let mut trouble = String::new();
        let back = async {
            loop {
                trouble = match self.missing(changed, before)? {
                    Some(missing) => missing,
                    None => match self.neighbours.trouble(Whose::Own).await {
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

    /// Says in the cluster until when certificates are good.
    async fn publish(&mut self, found: Earliest) -> Result<(), RenewError> {
        if self.published.as_ref() == Some(&found) {
            return Ok(());
        }
        let entry = json!({"certificate": found.file, "until": found.until});
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CERTIFICATES},
            "data": {&self.node: entry.to_string()},
        });
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM);
        // One manager for each machine, so that none takes another's entry away.
        let parameters = PatchParams::apply(&format!("{CERTIFICATES}-{:.100}", self.node)).force();
        let patch = Patch::Apply(&object);
        call("saying until when certificates are good", maps.patch(CERTIFICATES, &parameters, &patch))
            .await?;
        self.published = Some(found);
        Ok(())
    }

    async fn tell(&mut self, trouble: &str) {
        tracing::warn!(trouble, "the certificates of this machine's control plane are not renewed");
        if self.told.as_deref() == Some(trouble) {
            return;
        }
        // Events about a node name it by its name only.
        let metadata = ObjectMeta {
            name: Some(self.node.clone()),
            uid: Some(self.node.clone()),
            ..ObjectMeta::default()
        };
        let node = Node { metadata, ..Node::default() };
        tell(&self.recorder, &node, false, "CertificatesNotRenewed", trouble, "Renew").await;
        self.told = Some(trouble.to_owned());
    }
}

fn is_due(found: &Earliest, now: Timestamp) -> bool {
    now.duration_until(found.until) < RENEW_BEFORE
}
