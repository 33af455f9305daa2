//! Nodes as their kubelets register them.

use serde_json::{Value, json};

use crate::control_plane::ControlPlane;

/// A node on the machine with this id. Nobody keeps it alive.
pub fn node(name: &str, uuid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/os": "linux", "kubernetes.io/hostname": name}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "nodeInfo": {
                "systemUUID": uuid, "machineID": "", "bootID": "", "kernelVersion": "", "osImage": "",
                "containerRuntimeVersion": "", "kubeletVersion": "v1.34.4", "kubeProxyVersion": "",
                "operatingSystem": "linux", "architecture": "amd64",
            },
        },
    })
}

/// The same for kwok to keep alive, where that runs.
pub fn living(name: &str, uuid: &str) -> Value {
    let mut node = node(name, uuid);
    node["metadata"]["annotations"] = json!({"kwok.x-k8s.io/node": "fake"});
    node
}

/// What a kubelet that is told of a cloud provider begins with.
pub fn uninitialized() -> Value {
    json!({"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"})
}

impl ControlPlane {
    /// Registers a node with the status it has: applying would leave that out.
    pub fn register(&self, node: &Value) -> anyhow::Result<()> {
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        let file = self.scratch().write(&format!("node-{name}.json"), node.to_string())?;
        self.kubectl().run(&["create", "--filename", &file.to_string_lossy()]).map(drop)
    }
}
