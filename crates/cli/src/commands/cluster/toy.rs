//! A platform in memory: two sites, three kinds of things, and sites that are down on request. All that a platform needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use slipway_engine::platform::Query;
use slipway_engine::{
    Cause, Context, Endpoint, Failure, Goal, Id, Next, Observation, Observed, Platform, Reason, Resource,
    Severity, Step,
};
use slipway_lifecycle::install::MachineLocations;
use slipway_lifecycle::platform::{ClusterSpec, PlannedMachine};
use slipway_lifecycle::preflight::Options;
use slipway_lifecycle::preflight::inspect::{Answer, Inspect, Target};
use slipway_lifecycle::preflight::report::{Check, Finding};
use slipway_providers::provider::{
    Accounts, Discovery, EndpointsUnreadable, Located, MachineView, Missing, Provider, Remembered, Search,
    View, Words,
};
use uuid::Uuid;

const SITES: [&str; 2] = ["east", "west"];
const MACHINES: [(&str, &str); 3] = [("bootstrap", "east"), ("m-0", "east"), ("m-1", "west")];

/// A thing on a site: a network, a machine, or that a machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Thing {
    Network,
    Machine,
    Running,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Act {
    Make,
    Remove,
}

#[derive(Debug, thiserror::Error)]
#[error("{0} is down")]
pub(super) struct Down(Endpoint);

impl Failure for Down {
    fn severity(&self) -> Severity {
        Severity::Unreachable
    }

    fn reason(&self) -> Reason {
        Reason::UNREACHABLE
    }
}

#[derive(Debug, Default)]
pub(super) struct Sites {
    pub(super) things: BTreeMap<Id, Thing>,
    /// How often each was made.
    pub(super) made: BTreeMap<Id, u32>,
    pub(super) down: BTreeSet<Endpoint>,
    pub(super) full: BTreeSet<Endpoint>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Toy(Arc<Mutex<Sites>>);

impl Toy {
    pub(super) fn sites(&self) -> MutexGuard<'_, Sites> {
        self.0.lock().unwrap()
    }

    fn ask(&self, endpoint: &Endpoint) -> Result<MutexGuard<'_, Sites>, Down> {
        let sites = self.sites();
        if sites.down.contains(endpoint) { Err(Down(endpoint.clone())) } else { Ok(sites) }
    }
}

impl Thing {
    pub(super) fn id(self, site: &str, name: &str) -> Id {
        let kind = match self {
            Thing::Network => "network",
            Thing::Machine => "machine",
            Thing::Running => "power",
        };
        Id::new(&Endpoint::from(site), kind, name)
    }

    fn resource(self, site: &str, name: &str, goal: Goal, hold: Option<Cause>) -> Resource<Thing> {
        let needs = match self {
            Thing::Network => Vec::new(),
            Thing::Machine => vec![Thing::Network.id(site, "net")],
            Thing::Running => vec![Thing::Machine.id(site, name)],
        };
        Resource { id: self.id(site, name), goal, desired: self, depends_on: needs, rank: 1, hold }
    }
}

fn uuid(name: &str) -> Uuid {
    Uuid::from_u128(name.bytes().map(u128::from).sum())
}

impl Platform for Toy {
    type Desired = Thing;
    type State = Thing;
    type Action = Act;
    type Error = Down;

    fn next(&self, resource: &Resource<Thing>, observed: &Observed<Thing>) -> Next<Act> {
        let (action, verb) = match (resource.goal, observed.own) {
            (Goal::Present, None) => (Act::Make, "make"),
            (Goal::Absent, Some(_)) => (Act::Remove, "remove"),
            _ => return Next::Done,
        };
        Next::Step(Box::new(Step {
            resource: resource.id.clone(),
            action,
            verb: verb.into(),
            sentence: format!("{verb} {} `{}`", resource.id.kind, resource.id.name),
            undo: None,
            costs: Vec::new(),
            privileges: Vec::new(),
            mark: (action == Act::Make).then(|| uuid(&resource.id.name)),
            limit: Duration::from_mins(1),
        }))
    }

    fn predict(&self, resource: &Resource<Thing>, _: &Observed<Thing>, action: &Act) -> Option<Thing> {
        (*action == Act::Make).then_some(resource.desired)
    }

    async fn observe(
        &self,
        endpoint: &Endpoint,
        queries: &[Query<'_, Thing, Thing>],
    ) -> Result<Vec<Observation<Thing>>, Down> {
        let sites = self.ask(endpoint)?;
        let look = |id: &Id| Observation::Known(sites.things.get(id).copied());
        Ok(queries.iter().map(|query| look(&query.resource.id)).collect())
    }

    async fn perform(
        &self,
        resource: &Resource<Thing>,
        _: &Observed<Thing>,
        action: &Act,
        _: &Context,
    ) -> Result<Option<Thing>, Down> {
        let mut sites = self.ask(&resource.id.endpoint)?;
        if *action == Act::Remove {
            sites.things.remove(&resource.id);
            return Ok(None);
        }
        sites.things.insert(resource.id.clone(), resource.desired);
        *sites.made.entry(resource.id.clone()).or_default() += 1;
        Ok(Some(resource.desired))
    }
}

impl Provider for Toy {
    const WORDS: Words = Words { endpoint: "site", endpoints: "sites", field: "platform.toy.sites" };

    type Places = ();

    fn endpoints(&self) -> BTreeSet<Endpoint> {
        SITES.map(Endpoint::from).into()
    }

    async fn log_in(&self) -> Accounts {
        let user = |endpoint: &Endpoint| self.ask(endpoint).map(|_| "me".to_owned());
        let all = self.endpoints().into_iter();
        all.map(|endpoint| (endpoint.clone(), user(&endpoint).map_err(|error| error.to_string()))).collect()
    }

    async fn log_out(&self) {}

    async fn instance(&self, endpoint: &Endpoint) -> Option<String> {
        self.ask(endpoint).ok().map(|_| endpoint.to_string())
    }

    fn machine_id(endpoint: &Endpoint, name: &str) -> Id {
        Thing::Machine.id(endpoint.as_str(), name)
    }

    fn is_machine(id: &Id) -> bool {
        &*id.kind != "network"
    }

    fn is_object(state: &Thing) -> bool {
        *state != Thing::Running
    }

    fn view(state: &Thing) -> View {
        let machine = (*state == Thing::Running).then(|| MachineView { on: true, addresses: Vec::new() });
        View { summary: if machine.is_some() { "on" } else { "present" }.to_owned(), machine }
    }

    async fn locate(&self, endpoints: &[Endpoint], machines: &[Uuid]) -> Located {
        let found = |endpoint: &Endpoint| {
            let sites = self.ask(endpoint).map_err(|error| error.to_string())?;
            let here = sites.things.keys().filter(|id| id.endpoint == *endpoint && &*id.kind == "machine");
            Ok(here.map(|id| uuid(&id.name)).filter(|id| machines.contains(id)).collect())
        };
        endpoints.iter().map(|endpoint| (endpoint.clone(), found(endpoint))).collect()
    }

    async fn missing(&self, endpoint: &Endpoint, records: &[Remembered<Thing>]) -> Result<Missing, Down> {
        let sites = self.ask(endpoint)?;
        let lost = records.iter().filter(|one| !one.removal && !sites.things.contains_key(&one.id));
        Ok(Missing { unseen: lost.map(Remembered::unseen).collect(), hidden: Vec::new() })
    }

    async fn discover(&self, _: &Search<'_, Self>) -> Result<Discovery<Thing>, EndpointsUnreadable> {
        let things = self.sites().things.clone();
        let going = |(id, thing): (Id, Thing)| {
            let mut resource = thing.resource(id.endpoint.as_str(), &id.name, Goal::Absent, None);
            resource.depends_on.retain(|need| self.sites().things.contains_key(need));
            resource
        };
        let resources = things.into_iter().map(going).collect();
        Ok(Discovery { resources, unseen: Vec::new(), notes: Vec::new() })
    }
}

impl Inspect for Toy {
    type Session = Endpoint;
    type Observed = Option<bool>;

    fn targets(&self) -> Vec<Target> {
        SITES.map(Target::from).into()
    }

    fn connect(&self, position: usize, _: &Options) -> Result<Endpoint, Box<Finding>> {
        Ok(Endpoint::from(SITES[position]))
    }

    async fn observe(&self, _: usize, site: &Endpoint, _: &Options, room: &mut Option<bool>) -> Answer {
        let down = |why: Down| Box::new(Finding::failure(Check::Connection, site.as_str(), why.to_string()));
        *room = Some(!self.ask(site).map_err(down)?.full.contains(site));
        Ok(Some("me".to_owned()))
    }

    fn judge(&self, position: usize, room: &Option<bool>, _: &Options) -> Vec<Finding> {
        let site = SITES[position];
        let pass = || Finding::pass(Check::Storage, site, "there is room");
        let full = || Finding::failure(Check::Storage, site, "there is no room").remedy("tidy up");
        room.map(|room| if room { pass() } else { full() }).into_iter().collect()
    }
}

/// The files of a cluster: two machines, and one to start with.
#[derive(Debug, Default)]
pub(super) struct Files {
    bootstrapped: bool,
}

impl ClusterSpec for Files {
    type Provider = Toy;

    fn machines(&self) -> Vec<PlannedMachine> {
        let machine = |(name, site): (&str, &str)| PlannedMachine {
            name: name.to_owned(),
            endpoint: Endpoint::from(site),
            uuid: uuid(name),
            is_bootstrap: name == "bootstrap",
            place: "net".to_owned(),
            addresses: Vec::new(),
        };
        let all = MACHINES.into_iter().map(machine);
        all.filter(|machine| !(self.bootstrapped && machine.is_bootstrap)).collect()
    }

    fn leave_out_bootstrap(&mut self) {
        self.bootstrapped = true;
    }

    fn desired(&self, locations: &MachineLocations) -> Vec<Resource<Thing>> {
        let networks = SITES.map(|site| Thing::Network.resource(site, "net", Goal::Present, None));
        let machine = |machine: PlannedMachine| {
            let (site, _) = locations[&machine.name].endpoint(&machine.endpoint);
            [Thing::Machine, Thing::Running]
                .map(|thing| thing.resource(site.as_str(), &machine.name, Goal::Present, None))
        };
        networks.into_iter().chain(self.machines().into_iter().flat_map(machine)).collect()
    }

    fn departing(&self, machine: &str, endpoint: &Endpoint, hold: Option<Cause>) -> Vec<Resource<Thing>> {
        let going = |thing: Thing| {
            let mut resource = thing.resource(endpoint.as_str(), machine, Goal::Absent, hold.clone());
            resource.depends_on.retain(|need| &*need.kind == "machine");
            resource
        };
        [Thing::Running, Thing::Machine].map(going).into()
    }

    fn places(&self) -> BTreeMap<Endpoint, ()> {
        BTreeMap::new()
    }
}
