//! The Ignition configurations of an OpenShift cluster, and what belongs to them. Those of Kubernetes are made with the
//! same tools in [`kubernetes`].
//!
//! | module | what it holds |
//! |---|---|
//! | `bare_metal` | hosts that are no machines of the platform |
//! | `bootstrap` | `bootstrap.ign` |
//! | `pointer` | `master.ign`, `worker.ign`, and the wrapper that names a machine |
//! | `scripts` | the constant files of the bootstrap machine, from `files/bootstrap` |
//! | `env` | what differs between clusters, for the scripts |
//! | `overrides` | what the cluster version operator ignores for a while |
//! | `channel` | how a configuration reaches a machine, and how much fits |
//! | `kargs` | static addresses |
//! | `kubeconfig`, `metadata`, `proxy`, `registries` | files of those names |
//! | `config` | building a configuration |

mod bare_metal;
mod bootstrap;
pub(crate) mod channel;
pub(crate) mod config;
mod env;
mod kargs;
mod kubeconfig;
pub(crate) mod metadata;
mod overrides;
mod pointer;
pub(crate) mod proxy;
mod registries;
mod scripts;

pub use bare_metal::bare_metal;
pub use channel::{Encoded, Encoding, encoded_for};
pub use config::remove_nulls;
pub use kargs::{NETWORK_KARGS, network_kargs, static_addresses};
pub use pointer::{hostname_wrapper, pointer};

use slipway_config::install_config::Payload;

use crate::names::Role;
use crate::{Access, Cluster, Error, Tree, kubernetes};

/// The Ignition configurations, `auth/` and `metadata.json`, from the manifests as they are on disk.
pub(crate) fn ignition(cluster: &Cluster, manifests: &Tree) -> Result<Tree, Error> {
    let release_image = match &cluster.config.payload {
        Payload::OpenShift { release_image: Some(image), .. } => image.as_str(),
        Payload::OpenShift { release_image: None, .. } => return Err(Error::ReleaseImage),
        Payload::Kubernetes { .. } => return kubernetes::ignition(cluster, manifests),
    };
    let mut tree = Tree::default();
    let bootstrap = bootstrap::bootstrap(cluster, release_image, manifests)?;
    tree.insert("bootstrap.ign", bootstrap, Access::Owner);
    tree.insert("master.ign", pointer(cluster, Role::Master), Access::Owner);
    tree.insert("worker.ign", pointer(cluster, Role::Worker), Access::Owner);
    let admin = kubeconfig::kubeconfig(cluster, kubeconfig::Access::Admin);
    tree.insert("auth/kubeconfig", admin, Access::Owner);
    let password = cluster.identity.kubeadmin_password.expose();
    tree.insert("auth/kubeadmin-password", password, Access::Owner);
    tree.insert("metadata.json", metadata::metadata(cluster), Access::Group);
    Ok(tree)
}
