//! What is changed in the pods of a text.

use k8s_openapi::api::core::v1::{
    Container, EnvVar, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, PodTemplateSpec,
};

use super::{Patch, Purpose};
use crate::drivers::object::HASH_ANNOTATION;
use crate::drivers::pods::{env, pull_secrets};
use crate::drivers::settings::relocate;

/// Where the kubelet keeps its files unless the configuration says otherwise.
const KUBELET: &str = "/var/lib/kubelet";

/// No more copies than there are machines to run them.
pub(super) fn replicas(wanted: Option<i32>, patch: &Patch<'_>) -> i32 {
    let machines = i32::try_from(patch.settings.control_plane_nodes.max(1)).unwrap_or(i32::MAX);
    wanted.unwrap_or(1).min(machines)
}

/// Images, configuration, and where pods may be. `everywhere` says that there is one on each node.
pub(super) fn of_template(template: &mut PodTemplateSpec, patch: &Patch<'_>, everywhere: bool) {
    let annotations = template.metadata.get_or_insert_default().annotations.get_or_insert_default();
    annotations.insert(HASH_ANNOTATION.to_owned(), patch.hash.clone());
    let Some(spec) = template.spec.as_mut() else { return };
    for container in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        if let Some(image) = &mut container.image {
            *image = relocate(image, patch.settings.registry);
        }
    }
    let secrets = pull_secrets(patch.settings.pull_secrets).unwrap_or_default();
    if !secrets.is_empty() {
        spec.image_pull_secrets.get_or_insert_default().extend(secrets);
    }
    match &patch.on {
        Purpose::Cloud => {
            for container in &mut spec.containers {
                set(container, env("SKIP_NODE_DELETION", "true"));
            }
        }
        Purpose::Storage { node_mark, kubelet_path, volumes_per_node } if everywhere => {
            only_on(spec, node_mark.label());
            for container in &mut spec.containers {
                let counts = container.env.iter().flatten().any(|one| one.name == "MAX_VOLUMES_PER_NODE");
                if counts || container.name == crate::drivers::storage::NODE {
                    set(container, env("MAX_VOLUMES_PER_NODE", volumes_per_node.to_string()));
                }
            }
            move_kubelet(spec, kubelet_path);
        }
        Purpose::Storage { .. } => {}
    }
}

fn set(container: &mut Container, variable: EnvVar) {
    let variables = container.env.get_or_insert_default();
    variables.retain(|one| one.name != variable.name);
    variables.push(variable);
}

/// Terms are alternatives: the label is needed in each.
fn only_on(spec: &mut PodSpec, label: &str) {
    let affinity = spec.affinity.get_or_insert_default().node_affinity.get_or_insert_default();
    let required = affinity.required_during_scheduling_ignored_during_execution.get_or_insert_default();
    if required.node_selector_terms.is_empty() {
        required.node_selector_terms.push(NodeSelectorTerm::default());
    }
    for term in &mut required.node_selector_terms {
        term.match_expressions.get_or_insert_default().push(NodeSelectorRequirement {
            key: label.to_owned(),
            operator: "Exists".to_owned(),
            values: None,
        });
    }
}

/// The same pods for a kubelet that keeps its files elsewhere.
fn move_kubelet(spec: &mut PodSpec, path: &str) {
    if path == KUBELET {
        return;
    }
    let moved = |text: &mut String| *text = text.replace(KUBELET, path);
    for volume in spec.volumes.iter_mut().flatten() {
        volume.host_path.iter_mut().for_each(|host| moved(&mut host.path));
    }
    for container in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        container.volume_mounts.iter_mut().flatten().for_each(|mount| moved(&mut mount.mount_path));
        container.args.iter_mut().flatten().chain(container.command.iter_mut().flatten()).for_each(moved);
        container.env.iter_mut().flatten().filter_map(|one| one.value.as_mut()).for_each(moved);
        let probes =
            [&mut container.liveness_probe, &mut container.readiness_probe, &mut container.startup_probe];
        let commands = probes.into_iter().flatten().filter_map(|probe| probe.exec.as_mut()?.command.as_mut());
        commands.flatten().for_each(moved);
    }
}
