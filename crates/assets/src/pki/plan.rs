//! Which certificates there are, who signs them, and what they are for.

use std::net::IpAddr;

use jiff::SignedDuration;
use slipway_config::install_config::{InstallConfig, PayloadType};
use slipway_config::net::Cidr;

use super::{Extent, SHORTEST_VALIDITY};
use crate::names;

/// Longer than a cluster is expected to run.
const TEN_YEARS: SignedDuration = SignedDuration::from_hours(3653 * 24);

/// An authority that signs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signer {
    /// Of the machine-config server; the one thing a machine trusts before it has a configuration.
    Root,
    AdminKubeconfig,
    ApiLoadBalancer,
    ApiLocalhost,
    ApiServiceNetwork,
    ApiToKubelet,
    ControlPlane,
    AggregatorCa,
    Aggregator,
    /// Signs what kubelets ask for.
    Kubelet,
    KubeletBootstrap,
    /// Of everything in a cluster made by kubeadm: `/etc/kubernetes/pki/ca.crt`.
    Kubernetes,
    /// `/etc/kubernetes/pki/etcd/ca.crt`.
    Etcd,
    /// `/etc/kubernetes/pki/front-proxy-ca.crt`.
    FrontProxy,
}

impl Signer {
    /// Those of an OpenShift cluster.
    pub const OPENSHIFT: [Signer; 11] = [
        Signer::Root,
        Signer::AdminKubeconfig,
        Signer::ApiLoadBalancer,
        Signer::ApiLocalhost,
        Signer::ApiServiceNetwork,
        Signer::ApiToKubelet,
        Signer::ControlPlane,
        Signer::AggregatorCa,
        Signer::Aggregator,
        Signer::Kubelet,
        Signer::KubeletBootstrap,
    ];

    /// Those of a cluster made by kubeadm, which knows three and signs everything else with them itself.
    pub const KUBEADM: [Signer; 4] = [Signer::Root, Signer::Kubernetes, Signer::Etcd, Signer::FrontProxy];

    /// Those of a payload.
    pub fn of(payload: PayloadType) -> &'static [Signer] {
        match payload {
            PayloadType::OpenShift => &Signer::OPENSHIFT,
            PayloadType::Kubernetes => &Signer::KUBEADM,
        }
    }

    /// Those of a payload that a step needs.
    pub(super) fn needed(payload: PayloadType, extent: Extent) -> &'static [Signer] {
        match extent {
            Extent::Manifests => &[Signer::Root],
            Extent::All => Signer::of(payload),
        }
    }

    /// The file of the certificate.
    pub(super) fn certificate(self) -> String {
        format!("{}.crt", self.name())
    }

    /// The file of the key.
    pub(super) fn key(self) -> String {
        format!("{}.key", self.name())
    }

    /// Name of the files, and common name.
    pub fn name(self) -> &'static str {
        match self {
            Signer::Root => "root-ca",
            Signer::AdminKubeconfig => "admin-kubeconfig-signer",
            Signer::ApiLoadBalancer => "kube-apiserver-lb-signer",
            Signer::ApiLocalhost => "kube-apiserver-localhost-signer",
            Signer::ApiServiceNetwork => "kube-apiserver-service-network-signer",
            Signer::ApiToKubelet => "kube-apiserver-to-kubelet-signer",
            Signer::ControlPlane => "kube-control-plane-signer",
            Signer::AggregatorCa => "aggregator-ca",
            Signer::Aggregator => "aggregator-signer",
            Signer::Kubelet => "kubelet-signer",
            Signer::KubeletBootstrap => "kubelet-bootstrap-kubeconfig-signer",
            Signer::Kubernetes => "kubernetes-ca",
            Signer::Etcd => "etcd-ca",
            Signer::FrontProxy => "front-proxy-ca",
        }
    }

    /// The operators of the cluster replace the short-lived ones by themselves, once it runs.
    pub(super) fn validity(self) -> SignedDuration {
        match self {
            Signer::Root
            | Signer::AdminKubeconfig
            | Signer::ApiLoadBalancer
            | Signer::ApiLocalhost
            | Signer::ApiServiceNetwork
            | Signer::KubeletBootstrap
            | Signer::Kubernetes
            | Signer::Etcd
            | Signer::FrontProxy => TEN_YEARS,
            Signer::ApiToKubelet
            | Signer::ControlPlane
            | Signer::AggregatorCa
            | Signer::Aggregator
            | Signer::Kubelet => SHORTEST_VALIDITY,
        }
    }
}

/// Several authorities in one file, for those who trust all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bundle {
    AdminKubeconfig,
    ApiCompleteServer,
    ApiCompleteClient,
    ApiLoadBalancer,
    ApiLocalhost,
    ApiServiceNetwork,
    ApiToKubelet,
    ControlPlane,
    KubeletClient,
    KubeletServing,
    KubeletBootstrap,
    Aggregator,
}

impl Bundle {
    pub const ALL: [Bundle; 12] = [
        Bundle::AdminKubeconfig,
        Bundle::ApiCompleteServer,
        Bundle::ApiCompleteClient,
        Bundle::ApiLoadBalancer,
        Bundle::ApiLocalhost,
        Bundle::ApiServiceNetwork,
        Bundle::ApiToKubelet,
        Bundle::ControlPlane,
        Bundle::KubeletClient,
        Bundle::KubeletServing,
        Bundle::KubeletBootstrap,
        Bundle::Aggregator,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Bundle::AdminKubeconfig => "admin-kubeconfig-ca-bundle",
            Bundle::ApiCompleteServer => "kube-apiserver-complete-server-ca-bundle",
            Bundle::ApiCompleteClient => "kube-apiserver-complete-client-ca-bundle",
            Bundle::ApiLoadBalancer => "kube-apiserver-lb-ca-bundle",
            Bundle::ApiLocalhost => "kube-apiserver-localhost-ca-bundle",
            Bundle::ApiServiceNetwork => "kube-apiserver-service-network-ca-bundle",
            Bundle::ApiToKubelet => "kube-apiserver-to-kubelet-ca-bundle",
            Bundle::ControlPlane => "kube-control-plane-ca-bundle",
            Bundle::KubeletClient => "kubelet-client-ca-bundle",
            Bundle::KubeletServing => "kubelet-serving-ca-bundle",
            Bundle::KubeletBootstrap => "kubelet-bootstrap-kubeconfig-ca-bundle",
            Bundle::Aggregator => "aggregator-ca-bundle",
        }
    }

    pub fn signers(self) -> &'static [Signer] {
        match self {
            Bundle::AdminKubeconfig => &[Signer::AdminKubeconfig],
            Bundle::ApiCompleteServer => {
                &[Signer::ApiLoadBalancer, Signer::ApiLocalhost, Signer::ApiServiceNetwork]
            }
            Bundle::ApiCompleteClient => &[
                Signer::AdminKubeconfig,
                Signer::Kubelet,
                Signer::ControlPlane,
                Signer::ApiToKubelet,
                Signer::KubeletBootstrap,
            ],
            Bundle::ApiLoadBalancer => &[Signer::ApiLoadBalancer],
            Bundle::ApiLocalhost => &[Signer::ApiLocalhost],
            Bundle::ApiServiceNetwork => &[Signer::ApiServiceNetwork],
            Bundle::ApiToKubelet => &[Signer::ApiToKubelet],
            Bundle::ControlPlane => &[Signer::ControlPlane],
            Bundle::KubeletClient | Bundle::KubeletServing => &[Signer::Kubelet],
            Bundle::KubeletBootstrap => &[Signer::KubeletBootstrap],
            Bundle::Aggregator => &[Signer::Aggregator],
        }
    }
}

/// A certificate that signs nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Name of the files.
    pub name: &'static str,
    pub signer: Signer,
    pub common_name: &'static str,
    pub organizations: &'static [&'static str],
    pub usage: Usage,
}

impl Leaf {
    /// The file of the certificate.
    pub(super) fn certificate(&self) -> String {
        format!("{}.crt", self.name)
    }
}

/// What a certificate is presented for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Usage {
    Client,
    Server {
        names: Vec<String>,
        addresses: Vec<IpAddr>,
    },
    /// A server and those who may ask it.
    Both {
        names: Vec<String>,
        addresses: Vec<IpAddr>,
    },
}

/// Names a service of the default namespace has inside of the cluster.
fn service_names(service: &str) -> [String; 4] {
    ["", ".default", ".default.svc", ".default.svc.cluster.local"].map(|domain| format!("{service}{domain}"))
}

pub(super) fn leaves(config: &InstallConfig) -> Vec<Leaf> {
    match config.payload.kind() {
        PayloadType::OpenShift => openshift_leaves(config),
        PayloadType::Kubernetes => kubeadm_leaves(config),
    }
}

/// kubeadm signs what its own components need; these are for those who come before it, and from outside.
fn kubeadm_leaves(config: &InstallConfig) -> Vec<Leaf> {
    let admin = Leaf {
        name: "admin-kubeconfig-client",
        signer: Signer::Kubernetes,
        common_name: "system:admin",
        // What members of this group may do is said by a binding that can be removed, unlike `system:masters`.
        organizations: &["kubeadm:cluster-admins"],
        usage: Usage::Client,
    };
    vec![admin, machine_config_server(config)]
}

fn machine_config_server(config: &InstallConfig) -> Leaf {
    let addresses = names::vips(config).api;
    let internal = format!("api-int.{}", config.cluster_domain());
    // Clients that do not know addresses in certificates compare them as names.
    let names = std::iter::once(internal).chain(addresses.iter().map(IpAddr::to_string)).collect();
    Leaf {
        name: "machine-config-server",
        signer: Signer::Root,
        common_name: "system:machine-config-server",
        organizations: &[],
        usage: Usage::Server { names, addresses },
    }
}

fn openshift_leaves(config: &InstallConfig) -> Vec<Leaf> {
    const ADMIN: (&str, &[&str]) = ("system:admin", &["system:masters"]);
    const API_SERVER: (&str, &[&str]) = ("system:kube-apiserver", &["kube-master"]);
    const PROXY: (&str, &[&str]) = ("system:kube-apiserver-proxy", &["kube-master"]);
    const NODE_BOOTSTRAPPER: (&str, &[&str]) = (
        "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper",
        &["system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts"],
    );

    let domain = config.cluster_domain();
    let internal = format!("api-int.{domain}");
    let server = |names: Vec<String>, addresses: Vec<IpAddr>| Usage::Server { names, addresses };
    let leaf = |name,
                signer,
                (common_name, organizations): (&'static str, &'static [&'static str]),
                usage| { Leaf { name, signer, common_name, organizations, usage } };
    let first_addresses = config.networking.service.iter().filter_map(|cidr| first_address(*cidr));
    let vips = names::vips(config).api;
    vec![
        leaf("admin-kubeconfig-client", Signer::AdminKubeconfig, ADMIN, Usage::Client),
        leaf(
            "kube-apiserver-lb-server",
            Signer::ApiLoadBalancer,
            API_SERVER,
            server(vec![format!("api.{domain}")], Vec::new()),
        ),
        leaf(
            "kube-apiserver-internal-lb-server",
            Signer::ApiLoadBalancer,
            API_SERVER,
            server(vec![internal.clone()], Vec::new()),
        ),
        leaf(
            "kube-apiserver-localhost-server",
            Signer::ApiLocalhost,
            API_SERVER,
            server(
                vec!["localhost".to_owned()],
                vec![std::net::Ipv4Addr::LOCALHOST.into(), std::net::Ipv6Addr::LOCALHOST.into()],
            ),
        ),
        leaf(
            "kube-apiserver-service-network-server",
            Signer::ApiServiceNetwork,
            API_SERVER,
            server(
                [service_names("kubernetes"), service_names("openshift")].concat(),
                first_addresses.collect(),
            ),
        ),
        leaf("kube-apiserver-to-kubelet-client", Signer::ApiToKubelet, API_SERVER, Usage::Client),
        leaf("kube-control-plane-kube-controller-manager-client", Signer::ControlPlane, ADMIN, Usage::Client),
        leaf("kube-control-plane-kube-scheduler-client", Signer::ControlPlane, ADMIN, Usage::Client),
        leaf("apiserver-proxy", Signer::AggregatorCa, PROXY, Usage::Client),
        leaf("aggregator-client", Signer::Aggregator, PROXY, Usage::Client),
        leaf("kubelet-client", Signer::KubeletBootstrap, NODE_BOOTSTRAPPER, Usage::Client),
        machine_config_server(config),
        leaf(
            "journal-gatewayd",
            Signer::Root,
            ("journal-gatewayd", &["OpenShift Bootstrap"]),
            Usage::Both { names: vec![internal], addresses: vips },
        ),
    ]
}

/// The address the API server has in a service network: the first one behind the network's own.
fn first_address(cidr: Cidr) -> Option<IpAddr> {
    let first = match cidr.net().network() {
        IpAddr::V4(network) => IpAddr::V4(u32::from(network).checked_add(1)?.into()),
        IpAddr::V6(network) => IpAddr::V6(u128::from(network).checked_add(1)?.into()),
    };
    cidr.contains(first).then_some(first)
}
