//! Machines and templates, but only those whose names matter: a vCenter may have tens of thousands.

use slipway_providers::vsphere::properties::{Object, Wanted as Kind};
use slipway_providers::vsphere::{Client, Error, MoRef};

use super::{Inventory, PLACED, parse};
use crate::preflight::estate::Item;
use crate::preflight::wanted::{Site, Template, Wanted};

pub(super) const NAMES: [Kind<'static>; 1] = [Kind { kind: "VirtualMachine", properties: &PLACED }];

const DETAILS: [Kind<'static>; 1] = [Kind {
    kind: "VirtualMachine",
    properties: &[
        "name",
        "parent",
        "config.template",
        "config.version",
        "config.instanceUuid",
        "config.hardware.device",
        "config.vAppConfig.product",
    ],
}];

/// The folders in which names matter.
pub(super) fn folders(site: &Site) -> Vec<String> {
    let mut folders = vec![site.folder.clone()];
    if let Template::Given(path) = &site.template
        && let Some((folder, _)) = path.rsplit_once('/')
    {
        folders.push(if path.starts_with('/') {
            folder.to_owned()
        } else {
            format!("{}/vm/{folder}", site.datacenter)
        });
    }
    folders
}

/// Whether a template is known by its name alone: then it may be anywhere, and all names are read.
pub(super) fn are_anywhere(wanted: &Wanted) -> bool {
    let bare = |site: &Site| matches!(&site.template, Template::Given(name) if !name.contains('/'));
    wanted.sites.iter().any(bare)
}

/// `all` are the names of all machines, if they were read; `children` is what is in the folders that matter.
pub(super) async fn read(
    client: &Client,
    inventory: &Inventory<'_>,
    wanted: &Wanted,
    all: Vec<Object>,
    mut children: Vec<MoRef>,
) -> Result<Vec<Item>, Error> {
    children.retain(|child| &*child.reference.kind == "VirtualMachine");
    children.sort();
    children.dedup();
    let names = names(wanted);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let objects = if are_anywhere(wanted) { all } else { client.retrieve(&children, &NAMES).await? };
    let item = |object| {
        let path = inventory.path(object)?;
        Some(Item { id: object.moref.reference.clone(), path, facts: parse::facts(object) })
    };
    let matching = objects
        .iter()
        .filter(|object| item(object).is_some_and(|item| names.iter().any(|name| item.is_called(name))));
    let morefs: Vec<MoRef> = matching.map(|object| object.moref.clone()).collect();
    let details = client.retrieve(&morefs, &DETAILS).await?;
    Ok(details.iter().filter_map(item).collect())
}

/// Names of templates, and those that will be given.
fn names(wanted: &Wanted) -> Vec<&str> {
    let templates = wanted.sites.iter().filter_map(|site| match &site.template {
        Template::Given(path) | Template::Imported { path, .. } => path.rsplit('/').next(),
        Template::None => None,
    });
    templates.chain(wanted.named_machines().map(|(_, _, name)| name)).collect()
}
