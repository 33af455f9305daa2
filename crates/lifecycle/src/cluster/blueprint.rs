//! The machines of a cluster as the files in `cluster-api/` say, edits included.

use std::fmt;
use std::io::Read;
use std::path::Path;

use secrecy::SecretString;
use serde::de::DeserializeOwned;
use slipway_api::cluster_api::Machine as CapiMachine;
use slipway_api::vsphere_machines::{VSphereFailureDomain, VSphereMachine, VSphereMachineSpec};
use slipway_assets::Identity;
use slipway_assets::ignition::encoded_for;
use slipway_config::install_config::{InstallConfig, Platform};
use slipway_config::yaml::from_yaml;
use slipway_engine::Endpoint;
use slipway_providers::vsphere::kinds::Ignition;
use uuid::Uuid;

use super::{Error, endpoint_of};
use crate::regular;

const FOLDER: &str = "cluster-api";
const LARGEST_FILE: u64 = 16 << 20;

/// Machines, and the groups of hosts they are bound to.
#[derive(Debug, Default)]
pub(super) struct Blueprint {
    pub(super) machines: Vec<Planned>,
    pub(super) zones: Vec<VSphereFailureDomain>,
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
    pub(super) fn read(directory: &Path, config: &InstallConfig, identity: &Identity) -> Result<Self, Error> {
        let mut reader = Reader { directory, broken: Vec::new() };
        let mut blueprint = Blueprint::default();
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
            let Some(bytes) = reader.bytes(file) else { continue };
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
        let entries = match fs_err::read_dir(self.directory.join(folder)) {
            Ok(entries) => entries,
            Err(error) => {
                self.complain(folder, error.to_string());
                return Vec::new();
            }
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut paths: Vec<String> = names
            .filter(|name| {
                name.strip_prefix(prefix)
                    .is_some_and(|rest| rest.rsplit_once('.').is_some_and(|(_, end)| end == "yaml"))
            })
            .map(|name| format!("{folder}/{name}"))
            .collect();
        paths.sort();
        paths
    }

    fn bytes(&mut self, path: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = regular::open(&self.directory.join(path))
            .and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) if bytes.len() as u64 > LARGEST_FILE => {
                self.complain(path, format!("it has more than {} MiB", LARGEST_FILE >> 20));
                None
            }
            Ok(_) => Some(bytes),
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
