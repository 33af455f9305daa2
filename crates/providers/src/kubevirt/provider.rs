//! KubeVirt as a platform on which clusters are installed.

mod discover;
mod missing;
mod surplus;

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use kube::ResourceExt;
use slipway_config::ids::{CLUSTER_MARK, InfraId, OBJECT_MARK};
use slipway_engine::{Endpoint, Graph, Id, Plan, World};
use uuid::Uuid;

use super::error::KindError;
use super::kinds::{Action, Desired, Kind, KubeVirt, State};
use crate::provider::{
    Accounts, Discovery, EndpointsUnreadable, Located, MachineView, Memory, Missing, Provider, Remembered,
    Search, Surplus, View, Words,
};
use crate::text::chain;

impl Provider for KubeVirt {
    const WORDS: Words = Words {
        endpoint: "infrastructure cluster",
        endpoints: "infrastructure cluster",
        field: "platform.kubevirt.namespace",
    };

    type Places = ();

    fn endpoints(&self) -> BTreeSet<Endpoint> {
        self.infra.keys().cloned().collect()
    }

    /// The namespace has to be there and readable too: without its id nothing can be said about what is in it.
    async fn log_in(&self) -> Accounts {
        let asked = self.infra.iter().map(|(endpoint, infra)| async move {
            let user = async {
                let user = infra.user().await?;
                infra.instance().await?;
                Ok(user)
            };
            (endpoint.clone(), user.await.map_err(|error: crate::cluster::AccessError| chain(&error)))
        });
        join_all(asked).await.into_iter().collect()
    }

    async fn log_out(&self) {}

    async fn instance(&self, endpoint: &Endpoint) -> Option<String> {
        self.infra.get(endpoint)?.instance().await.ok().map(ToOwned::to_owned)
    }

    fn instance_in(state: &State) -> Option<&str> {
        match state {
            State::Object(object) => Some(object.namespace.as_str()).filter(|id| !id.is_empty()),
            State::Power(_) => None,
        }
    }

    fn machine_id(endpoint: &Endpoint, name: &str) -> Id {
        Kind::Machine.id(endpoint, name)
    }

    fn is_machine(id: &Id) -> bool {
        Kind::Machine.is(id) || Kind::Power.is(id)
    }

    fn is_object(state: &State) -> bool {
        matches!(state, State::Object(_))
    }

    fn view(state: &State) -> View {
        let power = match state {
            State::Object(object) => {
                let summary = match (object.leaving, &object.phase, &object.progress) {
                    (true, ..) => "being deleted".to_owned(),
                    (_, Some(phase), _) if phase == "Succeeded" => "present".to_owned(),
                    (_, Some(phase), Some(progress)) => format!("{phase}, {progress}"),
                    (_, Some(phase), None) => phase.clone(),
                    (_, None, _) => "present".to_owned(),
                };
                return View { summary, machine: None };
            }
            State::Power(power) => power,
        };
        let addresses: Vec<String> = power.addresses.iter().map(ToString::to_string).collect();
        let summary = match (power.on, power.is_running(), addresses.is_empty()) {
            (false, false, _) => "off".to_owned(),
            (false, true, _) => "stopping".to_owned(),
            (true, false, _) => format!("starting: {}", power.phase.as_deref().unwrap_or("no instance yet")),
            (true, true, true) => "on, no address".to_owned(),
            (true, true, false) => format!("on, {}", addresses.join(", ")),
        };
        let machine = MachineView { on: power.is_running(), addresses: power.addresses.clone() };
        View { summary, machine: Some(machine) }
    }

    async fn locate(&self, endpoints: &[Endpoint], machines: &[Uuid]) -> Located {
        let marks: Vec<String> = machines.iter().map(ToString::to_string).collect();
        let selector = format!("{OBJECT_MARK} in ({})", marks.join(","));
        let asked = endpoints.iter().map(|endpoint| async {
            let found = async {
                let infra = self.infra(endpoint)?;
                if machines.is_empty() {
                    return Ok(BTreeSet::new());
                }
                let objects = infra.list(Kind::Machine, &selector).await?;
                let marks =
                    objects.iter().filter_map(|object| object.labels().get(OBJECT_MARK)?.parse().ok());
                Ok::<BTreeSet<Uuid>, KindError>(marks.collect())
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
        missing::missing(self.infra(endpoint)?, records).await
    }

    async fn discover(&self, search: &Search<'_, Self>) -> Result<Discovery<Desired>, EndpointsUnreadable> {
        discover::resources(self, search).await
    }

    /// What the steps need, asked once for each kind and verb.
    async fn unmet(&self, _: &Accounts, plan: &Plan<Action>, _: &World<State>) -> BTreeMap<Id, String> {
        let needs = plan.steps.iter().flat_map(|planned| {
            let needs = planned.step.privileges.iter();
            needs.map(|need| (planned.step.resource.endpoint.clone(), &*need.object, &*need.privilege))
        });
        let needs: BTreeSet<(Endpoint, &str, &str)> = needs.collect();
        let asked = needs.into_iter().map(|(endpoint, object, verb)| async move {
            let (resource, group) = object.split_once('.').unwrap_or((object, ""));
            let answer = self.infra.get(&endpoint)?.may(group, resource, verb).await;
            // Where that cannot be told, the step is tried.
            matches!(answer, Ok(false)).then_some((endpoint, object, verb))
        });
        let refused: BTreeSet<_> = join_all(asked).await.into_iter().flatten().collect();
        let mut holds: BTreeMap<Id, String> = BTreeMap::new();
        for planned in &plan.steps {
            let id = &planned.step.resource;
            for need in &planned.step.privileges {
                let (object, verb) = (&*need.object, &*need.privilege);
                if refused.contains(&(id.endpoint.clone(), object, verb)) {
                    let reason = format!("the user may not {verb} {object} in the namespace");
                    holds.insert(id.clone(), reason);
                }
            }
        }
        holds
    }

    async fn clusters(&self) -> BTreeSet<InfraId> {
        let mut clusters = BTreeSet::new();
        for infra in self.infra.values() {
            for kind in [Kind::Machine, Kind::Image] {
                let objects = infra.list(kind, CLUSTER_MARK).await.unwrap_or_default();
                let marks = objects.iter().filter_map(|object| object.labels().get(CLUSTER_MARK).cloned());
                clusters.extend(marks.filter_map(|mark| InfraId::try_from(mark).ok()));
            }
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
