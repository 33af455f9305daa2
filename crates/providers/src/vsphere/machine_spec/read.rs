//! From a providerSpec to a [`MachineSpec`]: every problem at once, each with its field.

use std::fmt;

use serde_json::Value;
use slipway_api::DataDisk;
use slipway_api::provider_spec::{NetworkDevice, VSphereProviderSpec, Workspace};
use thiserror::Error;

use super::MachineSpec;
use super::network::{Device, PoolReference};
use crate::vsphere::machines::{DiskSpec, Provisioning};

const MAX_DEVICES: usize = 10;
const MAX_TAGS: usize = 10;
const MAX_DATA_DISKS: usize = 29;
const MAX_DATA_DISK_GIB: u32 = 16_384;
/// vSphere's limit for names of networks and groups.
const MAX_NAME: usize = 80;
/// What OpenShift takes where a Machine does not say.
const DEFAULT_CPUS: u32 = 2;
const DEFAULT_MEMORY_MIB: u32 = 2_048;
const USER_DATA_SECRET: &str = "worker-user-data";
const CREDENTIALS_SECRET: &str = "vsphere-cloud-credentials";

/// What the cluster says where a Machine says nothing: the workspace of an old cloud config.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defaults {
    pub server: String,
    pub datacenter: String,
    pub datastore: String,
    pub folder: String,
    pub resource_pool: String,
}

/// A field that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub field: String,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.field, self.message)
    }
}

/// A providerSpec that no vCenter could make a machine from. It stays so until it is written anew.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the providerSpec cannot be used: {}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct InvalidSpec {
    pub problems: Vec<Problem>,
}

#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem { field: field.into(), message: message.into() });
    }

    /// A text that has to be there.
    fn needed(&mut self, field: &str, own: &str, default: &str) -> String {
        let text = if own.is_empty() { default } else { own };
        if text.is_empty() {
            self.add(field, "it is empty, and the cluster's cloud config does not say it either");
        }
        text.to_owned()
    }

    fn parsed<T: std::str::FromStr>(&mut self, field: &str, text: &str, what: &str) -> Option<T> {
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.add(field, format!("`{text}` is not {what}"));
        }
        parsed
    }
}

impl MachineSpec {
    /// Reads `spec.providerSpec.value` of a Machine.
    pub fn read(value: &Value, defaults: &Defaults) -> Result<Self, InvalidSpec> {
        let mut problems = Problems::default();
        let spec: VSphereProviderSpec = serde_json::from_value(value.clone()).map_err(|error| {
            problems.add("providerSpec.value", error.to_string());
            InvalidSpec { problems: std::mem::take(&mut problems.0) }
        })?;
        let workspace = spec.workspace.clone().unwrap_or_default();
        let spec = resolved(&spec, &workspace, defaults, &mut problems);
        if problems.0.is_empty() { Ok(spec) } else { Err(InvalidSpec { problems: problems.0 }) }
    }
}

fn resolved(
    spec: &VSphereProviderSpec,
    workspace: &Workspace,
    defaults: &Defaults,
    problems: &mut Problems,
) -> MachineSpec {
    let server = problems.needed("workspace.server", &workspace.server, &defaults.server);
    let datacenter = problems.needed("workspace.datacenter", &workspace.datacenter, &defaults.datacenter);
    let datacenter = format!("/{}", datacenter.trim_matches('/'));
    let datastore = problems.needed("workspace.datastore", &workspace.datastore, &defaults.datastore);
    let pool = problems.needed("workspace.resourcePool", &workspace.resource_pool, &defaults.resource_pool);
    // Without a folder machines are in that of the datacenter.
    let folder = if workspace.folder.is_empty() { &defaults.folder } else { &workspace.folder };
    if spec.template.is_empty() {
        problems.add("template", "it is empty: name a template, its inventory path, or its instance UUID");
    }
    if workspace.vm_group.as_ref().is_some_and(|group| group.chars().count() > MAX_NAME) {
        problems.add("workspace.vmGroup", format!("it has more than {MAX_NAME} characters"));
    }
    if spec.tag_ids.len() > MAX_TAGS {
        problems.add("tagIDs", format!("there are more than {MAX_TAGS}"));
    }
    let linked = match spec.clone_mode.as_deref() {
        None | Some("" | "fullClone") => false,
        Some("linkedClone") => true,
        Some(other) => {
            problems.add("cloneMode", format!("`{other}` is neither `fullClone` nor `linkedClone`"));
            false
        }
    };
    let secret = |named: &Option<slipway_api::LocalReference>, default: &str| {
        let name = named.as_ref().map(|secret| secret.name.as_str()).filter(|name| !name.is_empty());
        name.unwrap_or(default).to_owned()
    };
    MachineSpec {
        server: server.trim().to_lowercase(),
        datastore: below(&datacenter, "datastore", &datastore),
        folder: below(&datacenter, "vm", folder),
        pool: pool_path(&datacenter, &pool),
        datacenter,
        template: spec.template.clone(),
        vm_group: workspace.vm_group.clone().filter(|group| !group.is_empty()),
        devices: devices(&spec.network.devices, problems),
        cpus: some(spec.num_cpus).unwrap_or(DEFAULT_CPUS),
        cores_per_socket: some(spec.num_cores_per_socket),
        memory_mib: some(spec.memory_mib).unwrap_or(DEFAULT_MEMORY_MIB).into(),
        disk_gib: spec.disk_gib.into(),
        data_disks: data_disks(&spec.data_disks, problems),
        tags: spec.tag_ids.clone(),
        linked,
        snapshot: spec.snapshot.clone().filter(|name| linked && !name.is_empty()),
        user_data_secret: secret(&spec.user_data_secret, USER_DATA_SECRET),
        credentials_secret: secret(&spec.credentials_secret, CREDENTIALS_SECRET),
    }
}

fn some(number: u32) -> Option<u32> {
    (number > 0).then_some(number)
}

/// A path is taken as it is; a name is below a folder of the datacenter.
fn below(datacenter: &str, folder: &str, path: &str) -> String {
    let path = path.trim_end_matches('/');
    if path.starts_with('/') {
        return path.to_owned();
    }
    format!("{datacenter}/{folder}/{path}").trim_end_matches('/').to_owned()
}

/// Every compute cluster has a pool above all others, which people leave out.
fn pool_path(datacenter: &str, pool: &str) -> String {
    let path = below(datacenter, "host", pool);
    if path.contains("/Resources") { path } else { format!("{path}/Resources") }
}

fn devices(devices: &[NetworkDevice], problems: &mut Problems) -> Vec<Device> {
    if devices.is_empty() || devices.len() > MAX_DEVICES {
        problems.add(
            "network.devices",
            format!("there are {}, and 1 to {MAX_DEVICES} are possible", devices.len()),
        );
    }
    let device = |(index, device): (usize, &NetworkDevice)| {
        let at = |field: &str| format!("network.devices[{index}].{field}");
        let network = device.network_name.clone().unwrap_or_default();
        if network.is_empty() {
            problems.add(at("networkName"), "it is empty");
        }
        let gateway = device.gateway.as_deref().filter(|gateway| !gateway.is_empty());
        Device {
            network,
            addresses: (device.ip_addrs.iter())
                .filter_map(|text| {
                    problems.parsed(
                        &at("ipAddrs"),
                        text,
                        "an address with a prefix length, such as 10.0.0.5/24",
                    )
                })
                .collect(),
            gateway: gateway.and_then(|text| problems.parsed(&at("gateway"), text, "an address")),
            nameservers: (device.nameservers.iter())
                .filter_map(|text| problems.parsed(&at("nameservers"), text, "an address"))
                .collect(),
            pools: (device.addresses_from_pools.iter())
                .map(|pool| PoolReference {
                    group: pool.group.clone(),
                    kind: pool.resource.clone(),
                    name: pool.name.clone(),
                })
                .collect(),
        }
    };
    devices.iter().enumerate().map(device).collect()
}

fn data_disks(disks: &[DataDisk], problems: &mut Problems) -> Vec<DiskSpec> {
    if disks.len() > MAX_DATA_DISKS {
        problems.add("dataDisks", format!("there are more than {MAX_DATA_DISKS}"));
    }
    let disk = |(index, disk): (usize, &DataDisk)| {
        let at = |field: &str| format!("dataDisks[{index}].{field}");
        if !(1..=MAX_DATA_DISK_GIB).contains(&disk.size_gib) {
            problems.add(at("sizeGiB"), format!("{} is not from 1 to {MAX_DATA_DISK_GIB}", disk.size_gib));
        }
        let provisioning = match disk.provisioning_mode.as_deref() {
            None | Some("" | "Thin") => Provisioning::Thin,
            Some("Thick") => Provisioning::Thick,
            Some("EagerlyZeroed") => Provisioning::EagerlyZeroed,
            Some(other) => {
                problems.add(
                    at("provisioningMode"),
                    format!("`{other}` is none of `Thin`, `Thick` and `EagerlyZeroed`"),
                );
                Provisioning::Thin
            }
        };
        DiskSpec { size_gib: disk.size_gib.into(), provisioning }
    };
    disks.iter().enumerate().map(disk).collect()
}
