//! `manifests/` and `openshift/`: what the cluster is told about itself.

mod cluster_config;
mod cluster_wide;
mod credentials;
mod infrastructure;
mod machine_configs;
mod proxy;
mod trust;

use slipway_config::install_config::{Payload, Platform};

pub(crate) use self::credentials::{add_login, add_user_data};
pub(crate) use self::proxy::no_proxy;
pub(crate) use self::trust::trust_bundle;

use crate::{Access, Cluster, Error, Tree, cluster_api, kubernetes, machines};

/// `manifests/`, `openshift/` and `cluster-api/`.
pub fn manifests(cluster: &Cluster) -> Result<Tree, Error> {
    check(cluster)?;
    if let Payload::Kubernetes { .. } = cluster.config.payload {
        return kubernetes::manifests(cluster);
    }
    let mut tree = Tree::default();
    let put = &mut tree;
    put.yaml("manifests/cluster-config.yaml", &cluster_config::cluster_config(cluster)?, Access::Group)?;
    put.yaml(
        "manifests/cluster-infrastructure-02-config.yml",
        &infrastructure::infrastructure(cluster),
        Access::Group,
    )?;
    cluster_wide::add(cluster, put)?;
    trust::add(cluster, put)?;
    put.yaml(
        "manifests/cluster-proxy-01-config.yaml",
        &proxy::proxy(cluster),
        proxy::access(&cluster.config),
    )?;
    credentials::add(cluster, put)?;
    machine_configs::add(cluster, put)?;
    if cluster.makes_machines() {
        machines::add(cluster, put)?;
        cluster_api::add(cluster, put)?;
    }
    Ok(tree)
}

/// What a configuration may ask for and no file can express yet.
fn check(cluster: &Cluster) -> Result<(), Error> {
    let config = &cluster.config;
    let pools = [("controlPlane", &config.pools.control_plane), ("compute[0]", &config.pools.compute)];
    if let Some((pool, _)) = pools.iter().find(|(_, pool)| !pool.disk_setup.is_empty()) {
        return Err(Error::Unsupported(format!(
            "`{pool}.diskSetup` cannot be carried out yet: remove it, and set the disks up with a MachineConfig \
             of yours in openshift/"
        )));
    }
    if let Platform::VSphere(platform) = &config.platform
        && let Some(vcenter) =
            platform.vcenters.iter().find(|vcenter| !crate::names::is_secret_key(vcenter.server.as_str()))
    {
        return Err(Error::Unsupported(format!(
            "vCenter `{}` is named by an IPv6 address, which OpenShift cannot store credentials for: use its DNS \
             name",
            vcenter.server
        )));
    }
    Ok(())
}
