//! What the preflight judges the infrastructure cluster by.

use std::sync::Arc;

use slipway_assess::kubevirt::{InfraNamespace, Wanted};
use slipway_assess::preflight::inspect::Inspection;
use slipway_assets::{Credentials, Named};
use slipway_config::install_config::Platform as AnyPlatform;
use slipway_config::install_config::kubevirt::{AccessMode, Network, Platform};
use slipway_providers::kubevirt::Infra;

use super::blueprint::POD_NETWORK;
use super::endpoint_of;

pub(super) fn is_on_pod_network(platform: &Platform) -> bool {
    matches!(platform.network, Network::Pods)
}

pub(super) fn inspection(named: &Named, credentials: &Credentials) -> Option<Arc<dyn Inspection>> {
    let (AnyPlatform::KubeVirt(platform), Credentials::KubeVirt(cluster)) =
        (&named.config.platform, credentials)
    else {
        return None;
    };
    let namespace = platform.namespace.to_string();
    Some(Arc::new(InfraNamespace {
        endpoint: endpoint_of(cluster, platform).to_string(),
        infra: Arc::new(Infra::new(cluster.kubeconfig.clone(), namespace)),
        wanted: Wanted {
            network_refused: is_on_pod_network(platform).then(|| POD_NETWORK.to_owned()),
            migrates: platform.access_mode == AccessMode::ReadWriteMany,
        },
    }))
}
