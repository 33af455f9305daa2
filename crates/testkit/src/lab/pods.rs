//! A pod network for clusters in the lab, as manifests that an install-config can name.

use serde_json::{Value, json};

/// The image that [`manifests`] runs; it is on every disk.
pub(super) const IMAGE: &str = "lab.example.com/pod-network:v1";

/// The network of all pods.
pub(super) const NETWORK: &str = "10.128.0.0/14";

/// Every node's part of the pods' network is routed to the node: enough for a switch that all nodes are on.
pub fn manifests() -> Vec<Value> {
    let name = "lab-pod-network";
    let metadata = json!({"name": name, "namespace": "kube-system"});
    let labels = json!({"app.kubernetes.io/name": name});
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}],
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "kube-system"}],
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata,
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "serviceAccountName": name,
                        "hostNetwork": true,
                        "priorityClassName": "system-node-critical",
                        "tolerations": [{"operator": "Exists"}],
                        "containers": [{
                            "name": "routes",
                            "image": IMAGE,
                            "imagePullPolicy": "Never",
                            "env": [
                                {"name": "THIS_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                                {"name": "POD_NETWORK", "value": NETWORK},
                            ],
                            "securityContext": {"capabilities": {"add": ["NET_ADMIN"]}},
                            "volumeMounts": [{"name": "plugins", "mountPath": "/etc/cni/net.d"}],
                        }],
                        "volumes": [{
                            "name": "plugins",
                            "hostPath": {"path": "/etc/cni/net.d", "type": "DirectoryOrCreate"},
                        }],
                    },
                },
            },
        }),
    ]
}

/// The same as a file.
pub fn manifest_file() -> String {
    manifests().iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
}
