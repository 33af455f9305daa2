//! Cluster API: clusters, machines, and addresses from pools.

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{LocalReference, TypedReference};

/// A cluster on one endpoint.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "cluster.x-k8s.io", version = "v1beta1", kind = "Cluster", namespaced)]
#[kube(status = "ClusterStatus", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    pub cluster_network: ClusterNetwork,
    #[serde(default)]
    pub control_plane_endpoint: Endpoint,
    pub infrastructure_ref: ObjectReference,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterNetwork {
    pub api_server_port: u16,
}

/// Where an API server answers; empty until the address is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    #[serde(default)]
    pub control_plane_ready: bool,
    #[serde(default)]
    pub infrastructure_ready: bool,
}

/// A machine, whatever provides it.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "cluster.x-k8s.io", version = "v1beta1", kind = "Machine", namespaced)]
#[kube(schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct MachineSpec {
    pub bootstrap: Bootstrap,
    pub cluster_name: String,
    pub failure_domain: Option<String>,
    pub infrastructure_ref: ObjectReference,
}

/// The Secret with what the machine boots from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    pub data_secret_name: String,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub namespace: Option<String>,
}

/// The wish for an address of a pool.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "ipam.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "IPAddressClaim",
    root = "IpAddressClaim"
)]
#[kube(status = "IpAddressClaimStatus", namespaced, schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct IpAddressClaimSpec {
    pub pool_ref: TypedReference,
}

/// The address that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpAddressClaimStatus {
    pub address_ref: LocalReference,
}

/// An address that belongs to a claim.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(group = "ipam.cluster.x-k8s.io", version = "v1beta1", kind = "IPAddress", root = "IpAddress")]
#[kube(plural = "ipaddresses", namespaced, schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct IpAddressSpec {
    pub claim_ref: LocalReference,
    pub pool_ref: TypedReference,
    pub address: String,
    pub prefix: u8,
    pub gateway: Option<String>,
}
