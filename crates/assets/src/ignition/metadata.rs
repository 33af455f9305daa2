//! `metadata.json`: what is needed to find the cluster again.

use serde_json::{Value, json};
use slipway_config::features::{FeatureSet, Features};
use slipway_config::install_config::Platform;

use crate::{Cluster, Named};

/// The fields that openshift-install writes, but without the passwords of the vCenters: the user who destroys the
/// cluster logs in anew, and a file that is copied around and kept for years is no place for them.
pub(crate) fn metadata(cluster: &Cluster) -> Vec<u8> {
    let Named { config, identity } = &cluster.named;
    let mut metadata = json!({
        "clusterName": config.name.as_str(),
        "clusterID": identity.cluster_id.to_string(),
        "infraID": identity.infra_id.as_str(),
    });
    metadata[config.platform.name()] = platform(cluster);
    let (set, custom) = features(&config.features);
    metadata["featureSet"] = set;
    metadata["customFeatureSet"] = custom;
    let mut text = serde_json::to_vec_pretty(&metadata).unwrap_or_default();
    text.push(b'\n');
    text
}

fn platform(cluster: &Cluster) -> Value {
    match &cluster.config.platform {
        Platform::VSphere(platform) => {
            let vcenters = platform
                .vcenters
                .iter()
                .map(|vcenter| json!({"vCenter": vcenter.server.as_str(), "username": vcenter.user}));
            json!({"terraform_platform": "vsphere", "VCenters": vcenters.collect::<Vec<_>>()})
        }
        Platform::Ovirt(platform) => {
            let removes = platform.template.is_none();
            json!({"cluster_id": platform.cluster_id.to_string(), "remove_template": removes})
        }
        Platform::KubeVirt(platform) => {
            let label = format!("tenantcluster-{}-machine.openshift.io", cluster.identity.infra_id);
            json!({"namespace": platform.namespace.as_str(), "labels": {label: "owned"}})
        }
        Platform::None => json!({}),
    }
}

/// The feature set, empty for the default one, and the gates switched one by one.
fn features(features: &Features) -> (Value, Value) {
    let set = match features.set {
        FeatureSet::Default => String::new(),
        set => set.to_string(),
    };
    let custom = match features.set {
        FeatureSet::CustomNoUpgrade => {
            let switched = |wanted: bool| -> Vec<&str> {
                let gates = features.custom.iter().filter(|(_, on)| **on == wanted);
                gates.map(|(gate, _)| gate.as_str()).collect()
            };
            json!({"enabled": switched(true), "disabled": switched(false)})
        }
        _ => Value::Null,
    };
    (Value::from(set), custom)
}
