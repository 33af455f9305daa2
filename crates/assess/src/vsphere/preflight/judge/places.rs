//! Whether everything the configuration names is there, and fits together.

use slipway_config::install_config::vsphere::ZoneKind;
use slipway_providers::vsphere::inventory::Item;
use slipway_providers::vsphere::paths::is_name_of;

use crate::preflight::report::{Check, Finding};
use crate::text::count;
use crate::vsphere::datastores;
use crate::vsphere::places::{Place, no_network};
use crate::vsphere::preflight::expected::ExpectedDomain;
use crate::vsphere::preflight::snapshot::{Depth, VCenterSnapshot};

/// What of a failure domain is there.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) datacenter: Option<&'a Item>,
    pub(super) cluster: Option<&'a Item>,
    pub(super) pool: Option<&'a Item>,
    pub(super) datastore: Option<&'a Item>,
    /// The hosts machines may run on, in a zone that is a group of hosts its members.
    pub(super) hosts: Vec<&'a Item>,
}

pub(super) fn find<'a>(site: &ExpectedDomain, snapshot: &'a VCenterSnapshot) -> Found<'a> {
    let at = |place: Place, path: &str| place.at(&snapshot.inventory, path);
    let cluster = site.cluster.as_deref().and_then(|path| at(Place::ComputeCluster, path));
    let facts = cluster.and_then(Item::cluster);
    let members = match (&site.zone_kind, facts) {
        (ZoneKind::HostGroup(group), Some(facts)) => facts.host_groups.get(group).map(Vec::as_slice),
        (ZoneKind::ComputeCluster, Some(facts)) => Some(facts.hosts.as_slice()),
        (_, None) => None,
    };
    Found {
        datacenter: at(Place::Datacenter, &site.datacenter),
        cluster,
        pool: site.pool.as_deref().and_then(|path| at(Place::ResourcePool, path)),
        datastore: at(Place::Datastore, &site.datastore),
        hosts: members.unwrap_or_default().iter().filter_map(|id| snapshot.inventory.item(id)).collect(),
    }
}

pub(super) fn judge(
    site: &ExpectedDomain,
    found: &Found<'_>,
    named: bool,
    snapshot: &VCenterSnapshot,
) -> Vec<Finding> {
    // What is in a datacenter that is not there is not there either; that needs no saying.
    if found.datacenter.is_none() {
        return vec![datacenter(&site.datacenter, snapshot)];
    }
    let mut findings = vec![there(Place::Datacenter, &site.datacenter)];
    findings.extend(cluster(site, found, snapshot));
    findings.extend(datastore(site, found, snapshot));
    findings.extend(folder(site, named, snapshot));
    if let Some(cluster) = found.cluster {
        findings.extend(site.networks.iter().map(|name| network(name, cluster, snapshot)));
    }
    findings
}

/// How scripts know the check of a place.
fn check_of(place: Place) -> Check {
    match place {
        Place::Datacenter => Check::Datacenter,
        Place::ComputeCluster => Check::ComputeCluster,
        Place::ResourcePool => Check::ResourcePool,
        Place::Datastore => Check::Datastore,
        Place::Folder => Check::Folder,
        Place::Network => Check::Network,
        Place::HostGroup => Check::HostGroup,
    }
}

fn there(place: Place, path: &str) -> Finding {
    Finding::pass(check_of(place), path, format!("the {} is there", place.name()))
}

fn missing(place: Place, object: &str, snapshot: &VCenterSnapshot, others: &[String]) -> Finding {
    Finding::judged(check_of(place), object, place.missing(object, &snapshot.privileges.user, others))
}

/// One that is missing, with what there is of its kind below a path.
fn missing_below(place: Place, object: &str, snapshot: &VCenterSnapshot, below: &str) -> Finding {
    missing(place, object, snapshot, &place.below(&snapshot.inventory, below))
}

/// One that is in a folder is meant by its path, and so is everything in it.
fn datacenter(wanted: &str, snapshot: &VCenterSnapshot) -> Finding {
    let candidates = Place::Datacenter.below(&snapshot.inventory, "/");
    let called = |path: &&String| is_name_of(wanted.trim_start_matches('/'), last(path));
    let elsewhere: Vec<&String> = candidates.iter().filter(called).collect();
    let finding = missing(Place::Datacenter, wanted, snapshot, &candidates);
    match elsewhere[..] {
        [only] => finding.remedy(format!(
            "write `{only}` in `topology.datacenter` and in `datacenters` of the vCenter, and begin the paths of the failure \
             domain with it"
        )),
        _ => finding,
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn cluster(site: &ExpectedDomain, found: &Found<'_>, snapshot: &VCenterSnapshot) -> Vec<Finding> {
    let Some(path) = &site.cluster else { return Vec::new() };
    let Some(cluster) = found.cluster else {
        return vec![missing_below(Place::ComputeCluster, path, snapshot, &format!("{}/", site.datacenter))];
    };
    let mut findings = vec![there(Place::ComputeCluster, path)];
    if let Some(pool) = &site.pool {
        findings.push(if found.pool.is_some() {
            there(Place::ResourcePool, pool)
        } else {
            missing_below(Place::ResourcePool, pool, snapshot, &format!("{path}/"))
        });
    }
    if let (ZoneKind::HostGroup(group), Some(facts)) = (&site.zone_kind, cluster.cluster())
        && snapshot.depth >= Depth::Hosts
    {
        findings.push(match facts.host_groups.get(group) {
            None => {
                let groups: Vec<String> = facts.host_groups.keys().cloned().collect();
                missing(Place::HostGroup, group, snapshot, &groups)
            }
            Some(hosts) if hosts.is_empty() => {
                let message = format!("the group of hosts `{group}` of `{path}` is empty");
                Finding::failure(Check::HostGroup, group, message).remedy("add hosts to the group")
            }
            Some(hosts) => Finding::pass(
                Check::HostGroup,
                group,
                format!("the group has {}", count(hosts.len(), "host")),
            ),
        });
        if !facts.drs {
            let message =
                format!("DRS is off in `{path}`, so nothing keeps machines on the hosts of `{group}`");
            findings.push(
                Finding::failure(Check::HostGroup, path, message).remedy("switch DRS on in this cluster"),
            );
        }
    }
    findings
}

fn datastore(site: &ExpectedDomain, found: &Found<'_>, snapshot: &VCenterSnapshot) -> Vec<Finding> {
    let path = &site.datastore;
    let Some(item) = found.datastore else {
        return vec![missing_below(Place::Datastore, path, snapshot, &format!("{}/", site.datacenter))];
    };
    if let Some(judgement) = datastores::unusable(item) {
        return vec![Finding::judged(Check::Datastore, path, judgement)];
    }
    let cluster = found.cluster.and_then(Item::cluster);
    vec![if cluster.is_some_and(|cluster| !cluster.datastores.contains(&item.id)) {
        let message = format!("the datastore `{path}` is not mounted by any host of the compute cluster");
        Finding::failure(Check::Datastore, path, message).remedy("mount it there, or name another one")
    } else {
        there(Place::Datastore, path)
    }]
}

/// A folder that is missing is made; what it will be in must be there.
fn folder(site: &ExpectedDomain, named: bool, snapshot: &VCenterSnapshot) -> Option<Finding> {
    let path = &site.folder;
    if path.is_empty() {
        return None;
    }
    match snapshot.inventory.at(path) {
        Some(item) if item.is("Folder") => Some(there(Place::Folder, path)),
        Some(item) => {
            let message = format!("`{path}` is a {}, not a folder", item.id.kind);
            Some(Finding::failure(Check::Folder, path, message).remedy("name another `topology.folder`"))
        }
        // A name that is not drawn yet is not shown.
        None if snapshot.inventory.is_for_machines(path) && site.own_folder && !named => {
            let (above, _) = path.rsplit_once('/')?;
            Some(Finding::pass(Check::Folder, above, "a folder for the cluster will be created in it"))
        }
        None if snapshot.inventory.is_for_machines(path) => {
            Some(Finding::pass(Check::Folder, path, "the folder will be created"))
        }
        None => {
            let message =
                format!("the folder `{path}` is not there, and is not below a VM folder (/DATACENTER/vm/)");
            Some(Finding::failure(Check::Folder, path, message).remedy("correct `topology.folder`"))
        }
    }
}

fn network(name: &str, cluster: &Item, snapshot: &VCenterSnapshot) -> Finding {
    let networks = snapshot.inventory.networks_called(cluster, name);
    match networks[..] {
        [only] => Finding::pass(Check::Network, name, format!("the network is `{}`", only.path)),
        [] => {
            let user = &snapshot.privileges.user;
            Finding::judged(Check::Network, name, no_network(name, cluster, &snapshot.inventory, user))
        }
        _ => {
            let paths = networks.iter().map(|network| format!("{} ({})", network.path, network.id));
            let message = format!("`{}` has {} networks `{name}`", cluster.path, networks.len());
            Finding::failure(Check::Network, name, message)
                .details(paths)
                .remedy("rename one of them, or name the network by its path")
        }
    }
}
