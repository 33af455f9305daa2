//! What the preflight judges the engine by: the very machines that will be made, from the files with their edits.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use slipway_assess::ovirt::{EngineInspection, Wanted, WantedGroup, WantedMachine};
use slipway_assess::preflight::inspect::Inspection;
use slipway_assess::preflight::report::{Check, Finding};
use slipway_assets::ovirt::compute;
use slipway_assets::{Credentials, Named};
use slipway_config::install_config::Platform as AnyPlatform;
use slipway_config::install_config::ovirt::Platform;
use slipway_providers::ovirt::machine_spec::{MachineSpec, Size};

use super::blueprint::{Blueprint, site};
use super::{Files, server_of};
use crate::environment::Environment;
use crate::install::{Error, Timeouts};
use crate::platform::{Boot, BrokenFile, MachineFiles};

pub(super) fn inspection(
    named: &Named,
    credentials: &Credentials,
    directory: &Path,
    environment: &Environment,
) -> Option<Arc<dyn Inspection>> {
    let (AnyPlatform::Ovirt(platform), Credentials::Ovirt(engine)) = (&named.config.platform, credentials)
    else {
        return None;
    };
    let (blueprint, broken) = blueprint(named, platform, directory, environment);
    let known = broken.into_iter().map(|BrokenFile { path, message }| {
        Finding::failure(Check::Files, path, message)
            .remedy("correct the file, or remove it and create the files anew")
    });
    Some(Arc::new(EngineInspection {
        server: server_of(engine, Timeouts::default()),
        cluster: platform.cluster_id.clone(),
        wanted: wanted(named, platform, &blueprint),
        known: known.collect(),
    }))
}

/// From the files where they are, else as they would be written.
fn blueprint(
    named: &Named,
    platform: &Platform,
    directory: &Path,
    environment: &Environment,
) -> (Blueprint, Vec<BrokenFile>) {
    let config_file = |message: String| BrokenFile { path: "install-config.yaml".to_owned(), message };
    if !directory.join(MachineFiles::MANIFESTS.folder).exists() {
        return match Blueprint::of_config(named, platform) {
            Ok(blueprint) => (blueprint, Vec::new()),
            Err(error) => (Blueprint::default(), vec![config_file(error.to_string())]),
        };
    }
    match Blueprint::read(&Files { directory, named, environment, boot: Boot::NotNeeded }) {
        Ok(blueprint) => (blueprint, Vec::new()),
        Err(Error::Files(broken)) => (Blueprint::default(), broken),
        Err(error) => (Blueprint::default(), vec![config_file(error.to_string())]),
    }
}

fn wanted(named: &Named, platform: &Platform, blueprint: &Blueprint) -> Wanted {
    let mut specs: Vec<(String, MachineSpec)> =
        blueprint.machines.iter().map(|machine| (machine.name.clone(), machine.spec.clone())).collect();
    // Made by the cluster itself, later, and under names that are not known yet.
    let (replicas, spec) = compute(named, platform);
    if let Ok(spec) = MachineSpec::read(&spec, &site(platform), None, "") {
        let names = (0..replicas).map(|index| format!("compute machine {index}"));
        specs.extend(names.map(|name| (name, spec.clone())));
    }
    let unique =
        |values: Vec<String>| values.into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>();
    let made: BTreeSet<&str> = blueprint.groups.iter().map(|group| group.name.as_str()).collect();
    let joined = specs.iter().flat_map(|(_, spec)| spec.groups.iter());
    let group = |group: &super::blueprint::BlueprintGroup| WantedGroup {
        name: group.name.clone(),
        members: group.spec.members,
        enforcing: group.spec.enforcing,
    };
    let profiles = specs.iter().flat_map(|(_, spec)| spec.cards.iter().map(|card| card.profile.to_string()));
    let templates = specs.iter().map(|(_, spec)| spec.template.to_string());
    let types = specs.iter().filter_map(|(_, spec)| match &spec.size {
        Size::InstanceType(id) => Some(id.clone()),
        Size::Custom { .. } => None,
    });
    let objects = |names: Vec<String>| unique(names).iter().filter_map(|name| name.parse().ok()).collect();
    Wanted {
        infra_id: named.identity.infra_id.to_string(),
        network: platform.network_name.clone(),
        storage_domain: platform.storage_domain_id.clone(),
        profiles: objects(profiles.collect()),
        templates: objects(templates.collect()),
        groups: blueprint.groups.iter().map(group).collect(),
        foreign_groups: unique(joined.filter(|name| !made.contains(name.as_str())).cloned().collect()),
        instance_types: unique(types.collect()),
        machines: specs.iter().map(|(name, spec)| machine(name, spec)).collect(),
    }
}

fn machine(name: &str, spec: &MachineSpec) -> WantedMachine {
    WantedMachine {
        name: name.to_owned(),
        disk: spec.disk,
        memory: match spec.size {
            Size::Custom { memory, .. } => Some(memory),
            Size::InstanceType(_) => None,
        },
        is_copy: spec.clone,
        is_pinned: spec.auto_pinning,
    }
}
