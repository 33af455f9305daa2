//! The loop: which Machines need something, and one worker for each of them.
//!
//! A pass looks at copies only. A Machine that is as it should be costs no call, so that a new one never waits behind settled ones.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use kube::core::DeserializeGuard;
use kube::{Api, ResourceExt};
use slipway_api::openshift::Machine;
use slipway_assets::names::MACHINES_NAMESPACE;
use slipway_providers::vsphere::machine_feed::MachineNews;
use slipway_providers::vsphere::machine_place::MachinePlace;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::access::Logins;
use super::decide::{Known, Next, next, phase};
use super::journal::Kept;
use super::metrics::Metrics;
use super::pace::Pace;
use super::problem::{CONFLICT, Problem};
use super::subject::is_vsphere;
use super::vcenters::{News, VCenters};
use super::worker::{Done, Worker};
use crate::controllers::connections::Insecure;
use crate::controllers::objects::{Objects, Versions};
use crate::runtime::owner::Owner;
use crate::runtime::sessions::Sessions;
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::{Mirror, Watches};

/// Changes within this time are looked at together.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// How long workers may take to end once the operator is told to.
const STOP_TIMEOUT: Duration = Duration::from_secs(8);
/// Machines that are worked on at the same time: in all, and on one vCenter, so that one that is slow leaves room for others.
const MAX_WORKERS: usize = 256;
const MAX_WORKERS_PER_VCENTER: usize = 96;

/// Machines of one vCenter that leave at the same time, and more than a third of all, before the vCenter is doubted.
const MASS_FAILURE: usize = 3;
/// A Machine is not worked on again at once.
const REST: Duration = Duration::from_millis(500);

/// What the controller is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the operator is, with its connections and their Secrets.
    pub namespace: String,
    /// Whether connections may do without verifying certificates.
    pub insecure: Insecure,
    /// Virtual addresses, which are no machine's own.
    pub vips: Vec<IpAddr>,
    pub pace: Pace,
}

/// Runs until it is told to end.
pub async fn run(
    watches: Watches,
    settings: Settings,
    sessions: Sessions,
    metrics: Metrics,
    stop: watch::Receiver<bool>,
) {
    let Settings { namespace, insecure, vips, pace } = settings;
    let trigger = Trigger::new(DEBOUNCE);
    let client = watches.client().clone();
    let objects = Objects::watch(&watches, &namespace, &trigger);
    let machines = watches.keep(Api::namespaced(client.clone(), MACHINES_NAMESPACE), &trigger);
    let owner = Owner::watch(&watches, MACHINES_NAMESPACE, &trigger);
    let logins = Logins::new(client.clone(), &namespace, insecure, objects.clone());
    let (news, told) = mpsc::unbounded_channel();
    let vcenters = Arc::new(VCenters::new(logins, sessions, pace, news, trigger.clone()));
    let worker = Worker::new(client, MACHINES_NAMESPACE, vcenters.clone(), pace, vips, stop.clone());
    let (ended, results) = mpsc::unbounded_channel();
    let mut machines = Machines {
        objects,
        machines,
        owner,
        vcenters,
        worker: Arc::new(worker),
        pace,
        metrics,
        entries: BTreeMap::new(),
        links: BTreeMap::new(),
        told,
        workers: JoinSet::new(),
        ended,
        results,
        trigger: trigger.clone(),
    };
    trigger.run(stop, &mut machines).await;
    // A run that is cut off goes on from its journal.
    let mut workers = machines.workers;
    let _ = timeout(STOP_TIMEOUT, async { while workers.join_next().await.is_some() {} }).await;
    workers.abort_all();
}

/// What makes a failed Machine worth another try at once.
#[derive(Debug, Clone, PartialEq)]
struct Input {
    generation: Option<i64>,
    is_deleted: bool,
    node: Option<String>,
    annotations: BTreeMap<String, String>,
    drained: bool,
    login: Option<(Option<i64>, Versions)>,
}

/// What is remembered of a Machine.
#[derive(Debug)]
struct Entry {
    uid: Option<String>,
    /// The version that the next three were read from.
    version: Option<String>,
    kept: Option<Kept>,
    server: String,
    /// The id of its virtual machine.
    moref: Option<String>,
    input: Input,
    known: Known,
    running: bool,
    failures: u32,
    due: Instant,
}

/// A vCenter whose change stream is to be opened.
#[derive(Debug)]
struct Link {
    login: Option<(Option<i64>, Versions)>,
    running: bool,
    failures: u32,
    due: Instant,
}

/// What came to its end.
enum Ended {
    Worked(Done),
    /// A vCenter was logged in to, or why not.
    Linked(String, Option<Problem>),
}

struct Machines {
    objects: Objects,
    machines: Mirror<DeserializeGuard<Machine>>,
    owner: Owner,
    vcenters: Arc<VCenters>,
    worker: Arc<Worker>,
    pace: Pace,
    metrics: Metrics,
    entries: BTreeMap<String, Entry>,
    /// By server.
    links: BTreeMap<String, Link>,
    told: mpsc::UnboundedReceiver<News>,
    workers: JoinSet<()>,
    ended: mpsc::UnboundedSender<Ended>,
    results: mpsc::UnboundedReceiver<Ended>,
    trigger: Trigger,
}

impl Controller for Machines {
    async fn pass(&mut self) -> Instant {
        let _ = tokio::join!(self.machines.wait_until_ready(), self.objects.ready());
        let now = Instant::now();
        self.take_results(now);
        let machines = self.machines.state();
        let machines: BTreeMap<String, &Machine> = machines
            .iter()
            .filter_map(|machine| machine.0.as_ref().ok())
            .filter(|machine| is_vsphere(machine))
            .map(|machine| (machine.name_any(), machine))
            .collect();
        self.metrics.phases(machines.values().map(|machine| phase(machine).unwrap_or("")));
        let is_observing = self.owner.other().await.is_some();
        self.metrics.observing(is_observing);
        if is_observing {
            return now + self.pace.resync;
        }
        self.entries.retain(|name, entry| entry.running || machines.contains_key(name));
        // Machines of old leave the vCenter out.
        let default = if machines.values().any(|machine| server(machine).is_empty()) {
            self.vcenters.logins().cloud().defaults().await.map(|all| all.server).unwrap_or_default()
        } else {
            String::new()
        };
        for (name, machine) in &machines {
            self.learn(name, machine, &default, now);
        }
        self.take_news();
        self.follow(now);
        self.start(&machines, now);
        let due =
            self.entries.values().filter(|entry| !entry.running && entry.due > now).map(|entry| entry.due);
        let links = self.links.values().filter(|link| !link.running && link.due > now).map(|link| link.due);
        due.chain(links).min().unwrap_or(now + self.pace.resync).min(now + self.pace.resync)
    }
}

impl Machines {
    /// Notes how workers have ended since the last pass.
    fn take_results(&mut self, now: Instant) {
        while self.workers.try_join_next().is_some() {}
        while let Ok(ended) = self.results.try_recv() {
            let Done { name, gone, problem, is_back, place } = match ended {
                Ended::Worked(done) => done,
                Ended::Linked(server, problem) => {
                    self.linked(&server, problem.as_ref(), now);
                    continue;
                }
            };
            self.metrics.worked(problem.as_ref().map_or("ok", |problem| problem.reason.as_str()));
            if gone {
                self.entries.remove(&name);
                continue;
            }
            let Some(entry) = self.entries.get_mut(&name) else { continue };
            entry.running = false;
            entry.failures = if problem.is_some() { entry.failures + 1 } else { 0 };
            entry.due = match &problem {
                // What is written and read otherwise must not become a loop.
                None => now + REST,
                Some(problem) => now + problem.after.unwrap_or_else(|| self.pace.pause(entry.failures)),
            };
            entry.known.left &= !is_back;
            if place != MachinePlace::default() {
                entry.known.place = place;
            }
            entry.known.problem = problem.filter(|problem| problem.reason != CONFLICT);
        }
    }

    fn linked(&mut self, server: &str, problem: Option<&Problem>, now: Instant) {
        let Some(link) = self.links.get_mut(server) else { return };
        link.running = false;
        link.failures = if problem.is_some() { link.failures + 1 } else { 0 };
        link.due = now + self.pace.pause(link.failures);
        if let Some(problem) = problem {
            tracing::warn!(endpoint = server, reason = %problem.reason, "{problem}");
        }
    }

    /// Reads a Machine that has changed.
    fn learn(&mut self, name: &str, machine: &Machine, default: &str, now: Instant) {
        let fresh = || Entry {
            uid: machine.uid(),
            version: None,
            kept: None,
            server: String::new(),
            moref: None,
            input: input(machine, None),
            known: Known::default(),
            running: false,
            failures: 0,
            due: now,
        };
        let entry = self.entries.entry(name.to_owned()).or_insert_with(fresh);
        if entry.uid != machine.uid() && !entry.running {
            *entry = fresh();
        }
        if entry.version != machine.resource_version() || entry.version.is_none() {
            entry.version = machine.resource_version();
            entry.kept = Kept::of(machine).ok();
            let is_over = phase(machine) == Some("Failed");
            let kept = entry.kept.as_ref().filter(|_| !is_over);
            entry.moref = kept.and_then(|kept| Some(kept.machine()?.moref.clone()));
            entry.known.left &= !is_over;
        }
        let own = server(machine);
        entry.server = if own.is_empty() { default } else { own }.trim().to_lowercase();
        let input = input(machine, self.vcenters.logins().version(&entry.server));
        if entry.input != input {
            (entry.input, entry.failures, entry.due) = (input, 0, now);
        }
    }

    /// What the change streams have told.
    fn take_news(&mut self) {
        if self.told.is_empty() {
            return;
        }
        let index: BTreeMap<(String, String), String> = self
            .entries
            .iter()
            .filter_map(|(name, entry)| Some(((entry.server.clone(), entry.moref.clone()?), name.clone())))
            .collect();
        while let Ok((endpoint, news)) = self.told.try_recv() {
            let (MachineNews::Facts(moref, _) | MachineNews::Left(moref)) = &news;
            let name = index.get(&(endpoint.as_str().to_owned(), moref.clone()));
            let Some(entry) = name.and_then(|name| self.entries.get_mut(name)) else { continue };
            let uuid = entry.kept.as_ref().and_then(|kept| Some(kept.machine()?.uuid.clone()));
            match news {
                // Another machine under the same id, as after a restore of the vCenter, says nothing about this one.
                MachineNews::Facts(_, facts) if uuid.is_none_or(|uuid| uuid == facts.instance_uuid) => {
                    entry.known.left = false;
                    entry.known.facts = Some(facts);
                }
                MachineNews::Facts(..) | MachineNews::Left(_) => entry.known.left = true,
            }
        }
    }

    /// Tells each change stream what to follow, and opens those that are missing.
    fn follow(&mut self, now: Instant) {
        let opened = self.vcenters.opened();
        let mut servers: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
        for (name, entry) in &self.entries {
            if let Some(moref) = &entry.moref {
                let here =
                    servers.entry(entry.server.clone()).or_insert_with(|| (name.clone(), BTreeSet::new()));
                here.1.insert(moref.clone());
            }
        }
        self.doubt(&servers);
        self.links.retain(|server, link| link.running || servers.contains_key(server));
        for (server, vcenter) in &opened {
            vcenter.follow(servers.get(server).map(|(_, machines)| machines.clone()).unwrap_or_default());
        }
        for (server, (name, _)) in servers {
            let login = self.vcenters.logins().version(&server);
            let fresh = || Link { login: login.clone(), running: false, failures: 0, due: now };
            let link = self.links.entry(server.clone()).or_insert_with(fresh);
            let is_changed = link.login != login;
            if is_changed && !link.running {
                *link = fresh();
            }
            if link.running || link.due > now || (opened.contains_key(&server) && !is_changed) {
                continue;
            }
            link.running = true;
            let (worker, ended, trigger) = (self.worker.clone(), self.ended.clone(), self.trigger.clone());
            self.workers.spawn(async move {
                let problem = Box::pin(worker.link(&name)).await.err();
                // Nothing receives it once the controller has ended.
                let _ = ended.send(Ended::Linked(server, problem));
                trigger.wake();
            });
        }
    }

    /// Machines do not go by the dozen. Where that seems so, it is the vCenter that is not itself.
    fn doubt(&mut self, servers: &BTreeMap<String, (String, BTreeSet<String>)>) {
        let mut left: BTreeMap<String, usize> = BTreeMap::new();
        for entry in self.entries.values().filter(|entry| entry.known.left && !entry.input.is_deleted) {
            *left.entry(entry.server.clone()).or_default() += 1;
        }
        for entry in self.entries.values_mut() {
            let all = servers.get(&entry.server).map_or(0, |(_, machines)| machines.len());
            let left = left.get(&entry.server).copied().unwrap_or_default();
            entry.known.is_doubted = is_mass_failure(left, all);
        }
    }

    /// Starts workers for what is due: those that were never tried go first.
    fn start(&mut self, machines: &BTreeMap<String, &Machine>, now: Instant) {
        let tasks = self.entries.values().filter_map(|entry| entry.kept.as_ref());
        let tasks = tasks.flat_map(|kept| kept.tasks.values().map(|task| task.reference.clone()));
        self.worker.note_tasks(tasks.collect());
        let mut running: BTreeMap<String, usize> = BTreeMap::new();
        for entry in self.entries.values().filter(|entry| entry.running) {
            *running.entry(entry.server.clone()).or_default() += 1;
        }
        let mut due: Vec<(u32, Instant, String)> = Vec::new();
        for (name, entry) in &self.entries {
            if entry.running || entry.due > now {
                continue;
            }
            let Some(machine) = machines.get(name) else { continue };
            if self.needs_work(machine, entry) {
                due.push((entry.failures, entry.due, name.clone()));
            }
        }
        due.sort();
        let mut all: usize = running.values().sum();
        for (_, _, name) in due {
            let Some(entry) = self.entries.get_mut(&name) else { continue };
            let here = running.entry(entry.server.clone()).or_default();
            if all >= MAX_WORKERS || *here >= MAX_WORKERS_PER_VCENTER {
                continue;
            }
            (*here, all) = (*here + 1, all + 1);
            entry.running = true;
            let (worker, known) = (self.worker.clone(), entry.known.clone());
            let (ended, trigger) = (self.ended.clone(), self.trigger.clone());
            self.workers.spawn(async move {
                // Nothing receives it once the controller has ended.
                let _ = ended.send(Ended::Worked(worker.work(name, known).await));
                trigger.wake();
            });
        }
    }

    /// Whether anything has to be done about a Machine, by its copy.
    fn needs_work(&self, machine: &Machine, entry: &Entry) -> bool {
        let Some(kept) = &entry.kept else { return true };
        match next(machine, kept, &entry.known) {
            Next::Leave => false,
            what @ (Next::Rest | Next::Hold(_)) => {
                !self.worker.changes(machine, kept, &entry.known, &what).is_empty()
            }
            Next::Finalize | Next::Make | Next::Confirm | Next::Remove => true,
        }
    }
}

/// The vCenter that a Machine names, if it names one.
fn server(machine: &Machine) -> &str {
    let server = machine.spec.provider_spec.value.pointer("/workspace/server");
    server.and_then(|server| server.as_str()).unwrap_or_default()
}

/// Whether so many of a vCenter's machines left that none of them is believed to be gone.
fn is_mass_failure(left: usize, all: usize) -> bool {
    left >= MASS_FAILURE && left * 3 > all
}

fn input(machine: &Machine, login: Option<(Option<i64>, Versions)>) -> Input {
    let status = machine.status.as_ref();
    let node = status.and_then(|status| status.node_ref.as_ref()?.name.clone());
    let drained = |status: &slipway_api::openshift::MachineStatus| {
        status.conditions.iter().any(|condition| condition.type_ == "Drained" && condition.status == "True")
    };
    Input {
        generation: machine.metadata.generation,
        is_deleted: machine.metadata.deletion_timestamp.is_some(),
        node,
        annotations: machine.annotations().clone(),
        drained: status.is_some_and(drained),
        login,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::is_mass_failure;

    #[rstest]
    #[case::one_of_one(1, 1, false)]
    #[case::two_of_two(2, 2, false)]
    #[case::all(3, 3, true)]
    #[case::a_third(3, 9, false)]
    #[case::more(4, 9, true)]
    #[case::a_rack(30, 1000, false)]
    #[case::a_restore(900, 1000, true)]
    fn machines_do_not_go_by_the_dozen(#[case] left: usize, #[case] all: usize, #[case] expected: bool) {
        assert_eq!(is_mass_failure(left, all), expected);
    }
}
