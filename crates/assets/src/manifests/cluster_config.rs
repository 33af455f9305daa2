//! The cluster's own copy of the install-config: with all defaults, without secrets and without what only
//! Slipway understands.

mod published;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use slipway_config::features::FeatureSet;
use slipway_config::install_config::{
    self, InstallConfig, OsImageStream, Platform, SignerKey, kubevirt, ovirt, vsphere,
};
use slipway_config::private_url::PrivateUrl;
use slipway_config::yaml::to_yaml;

use self::published::{
    AffinityGroup, Capabilities, ClusterNetwork, EcdsaKey, FailureDomain, Host, Key, Kubevirt, KubevirtPool,
    LoadBalancer, MachineNetwork, Metadata, Mirror, NetworkDevice, Networking, NodeNetwork, NodeNetworking,
    Ovirt, OvirtCpu, OvirtDisk, OvirtPool, OvnIpv4, OvnKubernetes, Pki, PlatformPart, Pool, PoolPart, Proxy,
    Published, RsaKey, Signers, Topology, VCenter, VSphere, VSphereDisk, VSpherePool,
};
use crate::names::{Role, texts};
use crate::objects::{config_map, map, within};
use crate::vsphere::data_disk;
use crate::{Cluster, Error};

pub(super) fn cluster_config(cluster: &Cluster) -> Result<ConfigMap, Error> {
    let config = published(&cluster.config);
    let value = serde_json::to_value(&config)
        .map_err(|source| Error::Unwritable { path: "install-config".to_owned(), source })?;
    let data = map([("install-config", to_yaml(&value))]);
    Ok(config_map(within("kube-system", "cluster-config-v1"), data))
}

fn published(config: &InstallConfig) -> Published<'_> {
    Published {
        api_version: "v1",
        base_domain: config.base_domain.to_string(),
        metadata: Metadata { name: config.name.to_string() },
        control_plane: pool(config, Role::Master),
        compute: vec![pool(config, Role::Worker)],
        networking: networking(&config.networking),
        platform: BTreeMap::from([(config.platform.name(), platform(&config.platform))]),
        publish: "External",
        pull_secret: "",
        ssh_key: (!config.ssh_keys.is_empty()).then(|| config.ssh_keys.join("\n")),
        additional_trust_bundle: config.additional_trust_bundle.as_deref(),
        additional_trust_bundle_policy: config.trust_bundle_policy.to_string(),
        proxy: config.proxy.as_ref().map(|proxy| Proxy {
            http_proxy: proxy.http.as_ref().map(PrivateUrl::public),
            https_proxy: proxy.https.as_ref().map(PrivateUrl::public),
            no_proxy: (!proxy.no_proxy.is_empty()).then(|| proxy.no_proxy.join(",")),
        }),
        image_digest_sources: config.mirrors.iter().map(mirror).collect(),
        fips: config.fips.then_some(true),
        cpu_partitioning_mode: (config.cpu_partitioning != install_config::CpuPartitioning::None)
            .then(|| config.cpu_partitioning.to_string()),
        capabilities: config.capabilities.as_ref().map(|capabilities| Capabilities {
            baseline_capability_set: capabilities.baseline.to_string(),
            additional_enabled_capabilities: &capabilities.additional,
        }),
        feature_set: (config.features.set != FeatureSet::Default).then(|| config.features.set.to_string()),
        feature_gates: config.features.custom.iter().map(|(name, on)| format!("{name}={on}")).collect(),
        os_image_stream: config.os_image_stream.map(OsImageStream::as_str),
        pki: config.signer_key.and_then(pki),
    }
}

/// Only what differs from the default: readers of older releases do not know the field.
fn pki(key: SignerKey) -> Option<Pki> {
    let key = match key {
        SignerKey::Rsa(2048) => return None,
        SignerKey::Rsa(key_size) => Key { algorithm: "RSA", rsa: Some(RsaKey { key_size }), ecdsa: None },
        SignerKey::Ecdsa(curve) => {
            Key { algorithm: "ECDSA", rsa: None, ecdsa: Some(EcdsaKey { curve: curve.to_string() }) }
        }
    };
    Some(Pki { signer_certificates: Signers { key } })
}

fn mirror(mirror: &install_config::Mirror) -> Mirror<'_> {
    Mirror {
        source: &mirror.source,
        mirrors: &mirror.mirrors,
        source_policy: mirror.source_policy.map(|policy| policy.to_string()),
    }
}

fn networking(networking: &install_config::Networking) -> Networking {
    let cluster = networking
        .cluster
        .iter()
        .map(|network| ClusterNetwork { cidr: network.cidr.to_string(), host_prefix: network.host_prefix });
    Networking {
        network_type: networking.network_type.clone(),
        cluster_network: cluster.collect(),
        machine_network: networking
            .machine
            .iter()
            .map(|cidr| MachineNetwork { cidr: cidr.to_string() })
            .collect(),
        service_network: networking.service.iter().map(ToString::to_string).collect(),
        mtu: networking.mtu,
        ovn_kubernetes_config: networking
            .internal_join_subnet
            .map(|cidr| OvnKubernetes { ipv4: OvnIpv4 { internal_join_subnet: cidr.to_string() } }),
    }
}

fn pool(config: &InstallConfig, role: Role) -> Pool {
    let pool = role.of(&config.pools);
    Pool {
        name: role.as_str(),
        replicas: pool.replicas,
        architecture: pool.architecture.to_string(),
        hyperthreading: pool.hyperthreading.to_string(),
        platform: pool_part(&config.platform, role).into_iter().collect(),
    }
}

/// What machines of a role look like, by the name of the platform.
fn pool_part(platform: &Platform, role: Role) -> Option<(&'static str, PoolPart)> {
    let part = match platform {
        Platform::VSphere(platform) => vsphere_pool(platform, role.of(&platform.machines)),
        Platform::Ovirt(platform) => ovirt_pool(role.of(&platform.machines)),
        Platform::KubeVirt(platform) => kubevirt_pool(role.of(&platform.machines)),
        Platform::None => return None,
    };
    Some((platform.name(), part))
}

fn vsphere_pool(platform: &vsphere::Platform, machine: &vsphere::Machine) -> PoolPart {
    let zones = machine.zones.iter().filter_map(|zone| platform.failure_domains.get(*zone));
    PoolPart::VSphere(VSpherePool {
        zones: zones.map(|domain| domain.name.to_string()).collect(),
        cpus: machine.cpus,
        cores_per_socket: machine.cores_per_socket,
        memory_mb: machine.memory_mib,
        os_disk: VSphereDisk { disk_size_gb: machine.os_disk_gib },
        data_disks: machine.data_disks.iter().map(data_disk).collect(),
    })
}

fn ovirt_pool(machine: &ovirt::Machine) -> PoolPart {
    let (instance_type_id, cpu, memory_mb) = match &machine.size {
        ovirt::Size::InstanceType(id) => (Some(id.to_string()), None, None),
        ovirt::Size::Custom { sockets, cores, threads, memory_mib } => {
            let cpu = OvirtCpu { sockets: *sockets, cores: *cores, threads: *threads };
            (None, Some(cpu), Some(*memory_mib))
        }
    };
    PoolPart::Ovirt(OvirtPool {
        instance_type_id,
        cpu,
        memory_mb,
        os_disk: OvirtDisk { size_gb: machine.os_disk_gb },
        vm_type: machine.vm_type.to_string(),
        affinity_groups: machine.affinity_groups.clone(),
        auto_pinning: machine.auto_pinning.to_string(),
        hugepages: machine.hugepages_kib,
        clone: machine.clone,
        sparse: machine.sparse,
        format: machine.format.map(|format| format.to_string()),
    })
}

fn kubevirt_pool(machine: &kubevirt::Machine) -> PoolPart {
    PoolPart::Kubevirt(KubevirtPool {
        cpu: machine.cpu,
        memory: machine.memory.as_str().to_owned(),
        storage_size: machine.storage_size.as_str().to_owned(),
    })
}

fn platform(platform: &Platform) -> PlatformPart {
    match platform {
        Platform::VSphere(platform) => PlatformPart::VSphere(vsphere_platform(platform)),
        Platform::Ovirt(platform) => PlatformPart::Ovirt(Ovirt {
            ovirt_cluster_id: platform.cluster_id.to_string(),
            ovirt_storage_domain_id: platform.storage_domain_id.to_string(),
            ovirt_network_name: platform.network_name.clone(),
            vnic_profile_id: platform.vnic_profile_id.to_string(),
            api_vips: texts(&platform.vips.api),
            ingress_vips: texts(&platform.vips.ingress),
            affinity_groups: platform.affinity_groups.iter().map(affinity_group).collect(),
        }),
        Platform::KubeVirt(platform) => {
            let (network_name, vips, binding) = match &platform.network {
                kubevirt::Network::Pods => (None, install_config::Vips::default(), None),
                kubevirt::Network::Attachment { name, vips, binding } => {
                    (Some(name.to_string()), vips.clone(), Some(binding.to_string()))
                }
            };
            PlatformPart::Kubevirt(Kubevirt {
                namespace: platform.namespace.to_string(),
                network_name,
                api_vip: vips.api.first().map(ToString::to_string),
                ingress_vip: vips.ingress.first().map(ToString::to_string),
                storage_class: platform.storage_class.as_ref().map(ToString::to_string),
                access_mode: platform.access_mode.to_string(),
                binding,
            })
        }
        Platform::None => PlatformPart::None {},
    }
}

fn affinity_group(group: &ovirt::AffinityGroup) -> AffinityGroup {
    let ovirt::AffinityGroup { name, priority, description, enforcing } = group.clone();
    AffinityGroup { name, priority, description, enforcing }
}

fn vsphere_platform(platform: &vsphere::Platform) -> VSphere {
    let vcenters = platform.vcenters.iter().map(|vcenter| VCenter {
        server: vcenter.server.to_string(),
        port: vcenter.port.get(),
        user: "",
        password: "",
        datacenters: vcenter.datacenters.clone(),
    });
    let domains = platform.failure_domains.iter().filter_map(|domain| {
        Some(FailureDomain {
            name: domain.name.to_string(),
            region: domain.region.clone(),
            zone: domain.zone.clone(),
            region_type: matches!(domain.zone_kind, vsphere::ZoneKind::HostGroup(_))
                .then(|| domain.region_kind.as_str()),
            zone_type: matches!(domain.zone_kind, vsphere::ZoneKind::HostGroup(_)).then_some("HostGroup"),
            server: platform.vcenters.get(domain.vcenter)?.server.to_string(),
            topology: topology(domain),
        })
    });
    VSphere {
        vcenters: vcenters.collect(),
        failure_domains: domains.collect(),
        api_vips: texts(&platform.vips.api),
        ingress_vips: texts(&platform.vips.ingress),
        disk_type: platform.disk_type.map(|kind| kind.to_string()),
        cluster_os_image: platform.os_image.as_ref().map(|image| image.url.public()),
        load_balancer: LoadBalancer { kind: platform.load_balancer.to_string() },
        dns_records_type: (platform.dns_records != vsphere::DnsRecords::Internal)
            .then(|| platform.dns_records.to_string()),
        node_networking: node_networking(&platform.node_networking),
        hosts: platform.hosts.iter().map(|host| self::host(platform, host)).collect(),
    }
}

fn node_networking(networking: &vsphere::NodeNetworking) -> Option<NodeNetworking> {
    let network = |network: &vsphere::NodeNetwork| {
        let said = network.network.is_some() || !network.subnets.is_empty() || !network.excluded.is_empty();
        said.then(|| NodeNetwork {
            network: network.network.clone(),
            network_subnet_cidr: network.subnets.iter().map(ToString::to_string).collect(),
            exclude_network_subnet_cidr: network.excluded.iter().map(ToString::to_string).collect(),
        })
    };
    let (external, internal) = (network(&networking.external), network(&networking.internal));
    (external.is_some() || internal.is_some()).then_some(NodeNetworking { external, internal })
}

fn host(platform: &vsphere::Platform, host: &vsphere::Host) -> Host {
    let domain = host.failure_domain.and_then(|position| platform.failure_domains.get(position));
    let family = host.addresses.first().map(|net| net.addr().is_ipv4());
    let gateway = host.gateways.iter().find(|gateway| Some(gateway.is_ipv4()) == family);
    Host {
        role: host.role.to_string(),
        failure_domain: domain.map(|domain| domain.name.to_string()),
        network_device: NetworkDevice {
            ip_addrs: host.addresses.iter().map(ToString::to_string).collect(),
            gateway: gateway.map(ToString::to_string),
            nameservers: texts(&host.nameservers),
        },
    }
}

fn topology(domain: &vsphere::FailureDomain) -> Topology {
    let topology = &domain.topology;
    Topology {
        datacenter: topology.datacenter.clone(),
        compute_cluster: topology.compute_cluster.as_ref().map(ToString::to_string),
        networks: topology.networks.clone(),
        datastore: topology.datastore.to_string(),
        resource_pool: topology.resource_pool.as_ref().map(ToString::to_string),
        folder: topology.folder.as_ref().map(ToString::to_string),
        template: topology.template.clone(),
        host_group: match &domain.zone_kind {
            vsphere::ZoneKind::HostGroup(group) => Some(group.clone()),
            vsphere::ZoneKind::ComputeCluster => None,
        },
        tag_ids: topology.tag_ids.iter().map(ToString::to_string).collect(),
    }
}
