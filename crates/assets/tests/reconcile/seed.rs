//! The cluster of the seed, and the files of its `cluster-api/` folder.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use slipway_assets::random::Random;
use slipway_assets::{Cluster, Credentials, Identity, Login, Pki, manifests};
use slipway_config::install_config::{Curve, InstallConfig, Platform, SignerKey, load};

const SEED: &str = include_str!("../../../../examples/seed-multi-vcenter.yaml");

/// Repeats itself from run to run, keys excepted.
#[derive(Default)]
struct Repeating(AtomicU64);

impl Random for Repeating {
    fn fill(&self, buffer: &mut [u8]) {
        for byte in buffer {
            // Weyl's sequence: an odd step passes through all numbers, and its upper bits are well mixed.
            let drawn = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            *byte = drawn.to_be_bytes()[0];
        }
    }
}

pub(crate) fn cluster() -> Cluster {
    let loaded = load(SEED);
    let mut config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.report));
    // No machine boots here: the quickest keys will do.
    config.signer_key = SignerKey::Ecdsa(Curve::P256);
    let random = Repeating::default();
    let now = Timestamp::UNIX_EPOCH;
    let identity = Identity::new(&config.name, now, &random);
    let pki = Pki::generate(&config, now, &random).unwrap();
    let credentials = Credentials::VSphere(logins(&config));
    Cluster { config, identity, pki, credentials }
}

/// The seed's users, each vCenter with a password of its own: a machine that is in the Cluster of the other
/// vCenter could not log in.
fn logins(config: &InstallConfig) -> Vec<Login> {
    let Platform::VSphere(platform) = &config.platform else { panic!("the seed is for vSphere") };
    let logins = platform.vcenters.iter().enumerate().map(|(index, vcenter)| Login {
        user: vcenter.user.clone(),
        password: format!("password-{index}").into(),
    });
    logins.collect()
}

/// Writes `cluster-api/` below a folder, byte for byte as it was made, and returns how many files that are.
pub(crate) fn write_cluster_api(cluster: &Cluster, folder: &Path) -> usize {
    let tree = manifests(cluster).unwrap();
    let mut count = 0;
    for (path, file) in tree.below("cluster-api/") {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &file.contents).unwrap();
        count += 1;
    }
    count
}
