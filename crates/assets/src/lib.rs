//! From a validated configuration to every file of a cluster. Pure: a clock and a random source are passed
//! in, files come out.
//!
//! | module | what it holds |
//! |---|---|
//! | [`tree`] | files by path |
//! | [`cluster`] | what all files are made from |
//! | [`identity`] | what is drawn once per cluster |
//! | [`pki`] | keys and certificates |
//! | [`random`] | where keys and names come from |
//! | `manifests` | `manifests/` and `openshift/` |
//! | `machines` | Machines, their sets and addresses, in `openshift/` |
//! | `cluster_api` | `cluster-api/` |
//! | [`ignition`](mod@ignition) | what machines boot from, `auth/` and `metadata.json` |
//! | [`drivers`] | the vSphere drivers: their configuration and their objects |
//! | [`kubernetes`] | the files of a cluster made by kubeadm |
//! | [`onprem`] | virtual addresses, the API's balancer and names, on the machines themselves |
//! | [`vsphere`], [`ovirt`], [`kubevirt`] | names and objects on the platforms |
//! | [`names`], `objects` | what files agree on, and what they are made of |

pub mod cluster;
pub mod cluster_api;
pub mod drivers;
pub mod identity;
pub mod ignition;
pub mod kubernetes;
pub mod kubevirt;
mod machines;
mod manifests;
pub mod names;
mod objects;
pub mod onprem;
pub mod ovirt;
pub mod pki;
pub mod random;
pub mod tree;
pub mod vsphere;

use thiserror::Error;

pub use cluster::{Cluster, Credentials, InfraCluster, Login, Named, OvirtEngine};
pub use identity::Identity;
pub use manifests::manifests;
pub use pki::Pki;
pub use tree::{Access, File, Tree};

/// Why files cannot be made.
#[derive(Debug, Error)]
pub enum Error {
    #[error("{path} cannot be written as YAML")]
    Unwritable { path: String, source: serde_json::Error },
    #[error("{what} {reason}")]
    TooLarge { what: String, reason: String },
    #[error(
        "no release image is given, and the bootstrap machine installs from one: set `payload.releaseImage`"
    )]
    ReleaseImage,
    #[error(
        "the bootstrap machine takes its agent from the image of Slipway, and none is given: set `payload.slipwayImage`"
    )]
    SlipwayImage,
    #[error("{path}: {reason}")]
    Manifest { path: String, reason: String },
    #[error("`{name}` is not among the keys and certificates of this cluster")]
    Missing { name: String },
    #[error("{0}")]
    Unsupported(String),
    #[error("the objects of the drivers cannot be created")]
    Drivers(#[from] drivers::DriverError),
}

/// The Ignition configurations, `auth/` and `metadata.json`, from the manifests as they are on disk.
pub fn ignition(cluster: &Cluster, manifests: &Tree) -> Result<Tree, Error> {
    ignition::ignition(cluster, manifests)
}
