//! What failure domains name, and whether it is there.

use slipway_providers::vsphere::inventory::Item;

use super::super::catalog::Check;
use super::super::report::{Finding, Verdicts};
use super::super::snapshot::VCenterSnapshot;
use super::super::target::{Domain, VCenter};
use crate::finding::Judgement;
use crate::vsphere::datastores;
use crate::vsphere::places::{Place, no_network};

pub(super) fn judge(domain: &Domain, snapshot: &VCenterSnapshot) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let user = &snapshot.privileges.user;
    let mut wanted = vec![(Place::Datacenter, domain.datacenter.as_str())];
    wanted.extend(domain.cluster.as_deref().map(|path| (Place::ComputeCluster, path)));
    wanted.extend(domain.pool.as_deref().map(|path| (Place::ResourcePool, path)));
    wanted.extend(domain.folder.as_deref().map(|path| (Place::Folder, path)));
    // What is below something that is missing is not said again.
    let lost = wanted.iter().find(|(place, path)| place.at(&snapshot.inventory, path).is_none());
    if let Some((place, path)) = lost {
        verdicts.judge(Check::Places, path, of_domain(place.missing(path, user, &[]), domain));
        return verdicts;
    }
    verdicts.add(Check::Places, None);
    if let Some(cluster) = domain.cluster.as_deref().and_then(|path| snapshot.inventory.at(path)) {
        for network in &domain.networks {
            if snapshot.inventory.networks_called(cluster, network).is_empty() {
                let judgement = no_network(network, cluster, &snapshot.inventory, user);
                verdicts.judge(Check::Places, network, of_domain(judgement, domain));
            } else {
                verdicts.add(Check::Places, None);
            }
        }
    }
    verdicts.add(Check::Datastore, datastore(domain, snapshot));
    verdicts
}

/// The same, with the failure domain that names it.
fn of_domain(judgement: Judgement, domain: &Domain) -> Judgement {
    let message = format!("{} (failure domain `{}`)", judgement.message, domain.name);
    Judgement { message, ..judgement }
}

/// Objects that a connection names.
pub(super) fn resources(vcenter: &VCenter, snapshot: &VCenterSnapshot) -> Verdicts {
    let mut verdicts = Verdicts::default();
    for path in &vcenter.resources {
        let message = || format!("there is no `{path}`, or `{}` may not see it", snapshot.privileges.user);
        let finding = || {
            let remedy = "correct `resources` of the connection, or let the user see it";
            Finding::failure(Check::Places, path, message()).remedy(remedy)
        };
        verdicts.add(Check::Places, snapshot.inventory.at(path).is_none().then(finding));
    }
    verdicts
}

fn datastore(domain: &Domain, snapshot: &VCenterSnapshot) -> Option<Finding> {
    let path = &domain.datastore;
    let check = Check::Datastore;
    let Some(item) = find(path, domain, snapshot) else {
        let judgement = Place::Datastore.missing(path, &snapshot.privileges.user, &[]);
        return Some(Finding::judged(check, path, of_domain(judgement, domain)));
    };
    unusable(check, item).or_else(|| in_cluster(check, item, snapshot))
}

/// A datastore by its path, also where it hides in a datastore cluster or a folder that is not named.
pub(in crate::check) fn find<'a>(
    path: &str,
    domain: &Domain,
    snapshot: &'a VCenterSnapshot,
) -> Option<&'a Item> {
    if let Some(item) = snapshot.inventory.at(path) {
        return Some(item);
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let within = format!("{}/datastore/", domain.datacenter);
    let mut called =
        snapshot.inventory.items().iter().filter(|item| {
            item.datastore().is_some() && item.name() == name && item.path.starts_with(&within)
        });
    called.next().filter(|_| called.next().is_none())
}

pub(super) fn unusable(check: Check, item: &Item) -> Option<Finding> {
    let judgement = datastores::unusable(item)?;
    Some(Finding::judged(check, &item.path, judgement))
}

pub(super) fn in_cluster(check: Check, item: &Item, snapshot: &VCenterSnapshot) -> Option<Finding> {
    let pod = snapshot.inventory.parent(item).filter(|parent| parent.is("StoragePod"))?;
    let message = format!(
        "the datastore `{}` is part of the datastore cluster `{}`: Storage DRS moves volumes, and the storage \
         driver then does not find them",
        item.path, pod.path
    );
    let remedy = "take it out of the datastore cluster, or switch Storage DRS to manual for it";
    Some(Finding::warning(check, &item.path, message).remedy(remedy))
}
