//! From the machines in the files to everything that has to be there for them.

use slipway_config::ids::InfraId;
use slipway_engine::{Cause, Endpoint, Goal, Id, Resource};
use slipway_providers::ovirt::kinds::{Desired, Kind, Spec, id_of};
use slipway_providers::provider::UNCLEAR;
use uuid::Uuid;

use super::blueprint::{Blueprint, BlueprintMachine};
use crate::install::{MachineLocation, MachineLocations};

/// Of what could start, the bootstrap machine goes first.
const FIRST: u8 = 1;
const LATER: u8 = 2;

/// Everything that has to be there: the tag, the affinity groups, and the machines.
pub(super) fn resources(
    blueprint: &Blueprint,
    endpoint: &Endpoint,
    infra_id: &InfraId,
    locations: &MachineLocations,
) -> Vec<Resource<Desired>> {
    let mut resources = Vec::new();
    let make = |kind: Kind, name: &str, mark: Uuid, spec: Option<Spec>| {
        let (name, infra_id) = (name.to_owned(), infra_id.clone());
        let desired = Desired { kind, name, infra_id, mark, spec, found: None };
        resource(endpoint, desired, Vec::new(), FIRST)
    };
    if let Some(mark) = blueprint.tag {
        resources.push(make(Kind::Tag, infra_id.as_str(), mark, None));
    }
    for group in &blueprint.groups {
        let spec = Some(Spec::Group(group.spec.clone()));
        resources.push(make(Kind::AffinityGroup, &group.name, group.mark, spec));
    }
    let tag: Vec<Id> = resources.iter().take(1).map(|resource| resource.id.clone()).collect();
    let groups: Vec<Id> = resources.iter().skip(1).map(|resource| resource.id.clone()).collect();
    for machine in &blueprint.machines {
        let place = locations.get(&machine.name).unwrap_or(&MachineLocation::Planned);
        let (_, hold) = place.endpoint(endpoint);
        let hold = hold.map(|message| Cause::new(UNCLEAR, message));
        let joins = |group: &&Id| machine.spec.groups.iter().any(|name| *group.name == **name);
        let needs = tag.iter().chain(groups.iter().filter(joins)).cloned().collect();
        let [there, power] = of_machine(machine, endpoint, infra_id);
        resources.push(Resource { depends_on: needs, hold: hold.clone(), ..there });
        resources.push(Resource { hold, ..power });
    }
    resources
}

/// A machine that is to go.
pub(super) fn going(
    machine: &BlueprintMachine,
    endpoint: &Endpoint,
    infra_id: &InfraId,
    hold: Option<&Cause>,
) -> Vec<Resource<Desired>> {
    let absent = |resource: Resource<Desired>| Resource {
        goal: Goal::Absent,
        desired: Desired { spec: None, ..resource.desired },
        hold: hold.cloned(),
        ..resource
    };
    of_machine(machine, endpoint, infra_id).map(absent).into()
}

/// The machine, and that it runs.
fn of_machine(machine: &BlueprintMachine, endpoint: &Endpoint, infra_id: &InfraId) -> [Resource<Desired>; 2] {
    let BlueprintMachine { name, mark, is_bootstrap, spec } = machine;
    let rank = if *is_bootstrap { FIRST } else { LATER };
    let desired = Desired {
        kind: Kind::Machine,
        name: name.clone(),
        infra_id: infra_id.clone(),
        mark: *mark,
        spec: Some(Spec::Machine(Box::new(spec.clone()))),
        found: None,
    };
    let power = Desired { kind: Kind::Power, spec: None, ..desired.clone() };
    let there = resource(endpoint, desired, Vec::new(), rank);
    let power = resource(endpoint, power, vec![there.id.clone()], rank);
    [there, power]
}

fn resource(endpoint: &Endpoint, desired: Desired, depends_on: Vec<Id>, rank: u8) -> Resource<Desired> {
    let id = id_of(endpoint, &desired);
    Resource { id, goal: Goal::Present, desired, depends_on, rank, hold: None }
}
