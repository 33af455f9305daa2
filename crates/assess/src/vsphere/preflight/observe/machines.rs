//! Machines and templates, but only those whose names matter: a vCenter may have tens of thousands.

use std::collections::BTreeSet;

use slipway_providers::vsphere::inventory::{Facet, Inventory, Item, Scope};
use slipway_providers::vsphere::{Client, Error, Reference};

use crate::vsphere::preflight::expected::{ExpectedDomain, ExpectedObjects, Template};

/// The folders in which names matter.
pub(super) fn folders(site: &ExpectedDomain) -> Vec<String> {
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
pub(super) fn are_anywhere(wanted: &ExpectedObjects) -> bool {
    let bare = |site: &ExpectedDomain| matches!(&site.template, Template::Given(name) if !name.contains('/'));
    wanted.sites.iter().any(bare)
}

/// Names first, unless all of them were read in the pass; then what is to be known of those that matter.
pub(super) async fn read(
    client: &Client,
    wanted: &ExpectedObjects,
    inventory: &mut Inventory,
) -> Result<(), Error> {
    let names = names(wanted);
    if !names.is_empty() && !are_anywhere(wanted) {
        let folders = wanted.sites.iter().flat_map(folders);
        let contents: BTreeSet<Reference> = folders
            .filter_map(|path| inventory.at(&path))
            .flat_map(Item::contents)
            .filter(|id| &*id.kind == "VirtualMachine")
            .cloned()
            .collect();
        inventory.learn(client, contents, &Scope::of([Facet::Machines])).await?;
    }
    let matters = |item: &Item| names.iter().any(|name| item.is_called(name));
    inventory.retain(|item| item.machine().is_none() || matters(item));
    let machines: Vec<Reference> = inventory
        .items()
        .iter()
        .filter(|item| item.machine().is_some())
        .map(|item| item.id.clone())
        .collect();
    inventory.learn(client, machines, &Scope::of([Facet::Templates])).await
}

/// Names of templates, and those that will be given.
fn names(wanted: &ExpectedObjects) -> Vec<&str> {
    let templates = wanted.sites.iter().filter_map(|site| match &site.template {
        Template::Given(path) | Template::Imported { path, .. } => path.rsplit('/').next(),
        Template::None => None,
    });
    templates.chain(wanted.named_machines().map(|(_, _, name)| name)).collect()
}
