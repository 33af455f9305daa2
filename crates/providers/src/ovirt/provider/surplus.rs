//! Machines of a cluster that its files do not know, or not any more.

use std::collections::BTreeSet;

use slipway_config::ids::InfraId;
use slipway_engine::Graph;

use super::discover::{Verdict, judge};
use crate::ovirt::kinds::{Desired, Kind, Ovirt, State};
use crate::ovirt::look::{by_id, power_state};
use crate::provider::{Memory, Origin, Surplus};

/// An endpoint that cannot be asked says nothing: that is told elsewhere.
pub(super) async fn find(
    platform: &Ovirt,
    infra_id: &InfraId,
    graph: &Graph<Desired>,
    memory: &Memory<State>,
) -> Vec<Surplus> {
    let mut found = BTreeSet::new();
    for (endpoint, scope) in &platform.scopes {
        let Ok(named) = scope.machines("name", &format!("{infra_id}-*")).await else { continue };
        let Ok(tagged) = scope.machines("tag", infra_id.as_str()).await else { continue };
        for machine in by_id(named.into_iter().chain(tagged)).values() {
            let Verdict::Ours(desired) = judge(infra_id, machine) else { continue };
            let id = Kind::Machine.id(endpoint, &desired.name);
            if graph.get(&id).is_some() {
                continue;
            }
            let was_made = memory.get(endpoint).is_some_and(|all| all.iter().any(|one| one.id == id));
            found.insert(Surplus {
                endpoint: endpoint.clone(),
                name: desired.name,
                on: Some(!power_state(machine).is_down()),
                origin: if was_made { Origin::Made } else { Origin::Tagged },
                id: desired.mark.to_string(),
            });
        }
    }
    found.into_iter().collect()
}
