//! Which privileges are needed where, and for what.
//!
//! The steps of creating and destroying say themselves what they need: `of` takes it from the engine's plan. What runs
//! in the cluster later, with the same account, is added here.

use slipway_assess::vsphere::preflight::expected::{ExpectedDomain, ExpectedObjects};
use slipway_assess::vsphere::preflight::needs::NeededPrivilege;
use slipway_assets::Named;
use slipway_engine::resource::GraphError;

use super::super::{Blueprint, privileges};

/// What the cluster's own components need, on a failure domain's objects.
struct Component {
    purpose: &'static str,
    root: &'static [&'static str],
    datastore: &'static [&'static str],
    folder: &'static [&'static str],
}

/// Least privileges of the storage driver and of the machine controllers, as their documentation lists them, beyond what
/// the steps need anyway.
const COMPONENTS: [Component; 2] = [
    Component {
        purpose: "let the storage driver of the cluster provide volumes",
        root: &["Cns.Searchable", "StorageProfile.Update", "StorageProfile.View"],
        datastore: &[
            "Datastore.Browse",
            "Datastore.FileManagement",
            "InventoryService.Tagging.ObjectAttachable",
        ],
        folder: &["VirtualMachine.Config.AddExistingDisk", "VirtualMachine.Config.RemoveDisk"],
    },
    Component {
        purpose: "let the cluster keep its session and its machines",
        root: &["Sessions.ValidateSession"],
        datastore: &[],
        folder: &["VirtualMachine.Interact.Reset", "VirtualMachine.Config.Annotation"],
    },
];

/// What creating, running and destroying the cluster needs of one vCenter. `exists` says whether there is a folder at a path
/// already.
pub(super) fn of(
    named: &Named,
    blueprint: &Blueprint,
    wanted: &ExpectedObjects,
    exists: &dyn Fn(&str) -> bool,
) -> Result<Vec<NeededPrivilege>, GraphError> {
    let mut needs = privileges::of(named, blueprint, exists)?;
    needs.retain(|need| need.endpoint == wanted.endpoint);
    for site in wanted.sites.iter().filter(|site| !site.folder.is_empty()) {
        needs.extend(COMPONENTS.iter().flat_map(|component| component.needs(site, &wanted.endpoint)));
    }
    needs.sort();
    needs.dedup();
    Ok(needs)
}

impl Component {
    fn needs(&self, site: &ExpectedDomain, endpoint: &str) -> Vec<NeededPrivilege> {
        let on = |object: &str, privileges: &[&str]| -> Vec<NeededPrivilege> {
            let need = |privilege: &&str| NeededPrivilege {
                endpoint: endpoint.to_owned(),
                object: object.to_owned(),
                privilege: (*privilege).to_owned(),
                step: self.purpose.to_owned(),
                left_out: None,
            };
            privileges.iter().map(need).collect()
        };
        [on("/", self.root), on(&site.datastore, self.datastore), on(&site.folder, self.folder)].concat()
    }
}
