//! Whether everything the configuration names is there, and fits together.

use slipway_config::install_config::vsphere::ZoneKind;
use slipway_providers::vsphere::inventory::Item;
use slipway_providers::vsphere::paths::is_name_of;

use crate::preflight::estate::{Depth, Estate};
use crate::preflight::report::{Check, Finding};
use crate::preflight::wanted::Site;
use crate::text::count;
use crate::vsphere::datastores;

/// The most objects that are listed where one is missing.
const MAX_LISTED: usize = 8;

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

pub(super) fn find<'a>(site: &Site, estate: &'a Estate) -> Found<'a> {
    let at = |path: &str, fits: &dyn Fn(&Item) -> bool| estate.inventory.at(path).filter(|item| fits(item));
    let cluster = site.cluster.as_deref().and_then(|path| at(path, &Item::is_cluster));
    let facts = cluster.and_then(Item::cluster);
    let members = match (&site.zone_kind, facts) {
        (ZoneKind::HostGroup(group), Some(facts)) => facts.host_groups.get(group).map(Vec::as_slice),
        (ZoneKind::ComputeCluster, Some(facts)) => Some(facts.hosts.as_slice()),
        (_, None) => None,
    };
    Found {
        datacenter: at(&site.datacenter, &|item| item.is("Datacenter")),
        cluster,
        pool: site.pool.as_deref().and_then(|path| at(path, &Item::is_pool)),
        datastore: at(&site.datastore, &|item| item.is("Datastore")),
        hosts: members.unwrap_or_default().iter().filter_map(|id| estate.inventory.item(id)).collect(),
    }
}

pub(super) fn judge(site: &Site, found: &Found<'_>, named: bool, estate: &Estate) -> Vec<Finding> {
    // What is in a datacenter that is not there is not there either; that needs no saying.
    if found.datacenter.is_none() {
        return vec![datacenter(&site.datacenter, estate)];
    }
    let mut findings = vec![there(Check::Datacenter, "datacenter", &site.datacenter)];
    findings.extend(cluster(site, found, estate));
    findings.extend(datastore(site, found, estate));
    findings.extend(folder(site, named, estate));
    if let Some(cluster) = found.cluster {
        findings.extend(site.networks.iter().map(|name| network(name, cluster, estate)));
    }
    findings
}

/// A kind of object, and where the configuration names it.
struct Wanted {
    check: Check,
    what: &'static str,
    field: &'static str,
}

fn there(check: Check, what: &str, path: &str) -> Finding {
    Finding::pass(check, path, format!("the {what} is there"))
}

fn missing(wanted: &Wanted, object: &str, estate: &Estate, candidates: &[String]) -> Finding {
    let Wanted { check, what, field } = wanted;
    let user = &estate.privileges.user;
    let message = format!("the {what} `{object}` is not there, or `{user}` may not see it");
    let details = (!candidates.is_empty()).then(|| {
        let more = candidates.len().saturating_sub(MAX_LISTED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let listed: Vec<&str> = candidates.iter().map(String::as_str).take(MAX_LISTED).collect();
        format!("what `{user}` sees there: {}{more}", listed.join(", "))
    });
    Finding::failure(*check, object, message)
        .details(details)
        .remedy(format!("correct `{field}`, or give `{user}` a role with System.Read on it"))
}

/// The paths of everything of a kind below a path.
fn of_kind(estate: &Estate, below: &str, fits: &dyn Fn(&Item) -> bool) -> Vec<String> {
    let fitting = estate.inventory.items().iter().filter(|item| item.path.starts_with(below) && fits(item));
    let mut paths: Vec<String> = fitting.map(|item| item.path.clone()).collect();
    paths.sort();
    paths
}

/// One that is in a folder is meant by its path, and so is everything in it.
fn datacenter(wanted: &str, estate: &Estate) -> Finding {
    let candidates = of_kind(estate, "/", &|item| item.is("Datacenter"));
    let called = |path: &&String| is_name_of(wanted.trim_start_matches('/'), last(path));
    let elsewhere: Vec<&String> = candidates.iter().filter(called).collect();
    let kind = Wanted { check: Check::Datacenter, what: "datacenter", field: "topology.datacenter" };
    let finding = missing(&kind, wanted, estate, &candidates);
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

fn cluster(site: &Site, found: &Found<'_>, estate: &Estate) -> Vec<Finding> {
    let Some(path) = &site.cluster else { return Vec::new() };
    let Some(cluster) = found.cluster else {
        let wanted = Wanted {
            check: Check::ComputeCluster,
            what: "compute cluster",
            field: "topology.computeCluster",
        };
        let candidates = of_kind(estate, &format!("{}/", site.datacenter), &Item::is_cluster);
        return vec![missing(&wanted, path, estate, &candidates)];
    };
    let mut findings = vec![there(Check::ComputeCluster, "compute cluster", path)];
    if let Some(pool) = &site.pool {
        findings.push(if found.pool.is_some() {
            there(Check::ResourcePool, "resource pool", pool)
        } else {
            let wanted =
                Wanted { check: Check::ResourcePool, what: "resource pool", field: "topology.resourcePool" };
            missing(&wanted, pool, estate, &of_kind(estate, &format!("{path}/"), &Item::is_pool))
        });
    }
    if let (ZoneKind::HostGroup(group), Some(facts)) = (&site.zone_kind, cluster.cluster())
        && estate.depth >= Depth::Hosts
    {
        findings.push(match facts.host_groups.get(group) {
            None => {
                let wanted =
                    Wanted { check: Check::HostGroup, what: "group of hosts", field: "topology.hostGroup" };
                missing(&wanted, group, estate, &facts.host_groups.keys().cloned().collect::<Vec<_>>())
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

fn datastore(site: &Site, found: &Found<'_>, estate: &Estate) -> Vec<Finding> {
    let path = &site.datastore;
    let Some(item) = found.datastore else {
        let wanted = Wanted { check: Check::Datastore, what: "datastore", field: "topology.datastore" };
        let candidates = of_kind(estate, &format!("{}/", site.datacenter), &|item| item.is("Datastore"));
        return vec![missing(&wanted, path, estate, &candidates)];
    };
    if let Some(judgement) = datastores::unusable(item) {
        return vec![Finding::judged(Check::Datastore, path, judgement)];
    }
    let cluster = found.cluster.and_then(Item::cluster);
    vec![if cluster.is_some_and(|cluster| !cluster.datastores.contains(&item.id)) {
        let message = format!("the datastore `{path}` is not mounted by any host of the compute cluster");
        Finding::failure(Check::Datastore, path, message).remedy("mount it there, or name another one")
    } else {
        there(Check::Datastore, "datastore", path)
    }]
}

/// A folder that is missing is made; what it will be in must be there.
fn folder(site: &Site, named: bool, estate: &Estate) -> Option<Finding> {
    let path = &site.folder;
    if path.is_empty() {
        return None;
    }
    match estate.inventory.at(path) {
        Some(item) if item.is("Folder") => Some(there(Check::Folder, "folder", path)),
        Some(item) => {
            let message = format!("`{path}` is a {}, not a folder", item.id.kind);
            Some(Finding::failure(Check::Folder, path, message).remedy("name another `topology.folder`"))
        }
        // A name that is not drawn yet is not shown.
        None if estate.inventory.is_for_machines(path) && site.own_folder && !named => {
            let (above, _) = path.rsplit_once('/')?;
            Some(Finding::pass(Check::Folder, above, "a folder for the cluster will be created in it"))
        }
        None if estate.inventory.is_for_machines(path) => {
            Some(Finding::pass(Check::Folder, path, "the folder will be created"))
        }
        None => {
            let message = format!("the folder `{path}` is not there, and not below a folder of machines");
            Some(Finding::failure(Check::Folder, path, message).remedy("correct `topology.folder`"))
        }
    }
}

fn network(name: &str, cluster: &Item, estate: &Estate) -> Finding {
    let networks = estate.inventory.networks_called(cluster, name);
    match networks[..] {
        [only] => Finding::pass(Check::Network, name, format!("the network is `{}`", only.path)),
        [] => {
            let wanted = Wanted { check: Check::Network, what: "network", field: "topology.networks" };
            let seen = cluster.cluster().map(|cluster| cluster.networks.as_slice()).unwrap_or_default();
            let seen = seen.iter().filter_map(|id| Some(estate.inventory.item(id)?.name().to_owned()));
            let mut finding = missing(&wanted, name, estate, &seen.collect::<Vec<_>>());
            finding.message = format!(
                "no host of `{}` is connected to a network `{name}`, or `{}` may not see it",
                cluster.path, estate.privileges.user
            );
            finding
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
