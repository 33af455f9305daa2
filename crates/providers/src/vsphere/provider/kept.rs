//! What stays when a cluster goes, so that people know where to find it.

use std::collections::BTreeSet;

use slipway_engine::{Endpoint, Goal, Graph, Observation, World};

use crate::provider::Kept;
use crate::vsphere::kinds::{Desired, ForeignDisk, MachineState, State};

/// What stays of all that is to go, as it was seen before.
pub(super) fn kept(graph: &Graph<Desired>, world: &World<State>) -> Vec<Kept> {
    let going = graph.iter().filter(|resource| resource.goal == Goal::Absent);
    let observed: Vec<(&Endpoint, &Desired, State)> = going
        .filter_map(|resource| match world.get(&resource.id) {
            Observation::Known(Some(state)) => Some((&resource.id.endpoint, &resource.desired, state)),
            _ => None,
        })
        .collect();
    // A disk that was detached may be a volume that goes afterwards, or one that is kept by its name.
    let volumes: BTreeSet<&str> = observed
        .iter()
        .filter_map(|(_, _, state)| match state {
            State::Volumes { ids, .. } => Some(ids.iter().map(String::as_str)),
            _ => None,
        })
        .flatten()
        .collect();
    let mut kept = BTreeSet::new();
    for (endpoint, desired, state) in &observed {
        let mut keep = |kind: &'static str, name: &str| {
            kept.insert(Kept { endpoint: (*endpoint).clone(), kind, name: name.to_owned() });
        };
        match (desired, state) {
            (Desired::Volumes(volumes), state) => volumes.kept(state).for_each(|name| keep("volume", name)),
            (Desired::Policy(policy), state) if policy.stays(state) => keep("storage policy", &policy.name),
            (Desired::Machine(_), State::Machine(MachineState { foreign_disks, .. })) => {
                for ForeignDisk { file, volume } in foreign_disks {
                    if !volume.as_ref().is_some_and(|id| volumes.contains(id.as_str())) {
                        keep("disk", file);
                    }
                }
            }
            _ => {}
        }
    }
    kept.into_iter().collect()
}
