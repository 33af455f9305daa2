//! The machines of a cluster as the files in `cluster-api/` say, edits included.

use std::path::Path;

use secrecy::SecretString;
use slipway_api::cluster_api::Machine as CapiMachine;
use slipway_api::vsphere_machines::{VSphereFailureDomain, VSphereMachine, VSphereMachineSpec};
use slipway_assets::Named;
use slipway_assets::cluster_api::{self, MachineObjects};
use slipway_assets::ignition::encoded_for;
use slipway_config::install_config::vsphere::{FailureDomain, ZoneKind};
use slipway_config::install_config::{InstallConfig, Platform};
use slipway_engine::Endpoint;
use slipway_providers::vsphere::kinds::{Ignition, TemplateLocation, VmGroup};
use uuid::Uuid;

use super::desired::compute_cluster;
use super::{FOLDER, MACHINES, endpoint_of};
use crate::install::Error;
use crate::platform::reader::Reader;
use crate::platform::{Boot, BrokenFile};

/// Machines, the groups of hosts they are bound to, and templates that are not there yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blueprint {
    pub(crate) machines: Vec<BlueprintMachine>,
    pub(crate) zones: Vec<VSphereFailureDomain>,
    pub(crate) templates: Vec<Imported>,
    pub(crate) prepared: Vec<Prepared>,
}

/// What every failure domain gets, machines or not: those of later days are put into its folder and its group.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) endpoint: Endpoint,
    pub(crate) folder: String,
    /// Where its hosts are a group of the user's.
    pub(crate) zone: Option<VmGroup>,
}

/// A template that is made from an image, one in every failure domain that has none.
#[derive(Debug, Clone)]
pub(crate) struct Imported {
    pub(crate) endpoint: Endpoint,
    pub(crate) name: String,
    pub(crate) datacenter: String,
    pub(crate) networks: Vec<String>,
    pub(crate) place: TemplateLocation,
}

/// A machine.
#[derive(Debug, Clone)]
pub(crate) struct BlueprintMachine {
    pub(crate) name: String,
    pub(crate) endpoint: Endpoint,
    pub(crate) uuid: Uuid,
    pub(crate) is_bootstrap: bool,
    pub(crate) spec: VSphereMachineSpec,
    /// What it boots from, where that was read.
    pub(crate) ignition: Option<Ignition>,
}

impl Blueprint {
    /// The machines as they would be written, without what they boot from.
    pub(crate) fn of(named: &Named) -> Result<Self, Error> {
        let mut broken = Vec::new();
        let mut machines = Vec::new();
        for MachineObjects { name, machine, infra } in cluster_api::machines(named) {
            match planned(named, name.clone(), machine, infra) {
                Ok((machine, _)) => machines.push(machine),
                Err(message) => broken.push(BrokenFile { path: name, message }),
            }
        }
        if !broken.is_empty() {
            return Err(Error::Files(broken));
        }
        let zones = cluster_api::failure_domains(named);
        Ok(Blueprint { machines, zones, templates: imported(named), prepared: prepared(named) })
    }

    /// The machines as the files of a directory say. Names every file that cannot be used.
    pub(crate) fn read(directory: &Path, named: &Named, boot: Boot) -> Result<Self, Error> {
        let mut reader = Reader::new(directory);
        let mut blueprint =
            Blueprint { templates: imported(named), prepared: prepared(named), ..Blueprint::default() };
        for path in reader.list(MACHINES, "10_inframachine_") {
            let Some(infra) = reader.object::<VSphereMachine>(&path) else { continue };
            let name = infra.metadata.name.clone().unwrap_or_default();
            let machine = format!("{MACHINES}/10_machine_{name}.yaml");
            let Some(machine) = reader.object::<CapiMachine>(&machine) else { continue };
            let (mut planned, file) = match planned(named, name, machine, infra) {
                Ok(planned) => planned,
                Err(message) => {
                    reader.complain(&path, message);
                    continue;
                }
            };
            if boot == Boot::Needed {
                let Some(bytes) = reader.bytes(file) else { continue };
                let encoded = encoded_for(&named.config.platform, &bytes);
                let Ok(data) = String::from_utf8(encoded.data) else { continue };
                let (data, encoding) = (SecretString::from(data), encoded.encoding.as_str());
                planned.ignition = Some(Ignition { data, encoding });
            }
            blueprint.machines.push(planned);
        }
        for path in reader.list(FOLDER, "01_vsphere-failuredomain-") {
            blueprint.zones.extend(reader.object(&path));
        }
        if blueprint.machines.is_empty() && reader.broken.is_empty() {
            reader.complain(FOLDER, "there are no machines in it".to_owned());
        }
        if reader.broken.is_empty() { Ok(blueprint) } else { Err(Error::Files(reader.broken)) }
    }
}

/// A machine, and the file it boots from; or what is wrong with it.
fn planned(
    named: &Named,
    name: String,
    machine: CapiMachine,
    infra: VSphereMachine,
) -> Result<(BlueprintMachine, &'static str), String> {
    let secret = machine.spec.bootstrap.data_secret_name;
    let (file, is_bootstrap) = match secret.strip_prefix(named.identity.infra_id.as_str()) {
        Some("-bootstrap") => ("bootstrap.ign", true),
        Some("-master") => ("master.ign", false),
        _ => return Err(format!("the Secret `{secret}` it boots from is not one of this cluster's")),
    };
    let server = &infra.spec.server;
    let endpoint = endpoint(&named.config, server)
        .ok_or_else(|| format!("`{server}` is not a vCenter of the install-config"))?;
    let uuid = named.identity.object_id(&name);
    Ok((BlueprintMachine { name, endpoint, uuid, is_bootstrap, spec: infra.spec, ignition: None }, file))
}

fn endpoint(config: &InstallConfig, server: &str) -> Option<Endpoint> {
    let Platform::VSphere(platform) = &config.platform else { return None };
    let server = server.strip_prefix("https://").unwrap_or(server);
    let known = platform.vcenters.iter().map(endpoint_of);
    known.into_iter().find(|endpoint| endpoint.as_str().eq_ignore_ascii_case(server))
}

fn prepared(named: &Named) -> Vec<Prepared> {
    let Platform::VSphere(platform) = &named.config.platform else { return Vec::new() };
    let prepared = |position| {
        let site = named.site(platform, position)?;
        let zone = match (&site.domain.zone_kind, site.vm_group, &site.domain.topology.compute_cluster) {
            (ZoneKind::HostGroup(hosts), Some(name), Some(compute_cluster)) => Some(VmGroup {
                name,
                compute_cluster: compute_cluster.to_string(),
                host_group: hosts.clone(),
            }),
            _ => None,
        };
        Some(Prepared { endpoint: endpoint_of(site.vcenter), folder: site.folder.to_string(), zone })
    };
    (0..platform.failure_domains.len()).filter_map(prepared).collect()
}

/// The templates that are to be made: machines of later days are cloned from them too, so every failure domain gets one.
fn imported(named: &Named) -> Vec<Imported> {
    let Platform::VSphere(platform) = &named.config.platform else { return Vec::new() };
    if platform.os_image.is_none() {
        return Vec::new();
    }
    let template = |(position, domain): (usize, &FailureDomain)| {
        let site = named.site(platform, position)?;
        if domain.topology.template.is_some() {
            return None;
        }
        let pool = site.resource_pool.to_string();
        Some(Imported {
            endpoint: endpoint_of(site.vcenter),
            datacenter: domain.topology.datacenter.clone(),
            networks: site.network_paths(),
            place: TemplateLocation {
                uuid: named.identity.template_id(&site.template),
                infra_id: named.identity.infra_id.to_string(),
                folder: site.folder.to_string(),
                compute_cluster: compute_cluster(&pool).to_owned(),
                pool,
                datastore: domain.topology.datastore.to_string(),
            },
            name: site.template,
        })
    };
    platform.failure_domains.iter().enumerate().filter_map(template).collect()
}
