//! What machines look like on vSphere: built-in values, the platform's defaults, the pool's own.

use std::collections::{HashMap, HashSet};

use super::super::pool::WrittenPools;
use super::super::{Check, MachinePool, PayloadType, Pools};
use super::hosts::unknown_domain;
use super::written::{ProvisioningMode, WrittenDataDisk, WrittenPool};
use crate::decode::{Entries, Field, Located};
use crate::features::Gate;
use crate::findings::Rule;
use crate::yaml::At;

const MAX_DISK_GIB: u32 = 16384;
/// With less no machine starts: the system's image alone has 16 GiB, and most often a digit is missing.
const MIN_MEMORY_MIB: u32 = 1024;
const MIN_OS_DISK_GIB: u32 = 16;
/// What OpenShift's documentation asks for the control plane.
const CONTROL_PLANE_MEMORY_MIB: u32 = 16384;
const CONTROL_PLANE_OS_DISK_GIB: u32 = 100;
const MAX_DISK_NAME: usize = 80;

/// What a machine looks like on vSphere.
#[derive(Debug, Clone)]
pub struct Machine {
    pub cpus: u32,
    pub cores_per_socket: u32,
    pub memory_mib: u32,
    pub os_disk_gib: u32,
    pub data_disks: Vec<DataDisk>,
    /// Positions of failure domains in the platform's list, in the order machines take them.
    pub zones: Vec<usize>,
}

/// A further disk of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDisk {
    pub name: String,
    pub size_gib: u32,
    pub provisioning_mode: Option<ProvisioningMode>,
}

/// The failure domains pools can name.
#[derive(Debug)]
pub(super) struct Domains<'a> {
    pub(super) positions: &'a HashMap<&'a str, usize>,
    pub(super) count: usize,
    /// Some could not be read, so a missing one proves nothing.
    pub(super) partial: bool,
}

pub(super) fn resolve<'a>(
    default: &'a Field<WrittenPool>,
    written: &WrittenPools<'a>,
    pools: Option<&Pools<MachinePool>>,
    domains: &Domains<'_>,
    payload: PayloadType,
    check: &mut Check<'_>,
) -> Option<Pools<Machine>> {
    let parts = written.platform(|platform| &platform.vsphere);
    let layers = |part: Option<&'a Located<WrittenPool>>| -> Vec<&'a WrittenPool> {
        default.get().into_iter().chain(part.map(|part| &part.value)).collect()
    };
    let (masters, workers) = (layers(parts.control_plane), layers(parts.compute));
    // A mistake in the defaults shows in both pools and is told once.
    let mut told = HashSet::new();
    let control_plane = machine(&masters, domains, pools.map(|pools| &pools.control_plane), &mut told, check);
    let compute = machine(&workers, domains, pools.map(|pools| &pools.compute), &mut told, check);
    sizes(&masters, payload == PayloadType::OpenShift, &mut told, check);
    sizes(&workers, false, &mut told, check);
    if default.is_invalid() {
        return None;
    }
    Some(Pools { control_plane: control_plane?, compute: compute? })
}

/// The last layer that sets a field wins; zero counts as not set, lists are replaced whole.
fn machine(
    layers: &[&WrittenPool],
    domains: &Domains<'_>,
    pool: Option<&MachinePool>,
    told: &mut HashSet<At>,
    check: &mut Check<'_>,
) -> Option<Machine> {
    let number = |field: fn(&WrittenPool) -> &Field<u32>, default: u32| {
        let set = layers.iter().rev().find_map(|layer| field(layer).located().filter(|set| set.value != 0));
        set.map_or((default, None), |set| (set.value, Some(set.at)))
    };
    let cpus = number(|pool| &pool.cpus, 4);
    let cores = number(|pool| &pool.cores_per_socket, 4);
    let memory = number(|pool| &pool.memory_mb, 16384);
    let disk = os_disk(layers).map(|size| size.value);
    let list = layers.iter().rev().find(|layer| !layer.data_disks.is_empty()).map(|layer| &layer.data_disks);
    let zones = layers.iter().rev().find(|layer| !layer.zones.is_empty()).map(|layer| &layer.zones);
    sockets(cpus, cores, told, check);
    let data_disks = match list {
        None => Some(Vec::new()),
        Some(list) if list.at().is_some_and(|at| told.insert(at)) => data_disks(list, check),
        Some(list) => list.items().map(|disk| data_disk(disk, None)).collect(),
    };
    if let (Some(pool), Some(disks)) = (pool, &data_disks) {
        disk_setup_names(pool, disks, check);
    }
    let zones = resolve_zones(zones, domains, told, check);
    let broken = layers.iter().any(|layer| {
        layer.cpus.is_invalid()
            || layer.cores_per_socket.is_invalid()
            || layer.memory_mb.is_invalid()
            || layer.os_disk.is_invalid()
    });
    if broken {
        return None;
    }
    Some(Machine {
        cpus: cpus.0,
        cores_per_socket: cores.0,
        memory_mib: memory.0,
        os_disk_gib: disk.unwrap_or(120),
        data_disks: data_disks?,
        zones: zones?,
    })
}

/// The size of the system's disk in the last layer that sets it.
fn os_disk<'a>(layers: &[&'a WrittenPool]) -> Option<&'a Located<u32>> {
    let size = |layer: &&'a WrittenPool| layer.os_disk.get()?.disk_size_gb.located();
    layers.iter().rev().filter_map(size).find(|size| size.value != 0)
}

/// Machines that cannot start are an error, a control plane that will not be well a warning.
fn sizes(layers: &[&WrittenPool], control_plane: bool, told: &mut HashSet<At>, check: &mut Check<'_>) {
    let mut memories = layers.iter().rev().filter_map(|layer| layer.memory_mb.located());
    let judged = [
        (
            memories.find(|memory| memory.value != 0),
            "MiB of memory",
            MIN_MEMORY_MIB,
            CONTROL_PLANE_MEMORY_MIB,
        ),
        (os_disk(layers), "GiB of disk", MIN_OS_DISK_GIB, CONTROL_PLANE_OS_DISK_GIB),
    ];
    for (size, what, least, advised) in judged {
        let Some(size) = size.filter(|size| size.value < advised) else { continue };
        if size.value < least && told.insert(size.at) {
            check
                .findings
                .error(Rule::MachineSize, size.at, format!("no machine starts with {} {what}", size.value))
                .hint(format!("write {least} or more"));
        } else if size.value >= least && control_plane && told.insert(size.at) {
            check
                .findings
                .warning(
                    Rule::MachineSize,
                    size.at,
                    format!("{} {what} is little for the control plane of OpenShift", size.value),
                )
                .hint(format!("it asks for {advised} or more"));
        }
    }
}

fn sockets(
    (cpus, cpus_at): (u32, Option<At>),
    (cores, cores_at): (u32, Option<At>),
    told: &mut HashSet<At>,
    check: &mut Check<'_>,
) {
    if cpus % cores == 0 {
        return;
    }
    let Some(at) = cores_at.or(cpus_at) else { return };
    if !told.insert(at) {
        return;
    }
    let divisors: Vec<String> =
        (1..=cpus.min(64)).filter(|cores| cpus % cores == 0).map(|cores| cores.to_string()).collect();
    let default = if cores_at.is_none() { " (the default)" } else { "" };
    check
        .findings
        .error(
            Rule::CoresPerSocket,
            at,
            format!("{cpus} cpus cannot be split into sockets of {cores} cores{default}"),
        )
        .hint(format!("set `coresPerSocket` to one of {}", divisors.join(", ")));
}

fn resolve_zones(
    zones: Option<&Field<Entries<String>>>,
    domains: &Domains<'_>,
    told: &mut HashSet<At>,
    check: &mut Check<'_>,
) -> Option<Vec<usize>> {
    let Some(zones) = zones else { return (!domains.partial).then(|| (0..domains.count).collect()) };
    let new = zones.at().is_some_and(|at| told.insert(at));
    let mut seen: HashMap<&str, At> = HashMap::new();
    let mut positions = Vec::new();
    let mut complete = !zones.is_partial();
    for zone in zones.items() {
        if let Some(position) = domains.positions.get(zone.value.as_str()) {
            positions.push(*position);
        } else {
            complete = false;
            if new && !domains.partial {
                unknown_domain(zone, domains.positions, check);
            }
        }
        if let (Some(first), true) = (seen.insert(&zone.value, zone.at), new) {
            check
                .findings
                .error(Rule::ZoneListed, zone.at, format!("`{}` is listed twice", zone.value))
                .hint("list each failure domain once")
                .related(first, "first listed here");
        }
    }
    complete.then_some(positions)
}

fn data_disks(list: &Field<Entries<WrittenDataDisk>>, check: &mut Check<'_>) -> Option<Vec<DataDisk>> {
    if let Some(at) = list.at() {
        check.gate(Gate::VSphereMultiDisk, at, "`dataDisks`");
    }
    let mut seen: HashMap<&str, At> = HashMap::new();
    let mut disks = Vec::new();
    for disk in list.items() {
        if let Some(name) = disk.value.name.located()
            && let Some(first) = seen.insert(&name.value, name.at)
        {
            check
                .findings
                .error(Rule::DataDisk, name.at, format!("two data disks are named `{}`", name.value))
                .hint("give each disk a unique name")
                .related(first, "the first one");
        }
        disks.push(data_disk(disk, Some(check)));
    }
    if list.is_partial() {
        return None;
    }
    disks.into_iter().collect()
}

fn data_disk(disk: &Located<WrittenDataDisk>, check: Option<&mut Check<'_>>) -> Option<DataDisk> {
    let WrittenDataDisk { name, size_gib, provisioning_mode } = &disk.value;
    if let Some(check) = check {
        if let Some(name) = name.located() {
            let inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let edges = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
            let text = &name.value;
            let valid = text.len() <= MAX_DISK_NAME
                && text.chars().all(inside)
                && edges(text.chars().next())
                && edges(text.chars().last());
            if !valid {
                check
                    .findings
                    .error(Rule::DataDisk, name.at, format!("`{text}` is not a valid name for a disk"))
                    .hint(format!(
                        "use up to {MAX_DISK_NAME} letters and digits, with `-` and `_` between them"
                    ));
            }
        }
        if let Some(size) = size_gib.located()
            && !(1..=MAX_DISK_GIB).contains(&size.value)
        {
            check.findings.error(
                Rule::DataDisk,
                size.at,
                format!("{} GiB; a disk has 1 to {MAX_DISK_GIB} GiB", size.value),
            );
        }
    }
    if provisioning_mode.is_invalid() {
        return None;
    }
    Some(DataDisk {
        name: name.get()?.clone(),
        size_gib: *size_gib.get()?,
        provisioning_mode: provisioning_mode.get().copied(),
    })
}

/// `diskSetup` names disks that exist.
fn disk_setup_names(pool: &MachinePool, disks: &[DataDisk], check: &mut Check<'_>) {
    let known: HashSet<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    for setup in &pool.disk_setup {
        let disk = setup.disk();
        if !known.contains(disk.value.as_str()) {
            check
                .findings
                .error(Rule::DiskSetup, disk.at, format!("the pool has no data disk `{}`", disk.value))
                .hint("add it to `platform.vsphere.dataDisks` of the pool");
        }
    }
}
