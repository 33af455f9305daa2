//! Clusters that are the same in every run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

use jiff::Timestamp;
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use slipway_assets::random::Random;
use slipway_assets::{Cluster, Credentials, Identity, InfraCluster, Login, Named, OvirtEngine, Pki, Tree};
use slipway_config::install_config::{InstallConfig, Platform, SignerKey, load};

pub(crate) const VSPHERE: &str = include_str!("../../../../examples/vsphere-multi-vcenter.yaml");
pub(crate) const SEED: &str = include_str!("../../../../examples/seed-multi-vcenter.yaml");
pub(crate) const OVIRT: &str = include_str!("../../../../examples/ovirt.yaml");
pub(crate) const KUBEVIRT: &str = include_str!("../../../../examples/kubevirt.yaml");
pub(crate) const KUBERNETES: &str = include_str!("../../../../examples/vsphere-kubernetes.yaml");
pub(crate) const NONE: &str = include_str!("../../../../examples/none.yaml");
pub(crate) const EVERYTHING: &str = include_str!("../configs/vsphere-everything.yaml");

/// The configurations all files are looked at for.
pub(crate) const ALL: [(&str, &str); 7] = [
    ("vsphere", VSPHERE),
    ("vsphere-seed", SEED),
    ("vsphere-everything", EVERYTHING),
    ("vsphere-kubernetes", KUBERNETES),
    ("ovirt", OVIRT),
    ("kubevirt", KUBEVIRT),
    ("none", NONE),
];

pub(crate) const PASSWORD: &str = "hunter2 \"#;\\ ü";

/// Numbers that repeat in every run. Keys are real, but made once per kind and then used for everything.
#[derive(Debug, Default)]
pub(crate) struct Repeating {
    drawn: AtomicU64,
}

impl Random for Repeating {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(32) {
            let number = self.drawn.fetch_add(1, Ordering::Relaxed);
            chunk.copy_from_slice(&Sha256::digest(number.to_be_bytes())[..chunk.len()]);
        }
    }

    fn key(&self, kind: SignerKey) -> Result<String, rcgen::Error> {
        static KEYS: LazyLock<Mutex<BTreeMap<String, String>>> = LazyLock::new(Mutex::default);
        let mut keys = KEYS.lock().unwrap();
        let key = keys.entry(format!("{kind:?}")).or_insert_with(|| Fresh.key(kind).unwrap());
        Ok(key.clone())
    }
}

/// A new key every time.
#[derive(Debug)]
pub(crate) struct Fresh;

impl Random for Fresh {
    fn fill(&self, buffer: &mut [u8]) {
        Repeating::default().fill(buffer);
    }
}

/// When the files are made.
pub(crate) fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

pub(crate) fn config(text: &str) -> InstallConfig {
    let loaded = load(text);
    assert!(loaded.config.is_some(), "{:?}", loaded.report);
    loaded.config.unwrap()
}

/// Made once per configuration: signing and hashing take long, and the same numbers give the same cluster.
pub(crate) fn cluster(text: &str) -> Cluster {
    static CLUSTERS: LazyLock<Mutex<BTreeMap<String, Cluster>>> = LazyLock::new(Mutex::default);
    if let Some(cluster) = CLUSTERS.lock().unwrap().get(text) {
        return cluster.clone();
    }
    // Not under the lock: a configuration that does not load is one test's failure.
    let cluster = cluster_with(config(text), &Repeating::default());
    CLUSTERS.lock().unwrap().insert(text.to_owned(), cluster.clone());
    cluster
}

pub(crate) fn cluster_with(config: InstallConfig, random: &dyn Random) -> Cluster {
    let identity = Identity::new(&config.name, now(), random);
    let pki = Pki::generate(&config, now(), random).unwrap();
    let credentials = credentials(&config);
    Cluster { named: Named { config, identity }, pki, credentials }
}

fn credentials(config: &InstallConfig) -> Credentials {
    let login = |user: &str| Login { user: user.to_owned(), password: PASSWORD.into() };
    match &config.platform {
        Platform::VSphere(platform) => {
            Credentials::VSphere(platform.vcenters.iter().map(|vcenter| login(&vcenter.user)).collect())
        }
        Platform::Ovirt(_) => Credentials::Ovirt(OvirtEngine {
            url: "https://engine.example.com/ovirt-engine/api".to_owned(),
            login: login("admin@internal"),
            insecure: false,
            ca_bundle: Some("the engine's authority\n".to_owned()),
        }),
        Platform::KubeVirt(_) => Credentials::KubeVirt(InfraCluster {
            server: "https://infra.example.com:6443".to_owned(),
            kubeconfig: SecretString::from("the infrastructure's kubeconfig\n"),
        }),
        Platform::None => Credentials::None,
    }
}

pub(crate) fn manifests(text: &str) -> Tree {
    slipway_assets::manifests(&cluster(text)).unwrap()
}

/// A file's contents as a value.
pub(crate) fn value(tree: &Tree, path: &str) -> serde_json::Value {
    let file = tree.get(path).unwrap_or_else(|| panic!("no {path}"));
    yaml(std::str::from_utf8(&file.contents).unwrap())
}

pub(crate) fn yaml(text: &str) -> serde_json::Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
