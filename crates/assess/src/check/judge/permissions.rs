//! What the user may do, object by object. The lists are those of OpenShift's problem detector.

use std::collections::{BTreeMap, BTreeSet};

use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::inventory::Item;

use super::super::catalog::Check;
use super::super::report::{Finding, Verdicts};
use super::super::snapshot::{Machine, VCenterSnapshot};
use super::super::target::{CheckTarget, VCenter};
use super::places;

const ROOT: &[&str] = &[
    "Cns.Searchable",
    "InventoryService.Tagging.AttachTag",
    "InventoryService.Tagging.CreateCategory",
    "InventoryService.Tagging.CreateTag",
    "InventoryService.Tagging.DeleteCategory",
    "InventoryService.Tagging.DeleteTag",
    "InventoryService.Tagging.EditCategory",
    "InventoryService.Tagging.EditTag",
    "Sessions.ValidateSession",
    "StorageProfile.Update",
    "StorageProfile.View",
];
const READ: &[&str] = &["System.Read"];
const CLUSTER: &[&str] = &[
    "Resource.AssignVMToPool",
    "VApp.AssignResourcePool",
    "VApp.Import",
    "VirtualMachine.Config.AddNewDisk",
];
const DATASTORE: &[&str] =
    &["Datastore.AllocateSpace", "Datastore.FileManagement", "InventoryService.Tagging.ObjectAttachable"];
const BROWSE: &[&str] = &["Datastore.Browse"];
const NETWORK: &[&str] = &["Network.Assign"];
const FOLDER: &[&str] = &[
    "Resource.AssignVMToPool",
    "VApp.Import",
    "VirtualMachine.Config.AddExistingDisk",
    "VirtualMachine.Config.AddNewDisk",
    "VirtualMachine.Config.AddRemoveDevice",
    "VirtualMachine.Config.AdvancedConfig",
    "VirtualMachine.Config.Annotation",
    "VirtualMachine.Config.CPUCount",
    "VirtualMachine.Config.DiskExtend",
    "VirtualMachine.Config.DiskLease",
    "VirtualMachine.Config.EditDevice",
    "VirtualMachine.Config.Memory",
    "VirtualMachine.Config.RemoveDisk",
    "VirtualMachine.Config.Rename",
    "VirtualMachine.Config.ResetGuestInfo",
    "VirtualMachine.Config.Resource",
    "VirtualMachine.Config.Settings",
    "VirtualMachine.Config.UpgradeVirtualHardware",
    "VirtualMachine.Interact.GuestControl",
    "VirtualMachine.Interact.PowerOff",
    "VirtualMachine.Interact.PowerOn",
    "VirtualMachine.Interact.Reset",
    "VirtualMachine.Inventory.Create",
    "VirtualMachine.Inventory.CreateFromExisting",
    "VirtualMachine.Inventory.Delete",
    "VirtualMachine.Provisioning.Clone",
    "VirtualMachine.Provisioning.DeployTemplate",
    "VirtualMachine.Provisioning.MarkAsTemplate",
];

/// Privileges that are needed on an object, and which check says so.
struct NeededPrivilege<'a> {
    check: Check,
    item: &'a Item,
    privileges: &'static [&'static str],
}

/// What the failure domains need.
fn needs<'a>(
    subject: &CheckTarget,
    vcenter: &VCenter,
    snapshot: &'a VCenterSnapshot,
) -> Vec<NeededPrivilege<'a>> {
    let mut needs = Vec::new();
    let mut need = |check, item: Option<&'a Item>, privileges| {
        needs.extend(item.map(|item| NeededPrivilege { check, item, privileges }));
    };
    let at = |path: &str| snapshot.inventory.at(path);
    need(Check::Permissions, at("/"), ROOT);
    for domain in subject.domains_on(&vcenter.server) {
        need(Check::Permissions, at(&domain.datacenter), READ);
        let datastore = places::find(&domain.datastore, domain, snapshot);
        need(Check::Permissions, datastore, DATASTORE);
        need(Check::DatastoreBrowse, datastore, BROWSE);
        need(Check::Permissions, domain.folder.as_deref().and_then(at), FOLDER);
        if let Some(cluster) = domain.cluster.as_deref().and_then(at) {
            for network in &domain.networks {
                let network = snapshot.inventory.networks_called(cluster, network).first().copied();
                need(Check::Permissions, network, NETWORK);
            }
        }
    }
    for path in &vcenter.resources {
        need(Check::Permissions, at(path), READ);
    }
    needs
}

/// What a node's machine needs: its resource pool, or its cluster if it is in the root pool.
fn needs_of<'a>(machine: &Machine, snapshot: &'a VCenterSnapshot) -> Vec<NeededPrivilege<'a>> {
    let inventory = &snapshot.inventory;
    let pool = machine.facts.pool.as_ref().and_then(|id| inventory.item(id));
    let own_pool = pool.filter(|pool| !inventory.is_root_pool(pool));
    let cluster = inventory.cluster_of(&machine.facts);
    let on_cluster = if own_pool.is_some() { READ } else { CLUSTER };
    let cluster =
        cluster.map(|item| NeededPrivilege { check: Check::NodeCluster, item, privileges: on_cluster });
    let pool = own_pool.map(|item| NeededPrivilege { check: Check::NodePool, item, privileges: CLUSTER });
    cluster.into_iter().chain(pool).collect()
}

/// The objects whose privileges must be known.
pub(in crate::check) fn entities(
    subject: &CheckTarget,
    vcenter: &VCenter,
    snapshot: &VCenterSnapshot,
) -> BTreeSet<Reference> {
    let of_nodes = snapshot.machines.iter().flat_map(|machine| needs_of(machine, snapshot));
    let needs = needs(subject, vcenter, snapshot).into_iter().chain(of_nodes);
    needs.map(|need| need.item.id.clone()).collect()
}

pub(super) fn judge(subject: &CheckTarget, vcenter: &VCenter, snapshot: &VCenterSnapshot) -> Verdicts {
    let mut verdicts = Verdicts::default();
    // Several failure domains need the same of the same object; that is one check.
    let mut merged: BTreeMap<(Check, &Reference), (&Item, BTreeSet<&'static str>)> = BTreeMap::new();
    for need in needs(subject, vcenter, snapshot) {
        let entry = merged.entry((need.check, &need.item.id)).or_insert((need.item, BTreeSet::new()));
        entry.1.extend(need.privileges);
    }
    if let Some(unread) = snapshot.privileges.unread() {
        verdicts.judge(Check::Permissions, "/", unread);
        return verdicts;
    }
    for ((check, _), (item, privileges)) in merged {
        verdicts.add(check, lacking(check, item, &privileges, snapshot));
    }
    verdicts
}

/// The same for the machine of a node.
pub(super) fn of_machine(machine: &Machine, snapshot: &VCenterSnapshot) -> Vec<(Check, Option<Finding>)> {
    let needs = needs_of(machine, snapshot).into_iter();
    needs
        .map(|need| {
            let privileges = need.privileges.iter().copied().collect();
            (need.check, lacking(need.check, need.item, &privileges, snapshot))
        })
        .collect()
}

fn lacking(
    check: Check,
    item: &Item,
    privileges: &BTreeSet<&'static str>,
    snapshot: &VCenterSnapshot,
) -> Option<Finding> {
    // Of what could not be read nothing is said, node by node.
    snapshot.privileges.held.as_ref().ok()?;
    let missing: Vec<&str> = privileges
        .iter()
        .copied()
        .filter(|privilege| snapshot.privileges.lacks(&item.id, privilege))
        .collect();
    let judgement = || snapshot.privileges.lacking(&missing, &item.path, "");
    (!missing.is_empty()).then(|| Finding::judged(check, &item.path, judgement()))
}
