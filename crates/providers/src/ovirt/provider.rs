//! oVirt as a platform on which clusters are installed.

mod discover;
mod missing;
mod surplus;

use std::collections::BTreeSet;

use futures_util::future::join_all;
use slipway_config::ids::InfraId;
use slipway_engine::{Endpoint, Graph, Id, World};
use uuid::Uuid;

use super::error::Error;
use super::kinds::{Desired, Kind, KindError, Ovirt, State};
use super::read::{marks_in, text};
use crate::provider::{
    Accounts, Discovery, EndpointsUnreadable, Kept, Located, MachineView, Memory, Missing, Provider,
    Remembered, Search, Surplus, View, Words,
};
use crate::text::chain;

impl Provider for Ovirt {
    const WORDS: Words = Words {
        endpoint: "oVirt engine",
        endpoints: "oVirt engine",
        field: "platform.ovirt.ovirt_cluster_id",
    };

    type Places = ();

    fn endpoints(&self) -> BTreeSet<Endpoint> {
        self.scopes.keys().cloned().collect()
    }

    /// The cluster has to be there and visible too: without it nothing can be said about what is in it.
    async fn log_in(&self) -> Accounts {
        let asked = self.scopes.iter().map(|(endpoint, scope)| async move {
            let user = scope.cluster().await.map(|_| scope.client.user().to_owned());
            (endpoint.clone(), user.map_err(|error| with_hint(&error)))
        });
        join_all(asked).await.into_iter().collect()
    }

    async fn log_out(&self) {
        join_all(self.scopes.values().map(|scope| scope.client.log_out())).await;
    }

    /// The id of the cluster that machines are in: engines have no id of their own, and another engine has other clusters.
    async fn instance(&self, endpoint: &Endpoint) -> Option<String> {
        self.scopes.get(endpoint)?.cluster().await.ok().map(|cluster| cluster.id.clone())
    }

    fn instance_in(state: &State) -> Option<&str> {
        state.object().map(|object| object.cluster.as_str()).filter(|id| !id.is_empty())
    }

    fn machine_id(endpoint: &Endpoint, name: &str) -> Id {
        Kind::Machine.id(endpoint, name)
    }

    fn is_machine(id: &Id) -> bool {
        Kind::Machine.is(id) || Kind::Power.is(id)
    }

    fn is_object(state: &State) -> bool {
        state.object().is_some()
    }

    fn view(state: &State) -> View {
        let summary = match state {
            State::Group(group) if group.enforcing => "present, enforcing".to_owned(),
            State::Group(_) => "present, a preference".to_owned(),
            State::Machine(machine) if machine.status == "image_locked" => "locked".to_owned(),
            State::Tag(_) | State::Machine(_) => "present".to_owned(),
            State::Power(power) => {
                let addresses: Vec<String> = power.addresses.iter().map(ToString::to_string).collect();
                let summary = match (&*power.status, addresses.is_empty()) {
                    ("down", _) => "off".to_owned(),
                    ("up", true) => "on, no address".to_owned(),
                    ("up", false) => format!("on, {}", addresses.join(", ")),
                    (status, _) => status.to_owned(),
                };
                let machine = MachineView { on: !power.is_down(), addresses: power.addresses.clone() };
                return View { summary, machine: Some(machine) };
            }
        };
        View { summary, machine: None }
    }

    async fn locate(&self, endpoints: &[Endpoint], machines: &[Uuid]) -> Located {
        let asked = endpoints.iter().map(|endpoint| async {
            let found = async {
                if machines.is_empty() {
                    return Ok(BTreeSet::new());
                }
                let objects = self.scope(endpoint)?.machines("name", &format!("{}-*", self.infra_id)).await?;
                let marks = objects.iter().filter_map(|machine| marks_in(&text(machine, "/comment")));
                let ours = marks.filter(|(infra_id, _)| *infra_id == self.infra_id).map(|(_, mark)| mark);
                Ok::<BTreeSet<Uuid>, KindError>(ours.filter(|mark| machines.contains(mark)).collect())
            };
            (endpoint.clone(), found.await.map_err(|error| chain(&error)))
        });
        join_all(asked).await.into_iter().collect()
    }

    async fn missing(
        &self,
        endpoint: &Endpoint,
        records: &[Remembered<State>],
    ) -> Result<Missing, KindError> {
        missing::missing(self.scope(endpoint)?, records).await
    }

    async fn discover(&self, search: &Search<'_, Self>) -> Result<Discovery<Desired>, EndpointsUnreadable> {
        discover::resources(self, search).await
    }

    /// Disks that were detached, or will be.
    fn kept(&self, graph: &Graph<Desired>, world: &World<State>) -> Vec<Kept> {
        let mut kept = BTreeSet::new();
        for resource in graph.iter() {
            let seen = world.get(&resource.id);
            let Some(State::Machine(machine)) = seen.state() else { continue };
            for disk in &machine.guests {
                let endpoint = resource.id.endpoint.clone();
                kept.insert(Kept { endpoint, kind: "disk", name: disk.name.clone() });
            }
        }
        kept.into_iter().collect()
    }

    /// The marks of tags say it.
    async fn clusters(&self) -> BTreeSet<InfraId> {
        let mut clusters = BTreeSet::new();
        for scope in self.scopes.values() {
            let tags = scope.tags().await.unwrap_or_default();
            let marks = tags.iter().filter_map(|tag| marks_in(&text(tag, "/description")));
            clusters.extend(marks.map(|(infra_id, _)| infra_id));
        }
        clusters
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

/// An error, and what can be done about it.
fn with_hint(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{}; {hint}", chain(error)),
        None => chain(error),
    }
}
