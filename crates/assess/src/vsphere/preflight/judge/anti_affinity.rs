//! Whether control-plane machines can run on different hosts: a rule per compute cluster wants it, and zones that are groups of
//! hosts may contradict it.

use std::collections::{BTreeMap, BTreeSet};

use slipway_config::install_config::vsphere::ZoneKind;
use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::inventory::{Host, Item};

use super::places::find;
use crate::preflight::report::{Check, Finding};
use crate::text::count;
use crate::vsphere::preflight::expected::ExpectedObjects;
use crate::vsphere::preflight::snapshot::VCenterSnapshot;

const REMEDY: &str = "add hosts, take hosts out of maintenance mode, or spread the control plane over more failure domains; \
                      otherwise a machine may fail to power on, or two may share a host";

/// Control-plane machines, and the hosts they may run on.
#[derive(Default)]
struct Bound<'a> {
    machines: usize,
    hosts: BTreeSet<&'a Reference>,
    usable: BTreeSet<&'a Reference>,
}

impl<'a> Bound<'a> {
    fn add(&mut self, machines: usize, hosts: &[&'a Item]) {
        self.machines += machines;
        self.hosts.extend(hosts.iter().map(|item| &item.id));
        let usable = hosts.iter().filter(|item| item.host().is_some_and(Host::is_usable));
        self.usable.extend(usable.map(|item| &item.id));
    }

    /// Where no host can be used, that is said.
    fn is_too_tight(&self) -> bool {
        self.machines > 1 && !self.usable.is_empty() && self.usable.len() < self.machines
    }

    /// `2 hosts of 3 are connected and not in maintenance`.
    fn room(&self) -> String {
        let hosts = count(self.usable.len(), "host");
        let verb = if self.usable.len() == 1 { "is" } else { "are" };
        if self.hosts.len() == self.usable.len() {
            format!("{hosts} {verb} there")
        } else {
            format!("{hosts} of {} {verb} connected and not in maintenance", self.hosts.len())
        }
    }
}

pub(super) fn judge(wanted: &ExpectedObjects, snapshot: &VCenterSnapshot) -> Vec<Finding> {
    let mut clusters: BTreeMap<&Reference, (&Item, Bound<'_>, BTreeMap<&str, Bound<'_>>)> = BTreeMap::new();
    for site in &wanted.sites {
        let machines = site.machines.iter().filter(|machine| machine.control_plane).count();
        let found = find(site, snapshot);
        let (Some(cluster), false) = (found.cluster, machines == 0) else { continue };
        let (_, all, groups) =
            clusters.entry(&cluster.id).or_insert_with(|| (cluster, Bound::default(), BTreeMap::new()));
        all.add(machines, &found.hosts);
        if let ZoneKind::HostGroup(group) = &site.zone_kind {
            groups.entry(group).or_default().add(machines, &found.hosts);
        }
    }
    // One machine is apart from all others, and without hosts it is not known.
    let ruled = clusters.into_values().filter(|(_, all, _)| all.machines > 1 && !all.usable.is_empty());
    ruled.flat_map(|(cluster, all, groups)| cluster_of(cluster, &all, &groups)).collect()
}

fn cluster_of(cluster: &Item, all: &Bound<'_>, groups: &BTreeMap<&str, Bound<'_>>) -> Vec<Finding> {
    let path = &cluster.path;
    let warning =
        |object: &str, message: String| Finding::warning(Check::AntiAffinity, object, message).remedy(REMEDY);
    let tight = groups.iter().filter(|(_, bound)| bound.is_too_tight());
    let mut findings: Vec<Finding> = tight
        .map(|(group, bound)| {
            let message = format!(
                "{} control-plane machines are bound to the group `{group}` of `{path}` and are to run on different hosts: {}",
                bound.machines,
                bound.room()
            );
            warning(group, message)
        })
        .collect();
    if findings.is_empty() && all.is_too_tight() {
        let message = format!(
            "{} control-plane machines are to run on different hosts of `{path}`: {}",
            all.machines,
            all.room()
        );
        findings.push(warning(path, message));
    }
    if findings.is_empty() {
        let (machines, hosts) = (all.machines, count(all.usable.len(), "host"));
        let message = format!("{machines} control-plane machines have {hosts} to run on");
        findings.push(Finding::pass(Check::AntiAffinity, path, message));
    }
    findings
}
