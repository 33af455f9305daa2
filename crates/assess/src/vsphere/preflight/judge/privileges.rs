//! What the user may do, compared with what the steps need.

use std::collections::{BTreeMap, BTreeSet};

use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::inventory::Item;

use super::templates::named;
use crate::preflight::report::{Check, Finding};
use crate::vsphere::preflight::needs::NeededPrivilege;
use crate::vsphere::preflight::snapshot::VCenterSnapshot;

/// The most steps that are named with a privilege: machines have one each.
const NAMED_STEPS: usize = 3;

/// The objects whose privileges must be known.
pub fn entities(needs: &[NeededPrivilege], snapshot: &VCenterSnapshot) -> Vec<Reference> {
    let ids: BTreeSet<&Reference> =
        needs.iter().filter_map(|need| entity(&need.object, snapshot)).map(|item| &item.id).collect();
    ids.into_iter().cloned().collect()
}

/// What a privilege is needed on: the object, or what it will be in. `None` for what should be there and is not:
/// that is reported by others.
fn entity<'a>(path: &str, snapshot: &'a VCenterSnapshot) -> Option<&'a Item> {
    if let Some(item) = snapshot.inventory.at(path) {
        return Some(item);
    }
    if snapshot.inventory.is_for_machines(path) {
        let datacenter = snapshot.inventory.datacenter_of(path)?;
        let name = path.rsplit('/').next().unwrap_or_default();
        return match named(name, &datacenter.path, snapshot)[..] {
            [only] => Some(only),
            _ => snapshot.inventory.upwards(path).next(),
        };
    }
    // A network hangs below the cluster that reaches it.
    let (above, name) = path.rsplit_once('/')?;
    let cluster = snapshot.inventory.at(above).filter(|item| item.is_cluster())?;
    snapshot.inventory.networks_called(cluster, name).first().copied()
}

/// What is missing on one object.
#[derive(Default)]
struct Missing<'a> {
    /// By privilege, what it is needed for.
    steps: BTreeMap<&'a str, BTreeSet<&'a str>>,
    left_out: BTreeMap<&'a str, &'a str>,
}

pub(super) fn judge(needs: &[NeededPrivilege], snapshot: &VCenterSnapshot) -> Vec<Finding> {
    if let Some(unread) = snapshot.privileges.unread() {
        return vec![Finding::judged(Check::Privileges, "/", unread)];
    }
    let mut objects: BTreeMap<&str, (&Item, Missing<'_>)> = BTreeMap::new();
    for need in needs {
        let Some(item) = entity(&need.object, snapshot) else { continue };
        let (_, missing) = objects.entry(&item.path).or_insert_with(|| (item, Missing::default()));
        if !snapshot.privileges.lacks(&item.id, &need.privilege) {
            continue;
        }
        match &need.left_out {
            None => {
                missing.steps.entry(&need.privilege).or_default().insert(&need.step);
            }
            Some(left_out) => {
                missing.left_out.insert(&need.privilege, left_out);
            }
        }
    }
    objects.into_iter().flat_map(|(path, (item, missing))| about(path, item, missing, snapshot)).collect()
}

fn about(path: &str, item: &Item, mut missing: Missing<'_>, snapshot: &VCenterSnapshot) -> Vec<Finding> {
    let user = &snapshot.privileges.user;
    let steps = missing.steps;
    // What stops the cluster anyway is not said twice.
    missing.left_out.retain(|privilege, _| !steps.contains_key(privilege));
    let mut findings: Vec<Finding> = missing
        .left_out
        .into_iter()
        .map(|(privilege, left_out)| {
            let message = format!("{left_out}: `{user}` lacks {privilege} on `{path}`");
            let remedy = format!("give `{user}` a role with {privilege} on `{path}`, or accept it");
            Finding::warning(Check::AntiAffinity, path, message).remedy(remedy)
        })
        .collect();
    if steps.is_empty() {
        let message = format!("`{user}` may do what is needed there");
        findings.push(Finding::pass(Check::Privileges, path, message));
        return findings;
    }
    let names: Vec<&str> = steps.keys().copied().collect();
    let details = steps.iter().map(|(privilege, steps)| {
        let named: Vec<&str> = steps.iter().copied().take(NAMED_STEPS).collect();
        let more = match steps.len().saturating_sub(NAMED_STEPS) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        format!("{privilege}: needed to {}{more}", named.join("; to "))
    });
    let spread = match &*item.id.kind {
        "Folder" if path != "/" => " and have it propagate to what is in it",
        _ => "",
    };
    let judgement = snapshot.privileges.lacking(&names, path, spread).details(details);
    findings.push(Finding::judged(Check::Privileges, path, judgement));
    findings
}
