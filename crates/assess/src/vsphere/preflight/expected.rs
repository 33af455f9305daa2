//! What the vCenters must have, and what will be made there: derived outside, as plain data.

use slipway_config::ids::InfraId;
use slipway_config::install_config::vsphere::{RegionKind, ZoneKind};
use uuid::Uuid;

/// What one vCenter must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedObjects {
    /// The vCenter, as the plan names it.
    pub endpoint: String,
    /// Whether there is more than one failure domain, on any vCenter: then tags say where a machine is.
    pub zoned: bool,
    /// What names begin with, once it is drawn; before that nothing can have them.
    pub infra_id: Option<InfraId>,
    /// Whether disks take all of their space at once.
    pub thick: bool,
    /// The release as images count it, such as 418; none where it is not given.
    pub stream: Option<u32>,
    pub sites: Vec<ExpectedDomain>,
}

/// What one failure domain must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedDomain {
    pub name: String,
    pub region: String,
    pub region_kind: RegionKind,
    pub zone: String,
    pub zone_kind: ZoneKind,
    /// Inventory paths, as vCenter stores names.
    pub datacenter: String,
    pub cluster: Option<String>,
    pub pool: Option<String>,
    pub datastore: String,
    /// Empty where the user makes the machines.
    pub folder: String,
    /// Whether the folder is named after the infrastructure, and not by the user.
    pub own_folder: bool,
    /// Names or paths, as written.
    pub networks: Vec<String>,
    pub template: Template,
    pub tag_ids: Vec<String>,
    /// The group of machines that is bound to a group of hosts.
    pub vm_group: Option<String>,
    /// Empty where the user makes the machines.
    pub machines: Vec<Machine>,
}

/// What machines are cloned from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Template {
    /// The user's, by name or path.
    Given(String),
    /// Made by us: its path and its mark.
    Imported { path: String, mark: Uuid },
    /// The user makes the machines, or nothing is given to make them from.
    None,
}

/// A machine that will be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// None for compute machines: their controller names them.
    pub name: Option<String>,
    /// By which it is known to be ours.
    pub mark: Option<Uuid>,
    pub control_plane: bool,
    pub cpus: u32,
    pub memory_mib: u64,
    pub os_disk_gib: u64,
    /// All disks together.
    pub disks_gib: u64,
}

impl ExpectedObjects {
    /// The control-plane machines and the bootstrap machine that have names, and in which site.
    pub(crate) fn named_machines(&self) -> impl Iterator<Item = (&ExpectedDomain, &Machine, &str)> {
        let machines = self.sites.iter().flat_map(|site| site.machines.iter().map(move |m| (site, m)));
        machines.filter_map(|(site, machine)| Some((site, machine, machine.name.as_deref()?)))
    }
}
