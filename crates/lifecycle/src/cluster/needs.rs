//! Which privileges the steps need: those of a plan for an empty estate, and of the plan that would remove it again.

use std::path::PathBuf;
use std::sync::Arc;

use slipway_assets::Identity;
use slipway_config::install_config::{InstallConfig, Platform};
use slipway_engine::plan::foresee;
use slipway_engine::{Goal, Graph, Resource, Sight, Step, World};
use slipway_providers::vsphere::kinds::{Action, Image, Source, State, VSphere, Wanted};
use slipway_providers::vsphere::machines::Provisioning;

use super::bare;
use super::blueprint::{Blueprint, Files};
use super::residence::Homes;
use super::wanted;
use crate::preflight::needs::Need;

/// What is left out without a rule that keeps machines apart.
const APART: &str = "control-plane machines will not be kept on different hosts";

/// What creating and destroying the cluster needs. `exists` says whether there is a folder at a path already.
pub(crate) fn of(config: &InstallConfig, identity: Identity, exists: &dyn Fn(&str) -> bool) -> Vec<Need> {
    let Platform::VSphere(vsphere) = &config.platform else { return Vec::new() };
    let cluster = bare(config, identity);
    // Nothing is asked of machines that others make.
    let Ok(tree) = slipway_assets::manifests(&cluster) else { return Vec::new() };
    let Ok(blueprint) = Blueprint::read(Files::Made(&tree), &cluster) else { return Vec::new() };
    let image = vsphere.os_image.as_ref().map(|image| {
        let url = image.url.public();
        let name = url.split('?').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        Arc::new(Image { path: PathBuf::from(name), provisioning: Provisioning::Thin })
    });
    let infra_id = &cluster.identity.infra_id;
    let resources = wanted::resources(&blueprint, &Homes::new(), infra_id, image.as_ref());
    let platform = VSphere::new([]);
    let mut world = World::default();
    for resource in &resources {
        world.set(resource.id.clone(), Sight::Known(before(resource, exists)));
    }
    let Ok(up) = Graph::new(resources.clone()) else { return Vec::new() };
    let (created, world) = foresee(&platform, &up, &world, |_, _| None);
    let down = resources.into_iter().map(|resource| Resource { goal: Goal::Absent, ..resource });
    let Ok(down) = Graph::new(down.collect()) else { return Vec::new() };
    let (destroyed, _) = foresee(&platform, &down, &world, |_, _| None);
    let steps = created.steps.into_iter().chain(destroyed.steps).map(|planned| planned.step);
    let mut needs: Vec<Need> = steps.flat_map(|step| of_step(&step)).collect();
    needs.sort();
    needs.dedup();
    needs
}

/// What is there before anything is made.
fn before(resource: &Resource<Wanted>, exists: &dyn Fn(&str) -> bool) -> Option<State> {
    match &resource.wanted {
        Wanted::Template(template) if matches!(template.source, Source::Existing { .. }) => {
            Some(State::Machine {
                moref: String::new(),
                uuid: String::new(),
                tagged: false,
                template: true,
                grouped: false,
                disks: Vec::new(),
                volumes: Vec::new(),
                finished: true,
            })
        }
        Wanted::Folder(folder) if exists(&folder.path) => {
            Some(State::Folder { moref: String::new(), tagged: false, strangers: Vec::new() })
        }
        _ => None,
    }
}

fn of_step(step: &Step<Action>) -> Vec<Need> {
    let left_out = (&*step.resource.kind == "apart").then(|| APART.to_owned());
    let need = |need: &slipway_engine::Need| Need {
        endpoint: step.resource.endpoint.to_string(),
        object: need.object.to_string(),
        privilege: need.privilege.to_string(),
        step: purpose(step.action, &step.resource.kind).to_owned(),
        left_out: left_out.clone(),
    };
    step.needs.iter().map(need).collect()
}

/// What steps like this one are for: the end of a sentence that starts with "needed to".
fn purpose(action: Action, kind: &str) -> &'static str {
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
        Action::PowerOn | Action::AwaitAddress => "start machines",
        Action::PowerOff => "stop machines",
        Action::DetachVolumes | Action::Destroy => "remove machines",
        Action::DeleteVolumes | Action::DeletePolicy => "remove what the storage driver made",
        Action::AddRule | Action::EditRule | Action::RemoveRule if kind == "apart" => {
            "keep control-plane machines on different hosts"
        }
        Action::JoinGroup | Action::AddRule | Action::EditRule | Action::RemoveRule => {
            "bind machines to a group of hosts"
        }
    }
}
