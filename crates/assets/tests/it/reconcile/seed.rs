//! The cluster of the seed, and the files of its `cluster-api/` folder.

use std::path::Path;

use slipway_assets::{Cluster, Credentials, Login, manifests};
use slipway_config::install_config::{InstallConfig, Platform};

use crate::fixtures::{self, SEED};

pub(crate) fn cluster() -> Cluster {
    let mut cluster = fixtures::cluster(SEED);
    cluster.credentials = Credentials::VSphere(logins(&cluster.config));
    cluster
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
