//! Clusters to make configurations of.

use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use slipway_assets::random::Random;
use slipway_assets::{Access, Cluster, Tree};
use slipway_config::install_config::{self, InstallConfig, Payload};

use crate::fixtures::{self, Repeating};

/// Text that cannot be compressed much, as keys cannot.
pub(crate) fn noise(bytes: usize) -> String {
    let mut buffer = vec![0; bytes];
    Repeating::default().fill(&mut buffer);
    STANDARD.encode(buffer)
}

pub(crate) fn example(name: &str) -> InstallConfig {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let mut text = std::fs::read_to_string(path).unwrap();
    if !text.contains("payload:") {
        text.push_str("payload: {releaseImage: 'quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64'}\n");
    }
    let loaded = install_config::load(&text);
    loaded.config.unwrap_or_else(|| panic!("{:#?}", loaded.report.findings))
}

pub(crate) fn cluster(config: InstallConfig) -> Cluster {
    fixtures::cluster_with(config, &Repeating::default())
}

pub(crate) fn manifests() -> Tree {
    let mut tree = Tree::default();
    let version = "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\nspec: {channel: stable-4.20}\n";
    tree.insert("manifests/cvo-overrides.yaml", version, Access::Group);
    let dns = "apiVersion: config.openshift.io/v1\nkind: DNS\nmetadata: {name: cluster}\n";
    tree.insert("manifests/cluster-dns-02-config.yml", dns, Access::Group);
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: kubeadmin, namespace: kube-system}\n";
    tree.insert("openshift/99_kubeadmin-password-secret.yaml", secret, Access::Owner);
    let mine = "apiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n";
    tree.insert("openshift/mine.yaml", mine, Access::Group);
    tree.insert("openshift/README", "not a manifest", Access::Group);
    tree.insert("cluster-api/000_capi-namespace.yaml", mine, Access::Group);
    tree
}

/// A configuration, parsed.
pub(crate) struct Ign(pub(crate) Value);

impl Ign {
    pub(crate) fn bootstrap(cluster: &Cluster, manifests: &Tree) -> Self {
        let tree = slipway_assets::ignition(cluster, manifests).unwrap();
        Ign(serde_json::from_slice(&tree.get("bootstrap.ign").unwrap().contents).unwrap())
    }

    pub(crate) fn files(&self) -> &[Value] {
        self.0["storage"]["files"].as_array().unwrap()
    }

    pub(crate) fn units(&self) -> &[Value] {
        self.0["systemd"]["units"].as_array().unwrap()
    }

    /// What Ignition would write into a file.
    pub(crate) fn contents(&self, path: &str) -> Option<String> {
        let file = self.files().iter().find(|file| file["path"] == path)?;
        let resource = file.get("contents").unwrap_or_else(|| &file["append"][0]);
        Some(String::from_utf8(decoded(resource)).unwrap())
    }
}

pub(crate) fn decoded(resource: &Value) -> Vec<u8> {
    let source = resource["source"].as_str().unwrap();
    let bytes = STANDARD.decode(source.strip_prefix("data:;base64,").unwrap()).unwrap();
    if resource.get("compression").is_none() {
        return bytes;
    }
    assert_eq!(resource["compression"], "gzip");
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
    plain
}

/// Without an image to install from.
pub(crate) fn without_release(mut config: InstallConfig) -> InstallConfig {
    config.payload = Payload::OpenShift { release_image: None, slipway_image: None };
    config
}
