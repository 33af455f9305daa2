//! From the machines in the files to everything that has to be there for them.

use slipway_config::ids::InfraId;
use slipway_engine::{Cause, Endpoint, Goal, Id, Resource};
use slipway_providers::kubevirt::kinds::{Desired, Kind, id_of};
use slipway_providers::provider::UNCLEAR;

use super::blueprint::{Blueprint, BlueprintMachine, Part};
use crate::install::{MachineLocation, MachineLocations};

/// Of what could start, the bootstrap machine goes first.
const FIRST: u8 = 1;
const LATER: u8 = 2;

/// Everything that has to be there: the image, what machines boot from, and the machines.
pub(super) fn resources(
    blueprint: &Blueprint,
    endpoint: &Endpoint,
    infra_id: &InfraId,
    locations: &MachineLocations,
) -> Vec<Resource<Desired>> {
    let image = blueprint.image.as_ref().map(|image| of_part(Kind::Image, image, infra_id));
    let image = image.map(|desired| resource(endpoint, desired, Vec::new(), FIRST));
    let image_id: Vec<Id> = image.iter().map(|image| image.id.clone()).collect();
    let mut resources: Vec<Resource<Desired>> = image.into_iter().collect();
    for machine in &blueprint.machines {
        let place = locations.get(&machine.name).unwrap_or(&MachineLocation::Planned);
        let (_, hold) = place.endpoint(endpoint);
        let hold = hold.map(|message| Cause::new(UNCLEAR, message));
        let [secret, there, power] = of_machine(machine, endpoint, infra_id);
        let needs = image_id.iter().cloned().chain([secret.id.clone()]).collect();
        resources.push(secret);
        resources.push(Resource { depends_on: needs, hold: hold.clone(), ..there });
        resources.push(Resource { hold, ..power });
    }
    resources
}

/// A machine that is to go, and what it booted from.
pub(super) fn going(
    machine: &BlueprintMachine,
    endpoint: &Endpoint,
    infra_id: &InfraId,
    hold: Option<&Cause>,
) -> Vec<Resource<Desired>> {
    let [secret, there, power] = of_machine(machine, endpoint, infra_id);
    let disk = of_part(Kind::Disk, &machine.disk, infra_id);
    let disk = resource(endpoint, disk, Vec::new(), FIRST);
    let needs = vec![secret.id.clone(), disk.id.clone()];
    let there = Resource { depends_on: needs, ..there };
    let absent = |resource: Resource<Desired>| Resource {
        goal: Goal::Absent,
        desired: Desired { manifest: None, ..resource.desired },
        hold: hold.cloned(),
        ..resource
    };
    [secret, disk, there, power].map(absent).into()
}

/// What it boots from, the machine, and that it runs.
fn of_machine(machine: &BlueprintMachine, endpoint: &Endpoint, infra_id: &InfraId) -> [Resource<Desired>; 3] {
    let BlueprintMachine { name, mark, is_bootstrap, manifest, secret, .. } = machine;
    let rank = if *is_bootstrap { FIRST } else { LATER };
    let secret = resource(endpoint, of_part(Kind::Secret, secret, infra_id), Vec::new(), rank);
    let desired = Desired {
        kind: Kind::Machine,
        name: name.clone(),
        infra_id: infra_id.clone(),
        mark: *mark,
        manifest: Some(manifest.clone()),
    };
    let power = Desired { kind: Kind::Power, manifest: None, ..desired.clone() };
    let there = resource(endpoint, desired, Vec::new(), rank);
    let power = resource(endpoint, power, vec![there.id.clone()], rank);
    [secret, there, power]
}

fn of_part(kind: Kind, part: &Part, infra_id: &InfraId) -> Desired {
    let Part { name, mark, manifest } = part.clone();
    Desired { kind, name, infra_id: infra_id.clone(), mark, manifest }
}

fn resource(endpoint: &Endpoint, desired: Desired, depends_on: Vec<Id>, rank: u8) -> Resource<Desired> {
    let id = id_of(endpoint, &desired);
    Resource { id, goal: Goal::Present, desired, depends_on, rank, hold: None }
}
