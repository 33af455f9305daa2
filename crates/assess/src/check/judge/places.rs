//! What failure domains name, and whether it is there.

use slipway_providers::vsphere::inventory::Item;

use super::super::catalog::Check;
use super::super::estate::Estate;
use super::super::report::{Finding, Verdicts};
use super::super::subject::{Domain, VCenter};
use crate::vsphere::datastores;

pub(super) fn judge(domain: &Domain, estate: &Estate) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let mut wanted = vec![("datacenter", domain.datacenter.as_str())];
    wanted.extend(domain.cluster.as_deref().map(|path| ("compute cluster", path)));
    wanted.extend(domain.pool.as_deref().map(|path| ("resource pool", path)));
    wanted.extend(domain.folder.as_deref().map(|path| ("folder", path)));
    // What is below something that is missing is not said again.
    if let Some((kind, path)) = wanted.iter().find(|(_, path)| estate.inventory.at(path).is_none()) {
        verdicts.add(Check::Places, Some(missing(kind, path, domain, estate)));
        return verdicts;
    }
    verdicts.add(Check::Places, None);
    if let Some(cluster) = domain.cluster.as_deref().and_then(|path| estate.inventory.at(path)) {
        for network in &domain.networks {
            let found = !estate.inventory.networks_called(cluster, network).is_empty();
            let finding = || {
                let message = format!(
                    "the hosts of `{}` have no network `{network}`, of `{}`",
                    cluster.path, domain.name
                );
                let remedy = "give the hosts this network, or correct the failure domain";
                Finding::failure(Check::Places, network, message).remedy(remedy)
            };
            verdicts.add(Check::Places, (!found).then(finding));
        }
    }
    verdicts.add(Check::Datastore, datastore(domain, estate));
    verdicts
}

/// Objects that a connection names.
pub(super) fn resources(vcenter: &VCenter, estate: &Estate) -> Verdicts {
    let mut verdicts = Verdicts::default();
    for path in &vcenter.resources {
        let message = || format!("there is no `{path}`, or `{}` may not see it", estate.privileges.user);
        let finding = || {
            let remedy = "correct `resources` of the connection, or let the user see it";
            Finding::failure(Check::Places, path, message()).remedy(remedy)
        };
        verdicts.add(Check::Places, estate.inventory.at(path).is_none().then(finding));
    }
    verdicts
}

fn missing(kind: &str, path: &str, domain: &Domain, estate: &Estate) -> Finding {
    let message = format!(
        "there is no {kind} `{path}`, of `{}`, or `{}` may not see it",
        domain.name, estate.privileges.user
    );
    let remedy = "correct the failure domain, or let the user see it";
    Finding::failure(Check::Places, path, message).remedy(remedy)
}

fn datastore(domain: &Domain, estate: &Estate) -> Option<Finding> {
    let path = &domain.datastore;
    let check = Check::Datastore;
    let Some(item) = find(path, domain, estate) else {
        let message = format!("there is no datastore `{path}`, of `{}`", domain.name);
        return Some(Finding::failure(check, path, message).remedy("correct the failure domain"));
    };
    unusable(check, item).or_else(|| in_cluster(check, item, estate))
}

/// A datastore by its path, also where it hides in a datastore cluster or a folder that is not named.
pub(in crate::check) fn find<'a>(path: &str, domain: &Domain, estate: &'a Estate) -> Option<&'a Item> {
    if let Some(item) = estate.inventory.at(path) {
        return Some(item);
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let within = format!("{}/datastore/", domain.datacenter);
    let mut called =
        estate.inventory.items().iter().filter(|item| {
            item.datastore().is_some() && item.name() == name && item.path.starts_with(&within)
        });
    called.next().filter(|_| called.next().is_none())
}

pub(super) fn unusable(check: Check, item: &Item) -> Option<Finding> {
    let judgement = datastores::unusable(item)?;
    Some(Finding::judged(check, &item.path, judgement))
}

pub(super) fn in_cluster(check: Check, item: &Item, estate: &Estate) -> Option<Finding> {
    let pod = estate.inventory.parent(item).filter(|parent| parent.is("StoragePod"))?;
    let message = format!(
        "the datastore `{}` is part of the datastore cluster `{}`: Storage DRS moves volumes, and the storage \
         driver then does not find them",
        item.path, pod.path
    );
    let remedy = "take it out of the datastore cluster, or switch Storage DRS to manual for it";
    Some(Finding::warning(check, &item.path, message).remedy(remedy))
}
