//! What a new node of a set would have, for an autoscaler that scales up from zero. Pure.

use std::collections::BTreeMap;

use serde_json::Value;
use slipway_api::openshift::MachineSet;

const MACHINE: &str = "machine.openshift.io";
const AUTOSCALER: &str = "capacity.cluster-autoscaler.kubernetes.io";

/// The annotations, as OpenShift's autoscaler and the one of Cluster API read them. None where the size of a machine is not known.
pub(super) fn capacity(set: &MachineSet) -> BTreeMap<String, String> {
    let spec = &set.spec.template.spec;
    let Some((cpus, memory_mib)) = size(&spec.provider_spec.value) else { return BTreeMap::new() };
    let mut labels = BTreeMap::from([("kubernetes.io/arch", "amd64"), ("kubernetes.io/os", "linux")]);
    if let Some(metadata) = &spec.metadata {
        labels.extend(metadata.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    }
    let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut all = BTreeMap::from([
        (format!("{MACHINE}/vCPU"), cpus.to_string()),
        (format!("{MACHINE}/memoryMb"), memory_mib.to_string()),
        (format!("{MACHINE}/GPU"), "0".to_owned()),
        (format!("{AUTOSCALER}/cpu"), cpus.to_string()),
        (format!("{AUTOSCALER}/memory"), format!("{memory_mib}Mi")),
        (format!("{AUTOSCALER}/labels"), labels.join(",")),
    ]);
    let taints: Vec<String> = spec
        .taints
        .iter()
        .map(|taint| format!("{}={}:{}", taint.key, taint.value.as_deref().unwrap_or_default(), taint.effect))
        .collect();
    if !taints.is_empty() {
        all.insert(format!("{AUTOSCALER}/taints"), taints.join(","));
    }
    all
}

/// Processors and memory in MiB, as the providers write them.
fn size(spec: &Value) -> Option<(u64, u64)> {
    let number = |path: &str| spec.pointer(path).and_then(Value::as_u64).filter(|number| *number > 0);
    let vsphere = number("/numCPUs").zip(number("/memoryMiB"));
    let part = |path: &str| number(path).unwrap_or(1);
    let ovirt = || {
        let cpus = number("/cpu/sockets").or(number("/cpu/cores"))?;
        let cpus = cpus * if number("/cpu/sockets").is_some() { part("/cpu/cores") } else { 1 };
        Some((cpus * part("/cpu/threads"), number("/memory_mb")?))
    };
    vsphere.or_else(ovirt)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::capacity;

    fn of(spec: &Value) -> String {
        let set = serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": {},
            "spec": {"template": {"spec": spec}},
        }));
        let all = capacity(&set.unwrap());
        all.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
    }

    #[test]
    fn a_node_is_foretold() {
        let spec = json!({
            "metadata": {"labels": {"pool": "gpu"}},
            "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}],
            "providerSpec": {"value": {"numCPUs": 4, "memoryMiB": 16384}},
        });
        insta::assert_snapshot!(of(&spec), @r"
        capacity.cluster-autoscaler.kubernetes.io/cpu: 4
        capacity.cluster-autoscaler.kubernetes.io/labels: kubernetes.io/arch=amd64,kubernetes.io/os=linux,pool=gpu
        capacity.cluster-autoscaler.kubernetes.io/memory: 16384Mi
        capacity.cluster-autoscaler.kubernetes.io/taints: gpu=yes:NoSchedule,a=:NoExecute
        machine.openshift.io/GPU: 0
        machine.openshift.io/memoryMb: 16384
        machine.openshift.io/vCPU: 4
        ");
    }

    #[rstest]
    #[case::ovirt(json!({"cpu": {"sockets": 2, "cores": 4, "threads": 1}, "memory_mb": 8192}), Some("8"))]
    #[case::instance_type(json!({"instance_type_id": "a"}), None)]
    #[case::nothing(json!({}), None)]
    #[case::none_at_all(json!({"numCPUs": 0, "memoryMiB": 0}), None)]
    fn sizes_are_read_where_they_are_known(#[case] value: Value, #[case] cpus: Option<&str>) {
        let told = of(&json!({"providerSpec": {"value": value}}));
        let line = cpus.map(|cpus| format!("machine.openshift.io/vCPU: {cpus}\n")).unwrap_or_default();
        assert!(told.ends_with(&line) && told.is_empty() == cpus.is_none(), "{told}");
    }
}
