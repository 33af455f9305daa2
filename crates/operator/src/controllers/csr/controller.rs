//! The loop: watches requests, machines and nodes, and judges all pending requests whenever one of them changes.
//!
//! There is one pass at a time over everything that is pending, so that a thousand machines that join at once cost a
//! thousand verdicts and not a million; and a machine whose addresses arrive late is judged again when they do.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::runtime::events::Recorder;
use kube::{Api, Client, ResourceExt};
use slipway_assess::csr::approve::{GuardedMachine, NodeName, approve, machine, published_vips};
use slipway_assess::csr::keys::{self, Claim};
use slipway_assess::csr::{Bootstrapper, Cluster, Csr, Decision, Ground, Refusal, Roster, judge};
use slipway_assets::names::MACHINES_NAMESPACE;
use slipway_providers::cluster::{AccessError, call};
use slipway_providers::text::chain;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::metrics::Metrics;
use crate::runtime::events::publish_event;
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::{Mirror, Watches, short};

/// Changes within this time are judged together.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// What failed is tried again after this time, and windows that pass are noticed.
const RESYNC_INTERVAL: Duration = Duration::from_secs(15);
/// How long to wait for machines; a cluster may have none.
const MACHINES_TIMEOUT: Duration = Duration::from_secs(30);
/// How many refusals are told one by one while there is a flood.
const TOLD_IN_FLOOD: usize = 100;

/// What the rules need to be told.
#[derive(Debug, Clone)]
pub struct Settings {
    pub bootstrappers: Vec<Bootstrapper>,
    /// Where the keys of machines are written down.
    pub namespace: String,
    /// Beside those that the cluster publishes.
    pub vips: Vec<IpAddr>,
    /// What is known about machines beside what they say themselves; it may change at any time.
    pub roster: watch::Receiver<Roster>,
    /// Why first certificates are refused, by node, for those who wait for the machines.
    pub refused: watch::Sender<BTreeMap<String, String>>,
}

/// Runs until it is told to end.
pub async fn run(watches: Watches, settings: Settings, metrics: Metrics, stop: watch::Receiver<bool>) {
    let trigger = Trigger::new(DEBOUNCE);
    let client = watches.client().clone();
    let requests = watches.keep_some(Api::all(client.clone()), short(), &trigger);
    let machines = watches.keep_some(Api::namespaced(client.clone(), MACHINES_NAMESPACE), short(), &trigger);
    let nodes = watches.keep_some(Api::all(client.clone()), short(), &trigger);
    let (mut roster, woken) = (settings.roster.clone(), trigger.clone());
    watches.spawn(async move {
        while roster.changed().await.is_ok() {
            woken.wake();
        }
    });
    let recorder = Recorder::new(client.clone(), "slipway-csr-approver".into());
    let keys = keys::Store::new(client.clone(), &settings.namespace);
    let mut approver = Approver {
        client,
        settings,
        requests,
        machines,
        nodes,
        is_first: true,
        keys,
        metrics,
        recorder,
        read: HashMap::new(),
        told: HashMap::new(),
    };
    trigger.run(stop, &mut approver).await;
}

struct Approver {
    client: Client,
    settings: Settings,
    requests: Mirror<CertificateSigningRequest>,
    machines: Mirror<GuardedMachine>,
    nodes: Mirror<NodeName>,
    /// There was no pass yet.
    is_first: bool,
    keys: keys::Store,
    metrics: Metrics,
    recorder: Recorder,
    /// Requests never change, so each is read once.
    read: HashMap<String, Arc<Csr>>,
    /// The last reason that was told about a request.
    told: HashMap<String, &'static str>,
}

impl Controller for Approver {
    async fn pass(&mut self) -> Instant {
        if self.is_first {
            // The writers live as long as the watches do.
            let _ = tokio::join!(self.requests.wait_until_ready(), self.nodes.wait_until_ready());
            if timeout(MACHINES_TIMEOUT, self.machines.wait_until_ready()).await.is_err() {
                tracing::warn!("no machines can be seen; nothing is approved that needs one");
            }
            self.is_first = false;
        }
        self.judge_pending().await;
        Instant::now() + RESYNC_INTERVAL
    }
}

impl Approver {
    async fn judge_pending(&mut self) {
        let pending = self.pending();
        self.metrics.pending.set(i64::try_from(pending.len()).unwrap_or(i64::MAX));
        if pending.is_empty() {
            self.settings.refused.send_replace(BTreeMap::new());
            return;
        }
        // Without the virtual addresses a request for one could pass, and without the keys that of another machine.
        let known = tokio::try_join!(published_vips(&self.client), self.keys.read());
        let (vips, keys) = match known {
            Ok(known) => known,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "nothing is approved as long as this is unknown");
                return;
            }
        };
        let Settings { bootstrappers, vips: own, roster, .. } = &self.settings;
        let roster = roster.borrow().clone();
        let nodes: BTreeSet<String> = self.nodes.state().iter().map(|node| node.name_any()).collect();
        let machines = self.machines.state();
        let machines = roster.complete(machines.iter().filter_map(|object| machine(object)), &nodes);
        let cluster = Cluster::new(bootstrappers.clone(), own.iter().copied().chain(vips))
            .with_machines(machines)
            .with_nodes(nodes)
            .with_keys(keys)
            .with_requests(pending.iter().map(|(_, csr)| &**csr), Timestamp::now());
        let mut refused = BTreeMap::new();
        for (object, csr) in pending {
            let verdict = match judge(&csr, &cluster) {
                Decision::Approve(ground) => self.admit(&csr, ground, &cluster).await,
                refused @ Decision::Refuse(_) => Ok(refused),
            };
            match verdict {
                Ok(Decision::Approve(ground)) => self.approve(&object, &csr, ground).await,
                Ok(Decision::Refuse(refusal)) => {
                    if let (Some(node), true) = (csr.node(), refusal.keeps_out()) {
                        refused.insert(node.to_owned(), refusal.to_string());
                    }
                    self.refuse(&object, &csr, refusal, cluster.is_flooded_by(&csr.username)).await;
                }
                Err(error) => {
                    tracing::warn!(request = csr.name, error = %chain(&error), "not approved yet");
                }
            }
        }
        self.settings.refused.send_replace(refused);
    }

    /// Before a machine's first certificate: there is no node of its name now, whatever the watch has seen, and the key
    /// is written down as the machine's. What was approved a moment ago counts as well.
    async fn admit(&self, csr: &Csr, ground: Ground, cluster: &Cluster) -> Result<Decision, AccessError> {
        let Ground::FirstCertificate { machine, node } = &ground else {
            return Ok(Decision::Approve(ground));
        };
        let nodes: Api<NodeName> = Api::all(self.client.clone());
        if call(&format!("looking for the node `{node}`"), nodes.get_opt(node)).await?.is_some() {
            return Ok(Decision::Refuse(Refusal::NodeExists { node: node.clone() }));
        }
        let key = csr.content.as_ref().map(|content| content.fingerprint.clone()).unwrap_or_default();
        let uid = cluster.machine_for(node).and_then(|machine| machine.uid.as_deref());
        let is_gone = |node: &str, uid: &str| cluster.is_gone(node, uid);
        Ok(match self.keys.claim(node, uid, &key, is_gone).await? {
            Claim::Granted => Decision::Approve(ground),
            Claim::Taken(first) => {
                Decision::Refuse(Refusal::AnotherKey { machine: machine.clone(), key, first })
            }
        })
    }

    async fn approve(&self, object: &CertificateSigningRequest, csr: &Csr, ground: Ground) {
        let message = ground.to_string();
        match approve(&self.client, object, &message, Timestamp::now()).await {
            Ok(()) => {
                tracing::info!(request = csr.name, signer = %csr.signer, reason = ground.reason(), message, "approved");
                self.metrics.count(csr.signer, &Decision::Approve(ground));
            }
            Err(error) => {
                tracing::warn!(request = csr.name, error = %chain(&error), "not approved yet");
            }
        }
    }

    /// What nobody has decided about, the oldest first.
    fn pending(&mut self) -> Vec<(Arc<CertificateSigningRequest>, Arc<Csr>)> {
        let mut read = std::mem::take(&mut self.read);
        let mut pending = Vec::new();
        for object in self.requests.state().into_iter().filter(|object| Csr::is_undecided(object)) {
            let Some(uid) = object.metadata.uid.clone() else { continue };
            let known = read.remove(&uid).or_else(|| Csr::read(&object).map(Arc::new));
            if let Some(csr) = known {
                self.read.insert(uid, Arc::clone(&csr));
                pending.push((object, csr));
            }
        }
        self.told.retain(|uid, _| self.read.contains_key(uid));
        pending.sort_by(|(_, one), (_, other)| (one.created, &one.name).cmp(&(other.created, &other.name)));
        pending
    }

    /// Counts, logs and tells a refusal, once for each reason.
    async fn refuse(
        &mut self,
        object: &CertificateSigningRequest,
        csr: &Csr,
        refusal: Refusal,
        flooded: bool,
    ) {
        let (reason, note) = (refusal.reason(), refusal.to_string());
        if self.told.get(&csr.uid) == Some(&reason) {
            return;
        }
        self.metrics.count(csr.signer, &Decision::Refuse(refusal));
        let quiet = flooded && self.told.len() >= TOLD_IN_FLOOD;
        self.told.insert(csr.uid.clone(), reason);
        if quiet {
            return;
        }
        tracing::warn!(request = csr.name, signer = %csr.signer, requestor = csr.username, reason, note, "refused");
        publish_event(&self.recorder, object, false, reason, &note, "Approve").await;
    }
}
