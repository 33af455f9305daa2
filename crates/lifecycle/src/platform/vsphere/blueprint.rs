//! The machines of a cluster as the files in `cluster-api/` say, edits included.

use std::io::Read;
use std::path::Path;

use secrecy::SecretString;
use serde::de::DeserializeOwned;
use slipway_api::cluster_api::Machine as CapiMachine;
use slipway_api::vsphere_machines::{VSphereFailureDomain, VSphereMachine, VSphereMachineSpec};
use slipway_assets::Named;
use slipway_assets::cluster_api::{self, MachineObjects};
use slipway_assets::ignition::encoded_for;
use slipway_config::install_config::vsphere::{FailureDomain, ZoneKind};
use slipway_config::install_config::{InstallConfig, Platform};
use slipway_config::yaml::from_yaml;
use slipway_engine::Endpoint;
use slipway_providers::vsphere::kinds::{Ignition, TemplateLocation, VmGroup};
use uuid::Uuid;

use super::desired::compute_cluster;
use super::{FOLDER, MACHINES, endpoint_of};
use crate::install::Error;
use crate::platform::{Boot, BrokenFile};
use crate::regular;

const MAX_FILE_BYTES: u64 = 16 << 20;

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
        let mut reader = Reader { directory, broken: Vec::new() };
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

/// Files of a directory.
struct Reader<'a> {
    directory: &'a Path,
    broken: Vec<BrokenFile>,
}

impl Reader<'_> {
    fn complain(&mut self, path: &str, message: String) {
        self.broken.push(BrokenFile { path: path.to_owned(), message });
    }

    /// Files of a folder that begin so, sorted.
    fn list(&mut self, folder: &str, prefix: &str) -> Vec<String> {
        let names: Vec<String> = match fs_err::read_dir(self.directory.join(folder)) {
            Ok(entries) => entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect(),
            Err(error) => {
                self.complain(folder, error.to_string());
                return Vec::new();
            }
        };
        let chosen =
            |name: &String| name.starts_with(prefix) && Path::new(name).extension() == Some("yaml".as_ref());
        let mut paths: Vec<String> =
            names.into_iter().filter(chosen).map(|name| format!("{folder}/{name}")).collect();
        paths.sort();
        paths
    }

    fn bytes(&mut self, path: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = regular::open(&self.directory.join(path))
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
            .map(drop);
        match read {
            Ok(()) if bytes.len() as u64 > MAX_FILE_BYTES => {
                self.complain(path, format!("it has more than {} MiB", MAX_FILE_BYTES >> 20));
                None
            }
            Ok(()) => Some(bytes),
            Err(error) => {
                self.complain(path, error.to_string());
                None
            }
        }
    }

    fn object<T: DeserializeOwned>(&mut self, path: &str) -> Option<T> {
        let bytes = self.bytes(path)?;
        let Ok(text) = String::from_utf8(bytes) else {
            self.complain(path, "it is not UTF-8 text".to_owned());
            return None;
        };
        let value = match from_yaml(&text) {
            Ok(value) => value,
            Err(report) => {
                let first = report.findings.first().map(|finding| finding.message.clone());
                self.complain(path, first.unwrap_or_else(|| "it is not YAML".to_owned()));
                return None;
            }
        };
        match serde_json::from_value(value) {
            Ok(object) => Some(object),
            Err(error) => {
                self.complain(path, error.to_string());
                None
            }
        }
    }
}
