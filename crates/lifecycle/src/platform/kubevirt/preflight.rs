//! What the preflight judges the infrastructure cluster by: the very objects that create makes, with the edits in their files.

use std::sync::Arc;

use slipway_api::provider_spec::KubevirtProviderSpec;
use slipway_assess::kubevirt::{InfraNamespace, Wanted, WantedMachine};
use slipway_assess::preflight::inspect::Inspection;
use slipway_assets::kubevirt::{IMAGE_SIZE, compute_spec};
use slipway_assets::names::Role;
use slipway_assets::{Credentials, Named};
use slipway_config::install_config::Platform as AnyPlatform;
use slipway_config::install_config::kubevirt::{Network, Platform};
use slipway_providers::kubevirt::Infra;
use slipway_providers::kubevirt::kinds::Desired;

use super::blueprint::{Blueprint, POD_NETWORK};
use super::{desired, endpoint_of};
use crate::install::{Error, MachineLocations};
use crate::platform::MachineFiles;
use crate::platform::backend::Files;

pub(super) fn is_on_pod_network(platform: &Platform) -> bool {
    matches!(platform.network, Network::Pods)
}

pub(super) fn inspection(files: &Files<'_>, credentials: &Credentials) -> Option<Arc<dyn Inspection>> {
    let Files { directory, named, .. } = *files;
    let (AnyPlatform::KubeVirt(platform), Credentials::KubeVirt(cluster)) =
        (&named.config.platform, credentials)
    else {
        return None;
    };
    let endpoint = endpoint_of(cluster, platform);
    let has_files = directory.join(MachineFiles::MANIFESTS.folder).is_dir();
    let read = match (is_on_pod_network(platform), has_files) {
        // Said once, for all of them.
        (true, _) => Ok(Blueprint::default()),
        (false, true) => Blueprint::read(files),
        (false, false) => Blueprint::of(named),
    };
    let (blueprint, broken) = match read {
        Ok(blueprint) => (blueprint, Vec::new()),
        Err(Error::Files(broken)) => {
            (Blueprint::default(), broken.into_iter().map(|file| (file.path, file.message)).collect())
        }
        Err(other) => (Blueprint::default(), vec![("install-config.yaml".to_owned(), other.to_string())]),
    };
    let infra_id = &named.identity.infra_id;
    let resources = desired::resources(&blueprint, &endpoint, infra_id, &MachineLocations::default());
    // What starts a machine is no object of its own.
    let objects = resources.into_iter().map(|resource| resource.desired);
    let objects: Vec<Desired> = objects.filter(|desired| desired.manifest.is_some()).collect();
    let attachment = match &platform.network {
        Network::Attachment { name, .. } => Some(name.to_string()),
        Network::Pods => None,
    };
    Some(Arc::new(InfraNamespace {
        endpoint: endpoint.to_string(),
        infra: Arc::new(Infra::new(cluster.kubeconfig.clone(), platform.namespace.to_string())),
        wanted: Wanted {
            broken,
            network_refused: is_on_pod_network(platform).then(|| POD_NETWORK.to_owned()),
            attachment,
            storage_class: platform.storage_class.as_ref().map(ToString::to_string),
            access_mode: platform.access_mode.to_string(),
            image_size: IMAGE_SIZE.to_owned(),
            machines: machines(named, platform, &blueprint),
            objects,
        },
    }))
}

/// Those that are made now, and those that the cluster makes itself.
fn machines(named: &Named, platform: &Platform, blueprint: &Blueprint) -> Vec<WantedMachine> {
    let wanted = |name: String, spec: &KubevirtProviderSpec| WantedMachine {
        name,
        cores: spec.requested_cpu,
        memory: spec.requested_memory.clone(),
        disk: spec.requested_storage.clone(),
    };
    let now = blueprint.machines.iter().map(|machine| wanted(machine.name.clone(), &machine.spec));
    let compute = compute_spec(named, platform);
    let later = (0..named.replicas(Role::Worker))
        .map(|index| wanted(named.machine_name(Role::Worker, index), &compute));
    now.chain(later).collect()
}
