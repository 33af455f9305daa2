//! The machines of a cluster as the manifests of its Machines say, edits included, and what they share.

use slipway_api::openshift::Machine;
use slipway_api::provider_spec::OvirtProviderSpec;
use slipway_assets::Named;
use slipway_assets::ignition::hostname_wrapper;
use slipway_assets::ovirt::{affinity_groups, bootstrap_spec, control_plane, members};
use slipway_config::install_config::ovirt::{AffinityGroup, Platform};
use slipway_config::install_config::{InstallConfig, Platform as AnyPlatform};
use slipway_providers::ovirt::kinds::GroupSpec;
use slipway_providers::ovirt::machine_spec::{MachineSpec, Site, SpecError};
use uuid::Uuid;

use crate::install::Error;
use crate::platform::backend::Files;
use crate::platform::reader::Reader;
use crate::platform::{Boot, MachineFiles};

/// What is to be made.
#[derive(Debug, Clone, Default)]
pub(super) struct Blueprint {
    /// The mark of the cluster's tag.
    pub(super) tag: Option<Uuid>,
    pub(super) groups: Vec<BlueprintGroup>,
    pub(super) machines: Vec<BlueprintMachine>,
}

/// An affinity group.
#[derive(Debug, Clone)]
pub(super) struct BlueprintGroup {
    pub(super) name: String,
    pub(super) mark: Uuid,
    pub(super) spec: GroupSpec,
}

/// A machine.
#[derive(Debug, Clone)]
pub(super) struct BlueprintMachine {
    pub(super) name: String,
    pub(super) mark: Uuid,
    pub(super) is_bootstrap: bool,
    pub(super) spec: MachineSpec,
}

impl Blueprint {
    /// The machines as the files of a directory say. Names every file that cannot be used.
    pub(super) fn read(files: &Files<'_>) -> Result<Self, Error> {
        let Files { directory, named, boot, .. } = *files;
        let platform = platform(&named.config)?;
        let mut reader = Reader::new(directory);
        let mut ignition = |file: &str| match boot {
            Boot::Needed => reader.bytes(file),
            Boot::NotNeeded => None,
        };
        let (first, others) = (ignition("bootstrap.ign"), ignition("master.ign"));
        let machine = |name: String, spec: &OvirtProviderSpec, is_bootstrap: bool| {
            let config = if is_bootstrap { &first } else { &others };
            machine(named, platform, name, spec, is_bootstrap, config.as_deref())
        };
        let mut machines = Vec::new();
        let MachineFiles { folder, prefix } = MachineFiles::MANIFESTS;
        for path in reader.list(folder, prefix) {
            let Some(object) = reader.object::<Machine>(&path) else { continue };
            let read = of_manifest(named, object)
                .and_then(|(name, spec)| machine(name, &spec, false).map_err(|error| error.to_string()));
            match read {
                Ok(machine) => machines.push(machine),
                Err(message) => reader.complain(&path, message),
            }
        }
        if machines.is_empty() && reader.broken.is_empty() {
            reader.complain(folder, "there are no machines in it".to_owned());
        }
        match machine(named.bootstrap_name(), &bootstrap_spec(named, platform), true) {
            Ok(bootstrap) => machines.insert(0, bootstrap),
            Err(error) => reader.complain("install-config.yaml", error.to_string()),
        }
        let blueprint = Blueprint::with(named, platform, machines);
        if reader.broken.is_empty() { Ok(blueprint) } else { Err(Error::Files(reader.broken)) }
    }

    /// The machines as they would be written while there are no files. Without what they boot from.
    pub(super) fn of_config(named: &Named, platform: &Platform) -> Result<Self, SpecError> {
        let first = (named.bootstrap_name(), bootstrap_spec(named, platform), true);
        let others = control_plane(named, platform).into_iter().map(|(name, spec)| (name, spec, false));
        let made = [first].into_iter().chain(others);
        let machines =
            made.map(|(name, spec, is_bootstrap)| machine(named, platform, name, &spec, is_bootstrap, None));
        Ok(Blueprint::with(named, platform, machines.collect::<Result<_, _>>()?))
    }

    fn with(named: &Named, platform: &Platform, machines: Vec<BlueprintMachine>) -> Self {
        Blueprint {
            tag: Some(named.identity.object_id(named.identity.infra_id.as_str())),
            groups: groups(named, platform),
            machines,
        }
    }
}

/// A machine as its providerSpec says; `config` is the Ignition configuration that it merges.
fn machine(
    named: &Named,
    platform: &Platform,
    name: String,
    spec: &OvirtProviderSpec,
    is_bootstrap: bool,
    config: Option<&[u8]>,
) -> Result<BlueprintMachine, SpecError> {
    // With its name in it, the engine hands it over as it is.
    let ignition = config.map(|config| hostname_wrapper(config, &name));
    let ignition = ignition.map(|config| String::from_utf8_lossy(&config).into_owned().into());
    let role = if is_bootstrap { "bootstrap" } else { "control-plane" };
    let description = format!("{role} machine of the cluster {}", named.config.name);
    let spec = MachineSpec::read(spec, &site(platform), ignition, &description)?;
    Ok(BlueprintMachine { mark: named.identity.object_id(&name), name, is_bootstrap, spec })
}

/// Where machines are, beside what their providerSpec says.
pub(super) fn site(platform: &Platform) -> Site {
    Site {
        network: Some(platform.network_name.clone()),
        storage_domain: Some(platform.storage_domain_id.clone()),
    }
}

fn groups(named: &Named, platform: &Platform) -> Vec<BlueprintGroup> {
    let made = affinity_groups(named, platform, None);
    let group = |(group, wanted): (AffinityGroup, &str)| BlueprintGroup {
        mark: named.identity.object_id(&group.name),
        spec: GroupSpec {
            priority: group.priority,
            enforcing: group.enforcing,
            description: group.description,
            members: members(named, platform, wanted),
        },
        name: group.name,
    };
    let wanted = platform.affinity_groups.iter().map(|group| group.name.as_str());
    made.into_iter().zip(wanted).map(group).collect()
}

pub(super) fn platform(config: &InstallConfig) -> Result<&Platform, Error> {
    match &config.platform {
        AnyPlatform::Ovirt(platform) => Ok(platform),
        other => Err(Error::Platform(other.name())),
    }
}

/// A machine as its manifest says, or what is wrong with it.
fn of_manifest(named: &Named, machine: Machine) -> Result<(String, OvirtProviderSpec), String> {
    let name = machine.metadata.name.unwrap_or_default();
    let infra_id = &named.identity.infra_id;
    // What is removed later is recognised by it.
    if name.strip_prefix(infra_id.as_str()).is_none_or(|rest| !rest.starts_with('-')) {
        return Err(format!("the name of the Machine has to begin with `{infra_id}-`, and is `{name}`"));
    }
    let spec = serde_json::from_value(machine.spec.provider_spec.value).map_err(|error| error.to_string())?;
    Ok((name, spec))
}
