//! The machines of a cluster as the manifests of its Machines say, edits included, and what they stand on.

use k8s_openapi::api::core::v1::Secret;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use slipway_api::openshift::Machine;
use slipway_api::provider_spec::KubevirtProviderSpec;
use slipway_assets::Named;
use slipway_assets::kubevirt::{
    BOOTSTRAP, bootstrap_spec, control_plane_spec, disk_name, ignition_secret, image_volume, machine,
    secret_name, source_name,
};
use slipway_assets::names::Role;
use slipway_config::install_config::kubevirt::Platform;
use slipway_config::install_config::{InstallConfig, Platform as AnyPlatform};
use slipway_providers::kubevirt::kinds::{CONTENT, Manifest};
use uuid::Uuid;

use crate::install::Error;
use crate::platform::backend::Files;
use crate::platform::reader::Reader;
use crate::platform::{Boot, MachineFiles};

const CONFIG: &str = "install-config.yaml";

/// Why machines are not made on the pod network.
pub(super) const POD_NETWORK: &str = "without `platform.kubevirt.networkName` machines are on the pod network, where each is \
    behind address translation and sees the same address as every other, so that members of etcd cannot reach each other; \
    name a NetworkAttachmentDefinition of the namespace";

/// The image and the machines.
#[derive(Debug, Clone, Default)]
pub(super) struct Blueprint {
    pub(super) image: Option<Part>,
    pub(super) machines: Vec<BlueprintMachine>,
}

/// An object as it is to be made.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) mark: Uuid,
    /// None where only its name matters.
    pub(super) manifest: Option<Manifest>,
}

/// A machine.
#[derive(Debug, Clone)]
pub(super) struct BlueprintMachine {
    pub(super) name: String,
    pub(super) mark: Uuid,
    pub(super) is_bootstrap: bool,
    pub(super) manifest: Manifest,
    pub(super) spec: KubevirtProviderSpec,
    /// What it boots from.
    pub(super) secret: Part,
    /// Its disk, which is made and removed with it.
    pub(super) disk: Part,
}

impl Blueprint {
    /// The machines as they would be written, without what they boot from.
    pub(super) fn of(named: &Named) -> Result<Self, Error> {
        let platform = platform(&named.config)?;
        let spec = control_plane_spec(named, platform);
        let names = (0..named.replicas(Role::Master)).map(|index| named.machine_name(Role::Master, index));
        let machines = names.map(|name| (name, spec.clone())).collect();
        Ok(Blueprint::new(named, platform, machines, |_| None))
    }

    /// The machines as the files of a directory say. Names every file that cannot be used.
    pub(super) fn read(files: &Files<'_>) -> Result<Self, Error> {
        let Files { directory, named, boot, .. } = *files;
        let platform = platform(&named.config)?;
        let mut reader = Reader::new(directory);
        if boot == Boot::Needed && super::preflight::is_on_pod_network(platform) {
            reader.complain(CONFIG, POD_NETWORK.to_owned());
        }
        let mut machines = Vec::new();
        let MachineFiles { folder, prefix } = MachineFiles::MANIFESTS;
        for path in reader.list(folder, prefix) {
            let Some(object) = reader.object::<Machine>(&path) else { continue };
            match of_manifest(named, object) {
                Ok(machine) => machines.push(machine),
                Err(message) => reader.complain(&path, message),
            }
        }
        if machines.is_empty() && reader.broken.is_empty() {
            reader.complain(folder, "there are no machines in it".to_owned());
        }
        let blueprint = Blueprint::new(named, platform, machines, |file| match boot {
            Boot::Needed => reader.bytes(file),
            // Where it is there, its size matters beforehand.
            Boot::NotNeeded => directory.join(file).is_file().then(|| reader.bytes(file)).flatten(),
        });
        if reader.broken.is_empty() { Ok(blueprint) } else { Err(Error::Files(reader.broken)) }
    }

    /// The image, the bootstrap machine, and these.
    fn new(
        named: &Named,
        platform: &Platform,
        machines: Vec<(String, KubevirtProviderSpec)>,
        mut ignition: impl FnMut(&str) -> Option<Vec<u8>>,
    ) -> Self {
        let (first, others) = (ignition("bootstrap.ign"), ignition("master.ign"));
        let bootstrap = (named.bootstrap_name(), bootstrap_spec(named, platform), BOOTSTRAP);
        let others_of = |(name, spec)| (name, spec, Role::Master.as_str());
        let machines = std::iter::once(bootstrap).chain(machines.into_iter().map(others_of));
        let machines = machines.map(|(name, spec, role)| {
            let is_bootstrap = role == BOOTSTRAP;
            let config = if is_bootstrap { &first } else { &others };
            let secret = config.as_ref().map(|config| ignition_secret(named, platform, &name, config));
            BlueprintMachine {
                mark: named.identity.object_id(&name),
                is_bootstrap,
                manifest: Manifest(value(&machine(named, platform, &name, &spec, role))),
                disk: part(named, disk_name(&name), None),
                secret: part(named, secret_name(&name), secret.as_ref().map(secret_manifest)),
                spec,
                name,
            }
        });
        let url = platform.os_image.as_ref().map(|url| image_volume(named, platform, url.expose()));
        let image = part(named, source_name(named), url.map(|volume| value(&volume)));
        Blueprint { image: Some(image), machines: machines.collect() }
    }
}

fn part(named: &Named, name: String, manifest: Option<Value>) -> Part {
    let mark = named.identity.object_id(&name);
    Part { name, mark, manifest: manifest.map(Manifest) }
}

pub(super) fn platform(config: &InstallConfig) -> Result<&Platform, Error> {
    match &config.platform {
        AnyPlatform::KubeVirt(platform) => Ok(platform),
        other => Err(Error::Platform(other.name())),
    }
}

/// A machine as its manifest says, or what is wrong with it.
fn of_manifest(named: &Named, machine: Machine) -> Result<(String, KubevirtProviderSpec), String> {
    let name = machine.metadata.name.unwrap_or_default();
    let infra_id = &named.identity.infra_id;
    // What is removed later is recognised by it.
    if name.strip_prefix(infra_id.as_str()).is_none_or(|rest| !rest.starts_with('-')) {
        return Err(format!("the name of the Machine has to begin with `{infra_id}-`, and is `{name}`"));
    }
    let spec: KubevirtProviderSpec =
        serde_json::from_value(machine.spec.provider_spec.value).map_err(|error| error.to_string())?;
    if spec.network_name.is_none() {
        return Err(POD_NETWORK.to_owned());
    }
    Ok((name, spec))
}

fn value(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// With a sum of what it holds, so that an edit is seen without reading the Secret.
fn secret_manifest(secret: &Secret) -> Value {
    let mut object = value(secret);
    let sum = Sha256::digest(object["data"].to_string());
    let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    object["metadata"]["annotations"] = json!({CONTENT: sum});
    object
}
