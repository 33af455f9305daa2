//! Processors, memory and disk space, against what will be made. What several failure domains share is added up.

use std::collections::BTreeMap;

use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::inventory::{Host, Item};

use super::places::find;
use crate::preflight::report::{Check, Finding};
use crate::text::count;
use crate::vsphere::preflight::expected::{ExpectedObjects, Machine};
use crate::vsphere::preflight::snapshot::VCenterSnapshot;

/// What a machine writes before it is of any use, whatever the size of its disk.
const FIRST_WRITTEN_GIB: u64 = 10;

pub(super) fn judge(wanted: &ExpectedObjects, snapshot: &VCenterSnapshot) -> Vec<Finding> {
    /// Hosts that share machines: a cluster, or a group of hosts in it.
    type Hosts<'a> = (&'a Reference, Vec<&'a Reference>);
    let mut computing: BTreeMap<Hosts<'_>, (&Item, Vec<&Item>, Vec<&Machine>)> = BTreeMap::new();
    let mut storing: BTreeMap<&Reference, (&Item, Vec<&Machine>)> = BTreeMap::new();
    for site in wanted.sites.iter().filter(|site| !site.machines.is_empty()) {
        let found = find(site, snapshot);
        if let Some(cluster) = found.cluster {
            let ids = found.hosts.iter().map(|host| &host.id).collect();
            let entry = computing.entry((&cluster.id, ids));
            let (_, _, machines) = entry.or_insert_with(|| (cluster, found.hosts, Vec::new()));
            machines.extend(&site.machines);
        }
        if let Some(datastore) = found.datastore {
            let (_, machines) = storing.entry(&datastore.id).or_insert_with(|| (datastore, Vec::new()));
            machines.extend(&site.machines);
        }
    }
    let compute = computing.into_values().flat_map(|(cluster, hosts, machines)| {
        let usable: Vec<&Host> =
            hosts.iter().filter_map(|item| item.host()).filter(|host| host.is_usable()).collect();
        // A cluster without hosts has been reported.
        if usable.is_empty() {
            Vec::new()
        } else {
            vec![cpu(cluster, &usable, &machines), memory(cluster, &usable, &machines)]
        }
    });
    let storage = storing.into_values().filter_map(|(item, machines)| storage(item, &machines, wanted.thick));
    compute.chain(storage).collect()
}

fn cpu(cluster: &Item, hosts: &[&Host], machines: &[&Machine]) -> Finding {
    let path = &cluster.path;
    let largest = machines.iter().map(|machine| machine.cpus).max().unwrap_or_default();
    let most = hosts.iter().map(|host| host.threads).max().unwrap_or_default();
    let wanted: u32 = machines.iter().map(|machine| machine.cpus).sum();
    let there: u32 = hosts.iter().map(|host| host.threads).sum();
    if largest > most {
        let message =
            format!("a machine needs {largest} CPUs, and no usable host of `{path}` has more than {most}");
        return Finding::failure(Check::Cpu, path, message)
            .remedy("lower `cpus`, or name another compute cluster");
    }
    let machines = count(machines.len(), "machine");
    if wanted > there {
        let message =
            format!("{machines} need {wanted} CPUs together, and the usable hosts of `{path}` have {there}");
        return Finding::warning(Check::Cpu, path, message)
            .remedy("they will wait for each other: lower `cpus`, or add hosts");
    }
    Finding::pass(Check::Cpu, path, format!("{machines} need {wanted} CPUs of {there}"))
}

fn memory(cluster: &Item, hosts: &[&Host], machines: &[&Machine]) -> Finding {
    let path = &cluster.path;
    let largest = machines.iter().map(|machine| machine.memory_mib).max().unwrap_or_default();
    let most = hosts.iter().map(|host| host.memory_mib).max().unwrap_or_default();
    let wanted: u64 = machines.iter().map(|machine| machine.memory_mib).sum();
    let there: u64 = hosts.iter().map(|host| host.memory_mib).sum();
    let free: u64 = hosts.iter().map(|host| host.memory_mib.saturating_sub(host.used_mib)).sum();
    let fail = |message: String| {
        Finding::failure(Check::Memory, path, message)
            .remedy("lower `memoryMB`, or name another compute cluster")
    };
    if largest > most {
        return fail(format!(
            "a machine needs {largest} MiB of memory, and no usable host of `{path}` has more than {most} MiB"
        ));
    }
    let machines = count(machines.len(), "machine");
    let needs = format!("{machines} need {wanted} MiB of memory together");
    if wanted > there {
        return fail(format!("{needs}, and the usable hosts of `{path}` have {there} MiB"));
    }
    if wanted > free {
        let message = format!("{needs}, and the usable hosts of `{path}` have {free} MiB free");
        return Finding::warning(Check::Memory, path, message)
            .remedy("lower `memoryMB`, stop other machines, or add hosts");
    }
    Finding::pass(Check::Memory, path, format!("{needs} of {free} MiB that are free"))
}

fn storage(item: &Item, machines: &[&Machine], thick: bool) -> Option<Finding> {
    // What is not accessible has been reported.
    let facts = item.datastore().filter(|facts| facts.accessible == Some(true))?;
    let (path, free) = (&item.path, facts.free_gib());
    let wanted: u64 = machines.iter().map(|machine| machine.disks_gib).sum();
    let at_once = if thick { wanted } else { FIRST_WRITTEN_GIB * machines.len() as u64 };
    let machines = count(machines.len(), "machine");
    let remedy = "free space, lower `diskSizeGB`, or name another datastore";
    if at_once > free {
        let message =
            format!("{machines} take {at_once} GiB from the start, and `{path}` has {free} GiB free");
        return Some(Finding::failure(Check::Storage, path, message).remedy(remedy));
    }
    if wanted > free {
        let message = format!(
            "the disks of {machines} grow to {wanted} GiB, and `{path}` has {free} GiB free: it may run full"
        );
        return Some(Finding::warning(Check::Storage, path, message).remedy(remedy));
    }
    Some(Finding::pass(
        Check::Storage,
        path,
        format!("the disks of {machines} need up to {wanted} GiB, and {free} GiB are free"),
    ))
}
