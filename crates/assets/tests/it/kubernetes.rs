//! The Kubernetes payload, as kubeadm, Ignition and systemd see it.

mod bare_metal;
mod contents;
mod kubeadm;
mod machines;
mod scripts;

use slipway_assets::kubernetes::machine_config;
use slipway_assets::names::Role;
use slipway_assets::{Access, Cluster, Tree};

use crate::fixtures::{self, KUBERNETES, KUBEVIRT, NONE, OVIRT};
use crate::ignition::Ign;

const PAYLOAD: &str =
    "payload: {type: Kubernetes, version: v1.34.4, slipwayImage: 'registry.example.com/slipway:v1'}\n";

/// Both families, IPv6 first, and addresses by DHCP.
fn dual() -> String {
    let (head, _) = KUBERNETES.split_once("    hosts:\n").unwrap();
    head.replace(
        "  - cidr: 10.30.0.0/24\n",
        "  - cidr: fd00:30::/64\n  - cidr: 10.30.0.0/24\n  clusterNetwork:\n  - {cidr: 'fd01::/48', hostPrefix: 64}\n  - {cidr: 10.128.0.0/14, hostPrefix: 23}\n  serviceNetwork: ['fd02::/112', 172.30.0.0/16]\n",
    )
    .replace("apiVIPs: [10.30.0.5]", "apiVIPs: ['fd00:30::5', 10.30.0.5]")
    .replace("ingressVIPs: [10.30.0.6]", "ingressVIPs: ['fd00:30::6', 10.30.0.6]")
}

/// One of our examples for OpenShift, with the other payload.
fn on(example: &str) -> String {
    let text = match example.split_once("\npayload:") {
        Some((head, rest)) => {
            let next =
                rest.split_inclusive('\n').skip_while(|line| line.starts_with(' ') || line.starts_with('\n'));
            let rest: String = next.skip(1).skip_while(|line| line.starts_with(' ')).collect();
            format!("{head}\n{rest}")
        }
        None => example.to_owned(),
    };
    format!("{text}\n{PAYLOAD}")
}

/// The clusters everything is looked at for.
fn clusters() -> Vec<(&'static str, Cluster)> {
    [
        ("vsphere", KUBERNETES.to_owned()),
        ("dual", dual()),
        ("ovirt", on(OVIRT)),
        ("kubevirt", on(KUBEVIRT)),
        ("none", on(NONE)),
    ]
    .into_iter()
    .map(|(name, text)| (name, fixtures::cluster(&text)))
    .collect()
}

fn files(cluster: &Cluster) -> Tree {
    let mut manifests = slipway_assets::manifests(cluster).unwrap();
    let plugin = "apiVersion: v1\nkind: Namespace\nmetadata: {name: cni}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: cni-more}\n";
    manifests.insert("network/cni.yaml", plugin, Access::Group);
    slipway_assets::ignition(cluster, &manifests).unwrap()
}

fn bootstrap(cluster: &Cluster) -> Ign {
    Ign(serde_json::from_slice(&files(cluster).get("bootstrap.ign").unwrap().contents).unwrap())
}

fn served(cluster: &Cluster, role: Role) -> Ign {
    Ign(serde_json::from_slice(&machine_config(cluster, role).unwrap()).unwrap())
}
