//! The Infrastructure object: what the cluster knows about where it lives.

use slipway_api::openshift::{
    Affinity, AffinityType, CloudConfig, Empty, FailureDomain, HostGroup, Infrastructure, InfrastructureSpec,
    InfrastructureStatus, KubevirtStatus, LoadBalancer, NodeNetwork, NodeNetworking, OnPremStatus,
    PlatformSpec, PlatformStatus, Topology, VCenter, VSpherePlatformSpec,
};
use slipway_config::install_config::vsphere::{self, DnsRecords, ZoneKind};
use slipway_config::install_config::{CpuPartitioning, InstallConfig, Platform};

use crate::Cluster;
use crate::names::{load_balancer, texts, vips};
use crate::objects::named;

pub(super) fn infrastructure(cluster: &Cluster) -> Infrastructure {
    let config = &cluster.config;
    let domain = config.cluster_domain();
    let has_cloud_config = matches!(config.platform, Platform::VSphere(_) | Platform::KubeVirt(_));
    let cloud_config = if has_cloud_config {
        CloudConfig { key: Some("config".to_owned()), name: Some("cloud-provider-config".to_owned()) }
    } else {
        CloudConfig::default()
    };
    let kind = type_name(&config.platform);
    Infrastructure {
        metadata: named("cluster"),
        spec: InfrastructureSpec { cloud_config, platform_spec: platform_spec(cluster) },
        status: Some(InfrastructureStatus {
            infrastructure_name: cluster.identity.infra_id.to_string(),
            platform: kind.to_owned(),
            platform_status: platform_status(config),
            etcd_discovery_domain: String::new(),
            api_server_url: format!("https://api.{domain}:6443"),
            api_server_internal_uri: format!("https://api-int.{domain}:6443"),
            control_plane_topology: control_plane_topology(config).to_owned(),
            infrastructure_topology: infrastructure_topology(config).to_owned(),
            cpu_partitioning: match config.cpu_partitioning {
                CpuPartitioning::None => "None".to_owned(),
                CpuPartitioning::AllNodes => "AllNodes".to_owned(),
            },
        }),
    }
}

/// How OpenShift spells the platform.
pub(super) fn type_name(platform: &Platform) -> &'static str {
    match platform {
        Platform::VSphere(_) => "VSphere",
        Platform::Ovirt(_) => "oVirt",
        Platform::KubeVirt(_) => "KubeVirt",
        Platform::None => "None",
    }
}

fn control_plane_topology(config: &InstallConfig) -> &'static str {
    match config.pools.control_plane.replicas {
        1 => "SingleReplica",
        2 => "DualReplica",
        _ => "HighlyAvailable",
    }
}

/// Without compute machines the control plane carries the workload.
fn infrastructure_topology(config: &InstallConfig) -> &'static str {
    let carriers = match config.pools.compute.replicas {
        0 => config.pools.control_plane.replicas,
        replicas => replicas,
    };
    if carriers == 1 { "SingleReplica" } else { "HighlyAvailable" }
}

fn platform_spec(cluster: &Cluster) -> PlatformSpec {
    let platform = &cluster.config.platform;
    let mut spec =
        PlatformSpec { kind: type_name(platform).to_owned(), vsphere: None, ovirt: None, kubevirt: None };
    match platform {
        Platform::VSphere(platform) => spec.vsphere = Some(vsphere_spec(cluster, platform)),
        Platform::Ovirt(_) => spec.ovirt = Some(Empty {}),
        Platform::KubeVirt(_) => spec.kubevirt = Some(Empty {}),
        Platform::None => {}
    }
    spec
}

fn vsphere_spec(cluster: &Cluster, platform: &vsphere::Platform) -> VSpherePlatformSpec {
    let vcenters = platform.vcenters.iter().map(|vcenter| VCenter {
        server: vcenter.server.to_string(),
        port: vcenter.port.get(),
        datacenters: vcenter.datacenters.clone(),
    });
    let failure_domains =
        platform.failure_domains.iter().filter_map(|domain| failure_domain(cluster, platform, domain));
    VSpherePlatformSpec {
        vcenters: vcenters.collect(),
        failure_domains: failure_domains.collect(),
        node_networking: Some(node_networking(&cluster.config, platform)),
        api_server_internal_ips: texts(&platform.vips.api),
        ingress_ips: texts(&platform.vips.ingress),
        machine_networks: machine_networks(&cluster.config),
    }
}

/// `None` for those that say too little to put machines there.
fn failure_domain(
    cluster: &Cluster,
    platform: &vsphere::Platform,
    domain: &vsphere::FailureDomain,
) -> Option<FailureDomain> {
    let topology = &domain.topology;
    let compute_cluster = topology.compute_cluster.as_ref()?;
    if topology.networks.is_empty() {
        return None;
    }
    let zone_affinity = match &domain.zone_kind {
        ZoneKind::ComputeCluster => None,
        ZoneKind::HostGroup(group) => {
            let own = format!("{}-{}", cluster.identity.infra_id, domain.name);
            let host_group =
                HostGroup { host_group: group.clone(), vm_group: own.clone(), vm_host_rule: own };
            Some(Affinity { kind: "HostGroup".to_owned(), host_group: Some(host_group) })
        }
    };
    let region = domain.region_kind.as_str();
    let template = topology
        .template
        .clone()
        .unwrap_or_else(|| cluster.folder(domain).join(&cluster.template_name(domain)).to_string());
    Some(FailureDomain {
        name: domain.name.to_string(),
        region: domain.region.clone(),
        zone: domain.zone.clone(),
        region_affinity: zone_affinity.as_ref().map(|_| AffinityType { kind: region.to_owned() }),
        zone_affinity,
        server: platform.vcenters.get(domain.vcenter)?.server.to_string(),
        topology: Topology {
            datacenter: topology.datacenter.clone(),
            compute_cluster: compute_cluster.to_string(),
            networks: topology.networks.clone(),
            datastore: topology.datastore.to_string(),
            resource_pool: topology.resource_pool.as_ref().map(ToString::to_string),
            folder: topology.folder.as_ref().map(ToString::to_string),
            template: Some(template),
        },
    })
}

/// What the user said, and otherwise the machine networks.
fn node_networking(config: &InstallConfig, platform: &vsphere::Platform) -> NodeNetworking {
    let network = |written: &vsphere::NodeNetwork| {
        let said = written.network.is_some() || !written.subnets.is_empty();
        let subnets = if said { &written.subnets } else { &config.networking.machine };
        NodeNetwork {
            network: written.network.clone(),
            network_subnet_cidr: subnets.iter().map(ToString::to_string).collect(),
            exclude_network_subnet_cidr: written.excluded.iter().map(ToString::to_string).collect(),
        }
    };
    NodeNetworking {
        external: network(&platform.node_networking.external),
        internal: network(&platform.node_networking.internal),
    }
}

/// The networks of the machines, and each virtual address that is in none of them.
fn machine_networks(config: &InstallConfig) -> Vec<String> {
    let vips = vips(config);
    let outside = vips
        .api
        .iter()
        .chain(&vips.ingress)
        .filter(|vip| config.networking.machine_network_of(**vip).is_none());
    let alone = outside.map(|vip| format!("{vip}/{}", if vip.is_ipv4() { 32 } else { 128 }));
    let mut networks: Vec<String> = config.networking.machine.iter().map(ToString::to_string).collect();
    networks.extend(alone);
    networks.dedup();
    networks
}

fn platform_status(config: &InstallConfig) -> PlatformStatus {
    let mut status = PlatformStatus {
        kind: type_name(&config.platform).to_owned(),
        vsphere: None,
        ovirt: None,
        kubevirt: None,
    };
    let vips = vips(config);
    let first = |addresses: &[std::net::IpAddr]| addresses.first().map(ToString::to_string);
    let on_prem = || OnPremStatus {
        api_server_internal_ip: first(&vips.api),
        api_server_internal_ips: texts(&vips.api),
        ingress_ip: first(&vips.ingress),
        ingress_ips: texts(&vips.ingress),
        load_balancer: Some(LoadBalancer { kind: load_balancer(config).to_string() }),
        dns_records_type: None,
        machine_networks: Vec::new(),
    };
    match &config.platform {
        Platform::VSphere(platform) => {
            // The field is behind a feature gate: it is only written when it says something.
            let records = (platform.dns_records == DnsRecords::External).then(|| "External".to_owned());
            status.vsphere = Some(OnPremStatus {
                machine_networks: machine_networks(config),
                dns_records_type: records,
                ..on_prem()
            });
        }
        Platform::Ovirt(_) => status.ovirt = Some(on_prem()),
        Platform::KubeVirt(_) => {
            status.kubevirt = Some(KubevirtStatus {
                api_server_internal_ip: first(&vips.api),
                ingress_ip: first(&vips.ingress),
            });
        }
        Platform::None => {}
    }
    status
}
