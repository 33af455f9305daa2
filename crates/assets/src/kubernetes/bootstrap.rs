//! `bootstrap.ign`: the machine that starts the cluster, and leaves it.

use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use slipway_config::logins::Logins;

use super::machine::text;
use super::{
    FOLDER, INIT_FILE, MACHINE_CONFIG_FOLDER, NETWORK_FOLDER, TLS_FOLDER, kubeadm, machine, node, payload,
    pem,
};
use crate::ignition::channel;
use crate::ignition::config::{Builder, PRIVATE, PROGRAM, PUBLIC};
use crate::names::Role;
use crate::onprem::Part;
use crate::pki::machine_config_token;
use crate::{Cluster, Error, Tree};

/// Which of our files kubeadm finds under which name in `/etc/kubernetes/pki`. What is there it uses, and makes
/// the rest. Further control-plane machines get them from kubeadm, encrypted.
const PKI: [(&str, i64, &str); 8] = [
    ("ca.crt", PUBLIC, "kubernetes-ca.crt"),
    ("ca.key", PRIVATE, "kubernetes-ca.key"),
    ("etcd/ca.crt", PUBLIC, "etcd-ca.crt"),
    ("etcd/ca.key", PRIVATE, "etcd-ca.key"),
    ("front-proxy-ca.crt", PUBLIC, "front-proxy-ca.crt"),
    ("front-proxy-ca.key", PRIVATE, "front-proxy-ca.key"),
    ("sa.key", PRIVATE, "service-account.key"),
    ("sa.pub", PUBLIC, "service-account.pub"),
];

/// All that the server keeps of a token.
fn token_hash(cluster: &Cluster, role: Role) -> Result<String, Error> {
    let digest = Sha256::digest(pem(cluster, &machine_config_token(role))?);
    Ok(format!("sha256:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

pub(super) fn bootstrap(cluster: &Cluster, manifests: &Tree) -> Result<Vec<u8>, Error> {
    let mut builder = Builder::default();
    machine::add(&mut builder, cluster, Part::Bootstrap)?;
    builder.ssh_key(pem(cluster, "bootstrap-ssh.pub")?);
    builder.file("/etc/hostname", PUBLIC, format!("{}\n", cluster.bootstrap_name()));
    for (target, mode, source) in PKI {
        builder.file(format!("/etc/kubernetes/pki/{target}"), mode, pem(cluster, source)?);
    }
    builder.file(INIT_FILE, PRIVATE, kubeadm::init(cluster)?);
    for role in Role::ALL {
        let path = format!("{MACHINE_CONFIG_FOLDER}/{}.ign", role.as_str());
        builder.file(path, PRIVATE, node::node(cluster, role)?);
        let path = format!("{MACHINE_CONFIG_FOLDER}/{}.tokens", role.as_str());
        builder.file(path, PRIVATE, format!("{}\n", token_hash(cluster, role)?));
    }
    for ending in ["crt", "key"] {
        let name = format!("machine-config-server.{ending}");
        builder.file(format!("{TLS_FOLDER}/{name}"), PRIVATE, pem(cluster, &name)?);
    }
    for folder in ["manifests/", "openshift/", NETWORK_FOLDER] {
        for (path, file) in manifests.below(folder) {
            builder.file(format!("{FOLDER}/{path}"), PRIVATE, &file.contents);
        }
    }
    let image = payload(cluster)?.image;
    // An image has no characters that mean something to systemd.
    builder.file(format!("{FOLDER}/agent.env"), PUBLIC, format!("SLIPWAY_IMAGE={image}\n"));
    // The bootstrap machine fetches it before there is a kubelet that could.
    let secret = cluster.config.pull_secret.as_ref();
    let logins = secret.and_then(|secret| Logins::parse(secret.expose_secret()).ok());
    if let Some(login) = logins.as_ref().and_then(|logins| logins.of_image(image)) {
        builder.file(format!("{FOLDER}/image-login"), PRIVATE, login.encoded().expose_secret());
    }
    builder.file("/usr/local/bin/slipway-agent.sh", PROGRAM, text!("bin/slipway-agent.sh"));
    builder.unit("slipway-bootstrap.service", text!("units/slipway-bootstrap.service"), true);
    let bytes = builder.bytes();
    channel::check(cluster, &bytes, &builder.largest(3))?;
    Ok(bytes)
}
