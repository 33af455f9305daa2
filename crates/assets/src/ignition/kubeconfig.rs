//! Kubeconfigs with client certificates.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use slipway_config::yaml::to_yaml;

use crate::Cluster;

/// Who logs in where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// The administrator, from outside.
    Admin,
    /// The administrator, from the machines.
    AdminInternal,
    /// The administrator, on the bootstrap machine itself.
    Loopback,
    /// A kubelet that asks for its first certificate.
    Kubelet,
}

pub(super) fn kubeconfig(cluster: &Cluster, access: Access) -> String {
    let domain = cluster.config.cluster_domain();
    let complete = "kube-apiserver-complete-server-ca-bundle.crt";
    let admin = "admin-kubeconfig-client";
    let (user, host, authority, client) = match access {
        Access::Admin => ("admin", format!("api.{domain}"), complete, admin),
        Access::AdminInternal => ("admin", format!("api-int.{domain}"), complete, admin),
        Access::Loopback => {
            ("loopback", "localhost".to_owned(), "kube-apiserver-localhost-ca-bundle.crt", admin)
        }
        Access::Kubelet => ("kubelet", format!("api-int.{domain}"), complete, "kubelet-client"),
    };
    let name = cluster.config.name.as_str();
    let pem = |file: &str| STANDARD.encode(cluster.pki.pem(file));
    to_yaml(&json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": name,
            "cluster": {
                "server": format!("https://{host}:6443"),
                "certificate-authority-data": pem(authority),
            },
        }],
        "users": [{
            "name": user,
            "user": {
                "client-certificate-data": pem(&format!("{client}.crt")),
                "client-key-data": pem(&format!("{client}.key")),
            },
        }],
        "contexts": [{"name": user, "context": {"cluster": name, "user": user}}],
        "current-context": user,
    }))
}
