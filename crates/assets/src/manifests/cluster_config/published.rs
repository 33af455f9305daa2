//! The fields of an install-config that the cluster gets to see.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_with::skip_serializing_none;
use slipway_api::DataDisk;

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Published<'a> {
    #[serde(rename = "apiVersion")]
    pub(super) api_version: &'static str,
    pub(super) base_domain: String,
    pub(super) metadata: Metadata,
    pub(super) control_plane: Pool,
    pub(super) compute: Vec<Pool>,
    pub(super) networking: Networking,
    pub(super) platform: BTreeMap<&'static str, PlatformPart>,
    pub(super) publish: &'static str,
    /// The field is required; the real value is a secret and not published.
    pub(super) pull_secret: &'static str,
    pub(super) ssh_key: Option<String>,
    pub(super) additional_trust_bundle: Option<&'a str>,
    pub(super) additional_trust_bundle_policy: String,
    pub(super) proxy: Option<Proxy>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) image_digest_sources: Vec<Mirror<'a>>,
    pub(super) fips: Option<bool>,
    pub(super) cpu_partitioning_mode: Option<String>,
    pub(super) capabilities: Option<Capabilities<'a>>,
    pub(super) feature_set: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) feature_gates: Vec<String>,
    pub(super) os_image_stream: Option<&'static str>,
    pub(super) pki: Option<Pki>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pki {
    pub(super) signer_certificates: Signers,
}

#[derive(Serialize)]
pub(super) struct Signers {
    pub(super) key: Key,
}

#[skip_serializing_none]
#[derive(Serialize)]
pub(super) struct Key {
    pub(super) algorithm: &'static str,
    pub(super) rsa: Option<RsaKey>,
    pub(super) ecdsa: Option<EcdsaKey>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RsaKey {
    pub(super) key_size: u32,
}

#[derive(Serialize)]
pub(super) struct EcdsaKey {
    pub(super) curve: String,
}

#[derive(Serialize)]
pub(super) struct Metadata {
    pub(super) name: String,
}

#[derive(Serialize)]
pub(super) struct Pool {
    pub(super) name: &'static str,
    pub(super) replicas: u32,
    pub(super) architecture: String,
    pub(super) hyperthreading: String,
    pub(super) platform: BTreeMap<&'static str, PoolPart>,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Networking {
    pub(super) network_type: String,
    pub(super) cluster_network: Vec<ClusterNetwork>,
    pub(super) machine_network: Vec<MachineNetwork>,
    pub(super) service_network: Vec<String>,
    #[serde(rename = "clusterNetworkMTU")]
    pub(super) mtu: Option<u32>,
    pub(super) ovn_kubernetes_config: Option<OvnKubernetes>,
}

#[derive(Serialize)]
pub(super) struct OvnKubernetes {
    pub(super) ipv4: OvnIpv4,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OvnIpv4 {
    pub(super) internal_join_subnet: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterNetwork {
    pub(super) cidr: String,
    pub(super) host_prefix: u32,
}

#[derive(Serialize)]
pub(super) struct MachineNetwork {
    pub(super) cidr: String,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Proxy {
    pub(super) http_proxy: Option<String>,
    pub(super) https_proxy: Option<String>,
    pub(super) no_proxy: Option<String>,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Mirror<'a> {
    pub(super) source: &'a str,
    pub(super) mirrors: &'a [String],
    pub(super) source_policy: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Capabilities<'a> {
    pub(super) baseline_capability_set: String,
    pub(super) additional_enabled_capabilities: &'a [String],
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum PlatformPart {
    VSphere(VSphere),
    Ovirt(Ovirt),
    Kubevirt(Kubevirt),
    None {},
}

#[skip_serializing_none]
#[derive(Serialize)]
pub(super) struct VSphere {
    pub(super) vcenters: Vec<VCenter>,
    #[serde(rename = "failureDomains")]
    pub(super) failure_domains: Vec<FailureDomain>,
    #[serde(rename = "apiVIPs", skip_serializing_if = "Vec::is_empty")]
    pub(super) api_vips: Vec<String>,
    #[serde(rename = "ingressVIPs", skip_serializing_if = "Vec::is_empty")]
    pub(super) ingress_vips: Vec<String>,
    #[serde(rename = "diskType")]
    pub(super) disk_type: Option<String>,
    #[serde(rename = "clusterOSImage")]
    pub(super) cluster_os_image: Option<String>,
    #[serde(rename = "loadBalancer")]
    pub(super) load_balancer: LoadBalancer,
    #[serde(rename = "dnsRecordsType")]
    pub(super) dns_records_type: Option<String>,
    #[serde(rename = "nodeNetworking")]
    pub(super) node_networking: Option<NodeNetworking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) hosts: Vec<Host>,
}

#[skip_serializing_none]
#[derive(Serialize)]
pub(super) struct NodeNetworking {
    pub(super) external: Option<NodeNetwork>,
    pub(super) internal: Option<NodeNetwork>,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeNetwork {
    pub(super) network: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) network_subnet_cidr: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) exclude_network_subnet_cidr: Vec<String>,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Host {
    pub(super) role: String,
    pub(super) failure_domain: Option<String>,
    pub(super) network_device: NetworkDevice,
}

/// With the one gateway that readers of this format know: that of the first address.
#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NetworkDevice {
    pub(super) ip_addrs: Vec<String>,
    pub(super) gateway: Option<String>,
    pub(super) nameservers: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct LoadBalancer {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

/// With user and password blank, as readers expect the fields to be there.
#[derive(Serialize)]
pub(super) struct VCenter {
    pub(super) server: String,
    pub(super) port: u16,
    pub(super) user: &'static str,
    pub(super) password: &'static str,
    pub(super) datacenters: Vec<String>,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FailureDomain {
    pub(super) name: String,
    pub(super) region: String,
    pub(super) zone: String,
    pub(super) region_type: Option<&'static str>,
    pub(super) zone_type: Option<&'static str>,
    pub(super) server: String,
    pub(super) topology: Topology,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Topology {
    pub(super) datacenter: String,
    pub(super) compute_cluster: Option<String>,
    pub(super) networks: Vec<String>,
    pub(super) datastore: String,
    pub(super) resource_pool: Option<String>,
    pub(super) folder: Option<String>,
    pub(super) template: Option<String>,
    pub(super) host_group: Option<String>,
    #[serde(rename = "tagIDs", skip_serializing_if = "Vec::is_empty")]
    pub(super) tag_ids: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Ovirt {
    pub(super) ovirt_cluster_id: String,
    pub(super) ovirt_storage_domain_id: String,
    pub(super) ovirt_network_name: String,
    #[serde(rename = "vnicProfileID")]
    pub(super) vnic_profile_id: String,
    pub(super) api_vips: Vec<String>,
    pub(super) ingress_vips: Vec<String>,
    #[serde(rename = "affinityGroups")]
    pub(super) affinity_groups: Vec<AffinityGroup>,
}

#[derive(Serialize)]
pub(super) struct AffinityGroup {
    pub(super) name: String,
    pub(super) priority: u32,
    pub(super) description: String,
    pub(super) enforcing: bool,
}

#[skip_serializing_none]
#[derive(Serialize)]
pub(super) struct Kubevirt {
    pub(super) namespace: String,
    #[serde(rename = "networkName")]
    pub(super) network_name: Option<String>,
    #[serde(rename = "apiVIP")]
    pub(super) api_vip: Option<String>,
    #[serde(rename = "ingressVIP")]
    pub(super) ingress_vip: Option<String>,
    #[serde(rename = "storageClass")]
    pub(super) storage_class: Option<String>,
    #[serde(rename = "persistentVolumeAccessMode")]
    pub(super) access_mode: String,
    #[serde(rename = "interfaceBindingMethod")]
    pub(super) binding: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum PoolPart {
    VSphere(VSpherePool),
    Ovirt(OvirtPool),
    Kubevirt(KubevirtPool),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VSpherePool {
    pub(super) zones: Vec<String>,
    pub(super) cpus: u32,
    pub(super) cores_per_socket: u32,
    #[serde(rename = "memoryMB")]
    pub(super) memory_mb: u32,
    pub(super) os_disk: VSphereDisk,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) data_disks: Vec<DataDisk>,
}

#[derive(Serialize)]
pub(super) struct VSphereDisk {
    #[serde(rename = "diskSizeGB")]
    pub(super) disk_size_gb: u32,
}

#[skip_serializing_none]
#[derive(Serialize)]
pub(super) struct OvirtPool {
    #[serde(rename = "instanceTypeID")]
    pub(super) instance_type_id: Option<String>,
    pub(super) cpu: Option<OvirtCpu>,
    #[serde(rename = "memoryMB")]
    pub(super) memory_mb: Option<u32>,
    #[serde(rename = "osDisk")]
    pub(super) os_disk: OvirtDisk,
    #[serde(rename = "vmType")]
    pub(super) vm_type: String,
    #[serde(rename = "affinityGroupsNames")]
    pub(super) affinity_groups: Vec<String>,
    #[serde(rename = "autoPinningPolicy")]
    pub(super) auto_pinning: String,
    pub(super) hugepages: Option<u32>,
    pub(super) clone: Option<bool>,
    pub(super) sparse: Option<bool>,
    pub(super) format: Option<String>,
}

#[derive(Serialize)]
pub(super) struct OvirtCpu {
    pub(super) sockets: u32,
    pub(super) cores: u32,
    pub(super) threads: u32,
}

#[derive(Serialize)]
pub(super) struct OvirtDisk {
    #[serde(rename = "sizeGB")]
    pub(super) size_gb: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KubevirtPool {
    pub(super) cpu: u32,
    pub(super) memory: String,
    pub(super) storage_size: String,
}
