//! vCenters as the Machines use them: one session, one set of budgets and one change stream each, and what machines share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use slipway_engine::journal::MemoryJournal;
use slipway_engine::observer::Observer;
use slipway_engine::progress::Nobody;
use slipway_engine::{Endpoint, Graph, Lanes, Options, Reason, World, apply, observe};
use slipway_providers::text::chain;
use slipway_providers::vsphere::kinds::{Desired, Search, State, VSphere};
use slipway_providers::vsphere::machine_feed::{self, MachineNews};
use slipway_providers::vsphere::machine_place::MachinePlace;
use slipway_providers::vsphere::machine_spec::Site;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use super::access::Logins;
use super::pace::Pace;
use super::problem::Problem;
use super::subject::Subject;
use crate::runtime::sessions::{Session, Sessions, is_refusal};
use crate::runtime::shared::Shared;
use crate::runtime::trigger::Trigger;

/// How long a vCenter may be silent before a run gives up. The Machine is tried again later.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often a step is tried within a run.
const ATTEMPTS: u32 = 3;
/// Between two tries to open a change stream.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// What a run goes through.
pub(super) type Platform = Observer<VSphere>;

/// What machines share, as it was settled.
type Settled = Shared<World<State>, Problem>;

/// News of a machine, and the vCenter it is on.
pub(super) type News = (Endpoint, MachineNews);

/// All vCenters that Machines name.
pub(super) struct VCenters {
    logins: Logins,
    sessions: Sessions,
    pace: Pace,
    open: Mutex<BTreeMap<String, Arc<VCenter>>>,
    news: mpsc::UnboundedSender<News>,
    trigger: Trigger,
}

/// One vCenter.
#[derive(Debug)]
pub(super) struct VCenter {
    session: Session,
    sessions: Sessions,
    pace: Pace,
    platform: Mutex<Arc<Platform>>,
    lanes: Mutex<Lanes>,
    /// Compute clusters whose hosts were counted.
    counted: Mutex<BTreeSet<String>>,
    sites: Mutex<BTreeMap<String, Arc<Settled>>>,
    /// By compute cluster.
    places: Mutex<BTreeMap<String, Arc<Shared<MachinePlace, Problem>>>>,
    /// The machines the change stream tells of.
    followed: watch::Sender<BTreeSet<String>>,
    stream: AbortHandle,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl VCenters {
    pub(super) fn new(
        logins: Logins,
        sessions: Sessions,
        pace: Pace,
        news: mpsc::UnboundedSender<News>,
        trigger: Trigger,
    ) -> Self {
        VCenters { logins, sessions, pace, open: Mutex::default(), news, trigger }
    }

    pub(super) fn logins(&self) -> &Logins {
        &self.logins
    }

    /// The vCenter of a Machine. It is logged in to once, however many ask.
    pub(super) async fn of(&self, subject: &Subject) -> Result<Arc<VCenter>, Problem> {
        let spec = &subject.spec;
        let access = self.logins.of(&spec.server, &subject.namespace, &spec.credentials_secret).await?;
        let session = self.sessions.open(&access).await?;
        Ok(self.with(session))
    }

    fn with(&self, session: Session) -> Arc<VCenter> {
        let mut open = lock(&self.open);
        if let Some(known) = open.get(session.endpoint.as_str())
            && known.session.is_same(&session)
            && !known.stream.is_finished()
        {
            return known.clone();
        }
        let endpoint = session.endpoint.as_str().to_owned();
        let (news, trigger) = (self.news.clone(), self.trigger.clone());
        let vcenter = Arc::new(VCenter::new(session, self.sessions.clone(), self.pace, news, trigger));
        open.insert(endpoint, vcenter.clone());
        // What it has to follow, the next pass says.
        self.trigger.wake();
        vcenter
    }

    /// Those whose change stream is open.
    pub(super) fn opened(&self) -> BTreeMap<String, Arc<VCenter>> {
        let mut open = lock(&self.open).clone();
        open.retain(|_, vcenter| !vcenter.stream.is_finished());
        open
    }
}

impl VCenter {
    fn new(
        session: Session,
        sessions: Sessions,
        pace: Pace,
        news: mpsc::UnboundedSender<News>,
        trigger: Trigger,
    ) -> Self {
        let (followed, receiver) = watch::channel(BTreeSet::new());
        let stream = tokio::spawn(stream(session.clone(), sessions.clone(), receiver, news, trigger));
        VCenter {
            platform: Mutex::new(platform(&session)),
            session,
            sessions,
            pace,
            lanes: Mutex::default(),
            counted: Mutex::default(),
            sites: Mutex::default(),
            places: Mutex::default(),
            followed,
            stream: stream.abort_handle(),
        }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.session.endpoint
    }

    /// The vCenter's own id.
    pub(super) fn instance(&self) -> &str {
        &self.session.instance
    }

    pub(super) fn platform(&self) -> Arc<Platform> {
        lock(&self.platform).clone()
    }

    /// Which machines the change stream tells of.
    pub(super) fn follow(&self, machines: BTreeSet<String>) {
        self.followed.send_if_modified(|known| {
            let other = *known != machines;
            if other {
                *known = machines;
            }
            other
        });
    }

    /// A run failed: what is remembered of objects may be out of date, and the login may not be good any more.
    pub(super) fn doubt(&self, problem: &Problem) {
        if problem.reason.as_str() == "LoginRefused" {
            self.sessions.refuse(&self.session, &problem.message);
        }
        *lock(&self.platform) = platform(&self.session);
        lock(&self.sites).clear();
    }

    /// How a run is applied: with the budgets and the breaker that all runs of this vCenter share.
    pub(super) async fn options(&self, compute_cluster: &str, graph: &Graph<Desired>) -> Options {
        if !lock(&self.counted).contains(compute_cluster) {
            let budgets = self.platform().platform().budgets(graph, &BTreeMap::new()).await;
            lock(&self.lanes).budgets.extend(budgets);
            lock(&self.counted).insert(compute_cluster.to_owned());
        }
        let lanes = lock(&self.lanes).clone();
        Options { lanes, attempts: ATTEMPTS, patience: PATIENCE, ..Options::new(Timestamp::now) }
    }

    /// What the machines of a failure domain share, made if it is not there. One run for all that ask.
    pub(super) async fn settle(&self, site: Site) -> Result<World<State>, Problem> {
        let shared = lock(&self.sites).entry(site.key.clone()).or_default().clone();
        let pace = self.pace;
        let stands = move |answer: &Result<World<State>, Problem>, failures: u32| match answer {
            Ok(_) => Some(pace.site),
            Err(_) => Some(pace.pause(failures + 1)),
        };
        shared.get(Box::pin(self.run(site)), stands).await
    }

    /// The region and the zone of a compute cluster. They are read once.
    pub(super) async fn place(
        &self,
        compute_cluster: &str,
        region: &str,
        zone: &str,
    ) -> Result<MachinePlace, Problem> {
        let shared = lock(&self.places).entry(compute_cluster.to_owned()).or_default().clone();
        let read = async {
            let read = MachinePlace::read(&self.session.client, compute_cluster, region, zone).await;
            read.map_err(|error| Problem::new(Reason::new("PlaceUnknown"), chain(&error)))
        };
        let pace = self.pace;
        shared.get(read, move |answer, _| answer.is_err().then_some(pace.longest)).await
    }

    async fn run(&self, site: Site) -> Result<World<State>, Problem> {
        let unusable = |error: slipway_engine::resource::GraphError| {
            Problem::new(Reason::new("SiteUnclear"), format!("what the machines share: {error}"))
        };
        let graph = Graph::new(site.resources).map_err(unusable)?;
        // Nothing of it carries an id that a journal would have to know: each is found by its name.
        let mut journal = MemoryJournal::default();
        let platform = self.platform().platform().clone();
        let world = observe(&platform, &graph, &journal, &BTreeMap::new()).await;
        let lanes = lock(&self.lanes).clone();
        let options =
            Options { lanes, attempts: ATTEMPTS, patience: PATIENCE, ..Options::new(Timestamp::now) };
        let never = std::future::pending();
        let outcome = match apply(&platform, &graph, world, &mut journal, &Nobody, &options, never).await {
            Ok(outcome) => outcome,
            Err(never) => match never {},
        };
        match Problem::of_ends(&outcome.ends) {
            None => Ok(outcome.world),
            Some(problem) => Err(problem),
        }
    }
}

impl Drop for VCenter {
    fn drop(&mut self) {
        self.stream.abort();
    }
}

/// Machines are looked for by their ids, and several runs look together.
fn platform(session: &Session) -> Arc<Platform> {
    let client = (session.endpoint.clone(), session.client.clone());
    Arc::new(Observer::new(Arc::new(VSphere::searching(Search::Ids, [client]))))
}

/// Keeps a change stream open. Machines are not doubted because it fails: they are told of again when it is back.
async fn stream(
    session: Session,
    sessions: Sessions,
    mut followed: watch::Receiver<BTreeSet<String>>,
    news: mpsc::UnboundedSender<News>,
    trigger: Trigger,
) {
    let endpoint = &session.endpoint;
    let tell = |one: MachineNews| {
        // The controller may have ended.
        let _ = news.send((endpoint.clone(), one));
        trigger.wake();
    };
    let mut pause = FIRST_PAUSE;
    loop {
        let begun = tokio::time::Instant::now();
        match machine_feed::follow(&session.client, &mut followed, &tell).await {
            // The session or the controller has ended.
            Ok(()) => return,
            Err(error) => {
                if is_refusal(&error) {
                    sessions.refuse(&session, &chain(&error));
                    trigger.wake();
                    return;
                }
                tracing::warn!(%endpoint, error = chain(&error), "the change stream was interrupted");
            }
        }
        if begun.elapsed() > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
