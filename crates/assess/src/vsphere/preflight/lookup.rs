//! Names of old configurations, looked up where they live.

use std::cell::RefCell;

use secrecy::{ExposeSecret, SecretString};
use slipway_config::install_config::vsphere::{ByRule, PathLookup};
use slipway_config::install_config::{InstallConfig, load_with};
use slipway_config::inventory::{Branch, InventoryPath};
use slipway_providers::vsphere::inventory::Inventory;

use crate::preflight::report::{Check, Finding};

/// The configuration with the paths that names stand for on this vCenter, and what is to be said about them.
pub fn resolve(
    text: &SecretString,
    server: &str,
    inventory: &Inventory,
) -> (Option<InstallConfig>, Vec<Finding>) {
    let lookup = Live { server, inventory, findings: RefCell::default() };
    let config = load_with(text.expose_secret(), &lookup).config;
    (config, lookup.findings.into_inner())
}

struct Live<'a> {
    server: &'a str,
    inventory: &'a Inventory,
    findings: RefCell<Vec<Finding>>,
}

impl PathLookup for Live<'_> {
    fn path(
        &self,
        server: &str,
        datacenter: &str,
        branch: Branch,
        name: &str,
    ) -> Result<InventoryPath, String> {
        let by_rule = ByRule.path(server, datacenter, branch, name)?;
        // What is where the rule says is meant, whatever else has that name.
        if server != self.server || self.inventory.at(by_rule.as_str()).is_some() {
            return Ok(by_rule);
        }
        let places = places(self.inventory, datacenter, branch, name);
        let kind = kind(branch);
        let finding = match &places[..] {
            // Folders are made where they are missing; for the rest see the checks of each.
            [] => return Ok(by_rule),
            [only] => Finding::failure(
                Check::Names,
                name,
                format!(
                    "the {kind} `{name}` is `{only}`, but the files of the cluster would say `{by_rule}`: they are created without \
                     asking a vCenter"
                ),
            )
            .remedy(format!("write `{only}` instead of `{name}` in install-config.yaml")),
            several => Finding::failure(
                Check::Names,
                name,
                format!("there are {} of the name `{name}`, and which {kind} is meant cannot be known", several.len()),
            )
            .details(several.iter().map(ToString::to_string))
            .remedy(format!("write the path of one of them instead of `{name}` in install-config.yaml")),
        };
        self.findings.borrow_mut().push(finding);
        Ok(places.into_iter().next().unwrap_or(by_rule))
    }
}

fn kind(branch: Branch) -> &'static str {
    match branch {
        Branch::Host => "compute cluster",
        Branch::Datastore => "datastore",
        Branch::Vm => "folder",
    }
}

/// The paths of everything of that name in a branch of a datacenter.
fn places(inventory: &Inventory, datacenter: &str, branch: Branch, name: &str) -> Vec<InventoryPath> {
    let top = format!("/{}/{}/", datacenter.trim_matches('/'), branch.as_str());
    let items = inventory.items().iter().filter(|item| item.path.starts_with(&top) && item.is_called(name));
    let fitting = items.filter(|item| match branch {
        Branch::Host => item.is_cluster(),
        Branch::Datastore => item.is("Datastore"),
        Branch::Vm => item.is("Folder"),
    });
    let mut paths: Vec<_> = fitting.filter_map(|item| InventoryPath::parse(&item.path, branch)).collect();
    paths.sort();
    paths
}
