//! Names that are taken.

use slipway_config::ids::InfraId;
use uuid::Uuid;

use crate::preflight::report::{Check, Finding};
use crate::vsphere::preflight::expected::{ExpectedObjects, Template};
use crate::vsphere::preflight::snapshot::VCenterSnapshot;

pub(super) fn judge(wanted: &ExpectedObjects, snapshot: &VCenterSnapshot) -> Vec<Finding> {
    let Some(infra_id) = &wanted.infra_id else {
        let message =
            "the names of the cluster are drawn by `slipway create manifests`; nothing has them yet";
        return vec![Finding::pass(Check::Collisions, "names", message)];
    };
    let mut findings = Vec::new();
    for (site, machine, name) in wanted.named_machines() {
        let path = format!("{}/{name}", site.folder);
        findings.extend(taken(&path, machine.mark, snapshot).map(|finding| finding.domain(&site.name)));
    }
    for site in &wanted.sites {
        let mut about = Vec::new();
        if let Template::Imported { path, mark } = &site.template {
            about.extend(taken(path, Some(*mark), snapshot));
        }
        let begun = carries_tag(&site.folder, infra_id, snapshot);
        if !begun {
            about.extend(folder(&site.folder, site.own_folder, snapshot));
        }
        let cluster = site.cluster.as_deref().and_then(|path| snapshot.inventory.at(path));
        if let (Some(group), Some(cluster), false) = (&site.vm_group, cluster, begun)
            && cluster.cluster().is_some_and(|facts| facts.has_vm_group_or_rule(group))
        {
            let message = format!("`{}` has a group or rule `{group}` already", cluster.path);
            about.push(leftover(group, &message));
        }
        findings.extend(about.into_iter().map(|finding| finding.domain(&site.name)));
    }
    if findings.is_empty() {
        findings.push(Finding::pass(Check::Collisions, "names", "none of the names to be given is taken"));
    }
    findings
}

/// An object that carries our mark is ours, from an earlier run.
fn taken(path: &str, mark: Option<Uuid>, snapshot: &VCenterSnapshot) -> Option<Finding> {
    let item = snapshot.inventory.at(path)?;
    let uuid = item.machine().and_then(|facts| facts.instance_uuid);
    if uuid.is_some() && uuid == mark {
        return None;
    }
    let message = format!("`{path}` is there already, and was not created by this cluster");
    Some(
        Finding::failure(Check::Collisions, path, message)
            .remedy("remove or rename it; if another directory has the same names, one of the two is a copy"),
    )
}

/// Whether an earlier run of this cluster made the folder: it has the cluster's tag, which no other has.
fn carries_tag(path: &str, infra_id: &InfraId, snapshot: &VCenterSnapshot) -> bool {
    let (Some(item), Ok(tags)) = (snapshot.inventory.at(path), &snapshot.tags) else { return false };
    let own = (infra_id.tag_category(), infra_id.to_string());
    tags.attached.get(&item.id).is_some_and(|attached| attached.contains(&own))
}

/// Folders cannot carry a mark; one with our name that holds something is not from nowhere.
fn folder(path: &str, own: bool, snapshot: &VCenterSnapshot) -> Option<Finding> {
    let item = snapshot.inventory.at(path).filter(|item| own && item.is("Folder"))?;
    Some(leftover(path, &format!("the folder `{}` is there already", item.path)))
}

fn leftover(object: &str, message: &str) -> Finding {
    Finding::warning(Check::Collisions, object, format!("{message}; it will be used as it is"))
        .remedy("fine if an earlier run of this cluster made it; else remove it")
}
