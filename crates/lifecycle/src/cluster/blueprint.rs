//! The machines of a cluster as the files in `cluster-api/` say, edits included.

use std::fmt;
use std::io::Read;
use std::path::Path;

use secrecy::SecretString;
use serde::de::DeserializeOwned;
use slipway_api::cluster_api::Machine as CapiMachine;
use slipway_api::vsphere_machines::{VSphereFailureDomain, VSphereMachine, VSphereMachineSpec};
use slipway_assets::ignition::encoded_for;
use slipway_assets::{Cluster, Tree};
use slipway_config::install_config::vsphere::{FailureDomain, ZoneKind};
use slipway_config::install_config::{InstallConfig, Platform};
use slipway_config::yaml::from_yaml;
use slipway_engine::Endpoint;
use slipway_providers::vsphere::kinds::{Ignition, Place, Zone};
use uuid::Uuid;

use super::wanted::compute_cluster;
use super::{Error, endpoint_of};
use crate::regular;

const FOLDER: &str = "cluster-api";
const LARGEST_FILE: u64 = 16 << 20;

/// Machines, the groups of hosts they are bound to, and templates that are not there yet.
#[derive(Debug, Default)]
pub(super) struct Blueprint {
    pub(super) machines: Vec<Planned>,
    pub(super) zones: Vec<VSphereFailureDomain>,
    pub(super) templates: Vec<Imported>,
    pub(super) prepared: Vec<Prepared>,
}

/// What every failure domain gets, machines or not: those of later days are put into its folder and its group.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) endpoint: Endpoint,
    pub(super) folder: String,
    /// Where its hosts are a group of the user's.
    pub(super) zone: Option<Zone>,
}

/// A template that is made from an image, one in every failure domain that has none.
#[derive(Debug)]
pub(super) struct Imported {
    pub(super) endpoint: Endpoint,
    pub(super) name: String,
    pub(super) datacenter: String,
    pub(super) networks: Vec<String>,
    pub(super) place: Place,
}

/// A machine.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) name: String,
    pub(super) endpoint: Endpoint,
    pub(super) uuid: Uuid,
    pub(super) is_bootstrap: bool,
    pub(super) spec: VSphereMachineSpec,
    pub(super) ignition: Ignition,
}

/// A file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenFile {
    pub path: String,
    pub message: String,
}

impl fmt::Display for BrokenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl Blueprint {
    /// Reads everything, and names every file that cannot be used.
    pub(super) fn read(files: Files<'_>, cluster: &Cluster) -> Result<Self, Error> {
        let Cluster { config, identity, .. } = cluster;
        let mut reader = Reader { files, broken: Vec::new() };
        let mut blueprint =
            Blueprint { templates: imported(cluster), prepared: prepared(cluster), ..Blueprint::default() };
        let infra_id = identity.infra_id.as_str();
        for path in reader.list(&format!("{FOLDER}/machines"), "10_inframachine_") {
            let Some(infra) = reader.object::<VSphereMachine>(&path) else { continue };
            let name = infra.metadata.name.clone().unwrap_or_default();
            let machine = format!("{FOLDER}/machines/10_machine_{name}.yaml");
            let Some(machine) = reader.object::<CapiMachine>(&machine) else { continue };
            let secret = machine.spec.bootstrap.data_secret_name;
            let file = match secret.strip_prefix(infra_id) {
                Some("-bootstrap") => "bootstrap.ign",
                Some("-master") => "master.ign",
                _ => {
                    reader.complain(
                        &path,
                        format!("the Secret `{secret}` it boots from is not one of this cluster's"),
                    );
                    continue;
                }
            };
            let server = &infra.spec.server;
            let Some(endpoint) = endpoint(config, server) else {
                reader.complain(&path, format!("`{server}` is no vCenter of the install-config"));
                continue;
            };
            let Some(bytes) = reader.ignition(file) else { continue };
            let encoded = encoded_for(&config.platform, &bytes);
            let Ok(data) = String::from_utf8(encoded.data) else { continue };
            blueprint.machines.push(Planned {
                uuid: identity.object_id(&name),
                is_bootstrap: file == "bootstrap.ign",
                endpoint,
                name,
                spec: infra.spec,
                ignition: Ignition { data: SecretString::from(data), encoding: encoded.encoding.as_str() },
            });
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

fn endpoint(config: &InstallConfig, server: &str) -> Option<Endpoint> {
    let Platform::VSphere(platform) = &config.platform else { return None };
    let server = server.strip_prefix("https://").unwrap_or(server);
    let known = platform.vcenters.iter().map(endpoint_of);
    known.into_iter().find(|endpoint| endpoint.as_str().eq_ignore_ascii_case(server))
}

fn prepared(cluster: &Cluster) -> Vec<Prepared> {
    let Platform::VSphere(platform) = &cluster.config.platform else { return Vec::new() };
    let prepared = |position| {
        let site = cluster.site(platform, position)?;
        let zone = match (&site.domain.zone_kind, site.vm_group, &site.domain.topology.compute_cluster) {
            (ZoneKind::HostGroup(hosts), Some(name), Some(compute_cluster)) => {
                Some(Zone { name, compute_cluster: compute_cluster.to_string(), host_group: hosts.clone() })
            }
            _ => None,
        };
        Some(Prepared { endpoint: endpoint_of(site.vcenter), folder: site.folder.to_string(), zone })
    };
    (0..platform.failure_domains.len()).filter_map(prepared).collect()
}

/// The templates that are to be made: machines of later days are cloned from them too, so every failure domain gets one.
fn imported(cluster: &Cluster) -> Vec<Imported> {
    let Platform::VSphere(platform) = &cluster.config.platform else { return Vec::new() };
    if platform.os_image.is_none() {
        return Vec::new();
    }
    let template = |(position, domain): (usize, &FailureDomain)| {
        let site = cluster.site(platform, position)?;
        if domain.topology.template.is_some() {
            return None;
        }
        let pool = site.resource_pool.to_string();
        Some(Imported {
            endpoint: endpoint_of(site.vcenter),
            datacenter: domain.topology.datacenter.clone(),
            networks: site.network_paths(),
            place: Place {
                uuid: cluster.identity.template_id(&site.template),
                infra_id: cluster.identity.infra_id.to_string(),
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

/// Where the files are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Files<'a> {
    /// In the asset directory, with edits.
    On(&'a Path),
    /// Not written yet. There is no Ignition among them.
    Made(&'a Tree),
}

struct Reader<'a> {
    files: Files<'a>,
    broken: Vec<BrokenFile>,
}

impl Reader<'_> {
    fn complain(&mut self, path: &str, message: String) {
        self.broken.push(BrokenFile { path: path.to_owned(), message });
    }

    /// Files of a folder that begin so, sorted.
    fn list(&mut self, folder: &str, prefix: &str) -> Vec<String> {
        let names: Vec<String> = match self.files {
            Files::Made(tree) => {
                let names = tree.iter().filter_map(|(path, _)| path.strip_prefix(folder)?.strip_prefix('/'));
                names.map(str::to_owned).collect()
            }
            Files::On(directory) => match fs_err::read_dir(directory.join(folder)) {
                Ok(entries) => {
                    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
                }
                Err(error) => {
                    self.complain(folder, error.to_string());
                    return Vec::new();
                }
            },
        };
        let chosen =
            |name: &String| name.starts_with(prefix) && Path::new(name).extension() == Some("yaml".as_ref());
        let mut paths: Vec<String> =
            names.into_iter().filter(chosen).map(|name| format!("{folder}/{name}")).collect();
        paths.sort();
        paths
    }

    fn ignition(&mut self, path: &str) -> Option<Vec<u8>> {
        match self.files {
            Files::Made(_) => Some(Vec::new()),
            Files::On(_) => self.bytes(path),
        }
    }

    fn bytes(&mut self, path: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = match self.files {
            Files::Made(tree) => {
                let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
                tree.get(path).map(|file| bytes.clone_from(&file.contents)).ok_or_else(missing)
            }
            Files::On(directory) => regular::open(&directory.join(path))
                .and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes))
                .map(drop),
        };
        match read {
            Ok(()) if bytes.len() as u64 > LARGEST_FILE => {
                self.complain(path, format!("it has more than {} MiB", LARGEST_FILE >> 20));
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
