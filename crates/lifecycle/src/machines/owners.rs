//! Which virtual machines are those of Machines of the running cluster, and of which set.

use std::collections::BTreeMap;

use kube::ResourceExt;
use serde::Serialize;
use slipway_api::openshift::Machine;
use slipway_config::ids::OBJECT_MARK;

use super::{MachinesError, all_machines, owner};
use crate::text::chain;
use crate::wait::WaitTarget;

/// The object of the cluster that a virtual machine belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineOwner {
    pub machine: String,
    /// None for a Machine that belongs to no set.
    pub machine_set: Option<String>,
}

/// Owners by what the platform knows their virtual machines by. The error says why the cluster could not be asked. A cluster
/// that has no such kind has no owners.
pub async fn owners(target: &WaitTarget) -> Result<BTreeMap<String, MachineOwner>, String> {
    let client = target.client().await.map_err(|error| target.explain(&error))?;
    match all_machines(&client).await {
        Ok(machines) => Ok(by_id(&machines)),
        Err(MachinesError::NoMachines) => Ok(BTreeMap::new()),
        Err(MachinesError::Access(error)) => Err(target.explain(&error)),
        Err(error) => Err(chain(&error)),
    }
}

fn by_id(machines: &[Machine]) -> BTreeMap<String, MachineOwner> {
    let entry = |machine: &Machine| {
        let mark = machine.annotations().get(OBJECT_MARK).or_else(|| machine.labels().get(OBJECT_MARK));
        let id = mark.cloned().or_else(|| machine.uid())?.to_lowercase();
        let machine_set = owner(machine).map(|(name, _)| name.to_owned());
        Some((id, MachineOwner { machine: machine.name_any(), machine_set }))
    };
    machines.iter().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use slipway_api::openshift::Machine;

    use super::by_id;

    const UID: &str = "4c1b7a2e-0000-4000-8000-000000000001";
    const MARK: &str = "9c1b7a2e-0000-4000-8000-000000000009";

    fn machine(metadata: &Value) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": metadata, "spec": {},
        }))
        .unwrap()
    }

    fn reference(kind: &str, controller: bool) -> Value {
        json!([{"apiVersion": "machine.openshift.io/v1beta1", "kind": kind, "name": "workers", "uid": "1",
            "controller": controller}])
    }

    #[test]
    fn a_virtual_machine_is_known_by_the_uid_or_the_mark_of_its_machine() {
        for (more, id, set) in [
            (json!({"ownerReferences": reference("MachineSet", true)}), UID, Some("workers")),
            (json!({}), UID, None),
            (json!({"ownerReferences": reference("MachineSet", false)}), UID, None),
            (json!({"ownerReferences": reference("Other", true)}), UID, None),
            (json!({"labels": {"slipway.dev/id": MARK}}), MARK, None),
            (json!({"annotations": {"slipway.dev/id": MARK.to_uppercase()}}), MARK, None),
        ] {
            let mut metadata = json!({"name": "w-0", "uid": UID});
            metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let owners = by_id(&[machine(&metadata)]);
            let found: Vec<_> = owners
                .iter()
                .map(|(id, owner)| (&**id, &*owner.machine, owner.machine_set.as_deref()))
                .collect();
            assert_eq!(found, [(id, "w-0", set)], "{more}");
        }
    }
}
