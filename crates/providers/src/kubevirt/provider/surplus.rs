//! Machines of a cluster that its files do not know, or not any more.

use std::collections::BTreeSet;

use kube::ResourceExt;
use slipway_config::ids::{CLUSTER_MARK, InfraId, OBJECT_MARK};
use slipway_engine::Graph;

use crate::kubevirt::kinds::{Desired, Kind, KubeVirt, State};
use crate::kubevirt::look::power_state;
use crate::provider::{Memory, Origin, Surplus};

/// An endpoint that cannot be asked says nothing: that is told elsewhere.
pub(super) async fn find(
    platform: &KubeVirt,
    infra_id: &InfraId,
    graph: &Graph<Desired>,
    memory: &Memory<State>,
) -> Vec<Surplus> {
    let kinds = BTreeSet::from([Kind::Machine, Kind::Instance]);
    let selector = format!("{CLUSTER_MARK}={infra_id}");
    let mut found = BTreeSet::new();
    for (endpoint, infra) in &platform.infra {
        let Ok(listed) = infra.list_all(&kinds, &selector).await else { continue };
        let of = |kind: Kind| listed.get(&kind).map(Vec::as_slice).unwrap_or_default();
        for machine in of(Kind::Machine) {
            let name = machine.name_any();
            let id = Kind::Machine.id(endpoint, &name);
            if graph.get(&id).is_some() {
                continue;
            }
            let was_made = memory.get(endpoint).is_some_and(|all| all.iter().any(|one| one.id == id));
            let origin = if was_made { Origin::Made } else { Origin::Tagged };
            let instance = of(Kind::Instance).iter().find(|instance| instance.name_any() == name);
            let on = Some(power_state(machine, instance).phase.is_some());
            let id = machine.labels().get(OBJECT_MARK).cloned().unwrap_or_default();
            found.insert(Surplus { endpoint: endpoint.clone(), name, on, origin, id });
        }
    }
    found.into_iter().collect()
}
