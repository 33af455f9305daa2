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

pub mod cluster;
pub mod identity;
pub mod pki;
pub mod random;
pub mod tree;

use thiserror::Error;

pub use cluster::{Cluster, Credentials, Login, OvirtEngine};
pub use identity::Identity;
pub use pki::Pki;
pub use tree::{Access, File, Tree};

/// Why files cannot be made.
#[derive(Debug, Error)]
pub enum Error {
    #[error("{path} cannot be written as YAML")]
    Unwritable { path: String, source: serde_json::Error },
    #[error("{what} {reason}")]
    TooLarge { what: String, reason: String },
    #[error("{0}")]
    Unsupported(String),
}

/// `manifests/`, `openshift/` and `cluster-api/`.
pub fn manifests(_cluster: &Cluster) -> Result<Tree, Error> {
    Ok(Tree::default())
}

/// The Ignition configurations, `auth/` and `metadata.json`, from the manifests as they are on disk.
pub fn ignition(_cluster: &Cluster, _manifests: &Tree) -> Result<Tree, Error> {
    Ok(Tree::default())
}
