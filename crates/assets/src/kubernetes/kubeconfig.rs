//! Kubeconfigs of a cluster made by kubeadm.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use slipway_config::yaml::to_yaml;

use super::pem;
use crate::onprem::API_PORT;
use crate::{Cluster, Error};

/// `auth/kubeconfig`: the administrator, from outside.
pub(super) fn admin(cluster: &Cluster) -> Result<String, Error> {
    let encoded = |name: &str| pem(cluster, name).map(|pem| STANDARD.encode(pem));
    let user = json!({
        "client-certificate-data": encoded("admin-kubeconfig-client.crt")?,
        "client-key-data": encoded("admin-kubeconfig-client.key")?,
    });
    let host = format!("api.{}", cluster.config.cluster_domain());
    Ok(to_yaml(&config(cluster, &host, Some(("admin", user)))?))
}

/// Where the API is and who vouches for it, for machines that have nothing else yet.
pub(super) fn discovery(cluster: &Cluster) -> Result<String, Error> {
    let host = format!("api-int.{}", cluster.config.cluster_domain());
    Ok(to_yaml(&config(cluster, &host, None)?))
}

fn config(cluster: &Cluster, host: &str, user: Option<(&str, Value)>) -> Result<Value, Error> {
    let name = cluster.config.name.as_str();
    // kubeadm wants a user in any case, and looks for other credentials when it has none.
    let (user, credentials) = user.unwrap_or((name, json!({})));
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": name,
            "cluster": {
                "server": format!("https://{host}:{API_PORT}"),
                "certificate-authority-data": STANDARD.encode(pem(cluster, "kubernetes-ca.crt")?),
            },
        }],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": user, "context": {"cluster": name, "user": user}}],
        "current-context": user,
    }))
}
