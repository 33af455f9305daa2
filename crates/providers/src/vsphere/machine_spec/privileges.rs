//! What an account needs in a vCenter to make Machines and to remove them: what the steps of one say, and no list beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;
use slipway_config::ids::InfraId;
use slipway_engine::journal::MemoryJournal;
use slipway_engine::plan::foresee;
use slipway_engine::resource::GraphError;
use slipway_engine::{Endpoint, Graph, Observation, Resource, World};
use thiserror::Error;
use uuid::Uuid;

use super::{Defaults, Identity, InvalidSpec, MachineSpec, Shutdown};
use crate::vsphere::kinds::{Desired, ForeignDisk, Kind, MachineState, State, VSphere};

/// Where privileges are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On the vCenter itself.
    VCenter,
    /// On compute clusters, networks and templates, wherever they are in a datacenter.
    Datacenters,
    /// On the folders of machines, and below.
    Folders,
    Datastores,
}

/// The Machine whose life is planned is not one that could be made.
#[derive(Debug, Error)]
pub enum PrivilegesError {
    #[error(transparent)]
    Spec(#[from] InvalidSpec),
    #[error("`{0}` is no infrastructure id")]
    InfraId(String),
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Every privilege of a Machine's life, by where it is needed.
pub fn privileges() -> Result<BTreeMap<Place, BTreeSet<String>>, PrivilegesError> {
    let steps = life()?;
    let mut needed: BTreeMap<Place, BTreeSet<String>> = BTreeMap::new();
    for (object, privilege) in steps {
        needed.entry(place(&object)).or_default().insert(privilege);
    }
    // A permission on a folder takes the place of one above it, and templates may be in the folder too.
    let templates: Vec<String> = needed
        .get(&Place::Datacenters)
        .into_iter()
        .flatten()
        .filter(|name| name.starts_with("VirtualMachine."))
        .cloned()
        .collect();
    needed.entry(Place::Folders).or_default().extend(templates);
    Ok(needed)
}

fn place(object: &str) -> Place {
    match object {
        "/" => Place::VCenter,
        object if object.starts_with("/dc/datastore") => Place::Datastores,
        object if object.starts_with("/dc/vm/machines") || object == "/dc/vm" => Place::Folders,
        _ => Place::Datacenters,
    }
}

/// Objects and privileges of the steps that make a Machine with all there is to it, and remove it again.
fn life() -> Result<Vec<(String, String)>, PrivilegesError> {
    let spec = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "VSphereMachineProviderSpec",
        "template": "/dc/vm/templates/template", "diskGiB": 120,
        "workspace": {
            "server": "vcenter", "datacenter": "dc", "datastore": "/dc/datastore/datastore", "vmGroup": "group",
            "folder": "/dc/vm/machines/cluster-x7k2p", "resourcePool": "/dc/host/cluster/Resources",
        },
        "network": {"devices": [{"networkName": "network"}]},
        "dataDisks": [{"name": "data", "sizeGiB": 1}],
        "tagIDs": ["urn:vmomi:InventoryServiceTag:a:GLOBAL"],
    });
    let spec = MachineSpec::read(&spec, &Defaults::default())?;
    let endpoint = Endpoint::from("vcenter");
    let infra_id = "cluster-x7k2p".to_owned();
    let infra_id = InfraId::try_from(infra_id.clone()).map_err(|_| PrivilegesError::InfraId(infra_id))?;
    let identity = Identity { endpoint: &endpoint, name: "machine", uuid: Uuid::nil(), infra_id: &infra_id };
    let platform = VSphere::new([]);
    let journal = MemoryJournal::default();
    let recreate = BTreeSet::new();
    let mut present: Vec<Resource<Desired>> = spec.site(&endpoint, &infra_id).resources;
    present.extend(spec.present(&identity, None, &[]));
    let mut world = World::default();
    for resource in &present {
        let there = Kind::Template.is(&resource.id);
        let state = there.then(|| State::Machine(MachineState::existing_template(String::new())));
        world.set(resource.id.clone(), Observation::Known(state));
    }
    let (made, mut world) = foresee(&platform, &Graph::new(present)?, &world, &journal, &recreate);
    let id = Kind::Machine.id(&endpoint, "machine");
    // A disk that an administrator attached is detached first.
    if let Some(State::Machine(machine)) = world.get(&id).state() {
        let foreign_disks = vec![ForeignDisk { file: String::new(), volume: None }];
        let machine = MachineState { foreign_disks, ..machine.clone() };
        world.set(id, Observation::Known(Some(State::Machine(machine))));
    }
    let absent = spec.absent(&identity, Shutdown::Guest(Duration::from_secs(1)));
    let (removed, _) = foresee(&platform, &Graph::new(absent.into())?, &world, &journal, &recreate);
    let steps = made.steps.into_iter().chain(removed.steps);
    let needed = steps.flat_map(|planned| planned.step.privileges);
    Ok(needed.map(|need| (need.object.to_string(), need.privilege.to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::{Place, privileges};

    /// Those of the steps, where the steps need them, and nowhere else.
    #[test]
    fn each_is_needed_where_the_steps_say() {
        let needed = privileges().unwrap();
        let has = |place: Place, names: &[&str]| {
            let there = &needed[&place];
            for name in names {
                assert!(there.contains(*name), "{place:?}: no {name} in {there:?}");
            }
        };
        has(Place::VCenter, &["InventoryService.Tagging.AttachTag", "InventoryService.Tagging.CreateTag"]);
        has(Place::Datacenters, &["Network.Assign", "Resource.AssignVMToPool", "Host.Inventory.EditCluster"]);
        has(Place::Datacenters, &["VirtualMachine.Provisioning.DeployTemplate"]);
        has(
            Place::Folders,
            &[
                "VirtualMachine.Inventory.CreateFromExisting",
                "VirtualMachine.Inventory.Delete",
                "VirtualMachine.Interact.PowerOn",
                "VirtualMachine.Interact.PowerOff",
                "VirtualMachine.Config.RemoveDisk",
                "VirtualMachine.Provisioning.DeployTemplate",
            ],
        );
        let datastores: Vec<&String> = needed[&Place::Datastores].iter().collect();
        assert_eq!(datastores, ["Datastore.AllocateSpace"]);
        assert!(!needed[&Place::Folders].contains("Network.Assign"), "{needed:?}");
    }
}
