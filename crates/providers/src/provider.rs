//! What a platform offers beside the engine's part: signing in, finding what belongs to a cluster, and its own words.
//!
//! [`Platform`] says how a resource is observed and changed. [`Provider`] is what installing and removing whole
//! clusters needs on top of that. A second platform implements both, and nothing above it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::ready;
use std::net::IpAddr;

use jiff::Timestamp;
use serde::Serialize;
use slipway_config::ids::InfraId;
use slipway_engine::budget::Budgets;
use slipway_engine::journal::Written;
use slipway_engine::{Endpoint, Graph, Id, Plan, Platform, Reason, Resource, World};
use thiserror::Error;
use uuid::Uuid;

use crate::text::chain;

/// What people call the endpoints of a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// `vCenter`.
    pub endpoint: &'static str,
    /// `vCenters`.
    pub endpoints: &'static str,
    /// Where the install-config names them: `platform.vsphere.vcenters`.
    pub field: &'static str,
}

/// It is not clear which of several machines is meant, or where it is.
pub const UNCLEAR: Reason = Reason::new("Unclear");

/// The user of each endpoint, or why it cannot be asked.
pub type Accounts = BTreeMap<Endpoint, Result<String, String>>;

/// Endpoints that cannot be asked, and why.
pub type Unreachable = BTreeMap<Endpoint, String>;

/// Which of the machines asked for each endpoint has, or why it cannot say.
pub type Located = BTreeMap<Endpoint, Result<BTreeSet<Uuid>, String>>;

/// A resource as people see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// What it is, in a few words: `there`, `on, 10.0.0.5`.
    pub summary: String,
    /// Whether a machine runs, where the resource says so.
    pub machine: Option<MachineView>,
}

/// A machine as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineView {
    pub on: bool,
    pub addresses: Vec<IpAddr>,
}

/// Something that was made and is not seen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotVisible {
    pub resource: Id,
    /// When it was made, or last changed.
    pub at: Timestamp,
}

impl fmt::Display for NotVisible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, created at {}, is not visible now",
            self.resource,
            self.at.strftime("%Y-%m-%d %H:%M UTC")
        )
    }
}

/// Something the journal says was made.
#[derive(Debug, Clone)]
pub struct Remembered<S> {
    pub id: Id,
    pub at: Timestamp,
    /// Its removal was begun: if it is not seen, that came true.
    pub removal: bool,
    /// How it was last. `None`: it was about to be made, and what became of that is not known.
    pub state: Option<Written<S>>,
}

impl<S> Remembered<S> {
    pub fn unseen(&self) -> NotVisible {
        NotVisible { resource: self.id.clone(), at: self.at }
    }
}

/// What the journal says was made, by endpoint.
pub type Memory<S> = BTreeMap<Endpoint, Vec<Remembered<S>>>;

/// What was made on an endpoint and was not found there.
#[derive(Debug, Default)]
pub struct Missing {
    /// It cannot be said to be gone.
    pub unseen: Vec<NotVisible>,
    /// It is there, and cannot be read.
    pub hidden: Vec<String>,
}

/// What is known of a cluster that is to go. Its directory may be lost.
#[derive(Debug)]
pub struct Search<'a, P: Provider + ?Sized> {
    pub infra_id: &'a InfraId,
    /// Ids of machines that are the cluster's, wherever they are.
    pub machines: &'a BTreeSet<Uuid>,
    /// Where to look on each endpoint.
    pub places: &'a BTreeMap<Endpoint, P::Places>,
    pub memory: &'a Memory<P::State>,
    /// Volumes of the cluster's storage driver stay.
    pub keep_volumes: bool,
}

/// What was found of a cluster.
#[derive(Debug)]
pub struct Discovery<W> {
    /// What is to go.
    pub resources: Vec<Resource<W>>,
    /// What the journal knows and an endpoint does not show.
    pub unseen: Vec<NotVisible>,
    /// What people should know before it goes.
    pub notes: Vec<String>,
}

/// What was found at one endpoint, and what is there and cannot be recognised.
pub(crate) type Scanned<W> = (Discovery<W>, Vec<String>);

impl<W> Discovery<W> {
    /// What was found on all endpoints; nothing, if one of them could not be read as a whole.
    pub(crate) fn of_all<'e, E: std::error::Error + 'static>(
        scans: impl IntoIterator<Item = (&'e Endpoint, Result<Scanned<W>, E>)>,
    ) -> Result<Self, EndpointsUnreadable> {
        let mut all = Discovery { resources: Vec::new(), unseen: Vec::new(), notes: Vec::new() };
        let mut blind = Vec::new();
        for (endpoint, scan) in scans {
            match scan {
                Ok((found, hidden)) => {
                    all.resources.extend(found.resources);
                    all.unseen.extend(found.unseen);
                    all.notes.extend(found.notes);
                    blind.extend(hidden.into_iter().map(|reason| format!("{endpoint} ({reason})")));
                }
                Err(error) => blind.push(format!("{endpoint} ({})", chain(&error))),
            }
        }
        if blind.is_empty() { Ok(all) } else { Err(EndpointsUnreadable { endpoints: blind }) }
    }
}

/// Endpoints that could not be looked at, each with its reason: `vc1 (no answer)`.
#[derive(Debug, Error)]
#[error("{} could not be read", endpoints.join(", "))]
pub struct EndpointsUnreadable {
    pub endpoints: Vec<String>,
}

/// Something that stays when a cluster goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    pub endpoint: Endpoint,
    /// `volume`, `storage policy`, or `disk`.
    pub kind: &'static str,
    /// The name of a volume or policy, the file of a disk.
    pub name: String,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kept { endpoint, kind, name } = self;
        write!(f, "{kind} {name} on {endpoint}")
    }
}

/// A machine of a cluster that is not in its files, or not where they and the journal say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Surplus {
    pub endpoint: Endpoint,
    pub name: String,
    /// Whether it runs; `None` if it could not be looked at.
    pub on: Option<bool>,
    pub origin: Origin,
    /// What its platform knows it by: the UID of its Machine, or the mark that the installer gave it.
    pub id: String,
}

/// Why a machine that is not in the files is known to be the cluster's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// It was made from files that are not there any more.
    Made,
    /// It has the id of a machine that is in the files, on another endpoint: a replica, or the rest of a move.
    SameId,
    /// It carries the cluster's tag: it was made by the cluster itself, or tagged by hand.
    Tagged,
}

/// A platform on which clusters are installed. What has a default is for platforms that have such things.
pub trait Provider:
    Platform<Desired: fmt::Debug + Clone, State: fmt::Debug, Action: fmt::Debug> + fmt::Debug
{
    const WORDS: Words;

    /// Names of kinds that earlier builds wrote into journals, and the names they have now.
    const RENAMED_KINDS: &'static [(&'static str, &'static str)] = &[];

    /// Where the objects of a cluster may be on one endpoint, beside what its marks say.
    type Places: fmt::Debug + Clone + Default + Send + Sync;

    fn endpoints(&self) -> BTreeSet<Endpoint>;

    /// Logs in everywhere at once. One endpoint that is silent costs the time of one call.
    fn log_in(&self) -> impl Future<Output = Accounts> + Send;

    /// Ends all sessions.
    fn log_out(&self) -> impl Future<Output = ()> + Send;

    /// The endpoint's own id, which stays when its name changes. `None`: it cannot be asked.
    fn instance(&self, endpoint: &Endpoint) -> impl Future<Output = Option<String>> + Send;

    /// The id of the endpoint that a state was observed on, where the state holds it.
    fn instance_in(_state: &Self::State) -> Option<&str> {
        None
    }

    /// The id of the resource that is a machine.
    fn machine_id(endpoint: &Endpoint, name: &str) -> Id;

    /// Whether a resource is a machine, or says that one runs.
    fn is_machine(id: &Id) -> bool;

    /// Whether a state is of an object of its own, which would be missed, and not of a property of another one.
    fn is_object(state: &Self::State) -> bool;

    /// A resource as people see it.
    fn view(state: &Self::State) -> View;

    /// Which of these machines the endpoints have. All are asked at once.
    fn locate(&self, endpoints: &[Endpoint], machines: &[Uuid]) -> impl Future<Output = Located> + Send;

    /// Whether an endpoint is still making machines for this user, in other tasks than those the journal knows.
    fn is_busy(
        &self,
        _endpoint: &Endpoint,
        _known_tasks: &[&str],
    ) -> impl Future<Output = Result<bool, String>> + Send {
        ready(Ok(false))
    }

    /// Which resources' tasks are over, of those that earlier runs began. What they did is seen.
    fn over(
        &self,
        _endpoint: &Endpoint,
        _tasks: &[(&Id, &str)],
    ) -> impl Future<Output = BTreeSet<Id>> + Send {
        ready(BTreeSet::new())
    }

    /// Judges each record of an endpoint by itself: that it shows one thing says nothing about another, which may be where
    /// the user may not look.
    fn missing(
        &self,
        endpoint: &Endpoint,
        records: &[Remembered<Self::State>],
    ) -> impl Future<Output = Result<Missing, Self::Error>> + Send;

    /// Everything of a cluster that is to go, on all endpoints. One that cannot be asked keeps all others from being touched
    /// too: half a cluster is harder to find again than a whole one.
    fn discover(
        &self,
        search: &Search<'_, Self>,
    ) -> impl Future<Output = Result<Discovery<Self::Desired>, EndpointsUnreadable>> + Send;

    /// What must stay as long as something else is out of observation, and why.
    fn hold_for_unseen(
        &self,
        _graph: &Graph<Self::Desired>,
        _world: &World<Self::State>,
        _unseen: &[NotVisible],
    ) -> BTreeMap<Id, String> {
        BTreeMap::new()
    }

    /// Leaves out what is optional and not allowed, and says so.
    fn without_optional(
        &self,
        _accounts: &Accounts,
        resources: Vec<Resource<Self::Desired>>,
        _notes: &mut Vec<String>,
    ) -> impl Future<Output = Vec<Resource<Self::Desired>>> + Send {
        ready(resources)
    }

    /// Why resources cannot be worked on: what the steps need is missing or not allowed. Where that cannot be told, the steps
    /// are tried.
    fn unmet(
        &self,
        _accounts: &Accounts,
        _plan: &Plan<Self::Action>,
        _world: &World<Self::State>,
    ) -> impl Future<Output = BTreeMap<Id, String>> + Send {
        ready(BTreeMap::new())
    }

    /// How much may be done at once on each endpoint. Those that cannot be reached are not asked.
    fn budgets(
        &self,
        _graph: &Graph<Self::Desired>,
        _unreachable: &Unreachable,
    ) -> impl Future<Output = Budgets> + Send {
        ready(Budgets::default())
    }

    /// What stays of all that is to go.
    fn kept(&self, _graph: &Graph<Self::Desired>, _world: &World<Self::State>) -> Vec<Kept> {
        Vec::new()
    }

    /// Ids of all clusters that have something on the endpoints, as far as that is cheap to tell: for people who mistyped one.
    /// An endpoint that cannot be asked says nothing.
    fn clusters(&self) -> impl Future<Output = BTreeSet<InfraId>> + Send {
        ready(BTreeSet::new())
    }

    /// Machines of the cluster that are not among the resources of a graph. An endpoint that cannot be asked says nothing.
    fn surplus(
        &self,
        _infra_id: &InfraId,
        _graph: &Graph<Self::Desired>,
        _memory: &Memory<Self::State>,
    ) -> impl Future<Output = Vec<Surplus>> + Send {
        ready(Vec::new())
    }
}
