//! Why a cluster cannot be worked on.

use std::path::PathBuf;

use slipway_engine::journal::JournalError;
use slipway_engine::resource::GraphError;
use slipway_providers::vsphere;
use slipway_providers::vsphere::kinds::KindError;
use thiserror::Error;

use super::blueprint::BrokenFile;
use super::image::ImageError;
use crate::{create, store};

/// Why a cluster cannot be worked on.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Create(#[from] create::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("`{}` has no files of a cluster yet", directory.display())]
    NoFiles { directory: PathBuf },
    #[error("which cluster to destroy is not known: `{}` has no state", directory.display())]
    Unknown { directory: PathBuf },
    #[error("{} cannot be used", if .0.len() == 1 { "a file".to_owned() } else { format!("{} files", .0.len()) })]
    Files(Vec<BrokenFile>),
    #[error("machines on {0} cannot be made yet")]
    Platform(&'static str),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    VCenter(#[from] vsphere::Error),
    #[error(transparent)]
    Kind(#[from] KindError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error("{} could not be looked at, so nothing was removed", vcenters.join(", "))]
    Blind { vcenters: Vec<String> },
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Create(error) => return error.hint(),
            Error::Store(error) => return error.hint(),
            Error::NoFiles { directory } => {
                return Some(format!(
                    "make them first: slipway create ignition-configs{}",
                    create::directory_flag(directory)
                ));
            }
            Error::Unknown { .. } => {
                "give the id of its infrastructure: --infra-id NAME-xxxxx; it is the name of its folder and of its tag in \
                 vCenter"
            }
            Error::Files(_) => {
                "mend the files, or delete cluster-api/ and run `slipway create manifests --force`"
            }
            Error::VCenter(error) => return error.hint().map(str::to_owned),
            Error::Journal(JournalError::InUse { .. }) => "wait for the other slipway to end",
            Error::Journal(_) => {
                "nothing was done; restore the journal from a backup, or move it away to start without"
            }
            Error::Blind { .. } => {
                "check login, certificate and network of what is named, then run the same command again"
            }
            Error::Image(_) => "check `clusterOSImage`, or use a template that is there: `topology.template`",
            Error::Platform(_) => {
                "`slipway create ignition-configs` writes what the machines boot from; make the machines yourself"
            }
            Error::Graph(_) | Error::Kind(_) => return None,
        };
        Some(hint.to_owned())
    }

    /// The lines that follow the message.
    pub fn details(&self) -> Vec<String> {
        match self {
            Error::Create(error) => error.details(),
            Error::Files(broken) => broken.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        }
    }
}
