//! What kubeadm is told: `kubeadm.k8s.io/v1beta4`.

use std::net::IpAddr;

use serde_json::{Value, json};
use slipway_config::install_config::vsphere::{Host, HostRole};
use slipway_config::install_config::{InstallConfig, Platform};
use slipway_config::net::Family;
use slipway_config::yaml::to_yaml;

use super::{BOOTSTRAPPERS, DISCOVERY_FILE, MACHINE_NAME, NO_TOKEN, has_cloud_provider, payload, pem};
use crate::machines::hosts_of;
use crate::names::{Role, vips};
use crate::onprem::API_PORT;
use crate::pki::{CERTIFICATE_KEY, bootstrap_token};
use crate::{Cluster, Error};

const API_VERSION: &str = "kubeadm.k8s.io/v1beta4";
const CONTAINERD: &str = "unix:///run/containerd/containerd.sock";
/// kube-proxy's mode of this name is no longer a preview from here on.
const NFTABLES: (u64, u64) = (1, 33);

/// For the bootstrap machine.
pub(super) fn init(cluster: &Cluster) -> Result<String, Error> {
    let documents = [
        init_configuration(cluster)?,
        cluster_configuration(cluster)?,
        kubelet_configuration(),
        proxy(cluster)?,
    ];
    Ok(documents.iter().map(to_yaml).collect::<Vec<_>>().join("---\n"))
}

/// For the machines of a role.
pub(super) fn join(cluster: &Cluster, role: Role) -> Result<String, Error> {
    let mut document = json!({
        "apiVersion": API_VERSION,
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": DISCOVERY_FILE}, "tlsBootstrapToken": NO_TOKEN},
        "nodeRegistration": registration(cluster, MACHINE_NAME, None, &taints(cluster, role)),
        // The certificate has to be approved, which may wait for others.
        "timeouts": {"discovery": "20m0s", "tlsBootstrap": "20m0s"},
    });
    if role == Role::Master {
        document["controlPlane"] = json!({
            "certificateKey": pem(cluster, CERTIFICATE_KEY)?,
            "localAPIEndpoint": endpoint(&cluster.config, None),
        });
    }
    Ok(to_yaml(&document))
}

fn init_configuration(cluster: &Cluster) -> Result<Value, Error> {
    let host = bootstrap_host(cluster);
    let mut taints = taints(cluster, Role::Master);
    let bootstrap = json!({"key": "slipway.dev/bootstrap", "effect": "NoSchedule"});
    taints.push(bootstrap);
    let tokens: Vec<Value> =
        Role::ALL.into_iter().map(|role| token(cluster, role)).collect::<Result<_, _>>()?;
    Ok(json!({
        "apiVersion": API_VERSION,
        "kind": "InitConfiguration",
        "bootstrapTokens": tokens,
        "certificateKey": pem(cluster, CERTIFICATE_KEY)?,
        "localAPIEndpoint": endpoint(&cluster.config, host),
        "nodeRegistration": registration(cluster, &cluster.bootstrap_name(), host, &taints),
    }))
}

/// What machines of a role ask for their first certificate with.
fn token(cluster: &Cluster, role: Role) -> Result<Value, Error> {
    Ok(json!({
        "token": pem(cluster, &bootstrap_token(role))?,
        "description": "machines of the cluster that ask for their first certificate",
        "ttl": "24h0m0s",
        "usages": ["authentication"],
        "groups": [BOOTSTRAPPERS],
    }))
}

fn cluster_configuration(cluster: &Cluster) -> Result<Value, Error> {
    let config = &cluster.config;
    let domain = config.cluster_domain();
    let networking = &config.networking;
    let list = |cidrs: Vec<String>| cidrs.join(",");
    let mut names = vec![format!("api.{domain}"), format!("api-int.{domain}"), "localhost".to_owned()];
    names.extend(vips(config).api.iter().map(IpAddr::to_string));
    names.push("127.0.0.1".to_owned());
    if networking.service.iter().any(|cidr| cidr.family() == Family::V6) {
        names.push("::1".to_owned());
    }
    Ok(json!({
        "apiVersion": API_VERSION,
        "kind": "ClusterConfiguration",
        "clusterName": config.name.as_str(),
        "kubernetesVersion": format!("v{}", payload(cluster)?.version.version()),
        "controlPlaneEndpoint": format!("api-int.{domain}:{API_PORT}"),
        "networking": {
            "dnsDomain": "cluster.local",
            "serviceSubnet": list(networking.service.iter().map(ToString::to_string).collect()),
            "podSubnet": list(networking.cluster.iter().map(|network| network.cidr.to_string()).collect()),
        },
        "apiServer": {
            "certSANs": names,
            // kubelets have certificates of the cluster (`serverTLSBootstrap`), so they can be verified.
            "extraArgs": [argument("kubelet-certificate-authority", "/etc/kubernetes/pki/ca.crt")],
        },
        "controllerManager": {"extraArgs": node_masks(config)},
        "etcd": {"local": {"dataDir": "/var/lib/etcd"}},
    }))
}

fn kubelet_configuration() -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
        "resolvConf": "/run/slipway/resolv.conf",
        "rotateCertificates": true,
        "serverTLSBootstrap": true,
        "tlsMinVersion": "VersionTLS12",
    })
}

fn proxy(cluster: &Cluster) -> Result<Value, Error> {
    let version = payload(cluster)?.version.version();
    let mut document =
        json!({"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration"});
    if (version.major, version.minor) >= NFTABLES {
        document["mode"] = json!("nftables");
    }
    Ok(document)
}

/// How large a part of the pod networks each node gets.
fn node_masks(config: &InstallConfig) -> Vec<Value> {
    let networks = &config.networking.cluster;
    let masks = networks.iter().map(|network| {
        let name = match network.cidr.family() {
            _ if networks.len() == 1 => "node-cidr-mask-size",
            Family::V4 => "node-cidr-mask-size-ipv4",
            Family::V6 => "node-cidr-mask-size-ipv6",
        };
        argument(name, &network.host_prefix.to_string())
    });
    masks.collect()
}

fn argument(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

/// The control plane carries no workload, unless there are no compute machines.
fn taints(cluster: &Cluster, role: Role) -> Vec<Value> {
    if role == Role::Worker || cluster.config.pools.compute.replicas == 0 {
        return Vec::new();
    }
    vec![json!({"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"})]
}

fn registration(cluster: &Cluster, name: &str, host: Option<&Host>, taints: &[Value]) -> Value {
    let config = &cluster.config;
    // The name of a node never changes, whatever DHCP says later.
    let mut arguments = vec![argument("hostname-override", name)];
    if has_cloud_provider(&config.platform) {
        // Nodes stay tainted until the cloud controller manager has found their machines.
        arguments.push(argument("cloud-provider", "external"));
    }
    // The others find their addresses themselves, before each start of the kubelet.
    if let Some(host) = host {
        let addresses: Vec<String> = families(config)
            .iter()
            .filter_map(|&family| address(host, family))
            .map(|address| address.to_string())
            .collect();
        arguments.push(argument("node-ip", &addresses.join(",")));
    }
    json!({
        "name": name,
        "criSocket": CONTAINERD,
        "imagePullPolicy": "IfNotPresent",
        "kubeletExtraArgs": arguments,
        "taints": taints,
    })
}

/// Without an address kubeadm takes that of the default route; `::` tells it the family.
fn endpoint(config: &InstallConfig, host: Option<&Host>) -> Value {
    let family = config.networking.stack.primary();
    let mut endpoint = json!({"bindPort": API_PORT});
    match host.and_then(|host| address(host, family)) {
        Some(address) => endpoint["advertiseAddress"] = json!(address.to_string()),
        None if family == Family::V6 => endpoint["advertiseAddress"] = json!("::"),
        None => {}
    }
    endpoint
}

/// The families of the cluster, the first one first.
pub(super) fn families(config: &InstallConfig) -> Vec<Family> {
    let stack = config.networking.stack;
    match stack.primary() {
        Family::V4 if stack.is_dual() => vec![Family::V4, Family::V6],
        Family::V6 if stack.is_dual() => vec![Family::V6, Family::V4],
        only => vec![only],
    }
}

fn address(host: &Host, family: Family) -> Option<IpAddr> {
    host.addresses.iter().map(ipnet::IpNet::addr).find(|address| Family::of(*address) == family)
}

/// The static addresses of the bootstrap machine.
fn bootstrap_host(cluster: &Cluster) -> Option<&Host> {
    match &cluster.config.platform {
        Platform::VSphere(platform) => hosts_of(platform, HostRole::Bootstrap).first().copied(),
        _ => None,
    }
}
