//! What all machines of the cluster have.

use secrecy::ExposeSecret;
use slipway_config::install_config::Platform;
use slipway_config::net::Family;

use super::{ClusterFacts, FACTS_FILE, FOLDER, kubeadm, payload};
use crate::ignition::config::{Builder, PRIVATE, PROGRAM, PUBLIC};
use crate::ignition::proxy;
use crate::manifests::{no_proxy, trust_bundle};
use crate::names::vips;
use crate::onprem::{self, Part};
use crate::{Cluster, Error, Tree};

/// The text of a file under `files/kubernetes`.
macro_rules! text {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/files/kubernetes/", $path))
    };
}
pub(super) use text;

/// The families of the cluster, for the script that finds the addresses of a node.
const FAMILIES_FILE: &str = "/etc/slipway/families";

pub(super) fn add(builder: &mut Builder, cluster: &Cluster, part: Part) -> Result<(), Error> {
    for key in &cluster.config.ssh_keys {
        builder.ssh_key(key);
    }
    let facts = serde_json::to_vec_pretty(&ClusterFacts::of(cluster)?)
        .map_err(|source| Error::Unwritable { path: FACTS_FILE.to_owned(), source })?;
    builder.file(FACTS_FILE, PUBLIC, facts);
    add_kubelet(builder, cluster);
    add_network(builder, cluster);
    add_onprem(builder, cluster, part)?;
    add_trust(builder, cluster);
    Ok(())
}

fn add_kubelet(builder: &mut Builder, cluster: &Cluster) {
    builder.file("/usr/local/bin/slipway-resolv.sh", PROGRAM, text!("bin/slipway-resolv.sh"));
    builder.enable("containerd.service");
    builder.enable("kubelet.service");
    builder.file("/usr/local/bin/slipway-node-ip.sh", PROGRAM, text!("bin/slipway-node-ip.sh"));
    let numbers: Vec<&str> = kubeadm::families(&cluster.config)
        .into_iter()
        .map(|family| if family == Family::V4 { "4" } else { "6" })
        .collect();
    builder.file(FAMILIES_FILE, PUBLIC, format!("{}\n", numbers.join(" ")));
    builder.dropin("kubelet.service", "90-slipway.conf", text!("units/kubelet.conf"));
    if let Some(secret) = &cluster.config.pull_secret {
        // The kubelet looks here for logins to registries.
        builder.file("/var/lib/kubelet/config.json", PRIVATE, secret.expose_secret());
    }
    builder.file("/etc/modules-load.d/90-slipway.conf", PUBLIC, text!("etc/modules.conf"));
    let mut sysctl = text!("etc/sysctl.conf").to_owned();
    if families(cluster).contains(&Family::V6) {
        sysctl.push_str(text!("etc/sysctl-ipv6.conf"));
    }
    builder.file("/etc/sysctl.d/90-slipway.conf", PUBLIC, sysctl);
}

fn families(cluster: &Cluster) -> Vec<Family> {
    cluster.config.networking.service.iter().map(|cidr| cidr.family()).collect()
}

/// The proxy, and the machine's own name.
fn add_network(builder: &mut Builder, cluster: &Cluster) {
    if let Some(settings) = &cluster.config.proxy {
        let entries = [
            ("HTTP_PROXY", settings.http.as_ref().map(|url| url.expose().to_owned())),
            ("HTTPS_PROXY", settings.https.as_ref().map(|url| url.expose().to_owned())),
            ("NO_PROXY", no_proxy(cluster)),
        ];
        let variables: Vec<(&str, String)> =
            entries.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let dropin = "/etc/systemd/system.conf.d/10-default-env.conf";
        builder.file(dropin, PRIVATE, proxy::systemd(&variables));
        let mode = if proxy::are_private(&variables) { PRIVATE } else { PUBLIC };
        builder.file("/etc/profile.d/proxy.sh", mode, proxy::profile(&variables));
    }
    // Elsewhere the platform writes /etc/hostname through Ignition.
    if let Platform::VSphere(_) = cluster.config.platform {
        builder.file("/usr/local/bin/slipway-hostname.sh", PROGRAM, text!("bin/slipway-hostname.sh"));
        builder.unit("slipway-hostname.service", text!("units/slipway-hostname.service"), true);
    }
}

/// Virtual addresses and names. The pods wait beside their configurations until the agent has made those.
fn add_onprem(builder: &mut Builder, cluster: &Cluster, part: Part) -> Result<(), Error> {
    if onprem::NetworkFacts::of(&cluster.config).is_none() {
        return Ok(());
    }
    let domain = cluster.config.cluster_domain();
    // The API must be found before there is a DNS server on the machine.
    let lines =
        vips(&cluster.config).api.into_iter().map(|vip| format!("{vip} api-int.{domain} api.{domain}\n"));
    builder.append("/etc/hosts", PUBLIC, lines.collect::<String>());
    let resolved = format!("[Resolve]\nDNS=127.0.0.1\nDomains=~{domain}\n");
    builder.file("/etc/systemd/resolved.conf.d/60-slipway.conf", PUBLIC, resolved);
    let dispatcher = "/etc/NetworkManager/dispatcher.d/30-slipway-dns";
    builder.file(dispatcher, PROGRAM, text!("bin/30-slipway-dns"));
    builder.file("/etc/NetworkManager/conf.d/99-slipway.conf", PUBLIC, text!("etc/networkmanager.conf"));
    let mut pods = Tree::default();
    for pod in onprem::static_pods(part, payload(cluster)?.image) {
        let name = pod.metadata.name.clone().unwrap_or_default();
        pods.yaml(format!("{name}.yaml"), &pod, crate::Access::Group)?;
    }
    for (name, file) in pods.iter() {
        builder.file(format!("{FOLDER}/onprem/pods/{name}"), PUBLIC, &file.contents);
    }
    Ok(())
}

/// Certificates of the user's, where the images' families look for them.
fn add_trust(builder: &mut Builder, cluster: &Cluster) {
    let Some(bundle) = trust_bundle(&cluster.config) else { return };
    builder.file("/etc/pki/ca-trust/source/anchors/slipway.crt", PUBLIC, &bundle);
    builder.file("/usr/local/share/ca-certificates/slipway.crt", PUBLIC, &bundle);
    builder.file("/usr/local/bin/slipway-trust.sh", PROGRAM, text!("bin/slipway-trust.sh"));
    builder.unit("slipway-trust.service", text!("units/slipway-trust.service"), true);
}
