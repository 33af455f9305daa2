//! vSphere as a platform on which clusters are installed.
//!
//! | module | what it holds |
//! |---|---|
//! | `discover` | what a cluster has left on its vCenters, to be removed |
//! | `kept` | what stays when a cluster goes |
//! | `missing` | what was made beside what is found |
//! | `optional` | rules that may be left out |
//! | `privileges` | whether what the steps need is there and allowed |
//! | `surplus` | machines that a cluster's files do not know, or not any more |

mod discover;
mod kept;
mod missing;
mod optional;
mod privileges;
mod surplus;

use std::collections::{BTreeMap, BTreeSet};

use slipway_config::ids::InfraId;
use slipway_engine::budget::Budgets;
use slipway_engine::{Endpoint, Graph, Id, Plan, Resource, World};
use uuid::Uuid;

pub use self::discover::Places;
use super::kinds::{Action, Desired, Kind, KindError, State, VSphere};
use crate::provider::{
    Accounts, Discovery, EndpointsUnreadable, Kept, Located, MachineView, Memory, Missing, NotVisible,
    Provider, Remembered, Search, Surplus, Unreachable, View, Words,
};

impl Provider for VSphere {
    const WORDS: Words =
        Words { endpoint: "vCenter", endpoints: "vCenters", field: "platform.vsphere.vcenters" };

    const RENAMED_KINDS: &'static [(&'static str, &'static str)] = Kind::RENAMED;

    type Places = Places;

    fn endpoints(&self) -> BTreeSet<Endpoint> {
        self.endpoints()
    }

    async fn log_in(&self) -> Accounts {
        self.whoami().await
    }

    async fn log_out(&self) {
        self.logout().await;
    }

    async fn instance(&self, endpoint: &Endpoint) -> Option<String> {
        self.instance(endpoint).await
    }

    fn instance_in(state: &State) -> Option<&str> {
        match state {
            State::Tag { vcenter, .. } => Some(vcenter.as_str()).filter(|id| !id.is_empty()),
            _ => None,
        }
    }

    fn machine_id(endpoint: &Endpoint, name: &str) -> Id {
        Kind::Machine.id(endpoint, name)
    }

    fn is_machine(id: &Id) -> bool {
        Kind::Machine.is(id) || Kind::Power.is(id)
    }

    fn is_object(state: &State) -> bool {
        matches!(
            state,
            State::Tag { tag: Some(_), .. } | State::Folder { .. } | State::Machine(_) | State::Rule { .. }
        )
    }

    fn view(state: &State) -> View {
        let State::Power { on, addresses, .. } = state else {
            return View { summary: "present".to_owned(), machine: None };
        };
        let summary = match (on, &addresses[..]) {
            (false, _) => "off".to_owned(),
            (true, []) => "on, no address".to_owned(),
            (true, addresses) => {
                let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                format!("on, {}", addresses.join(", "))
            }
        };
        View { summary, machine: Some(MachineView { on: *on, addresses: addresses.clone() }) }
    }

    async fn locate(&self, endpoints: &[Endpoint], machines: &[Uuid]) -> Located {
        self.locate(endpoints, machines).await
    }

    async fn is_busy(&self, endpoint: &Endpoint, known_tasks: &[&str]) -> Result<bool, String> {
        self.is_copying(endpoint, known_tasks).await
    }

    async fn over(&self, endpoint: &Endpoint, tasks: &[(&Id, &str)]) -> BTreeSet<Id> {
        self.over(endpoint, tasks).await
    }

    async fn missing(
        &self,
        endpoint: &Endpoint,
        records: &[Remembered<State>],
    ) -> Result<Missing, KindError> {
        match self.client(endpoint) {
            Some(client) => Ok(missing::missing(client, records, &BTreeSet::new(), false).await?),
            None => Err(KindError::NoVCenter(endpoint.to_string())),
        }
    }

    async fn discover(&self, search: &Search<'_, Self>) -> Result<Discovery<Desired>, EndpointsUnreadable> {
        discover::resources(self, search).await
    }

    fn hold_for_unseen(
        &self,
        graph: &Graph<Desired>,
        world: &World<State>,
        unseen: &[NotVisible],
    ) -> BTreeMap<Id, String> {
        discover::holds(graph, world, unseen)
    }

    async fn without_optional(
        &self,
        accounts: &Accounts,
        resources: Vec<Resource<Desired>>,
        notes: &mut Vec<String>,
    ) -> Vec<Resource<Desired>> {
        optional::without_forbidden(self, accounts, resources, notes).await
    }

    async fn unmet(
        &self,
        accounts: &Accounts,
        plan: &Plan<Action>,
        world: &World<State>,
    ) -> BTreeMap<Id, String> {
        privileges::holds(self, accounts, plan, world).await
    }

    async fn budgets(&self, graph: &Graph<Desired>, unreachable: &Unreachable) -> Budgets {
        self.budgets(graph, unreachable).await
    }

    fn kept(&self, graph: &Graph<Desired>, world: &World<State>) -> Vec<Kept> {
        kept::kept(graph, world)
    }

    async fn clusters(&self) -> BTreeSet<InfraId> {
        discover::clusters(self).await
    }

    async fn surplus(
        &self,
        infra_id: &InfraId,
        graph: &Graph<Desired>,
        memory: &Memory<State>,
    ) -> Vec<Surplus> {
        surplus::find(self, infra_id, graph, memory).await
    }
}
