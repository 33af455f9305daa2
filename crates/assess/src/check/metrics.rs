//! A round as series. Names and labels are those of OpenShift's problem detector and storage operator, so that alerts and
//! dashboards which know those work with ours.
//!
//! A round's series are all there are: what the round before had and this one has not, is gone, as nodes go.

use std::collections::{BTreeMap, BTreeSet};

use super::catalog::Reason;
use super::conditions::DriverConditions;
use super::report::{Outcome, Round};

/// A series and its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    pub name: &'static str,
    pub labels: Vec<(&'static str, String)>,
    pub value: i64,
}

/// The families, and what they mean.
pub const FAMILIES: &[(&str, &str)] = &[
    ("vsphere_cluster_check_errors", "1 where a check of the cluster or its vCenters fails"),
    ("vsphere_cluster_check_total", "Checks of the cluster and its vCenters that were run"),
    ("vsphere_csi_driver_error", "What keeps the storage driver from being installed, upgraded or well"),
    ("vsphere_datastore_total", "Datastores of failure domains, by type"),
    ("vsphere_esxi_version_total", "ESXi hosts that nodes run on, by version"),
    ("vsphere_infrastructure_failure_domains", "How many of each the failure domains have"),
    ("vsphere_node_check_errors", "1 where a check of a node fails"),
    ("vsphere_node_check_total", "Checks of nodes that were run"),
    ("vsphere_node_hw_version_total", "Nodes by the version of their virtual hardware"),
    ("vsphere_rwx_volumes_total", "Volumes that several nodes can write to"),
    ("vsphere_sync_errors", "Why a vCenter cannot be reached"),
    ("vsphere_topology_tags", "Tag categories of the topology, by who configured them"),
    ("vsphere_vcenter_info", "What a vCenter says of itself"),
    ("vsphere_vm_cbt_checks", "Nodes with changed block tracking, and without"),
    ("vsphere_zonal_volumes_total", "Volumes that are bound to a zone"),
];

/// All series of a round, in order. `verdict` is what it means for the storage driver.
pub fn series(round: &Round, verdict: &DriverConditions) -> Vec<Series> {
    let mut all = Vec::new();
    let mut add = |name: &'static str, labels: &[(&'static str, &str)], value: usize| {
        let labels = labels.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        all.push(Series { name, labels, value: i64::try_from(value).unwrap_or(i64::MAX) });
    };
    let failed: BTreeSet<_> = round
        .findings
        .iter()
        .filter(|finding| finding.outcome == Outcome::Failure && finding.node.is_none())
        .map(|finding| finding.check)
        .collect();
    for check in round.looked.keys().filter(|check| !check.is_of_nodes()) {
        add("vsphere_cluster_check_total", &[("check", check.metric())], 1);
        add("vsphere_cluster_check_errors", &[("check", check.metric())], failed.contains(check).into());
    }
    for node in &round.nodes {
        for check in &node.checks {
            let labels = [("check", check.metric()), ("node", node.name.as_str())];
            add("vsphere_node_check_total", &labels, 1);
            add("vsphere_node_check_errors", &labels, node.failed.contains(check).into());
        }
    }
    let mut sync: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in &round.findings {
        let reason = match finding.meaning.reason {
            Reason::VsphereConnectionFailed | Reason::OpenshiftApiError => "SyncError",
            reason @ (Reason::UsernameWithoutDomain
            | Reason::UsernameWithNewLine
            | Reason::PasswordWithNewLine
            | Reason::InvalidCredentials) => reason.as_str(),
            _ => continue,
        };
        *sync.entry(reason).or_default() += 1;
    }
    for (reason, count) in sync {
        add("vsphere_sync_errors", &[("reason", reason)], count);
    }
    let facts = &round.facts;
    for info in &facts.vcenters {
        let labels = [
            ("version", info.version.as_str()),
            ("api_version", &info.api_version),
            ("uuid", &info.uuid),
            ("build", &info.build),
        ];
        add("vsphere_vcenter_info", &labels, 1);
    }
    for ((version, api), count) in &facts.hosts {
        add("vsphere_esxi_version_total", &[("version", version), ("api_version", api)], *count);
    }
    for (version, count) in &facts.hardware {
        add("vsphere_node_hw_version_total", &[("hw_version", version)], *count);
    }
    add("vsphere_vm_cbt_checks", &[("cbt", "enabled")], facts.change_tracking.on);
    add("vsphere_vm_cbt_checks", &[("cbt", "disabled")], facts.change_tracking.off);
    for (kind, count) in &facts.datastores {
        add("vsphere_datastore_total", &[("type", kind)], *count);
    }
    add("vsphere_rwx_volumes_total", &[], facts.shared_volumes);
    add("vsphere_zonal_volumes_total", &[], facts.zonal_volumes);
    let counts = facts.domains;
    for (scope, count) in [
        ("regions", counts.regions),
        ("zones", counts.zones),
        ("vcenters", counts.vcenters),
        ("datacenters", counts.datacenters),
        ("datastores", counts.datastores),
        ("failure_domains", counts.failure_domains),
    ] {
        add("vsphere_infrastructure_failure_domains", &[("scope", scope)], count);
    }
    // Zones and regions have categories of their own as soon as there are several failure domains.
    let categories = if counts.failure_domains > 1 { 2 } else { 0 };
    add("vsphere_topology_tags", &[("source", "infrastructure")], categories);
    for because in &verdict.reasons {
        let labels = [("failure_reason", because.reason.as_str()), ("condition", because.effect.as_str())];
        add("vsphere_csi_driver_error", &labels, 1);
    }
    all.sort();
    all
}

/// The series as Prometheus reads them.
pub fn exposition(series: &[Series]) -> String {
    let mut text = String::new();
    let mut family = "";
    for Series { name, labels, value } in series {
        if *name != family {
            family = name;
            let help = FAMILIES.iter().find(|(known, _)| known == name).map_or("", |(_, help)| help);
            text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} gauge\n"));
        }
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        text.push_str(&format!("{name}{labels} {value}\n"));
    }
    text
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
