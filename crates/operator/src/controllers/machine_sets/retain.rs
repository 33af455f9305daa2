//! How a machine leaves its set and stays: its object and its virtual machine remain, marked, and the set makes another one.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use slipway_api::openshift::Machine;
use slipway_assess::machines::names::{MACHINE_SET_LABEL, RETAINED};
use slipway_providers::cluster::{AccessError, merge};

/// Lets a machine go from whatever controls it.
pub(crate) async fn retain(api: &Api<Machine>, machine: &Machine, now: Timestamp) -> Result<(), AccessError> {
    let name = machine.name_any();
    merge(api, &name, &format!("letting machine `{name}` leave its set"), &retained(machine, now)).await
}

/// Without its owner, and marked. Other sets would adopt it by its label, so that goes as well.
fn retained(machine: &Machine, now: Timestamp) -> Value {
    let owners = machine.metadata.owner_references.iter().flatten();
    let controller = owners.clone().find(|owner| owner.controller == Some(true));
    let owner = controller.map(|owner| owner.name.clone()).unwrap_or_default();
    let mut change = released(machine);
    change["metadata"]["annotations"] = json!({RETAINED: format!("{owner} since {now}")});
    change["metadata"]["labels"] = json!({MACHINE_SET_LABEL: null});
    change
}

/// Without the object that controls it, as long as nothing else changed.
pub(super) fn released(machine: &Machine) -> Value {
    let owners = machine.metadata.owner_references.iter().flatten();
    let others: Vec<&OwnerReference> = owners.filter(|owner| owner.controller != Some(true)).collect();
    json!({"metadata": {
        "uid": machine.metadata.uid, "resourceVersion": machine.metadata.resource_version,
        "ownerReferences": others,
    }})
}

/// With a set that controls it, as long as nothing else changed.
pub(super) fn adopted(machine: &Machine, set: OwnerReference) -> Value {
    let owners = machine.metadata.owner_references.iter().flatten().cloned();
    let all: Vec<OwnerReference> = owners.chain([set]).collect();
    json!({"metadata": {
        "uid": machine.metadata.uid, "resourceVersion": machine.metadata.resource_version,
        "ownerReferences": all,
    }})
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;
    use slipway_api::openshift::Machine;

    use super::{adopted, retained};

    #[test]
    fn it_leaves_its_set_and_nothing_else() {
        let owner = |name: &str, controls: bool| json!({"apiVersion": "v1", "kind": "K", "name": name, "uid": name, "controller": controls});
        let machine: Machine = serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "spec": {},
            "metadata": {
                "name": "a", "uid": "1", "resourceVersion": "7",
                "ownerReferences": [owner("set", true), owner("other", false)],
            },
        }))
        .unwrap();
        let change = retained(&machine, Timestamp::UNIX_EPOCH);
        assert_eq!(
            change,
            json!({"metadata": {
                "uid": "1", "resourceVersion": "7", "ownerReferences": [owner("other", false)],
                "annotations": {"slipway.dev/retained": "set since 1970-01-01T00:00:00Z"},
                "labels": {"machine.openshift.io/cluster-api-machineset": null},
            }})
        );
        let set = serde_json::from_value(owner("new", true)).unwrap();
        let owners = &adopted(&machine, set)["metadata"]["ownerReferences"];
        assert_eq!(owners.as_array().unwrap().len(), 3);
    }
}
