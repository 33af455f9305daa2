//! Which privileges the steps need: those of a plan for an empty estate, and of the plan that would remove it again.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use slipway_assess::vsphere::preflight::needs::NeededPrivilege;
use slipway_assets::Named;
use slipway_config::install_config::Platform;
use slipway_engine::journal::MemoryJournal;
use slipway_engine::plan::foresee;
use slipway_engine::resource::GraphError;
use slipway_engine::{Goal, Graph, Id, Observation, Resource, Step, World};
use slipway_providers::vsphere::kinds::{Action, Desired, Image, Kind, MachineState, Source, State, VSphere};
use slipway_providers::vsphere::machines::Provisioning;

use super::blueprint::Blueprint;
use super::desired;
use crate::install::MachineLocations;

/// What is left out without a rule that keeps machines apart.
const APART: &str = "control-plane machines will not be kept on different hosts";

/// What creating and destroying these machines needs. `exists` says whether there is a folder at a path already.
pub(crate) fn of(
    named: &Named,
    blueprint: &Blueprint,
    exists: &dyn Fn(&str) -> bool,
) -> Result<Vec<NeededPrivilege>, GraphError> {
    let image = match &named.config.platform {
        Platform::VSphere(vsphere) => vsphere.os_image.as_ref(),
        _ => None,
    };
    let image = image.map(|image| {
        let url = image.url.public();
        let name = url.split('?').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        Arc::new(Image { path: PathBuf::from(name), provisioning: Provisioning::Thin })
    });
    let infra_id = &named.identity.infra_id;
    let resources = desired::resources(blueprint, &MachineLocations::new(), infra_id, image.as_ref());
    let platform = VSphere::new([]);
    let (empty, recreate) = (MemoryJournal::default(), BTreeSet::new());
    let mut world = World::default();
    for resource in &resources {
        world.set(resource.id.clone(), Observation::Known(before(resource, exists)));
    }
    let (created, world) = foresee(&platform, &Graph::new(resources.clone())?, &world, &empty, &recreate);
    let down = resources.into_iter().map(|resource| Resource { goal: Goal::Absent, ..resource });
    let (destroyed, _) = foresee(&platform, &Graph::new(down.collect())?, &world, &empty, &recreate);
    let steps = created.steps.into_iter().chain(destroyed.steps).map(|planned| planned.step);
    let mut needs: Vec<NeededPrivilege> = steps.flat_map(|step| of_step(&step)).collect();
    needs.sort();
    needs.dedup();
    Ok(needs)
}

/// What is there before anything is made.
fn before(resource: &Resource<Desired>, exists: &dyn Fn(&str) -> bool) -> Option<State> {
    match &resource.desired {
        Desired::Template(template) if matches!(template.source, Source::Existing { .. }) => {
            Some(State::Machine(MachineState::existing_template(String::new())))
        }
        Desired::Folder(folder) if exists(&folder.path) => {
            Some(State::Folder { moref: String::new(), tagged: false, strangers: Vec::new() })
        }
        _ => None,
    }
}

fn of_step(step: &Step<Action>) -> Vec<NeededPrivilege> {
    let left_out = Kind::AntiAffinityRule.is(&step.resource).then(|| APART.to_owned());
    let need = |need: &slipway_engine::RequiredPrivilege| NeededPrivilege {
        endpoint: step.resource.endpoint.to_string(),
        object: need.object.to_string(),
        privilege: need.privilege.to_string(),
        step: purpose(step.action, &step.resource).to_owned(),
        left_out: left_out.clone(),
    };
    step.privileges.iter().map(need).collect()
}

/// What steps like this one are for: the end of a sentence that starts with "needed to".
fn purpose(action: Action, id: &Id) -> &'static str {
    match action {
        Action::CreateCategory | Action::CreateTag => "create the cluster's tag",
        Action::DeleteTag | Action::DeleteCategory => {
            "remove the cluster's tag when the cluster is destroyed"
        }
        Action::CreateFolder => "create the folder of the machines",
        Action::RemoveFolder => "remove the folder when the cluster is destroyed",
        Action::Import => "import the image of the operating system",
        Action::CopyTemplate => "copy the template to the other failure domains",
        Action::Clone => "clone machines from the template",
        Action::AttachTag => "tag what belongs to the cluster",
        Action::PowerOn => "start machines",
        Action::PowerOff => "stop machines",
        Action::DetachVolumes | Action::Destroy => "remove machines",
        Action::DeleteVolumes | Action::DeletePolicy => "remove what the storage driver made",
        Action::AddRule | Action::EditRule | Action::RemoveRule if Kind::AntiAffinityRule.is(id) => {
            "keep control-plane machines on different hosts"
        }
        Action::JoinGroup | Action::AddRule | Action::EditRule | Action::RemoveRule => {
            "bind machines to a group of hosts"
        }
    }
}
