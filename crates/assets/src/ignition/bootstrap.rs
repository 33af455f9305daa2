//! `bootstrap.ign`: the machine that starts the cluster.

use secrecy::ExposeSecret;
use slipway_config::install_config::Platform;

use super::config::{Builder, PRIVATE, PUBLIC};
use super::kubeconfig::{Access, kubeconfig};
use super::overrides::CLUSTER_VERSION;
use super::{channel, env, overrides, proxy, registries, scripts};
use crate::names::vips;
use crate::{Cluster, Error, Tree};

/// Where everything about the cluster is on the machine.
const ROOT: &str = "/opt/openshift";

/// Keys with their certificates that the machine has in `tls/`: what the render commands read. The signers of
/// the administrator's and the kubelets' first certificates stay at home, and so does the root's key.
const PAIRS: [&str; 20] = [
    "aggregator-ca",
    "aggregator-client",
    "aggregator-signer",
    "apiserver-proxy",
    "journal-gatewayd",
    "kube-apiserver-internal-lb-server",
    "kube-apiserver-lb-server",
    "kube-apiserver-lb-signer",
    "kube-apiserver-localhost-server",
    "kube-apiserver-localhost-signer",
    "kube-apiserver-service-network-server",
    "kube-apiserver-service-network-signer",
    "kube-apiserver-to-kubelet-client",
    "kube-apiserver-to-kubelet-signer",
    "kube-control-plane-kube-controller-manager-client",
    "kube-control-plane-kube-scheduler-client",
    "kube-control-plane-signer",
    "kubelet-client",
    "kubelet-signer",
    "machine-config-server",
];

const OTHERS: [&str; 16] = [
    "admin-kubeconfig-ca-bundle.crt",
    "aggregator-ca-bundle.crt",
    "bound-service-account-signing-key.key",
    "bound-service-account-signing-key.pub",
    "kube-apiserver-complete-client-ca-bundle.crt",
    "kube-apiserver-complete-server-ca-bundle.crt",
    "kube-apiserver-lb-ca-bundle.crt",
    "kube-apiserver-localhost-ca-bundle.crt",
    "kube-apiserver-service-network-ca-bundle.crt",
    "kube-apiserver-to-kubelet-ca-bundle.crt",
    "kube-control-plane-ca-bundle.crt",
    "kubelet-bootstrap-kubeconfig-ca-bundle.crt",
    "kubelet-client-ca-bundle.crt",
    "kubelet-serving-ca-bundle.crt",
    "service-account.key",
    "service-account.pub",
];

pub(super) fn bootstrap(cluster: &Cluster, release_image: &str, manifests: &Tree) -> Result<Vec<u8>, Error> {
    let mut builder = Builder::default();
    scripts::add(&mut builder);
    builder.file(format!("{ROOT}/bootstrap.env"), PUBLIC, env::environment(cluster, release_image));
    add_access(&mut builder, cluster);
    add_images(&mut builder, cluster, release_image);
    add_network(&mut builder, cluster, manifests)?;
    add_manifests(&mut builder, manifests)?;
    add_tls(&mut builder, cluster)?;
    let bytes = builder.bytes();
    channel::check(cluster, &bytes, &builder.largest(3))?;
    Ok(bytes)
}

/// Who may log in, to the machine and to the cluster.
fn add_access(builder: &mut Builder, cluster: &Cluster) {
    for key in &cluster.config.ssh_keys {
        builder.ssh_key(key);
    }
    builder.ssh_key(cluster.pki.pem("bootstrap-ssh.pub"));
    for (name, access) in [
        ("kubeconfig", Access::AdminInternal),
        ("kubeconfig-kubelet", Access::Kubelet),
        ("kubeconfig-loopback", Access::Loopback),
    ] {
        builder.file(format!("{ROOT}/auth/{name}"), PRIVATE, kubeconfig(cluster, access));
    }
}

/// Where images come from.
fn add_images(builder: &mut Builder, cluster: &Cluster, release_image: &str) {
    if let Some(secret) = &cluster.config.pull_secret {
        builder.file("/root/.docker/config.json", PRIVATE, secret.expose_secret());
    }
    if let Some(conf) = registries::registries_conf(&cluster.config.mirrors, release_image) {
        // Tools that do not run as root read it too.
        builder.file("/etc/containers/registries.conf", PUBLIC, conf);
    }
    if let Some(bundle) = &cluster.config.additional_trust_bundle {
        builder.file("/etc/pki/ca-trust/source/anchors/ca.crt", PUBLIC, bundle);
    }
}

fn add_network(builder: &mut Builder, cluster: &Cluster, manifests: &Tree) -> Result<(), Error> {
    builder.file("/etc/hostname", PUBLIC, format!("{}\n", cluster.bootstrap_name()));
    let variables = proxy::variables(cluster, manifests)?;
    if !variables.is_empty() {
        let dropin = "/etc/systemd/system.conf.d/10-default-env.conf";
        builder.file(dropin, PRIVATE, proxy::systemd(&variables));
        let mode = if proxy::are_private(&variables) { PRIVATE } else { PUBLIC };
        builder.file("/etc/profile.d/proxy.sh", mode, proxy::profile(&variables));
    }
    // The platforms on which the release runs a DNS server on this machine, and only where there are virtual
    // addresses to answer with.
    let platform = &cluster.config.platform;
    let serves = matches!(platform, Platform::VSphere(_) | Platform::Ovirt(_));
    if serves && !vips(&cluster.config).is_empty() {
        scripts::add_local_dns(builder, platform.name());
    }
    Ok(())
}

/// The manifests as they are on disk, the user's own among them. Other files stay at home: the render commands
/// take everything in the folder for a manifest.
fn add_manifests(builder: &mut Builder, manifests: &Tree) -> Result<(), Error> {
    let files = manifests.below("manifests/").chain(manifests.below("openshift/"));
    for (path, file) in files.filter(|(path, _)| overrides::is_manifest(path)) {
        builder.file(format!("{ROOT}/{path}"), PUBLIC, &file.contents);
    }
    if let Some(overrides) = overrides::overrides(manifests)? {
        builder.file(format!("{ROOT}/{CLUSTER_VERSION}"), PUBLIC, overrides.cluster_version);
        builder.file(format!("{ROOT}/original_cvo_overrides.patch"), PUBLIC, overrides.restore);
    }
    Ok(())
}

fn add_tls(builder: &mut Builder, cluster: &Cluster) -> Result<(), Error> {
    let pairs = PAIRS.iter().flat_map(|name| [format!("{name}.crt"), format!("{name}.key")]);
    for name in pairs.chain(OTHERS.iter().map(|&name| name.to_owned())) {
        builder.file(format!("{ROOT}/tls/{name}"), PRIVATE, pem(cluster, &name)?);
    }
    builder.file(format!("{ROOT}/tls/root-ca.crt"), PUBLIC, pem(cluster, "root-ca.crt")?);
    Ok(())
}

fn pem<'a>(cluster: &'a Cluster, name: &str) -> Result<&'a str, Error> {
    let pem = cluster.pki.pem(name);
    if pem.is_empty() { Err(Error::Missing { name: name.to_owned() }) } else { Ok(pem) }
}
