//! `config.openshift.io/v1`, but for Infrastructure.

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::LocalReference;

/// The domain of the cluster's names.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "config.openshift.io", version = "v1", kind = "DNS", root = "Dns", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct DnsSpec {
    pub base_domain: String,
}

/// The domain of routes.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "config.openshift.io", version = "v1", kind = "Ingress", schema = "disabled")]
#[kube(status = "IngressStatus")]
pub struct IngressSpec {
    pub domain: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IngressStatus {
    pub default_placement: String,
}

/// The networks of pods and services.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "config.openshift.io", version = "v1", kind = "Network", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct NetworkSpec {
    pub cluster_network: Vec<ClusterNetworkEntry>,
    #[serde(rename = "externalIP")]
    pub external_ip: Option<ExternalIp>,
    pub network_type: String,
    pub service_network: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterNetworkEntry {
    pub cidr: String,
    pub host_prefix: u32,
}

/// Which external addresses services may have; an empty policy allows none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalIp {
    pub policy: ExternalIpPolicy,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalIpPolicy {}

/// The proxies of the cluster.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "config.openshift.io", version = "v1", kind = "Proxy", schema = "disabled")]
#[kube(status = "ProxyStatus")]
#[serde(rename_all = "camelCase")]
pub struct ProxySpec {
    pub http_proxy: Option<String>,
    pub https_proxy: Option<String>,
    pub no_proxy: Option<String>,
    #[serde(rename = "trustedCA")]
    pub trusted_ca: LocalReference,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProxyStatus {
    pub http_proxy: Option<String>,
    pub https_proxy: Option<String>,
    pub no_proxy: Option<String>,
}

/// Where workloads run.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "config.openshift.io", version = "v1", kind = "Scheduler", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct SchedulerSpec {
    pub masters_schedulable: bool,
}

/// The release the cluster runs, and where updates come from.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "config.openshift.io", version = "v1", kind = "ClusterVersion", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersionSpec {
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    pub channel: Option<String>,
    pub capabilities: Option<Capabilities>,
}

/// Optional components.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    pub baseline_capability_set: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_enabled_capabilities: Vec<String>,
}

/// The features of the cluster.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "config.openshift.io", version = "v1", kind = "FeatureGate", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct FeatureGateSpec {
    pub feature_set: String,
    pub custom_no_upgrade: Option<FeatureGateSelection>,
}

/// Features switched one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureGateSelection {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enabled: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disabled: Vec<String>,
}

/// Where images are found when their own registry is not asked.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "config.openshift.io", version = "v1", kind = "ImageDigestMirrorSet", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct ImageDigestMirrorSetSpec {
    pub image_digest_mirrors: Vec<ImageMirrors>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageMirrors {
    pub source: String,
    pub mirrors: Vec<String>,
    pub mirror_source_policy: Option<String>,
}
