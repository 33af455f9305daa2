//! One machine, made like those of a set, and a member of none.

use kube::api::PostParams;
use kube::core::{Selector, SelectorExt};
use kube::{Client, ResourceExt};
use slipway_api::openshift::{Machine, MachineSet};
use slipway_assess::machines::names::MACHINE_SET_LABEL;
use slipway_assets::names::MACHINES_NAMESPACE;
use slipway_providers::cluster::call;

use super::{MachinesError, machines_of, set_named};

/// Reads the set, and makes nothing.
pub async fn plan(client: &Client, name: &str, like: &str) -> Result<Machine, MachinesError> {
    like_set(&set_named(client, like).await?, name)
}

/// The machine of a set's template, without what makes it a member.
fn like_set(set: &MachineSet, name: &str) -> Result<Machine, MachinesError> {
    let template = &set.spec.template;
    let mut labels = template.metadata.labels.clone();
    labels.remove(MACHINE_SET_LABEL);
    let selector = Selector::try_from(set.spec.selector.clone()).unwrap_or_default();
    if selector.matches(&labels) {
        return Err(MachinesError::WouldBeAdopted(name.to_owned()));
    }
    let mut machine = Machine::new(name, template.spec.clone());
    machine.metadata.namespace = Some(MACHINES_NAMESPACE.to_owned());
    machine.metadata.labels = Some(labels);
    if !template.metadata.annotations.is_empty() {
        machine.metadata.annotations = Some(template.metadata.annotations.clone());
    }
    Ok(machine)
}

/// Makes it.
pub async fn apply(client: &Client, machine: &Machine) -> Result<Machine, MachinesError> {
    let doing = format!("making the Machine `{}`", machine.name_any());
    Ok(call(&doing, machines_of(client).create(&PostParams::default(), machine)).await?)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use slipway_api::openshift::MachineSet;

    use super::{MachinesError, like_set};

    fn set(selector: &Value) -> MachineSet {
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": {"name": "worker-0"},
            "spec": {
                "selector": {"matchLabels": selector},
                "template": {
                    "metadata": {"labels": {"cluster": "a", "machine.openshift.io/cluster-api-machineset": "worker-0"}},
                    "spec": {"providerSpec": {"value": {"numCPUs": 4}}},
                },
            },
        }))
        .unwrap()
    }

    #[test]
    fn it_is_no_member_of_the_set() {
        let by_set = json!({"machine.openshift.io/cluster-api-machineset": "worker-0"});
        let machine = like_set(&set(&by_set), "extra").unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&machine).unwrap(), @r#"
        {
          "apiVersion": "machine.openshift.io/v1beta1",
          "kind": "Machine",
          "metadata": {
            "labels": {
              "cluster": "a"
            },
            "name": "extra",
            "namespace": "openshift-machine-api"
          },
          "spec": {
            "providerSpec": {
              "value": {
                "numCPUs": 4
              }
            }
          }
        }
        "#);
        let refused = like_set(&set(&json!({"cluster": "a"})), "extra");
        assert!(matches!(refused, Err(MachinesError::WouldBeAdopted(_))));
    }
}
