//! Settings of the whole cluster that do not depend on where it lives.

use slipway_api::openshift::{
    Capabilities, ClusterNetworkEntry, ClusterVersion, ClusterVersionSpec, DefaultNetwork, Dns, DnsSpec,
    ExternalIp, ExternalIpPolicy, FeatureGate, FeatureGateSelection, FeatureGateSpec, GatewayIpv4, Ingress,
    IngressSpec, IngressStatus, MachineConfiguration, MachineConfigurationSpec, MachineManager,
    MachineManagerSelection, ManagedBootImages, Network, NetworkOperator, NetworkOperatorSpec, NetworkSpec,
    OsImageStream, OsImageStreamSpec, OvnKubernetes, Scheduler, SchedulerSpec,
};
use slipway_config::features::FeatureSet;
use slipway_config::install_config::{ImageRef, InstallConfig, Payload, Platform};

use crate::drivers::cloud_config;
use crate::objects::{config_map, map, named, namespace, secret, within};
use crate::{Access, Cluster, Error, Tree};

pub(super) fn add(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    let config = &cluster.config;
    let domain = config.cluster_domain();
    let dns = Dns { metadata: named("cluster"), spec: DnsSpec { base_domain: domain } };
    tree.yaml("manifests/cluster-dns-02-config.yml", &dns, Access::Group)?;
    tree.yaml("manifests/cluster-ingress-02-config.yml", &ingress(config), Access::Group)?;
    tree.yaml("manifests/cluster-network-02-config.yml", &network(config), Access::Group)?;
    if let Some(network) = network_operator(config) {
        tree.yaml("manifests/cluster-network-03-config.yml", &network, Access::Group)?;
    }
    let scheduler = Scheduler {
        metadata: named("cluster"),
        spec: SchedulerSpec { masters_schedulable: config.pools.compute.replicas == 0 },
    };
    tree.yaml("manifests/cluster-scheduler-02-config.yml", &scheduler, Access::Group)?;
    tree.yaml("manifests/cvo-overrides.yaml", &cluster_version(cluster), Access::Group)?;
    if let Some(text) = provider_config(cluster) {
        let cloud = config_map(within("openshift-config", "cloud-provider-config"), map([("config", text)]));
        tree.yaml("manifests/cloud-provider-config.yaml", &cloud, Access::Group)?;
    }
    // The old in-tree providers looked for this one; components still expect it to be there.
    let old = secret(within("kube-system", "kube-cloud-cfg"), "Opaque", map([("config", "")]));
    tree.yaml("manifests/kube-cloud-config.yaml", &old, Access::Group)?;
    if matches!(config.platform, Platform::KubeVirt(_)) {
        let infra = namespace("openshift-kubevirt-infra", map([("openshift.io/run-level", "1")]));
        tree.yaml("manifests/openshift-kubevirt-infra-namespace.yaml", &infra, Access::Group)?;
    }
    if own_images(config) {
        tree.yaml("manifests/90_cluster-mco-02-config.yaml", &boot_images(), Access::Group)?;
    }
    tree.yaml("openshift/99_feature-gate.yaml", &feature_gate(config), Access::Group)?;
    if let Some(stream) = config.os_image_stream {
        let spec = OsImageStreamSpec { default_stream: stream.to_string() };
        let stream = OsImageStream { metadata: named("cluster"), spec };
        tree.yaml("openshift/99_osimagestream.yaml", &stream, Access::Group)?;
    }
    let made_by = map([("invoker", "user"), ("version", concat!("slipway ", env!("CARGO_PKG_VERSION")))]);
    let made_by = config_map(within("openshift-config", "openshift-install-manifests"), made_by);
    tree.yaml("openshift/openshift-install-manifests.yaml", &made_by, Access::Group)
}

/// What the platform's cloud provider reads.
fn provider_config(cluster: &Cluster) -> Option<String> {
    match &cluster.config.platform {
        Platform::VSphere(_) => Some(cloud_config(cluster)?.to_yaml()),
        Platform::KubeVirt(platform) => {
            let settings = map([
                ("infraID", cluster.identity.infra_id.as_str()),
                ("namespace", platform.namespace.as_str()),
            ]);
            serde_json::to_string(&settings).ok()
        }
        Platform::Ovirt(_) | Platform::None => None,
    }
}

fn ingress(config: &InstallConfig) -> Ingress {
    let pools = &config.pools;
    let alone = pools.control_plane.replicas == 1 && pools.compute.replicas == 0;
    let placement = if alone { "ControlPlane" } else { "Workers" };
    Ingress {
        metadata: named("cluster"),
        spec: IngressSpec { domain: format!("apps.{}", config.cluster_domain()) },
        status: Some(IngressStatus { default_placement: placement.to_owned() }),
    }
}

fn cluster_networks(config: &InstallConfig) -> Vec<ClusterNetworkEntry> {
    let entry = |network: &slipway_config::install_config::ClusterNetwork| ClusterNetworkEntry {
        cidr: network.cidr.to_string(),
        host_prefix: network.host_prefix,
    };
    config.networking.cluster.iter().map(entry).collect()
}

fn service_networks(config: &InstallConfig) -> Vec<String> {
    config.networking.service.iter().map(ToString::to_string).collect()
}

fn network(config: &InstallConfig) -> Network {
    Network {
        metadata: named("cluster"),
        spec: NetworkSpec {
            cluster_network: cluster_networks(config),
            external_ip: Some(ExternalIp { policy: ExternalIpPolicy {} }),
            network_type: config.networking.network_type.clone(),
            service_network: service_networks(config),
        },
    }
}

/// Only for settings that the general object has no field for.
fn network_operator(config: &InstallConfig) -> Option<NetworkOperator> {
    let networking = &config.networking;
    if networking.mtu.is_none() && networking.internal_join_subnet.is_none() {
        return None;
    }
    let join =
        networking.internal_join_subnet.map(|cidr| GatewayIpv4 { internal_join_subnet: cidr.to_string() });
    Some(NetworkOperator {
        metadata: named("cluster"),
        spec: NetworkOperatorSpec {
            management_state: "Managed".to_owned(),
            cluster_network: cluster_networks(config),
            service_network: service_networks(config),
            default_network: DefaultNetwork {
                kind: networking.network_type.clone(),
                ovn_kubernetes: Some(OvnKubernetes { mtu: networking.mtu, ipv4: join }),
            },
        },
    })
}

fn cluster_version(cluster: &Cluster) -> ClusterVersion {
    let config = &cluster.config;
    let capabilities = config.capabilities.as_ref().map(|capabilities| Capabilities {
        baseline_capability_set: capabilities.baseline.to_string(),
        additional_enabled_capabilities: capabilities.additional.clone(),
    });
    let release = match &config.payload {
        Payload::OpenShift { release_image, .. } => release_image.as_ref().map(ImageRef::as_str),
        Payload::Kubernetes { .. } => None,
    };
    ClusterVersion {
        metadata: named("version"),
        spec: ClusterVersionSpec {
            cluster_id: cluster.identity.cluster_id.to_string(),
            channel: release.and_then(channel),
            capabilities,
        },
    }
}

/// The channel of a release whose image's tag says its version.
fn channel(image: &str) -> Option<String> {
    let (_, tag) = image.rsplit('/').next()?.split_once(':')?;
    let mut parts = tag.split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (parts.next().is_some() && number(major) && number(minor)).then(|| format!("stable-{major}.{minor}"))
}

/// There is one even for the default set, whose name is empty: the release's render commands look up their
/// features in it and end with an error when they find none.
fn feature_gate(config: &InstallConfig) -> FeatureGate {
    let features = &config.features;
    let switched = |wanted: bool| -> Vec<String> {
        features.custom.iter().filter(|(_, on)| **on == wanted).map(|(name, _)| name.clone()).collect()
    };
    let custom = FeatureGateSelection { enabled: switched(true), disabled: switched(false) };
    let custom = (!features.custom.is_empty()).then_some(custom);
    let feature_set = match features.set {
        FeatureSet::Default => String::new(),
        set => set.to_string(),
    };
    FeatureGate {
        metadata: named("cluster"),
        spec: FeatureGateSpec { feature_set, custom_no_upgrade: custom },
    }
}

/// Whether machines boot from images the user chose, which the cluster must not replace.
fn own_images(config: &InstallConfig) -> bool {
    let Platform::VSphere(platform) = &config.platform else { return false };
    platform.os_image.is_some()
        || platform.failure_domains.iter().any(|domain| domain.topology.template.is_some())
}

fn boot_images() -> MachineConfiguration {
    let manager = MachineManager {
        api_group: "machine.openshift.io".to_owned(),
        resource: "machinesets".to_owned(),
        selection: MachineManagerSelection { mode: "None".to_owned() },
    };
    MachineConfiguration {
        metadata: named("cluster"),
        spec: MachineConfigurationSpec {
            log_level: "Normal".to_owned(),
            management_state: "Managed".to_owned(),
            operator_log_level: "Normal".to_owned(),
            managed_boot_images: ManagedBootImages { machine_managers: vec![manager] },
        },
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::channel;

    #[rstest]
    #[case("quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64", Some("stable-4.20"))]
    #[case("registry:5000/ocp/release:4.18.0", Some("stable-4.18"))]
    #[case("registry:5000/ocp/release", None)]
    #[case("quay.io/ocp/release@sha256:0123", None)]
    #[case("quay.io/ocp/release:latest", None)]
    fn channels_come_from_tags(#[case] image: &str, #[case] expected: Option<&str>) {
        assert_eq!(channel(image).as_deref(), expected);
    }
}
