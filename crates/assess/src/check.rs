//! `slipway check`: whether a running cluster and its vCenters get along.
//!
//! | module | what it holds |
//! |---|---|
//! | [`target`] | what is checked: vCenters, failure domains, what configurations say |
//! | [`cluster`] | what Kubernetes knows: nodes, volumes, pods |
//! | [`catalog`] | the checks, their codes and their names in metrics |
//! | [`report`] | what a round found out |
//! | [`counts`] | what is counted |
//! | [`conditions`] | what findings mean for the drivers of the cluster |
//! | [`metrics`] | a round as series |
//! | [`schedule`] | when the next round is due, and what changed since the last |
//! | `observe` | reading a vCenter, in few calls |
//! | `snapshot` | what was read, as a plain value |
//! | `matching` | which machine a node is |
//! | `judge` | the rules |
//!
//! A [`Context`] holds one connection per vCenter, which others may share. [`Context::round`] asks all vCenters at once, each with the deadline of
//! the whole; what one of them does not answer is unknown, and everything about the others is complete.

pub mod catalog;
pub mod cluster;
pub mod conditions;
pub mod counts;
mod judge;
mod matching;
pub mod metrics;
mod observe;
pub mod report;
pub mod schedule;
mod snapshot;
pub mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use slipway_providers::vsphere::pool::{Key, Pool};
use slipway_providers::vsphere::{self, Login};
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::catalog::Check;
use self::cluster::Cluster;
use self::counts::{Counts, DomainCounts, VCenterInfo};
use self::judge::{config, control_plane, nodes, server, storage, workloads};
use self::observe::{Connection, Question};
use self::report::{Finding, NodeState, Round, VCenterResult, Verdicts};
use self::snapshot::VCenterSnapshot;
use self::target::{CheckTarget, NoLogin, VCenter};
use crate::finding;
pub use crate::runner::Options;
use crate::runner::{Asked, Clock, Tasks};
use crate::vsphere::managers::Counter;
use crate::vsphere::session::{self, endpoint};

/// One connection per vCenter, kept from round to round.
#[derive(Debug)]
pub struct Context {
    options: Options,
    pool: Pool,
    is_shared: bool,
    /// Those that no round is using.
    connections: BTreeMap<Key, Connection>,
}

/// What a vCenter answered.
struct Answer {
    server: String,
    /// None if it is of no use any more, and was ended.
    connection: Option<Connection>,
    result: Result<Box<VCenterSnapshot>, Box<Finding>>,
}

impl Context {
    pub fn new(options: Options) -> Self {
        Context { options, pool: Pool::default(), is_shared: false, connections: BTreeMap::new() }
    }

    /// With clients that others use as well: a session that is there is used, and one that others need is not ended.
    pub fn sharing(options: Options, pool: Pool) -> Self {
        Context { options, pool, is_shared: true, connections: BTreeMap::new() }
    }

    /// Asks all vCenters once, and judges what they answer together with what Kubernetes knows. Without a cluster only
    /// the vCenters themselves are judged. It can be given up at any time; [`Context::close`] then ends all sessions.
    pub async fn round(&mut self, subject: &CheckTarget, cluster: Option<&Cluster>) -> Round {
        let started = (self.options.clock)();
        let question = Arc::new(Question::of(subject.clone(), cluster));
        let mut verdicts = Verdicts::default();
        let mut tasks = Tasks::new();
        let mut unreached = BTreeSet::new();
        let mut used = BTreeSet::new();
        for vcenter in &subject.vcenters {
            verdicts.add(Check::Credentials, server::credentials(vcenter));
            let Ok(login) = vcenter.login.clone() else {
                if matches!(vcenter.login, Err(NoLogin::Refused(_))) {
                    verdicts.add(Check::Connection, None);
                }
                unreached.insert(vcenter.server.clone());
                continue;
            };
            let connection = match self.connect(vcenter, login) {
                Ok(connection) => connection,
                Err(error) => {
                    verdicts.add(Check::Connection, [server::unreached(&vcenter.server, &error)]);
                    unreached.insert(vcenter.server.clone());
                    continue;
                }
            };
            used.insert(connection.lease.key().clone());
            let (question, options, vcenter) = (question.clone(), self.options.clone(), vcenter.clone());
            tasks.spawn(async move { Box::pin(ask(connection, &vcenter, &question, &options)).await });
        }
        let mut estates = Vec::new();
        for answer in tasks.join(std::future::pending()).await.unwrap_or_default() {
            let Some(Answer { server, connection, result }) = answer else {
                verdicts.findings.push(Finding::broken_off(Check::Connection));
                continue;
            };
            let kept = connection.map(|connection| (connection.lease.key().clone(), connection));
            self.connections.extend(kept);
            match result {
                Ok(snapshot) => estates.push(*snapshot),
                Err(finding) => {
                    verdicts.add(Check::Connection, [*finding]);
                    unreached.insert(server);
                }
            }
        }
        // Log out of vCenters that are no longer configured.
        let old = self.connections.keys().filter(|key| !used.contains(*key)).cloned().collect();
        self.end(old).await;
        let position = |server: &str| subject.vcenters.iter().position(|vcenter| vcenter.server == server);
        estates.sort_by_key(|snapshot| position(&snapshot.server));
        let now = (self.options.clock)();
        judge_all(&question, cluster, &estates, &unreached, verdicts, (started, now), &self.options.clock)
    }

    /// The connection that is kept from the last round, or a new one: nothing is sent yet. When it is dropped its session
    /// ends, so that a round can be given up at any time.
    fn connect(&mut self, vcenter: &VCenter, login: Login) -> Result<Connection, vsphere::Error> {
        let endpoint = endpoint(&self.options, &vcenter.server, vcenter.port, vcenter.trust.clone());
        let lease = self.pool.lease(endpoint, login)?;
        let known = self.connections.remove(lease.key());
        Ok(known.unwrap_or(Connection { lease, counter: Counter::default() }))
    }

    /// Ends all sessions, but for those that others need.
    pub async fn close(mut self) {
        let all = self.connections.keys().cloned().collect();
        self.end(all).await;
        // A round that was given up may hold some still. Where there are others, they end those.
        let left =
            async { if self.is_shared { self.pool.departed().await } else { self.pool.close().await } };
        let _ = timeout(self.options.logout, left).await;
    }

    async fn end(&mut self, keys: Vec<Key>) {
        let mut tasks = JoinSet::new();
        for connection in keys.iter().filter_map(|key| self.connections.remove(key)) {
            tasks.spawn(connection.lease.end(self.options.logout));
        }
        tasks.join_all().await;
    }
}

async fn ask(
    mut connection: Connection,
    vcenter: &VCenter,
    question: &Question,
    options: &Options,
) -> Answer {
    let server = vcenter.server.clone();
    let endpoint = endpoint(options, &server, vcenter.port, vcenter.trust.clone());
    let (asking, logout) = options.shares();
    let observe = observe::observe(&mut connection, vcenter, question, &options.clock, asking / 2);
    let (asked, expires) = Box::pin(session::ask(&endpoint, options, observe)).await;
    let finding = match asked {
        Asked::Answered(snapshot) => {
            let result = Ok(Box::new(VCenterSnapshot { expires, ..snapshot }));
            return Answer { server, connection: Some(connection), result };
        }
        Asked::Failed(error) => server::unreached(&server, &error),
        Asked::Late(limit) => server::late(&server, limit),
    };
    // What is broken is not kept.
    connection.lease.end(logout).await;
    Answer { server, connection: None, result: Err(Box::new(finding)) }
}

/// From everything that was read to a round. Pure.
fn judge_all(
    question: &Question,
    cluster: Option<&Cluster>,
    estates: &[VCenterSnapshot],
    unreached: &BTreeSet<String>,
    mut verdicts: Verdicts,
    (started, now): (Timestamp, Timestamp),
    clock: &Clock,
) -> Round {
    let subject = &question.subject;
    let mut facts = Counts { domains: domain_counts(subject), ..Counts::default() };
    verdicts.merge(config::judge(subject));
    for vcenter in &subject.vcenters {
        let Some(snapshot) = estates.iter().find(|snapshot| snapshot.server == vcenter.server) else {
            continue;
        };
        verdicts.merge(judge::vcenter(question, vcenter, snapshot, clock));
        facts.vcenters.push(VCenterInfo {
            server: snapshot.server.clone(),
            version: snapshot.version.clone(),
            api_version: snapshot.api_version.clone(),
            uuid: snapshot.uuid.clone(),
            build: snapshot.build.clone(),
        });
        for domain in subject.domains_on(&vcenter.server) {
            let found =
                judge::places::find(&domain.datastore, domain, snapshot).and_then(|item| item.datastore());
            if let Some(datastore) = found {
                *facts.datastores.entry(datastore.kind.clone()).or_default() += 1;
            }
        }
    }
    let judged = nodes::judge(question, estates, unreached, now, &mut facts);
    verdicts.merge(judged.verdicts);
    if let Some(cluster) = cluster {
        facts.shared_volumes = cluster.volumes.iter().filter(|volume| volume.shared).count();
        facts.zonal_volumes = cluster.volumes.iter().filter(|volume| volume.places.is_some()).count();
        verdicts.merge(storage::judge(subject, cluster, estates, unreached.is_empty()));
        verdicts.merge(control_plane::judge(cluster, now));
        verdicts.merge(workloads::judge(cluster));
        for (what, why) in &cluster.unread {
            let message = format!("{what} could not be read: {why}");
            let finding = Finding::unknown(Check::Connection, what, message);
            verdicts.findings.push(finding.remedy("see that the kubeconfig's user may read it"));
        }
    }
    let vcenters = subject.vcenters.iter().map(|vcenter| {
        let snapshot = estates.iter().find(|snapshot| snapshot.server == vcenter.server);
        let lives = |state: &NodeState| match state {
            NodeState::Checked { vcenter: server, .. } => *server == vcenter.server,
            NodeState::Unknown { vcenters } => vcenters.contains(&vcenter.server),
            _ => false,
        };
        VCenterResult {
            server: vcenter.server.clone(),
            reached: snapshot.is_some(),
            version: snapshot.map(|snapshot| snapshot.version.clone()).unwrap_or_default(),
            nodes: judged.results.iter().filter(|node| lives(&node.state)).count(),
        }
    });
    Round {
        cluster: subject.name.clone(),
        started,
        vcenters: vcenters.collect(),
        findings: finding::in_order(verdicts.findings, |finding| finding.endpoint.clone(), |_| false),
        nodes: judged.results,
        looked: verdicts.looked,
        facts,
    }
}

fn domain_counts(subject: &CheckTarget) -> DomainCounts {
    let domains = &subject.domains;
    let distinct =
        |of: &dyn Fn(&target::Domain) -> String| domains.iter().map(of).collect::<BTreeSet<String>>().len();
    DomainCounts {
        regions: distinct(&|domain| domain.region.clone()),
        zones: distinct(&|domain| domain.zone.clone()),
        vcenters: distinct(&|domain| domain.server.clone()),
        datacenters: distinct(&|domain| format!("{} {}", domain.server, domain.datacenter)),
        datastores: distinct(&|domain| format!("{} {}", domain.server, domain.datastore)),
        failure_domains: domains.len(),
    }
}
