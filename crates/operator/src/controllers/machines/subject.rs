//! A Machine as it can be worked with, or what is wrong with it.

use kube::ResourceExt;
use slipway_api::openshift::Machine;
use slipway_config::ids::{InfraId, OBJECT_MARK};
use slipway_providers::vsphere::machine_spec::{Defaults, MachineSpec};
use uuid::Uuid;

use super::CLUSTER_LABEL;
use super::problem::{INVALID, Problem};

/// The kind of provider specs that are worked on here.
const KIND: &str = "VSphereMachineProviderSpec";

/// A Machine as it can be worked with.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) uid: String,
    /// What the virtual machine is known by.
    pub(super) uuid: Uuid,
    /// Another program made the virtual machine, or will. It is taken as it is, and never made here.
    pub(super) is_adopted: bool,
    pub(super) infra_id: InfraId,
    pub(super) spec: MachineSpec,
}

/// Whether a Machine is of vSphere.
pub(super) fn is_vsphere(machine: &Machine) -> bool {
    machine.spec.provider_spec.value["kind"] == KIND
}

/// The mark the installer put on a Machine whose virtual machine it made.
pub(super) fn mark(machine: &Machine) -> Option<&str> {
    let annotation = machine.annotations().get(OBJECT_MARK);
    annotation.or_else(|| machine.labels().get(OBJECT_MARK)).map(String::as_str)
}

impl Subject {
    /// Reads a Machine. What is wrong with it stays so until it is written anew.
    pub(super) fn of(machine: &Machine, defaults: &Defaults) -> Result<Self, Problem> {
        let invalid = |message: String| Problem::terminal(INVALID, message);
        let label = machine.labels().get(CLUSTER_LABEL);
        let label = label.ok_or_else(|| invalid(format!("it has no label `{CLUSTER_LABEL}`")))?;
        let infra_id = InfraId::try_from(label.clone());
        let infra_id = infra_id.map_err(|error| invalid(format!("its label `{CLUSTER_LABEL}`: {error}")))?;
        let spec = MachineSpec::read(&machine.spec.provider_spec.value, defaults);
        let spec = spec.map_err(|error| invalid(error.to_string()))?;
        let uid = machine.uid().unwrap_or_default();
        let known_by = mark(machine).unwrap_or(&uid);
        let uuid = known_by.parse();
        let uuid = uuid.map_err(|_| invalid(format!("its mark `{known_by}` is not a UUID")))?;
        Ok(Subject {
            name: machine.name_any(),
            namespace: machine.namespace().unwrap_or_default(),
            uid,
            uuid,
            is_adopted: mark(machine).is_some() || machine.spec.provider_id.is_some(),
            infra_id,
            spec,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use slipway_api::openshift::Machine;
    use slipway_providers::vsphere::machine_spec::Defaults;

    use super::Subject;

    pub(in super::super) const UID: &str = "4c1b7a2e-0000-4000-8000-000000000001";

    pub(in super::super) fn machine(change: impl FnOnce(&mut Value)) -> Machine {
        let mut machine = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {
                "name": "worker-a", "namespace": "openshift-machine-api", "uid": UID, "generation": 1,
                "resourceVersion": "7", "finalizers": ["machine.machine.openshift.io"],
                "labels": {"machine.openshift.io/cluster-api-cluster": "harbour-x7k2p"},
            },
            "spec": {"providerSpec": {"value": {
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "VSphereMachineProviderSpec",
                "template": "rhcos", "numCPUs": 4, "memoryMiB": 16384, "diskGiB": 120,
                "workspace": {
                    "server": "vc.example.com", "datacenter": "dc1", "datastore": "fast",
                    "folder": "/dc1/vm/harbour-x7k2p", "resourcePool": "/dc1/host/compute/Resources",
                },
                "network": {"devices": [{"networkName": "net"}]},
            }}},
        });
        change(&mut machine);
        serde_json::from_value(machine).unwrap()
    }

    #[test]
    fn its_uid_is_its_mark_unless_the_installer_gave_it_one() {
        let read = |change: fn(&mut Value)| Subject::of(&machine(change), &Defaults::default()).unwrap();
        let plain = read(|_| {});
        assert_eq!((plain.uuid.to_string().as_str(), plain.is_adopted), (UID, false));
        let mark = "9c1b7a2e-0000-4000-8000-000000000009";
        let marked = read(|machine| {
            machine["metadata"]["labels"]["slipway.dev/id"] = json!("9c1b7a2e-0000-4000-8000-000000000009");
        });
        assert_eq!((marked.uuid.to_string().as_str(), marked.is_adopted), (mark, true));
        let annotated = read(|machine| {
            machine["metadata"]["annotations"] =
                json!({"slipway.dev/id": "9c1b7a2e-0000-4000-8000-000000000009"});
        });
        assert_eq!((annotated.uuid, annotated.is_adopted), (marked.uuid, true));
        let handed_over = read(|machine| {
            machine["spec"]["providerID"] = json!("vsphere://1");
        });
        assert_eq!((handed_over.uuid, handed_over.is_adopted), (plain.uuid, true));
    }

    #[rstest]
    #[case::label(|machine: &mut Value| { machine["metadata"]["labels"] = json!({}); }, "cluster-api-cluster")]
    #[case::infra_id(|machine: &mut Value| { machine["metadata"]["labels"]["machine.openshift.io/cluster-api-cluster"] = json!("no"); }, "is not the name of an infrastructure")]
    #[case::mark(|machine: &mut Value| { machine["metadata"]["labels"]["slipway.dev/id"] = json!("no"); }, "is not a UUID")]
    #[case::spec(|machine: &mut Value| { machine["spec"]["providerSpec"]["value"]["template"] = json!(""); }, "template")]
    fn only_what_the_schema_could_refuse_is_terminal(#[case] change: fn(&mut Value), #[case] said: &str) {
        let problem = Subject::of(&machine(change), &Defaults::default()).unwrap_err();
        assert!(problem.terminal && problem.message.contains(said), "{problem}");
    }
}
