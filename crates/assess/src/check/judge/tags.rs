//! Regions, zones and groups of hosts. Drivers find them by the names of tags, going up from a machine's host.

use std::collections::BTreeSet;

use slipway_config::ids::{REGION_CATEGORY, ZONE_CATEGORY};
use slipway_config::install_config::vsphere::RegionKind;
use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::inventory::{Cluster, Item};

use super::super::catalog::Check;
use super::super::observe::Question;
use super::super::report::{Finding, Verdicts};
use super::super::snapshot::VCenterSnapshot;
use super::super::target::{CheckTarget, Domain, Zone};
use super::places;
use super::storage::own_policy;
use crate::finding::Outcome;
use crate::vsphere::tags::Needed;

/// The categories whose tags are judged.
pub(in crate::check) fn categories(subject: &CheckTarget) -> Vec<String> {
    let own = subject.cluster_id.as_ref().map(|id| own_policy(id).1);
    [REGION_CATEGORY.to_owned(), ZONE_CATEGORY.to_owned()].into_iter().chain(own).collect()
}

/// The objects whose tags must be known.
pub(in crate::check) fn objects(question: &Question, snapshot: &VCenterSnapshot) -> BTreeSet<Reference> {
    let mut objects = BTreeSet::new();
    let inventory = &snapshot.inventory;
    for domain in question.subject.domains_on(&snapshot.server) {
        if question.subject.is_zoned() {
            let cluster = domain.cluster.as_deref().and_then(|path| inventory.at(path));
            let start = cluster.or_else(|| inventory.at(&domain.datacenter));
            objects.extend(
                start.into_iter().flat_map(|item| inventory.upwards(&item.path)).map(|item| item.id.clone()),
            );
            let hosts = cluster.and_then(Item::cluster).and_then(|cluster| hosts_of(domain, cluster));
            objects.extend(hosts.into_iter().flatten().cloned());
        }
        // The cluster's own storage policy finds datastores by their tags.
        if question.policies && question.subject.cluster_id.is_some() {
            objects.extend(places::find(&domain.datastore, domain, snapshot).map(|item| item.id.clone()));
        }
    }
    objects
}

fn hosts_of<'a>(domain: &Domain, cluster: &'a Cluster) -> Option<&'a Vec<Reference>> {
    match &domain.zone_kind {
        Zone::HostGroup { hosts, .. } => cluster.host_groups.get(hosts),
        Zone::Cluster => None,
    }
}

pub(super) fn zones(domain: &Domain, snapshot: &VCenterSnapshot) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let inventory = &snapshot.inventory;
    let tags = match &snapshot.tags {
        Ok(tags) => tags,
        Err(reason) => {
            let message = format!("tags could not be read: {reason}");
            verdicts.add(Check::ZoneTags, Some(Finding::unknown(Check::ZoneTags, "tags", message)));
            return verdicts;
        }
    };
    let cluster = domain.cluster.as_deref().and_then(|path| inventory.at(path));
    let region = match domain.region_kind {
        RegionKind::Datacenter => inventory.at(&domain.datacenter),
        RegionKind::ComputeCluster => cluster,
    };
    let need = |category, name| Needed { category, name, attached: tags, inventory };
    if let Some(item) = region {
        verdicts.judge(Check::ZoneTags, &item.path, need(REGION_CATEGORY, &domain.region).on(item));
    }
    let zone = need(ZONE_CATEGORY, &domain.zone);
    match (&domain.zone_kind, cluster) {
        (Zone::Cluster, Some(item)) => verdicts.judge(Check::ZoneTags, &item.path, zone.on(item)),
        (Zone::HostGroup { hosts: group, .. }, Some(item)) => {
            let ids = item.cluster().and_then(|cluster| hosts_of(domain, cluster));
            let hosts: Vec<&Item> = ids.into_iter().flatten().filter_map(|id| inventory.item(id)).collect();
            // Nodes run already, on any of the hosts.
            let judged = zone.on_hosts(group, &hosts, Outcome::Failure);
            let finding = judged.filter(|judged| judged.outcome != Outcome::Pass);
            verdicts
                .add(Check::ZoneTags, finding.map(|judged| Finding::judged(Check::ZoneTags, group, judged)));
        }
        (_, None) => {}
    }
    verdicts
}

/// The groups and the rule that keep machines on the hosts of their zone.
pub(super) fn host_groups(domain: &Domain, snapshot: &VCenterSnapshot) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let Zone::HostGroup { hosts, machines, rule } = &domain.zone_kind else { return verdicts };
    let item = domain.cluster.as_deref().and_then(|path| snapshot.inventory.at(path));
    let Some((item, cluster)) = item.and_then(|item| Some((item, item.cluster()?))) else { return verdicts };
    let path = &item.path;
    let failure = |object: &str, message: String, remedy: String| {
        Some(Finding::failure(Check::HostGroups, object, message).remedy(remedy))
    };
    let finding = match cluster.host_groups.get(hosts).map(Vec::len) {
        None => failure(
            hosts,
            format!("`{path}` has no group of hosts `{hosts}`, of `{}`", domain.name),
            format!("create the group `{hosts}` in `{path}` and put the hosts of the zone into it"),
        ),
        Some(0) => failure(
            hosts,
            format!("the group of hosts `{hosts}` in `{path}` is empty"),
            format!("put the hosts of the zone into `{hosts}`"),
        ),
        Some(_) => None,
    };
    verdicts.add(Check::HostGroups, finding);
    if let Some(machines) = machines {
        let missing = !cluster.vm_groups.contains(machines);
        let finding = failure(
            machines,
            format!("`{path}` has no group of machines `{machines}`, of `{}`", domain.name),
            format!("create the group `{machines}` in `{path}` and put the machines of the zone into it"),
        );
        verdicts.add(Check::HostGroups, finding.filter(|_| missing));
    }
    if let Some(rule) = rule {
        let binds = cluster.vm_host_rules.get(rule);
        let right = binds.is_some_and(|(vms, on)| on == hosts && machines.as_ref().is_none_or(|m| m == vms));
        let message = match binds {
            None => format!("`{path}` has no rule `{rule}`, of `{}`", domain.name),
            Some((vms, on)) => {
                format!(
                    "the rule `{rule}` in `{path}` binds `{vms}` to `{on}`, not to the host group of failure domain `{}`",
                    domain.name
                )
            }
        };
        let remedy =
            format!("create a rule `{rule}` that keeps the group of machines on the hosts of `{hosts}`");
        verdicts.add(Check::HostGroups, failure(rule, message, remedy).filter(|_| !right));
    }
    verdicts
}
