//! What a configuration may ask for and cannot be carried out yet.

use slipway_config::install_config::{Hyperthreading, InstallConfig};
use slipway_config::net::Family;

use crate::{Cluster, Error};

/// kubeadm reads `kubeadm.k8s.io/v1beta4` from here on.
const OLDEST: (u64, u64) = (1, 31);

/// All reasons at once.
pub(super) fn check(cluster: &Cluster) -> Result<(), Error> {
    let config = &cluster.config;
    let version = super::payload(cluster)?.version.version();
    let mut reasons = Vec::new();
    if (version.major, version.minor) < OLDEST {
        reasons.push(format!(
            "`payload.version` v{version} is too old: kubeadm understands our configuration from v{}.{}.0 on",
            OLDEST.0, OLDEST.1
        ));
    }
    if !config.mirrors.is_empty() {
        reasons.push(
            "`imageDigestSources` is not supported with containerd yet: remove it, and put the mirrors into \
             /etc/containerd/certs.d of the machines' image"
                .to_owned(),
        );
    }
    if config.fips {
        reasons.push("`fips` is for OpenShift: remove it, and use an image in FIPS mode".to_owned());
    }
    for (pool, settings) in
        [("controlPlane", &config.pools.control_plane), ("compute[0]", &config.pools.compute)]
    {
        if settings.hyperthreading == Hyperthreading::Disabled {
            reasons.push(format!(
                "`{pool}.hyperthreading: Disabled` is not carried out yet: remove it, and use an image that boots with \
                 `nosmt`"
            ));
        }
    }
    if several_of_a_family(config) {
        reasons.push(
            "`networking.clusterNetwork` has two networks of one family, and Kubernetes takes one: remove the others"
                .to_owned(),
        );
    }
    if reasons.is_empty() { Ok(()) } else { Err(Error::Unsupported(reasons.join("; "))) }
}

fn several_of_a_family(config: &InstallConfig) -> bool {
    let count = |family: Family| {
        config.networking.cluster.iter().filter(|network| network.cidr.family() == family).count()
    };
    count(Family::V4) > 1 || count(Family::V6) > 1
}
