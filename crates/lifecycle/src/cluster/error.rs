//! Why a cluster cannot be worked on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use slipway_config::install_config::Missing;
use slipway_engine::journal::JournalError;
use slipway_engine::resource::GraphError;
use slipway_engine::{Endpoint, Id};
use slipway_providers::vsphere;
use slipway_providers::vsphere::kinds::KindError;
use thiserror::Error;

use super::blueprint::BrokenFile;
use super::image::ImageError;
use super::remembered::Unseen;
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
    #[error("the install-config does not say everything that machines are made from")]
    Missing(Vec<Missing>),
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
    #[error("parts of the cluster were made on vCenters that the install-config does not name any more")]
    Strays(Vec<Unseen>),
    #[error("something the steps need is missing, so nothing was removed")]
    Lacking(BTreeMap<Id, String>),
    #[error("`{name}` is nothing of this cluster that could be made again")]
    NoResource { name: String },
    #[error("`{name}` is nothing that was made and is not seen now")]
    NotRemembered { name: String },
    #[error("`{one}` and `{other}` are the same vCenter")]
    Twins { one: Endpoint, other: Endpoint },
}

impl Error {
    pub(super) fn blind(silent: &BTreeMap<Endpoint, String>) -> Self {
        let vcenters = silent.iter().map(|(endpoint, why)| format!("{endpoint} ({why})")).collect();
        Error::Blind { vcenters }
    }

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
                "`slipway plan` writes what is missing and what follows from the install-config; files that you changed yourself \
                 are yours to mend"
            }
            Error::VCenter(error) => return error.hint().map(str::to_owned),
            Error::Journal(JournalError::InUse { .. }) => "wait for the other slipway to end",
            Error::Journal(_) => {
                "nothing was done; restore the journal from a backup, or move it away to start without"
            }
            Error::Blind { .. } => {
                "check login, certificate and network of what is named, then run the same command again"
            }
            Error::Strays(strays) => {
                let server = strays.first().map_or("", |stray| stray.resource.endpoint.as_str());
                return Some(format!(
                    "nothing was removed. Name the vCenters again and repeat; or, if nothing is left there, say so: \
                     --forget {server}"
                ));
            }
            Error::Lacking(_) => {
                "give the user what is named, or use another one, and run the same command again"
            }
            Error::NoResource { .. } => "`slipway plan` shows the names of what would be made",
            Error::NotRemembered { .. } => {
                "give the name of a resource that is not seen, or a vCenter that the install-config does not name any more"
            }
            Error::Twins { .. } => {
                "nothing was done. Name it once in `platform.vsphere.vcenters`, and use that name in all failure domains"
            }
            Error::Image(_) => "check `clusterOSImage`, or use a template that is there: `topology.template`",
            Error::Platform(_) => {
                "`slipway create ignition-configs` writes what the machines boot from; make the machines yourself"
            }
            Error::Missing(missing) => {
                let hints: Vec<&str> = missing.iter().map(Missing::hint).collect();
                return Some(format!("nothing was done; {}", hints.join("; ")));
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
            Error::Missing(missing) => missing.iter().map(ToString::to_string).collect(),
            Error::Strays(strays) => strays.iter().map(ToString::to_string).collect(),
            Error::Lacking(reasons) => {
                let reasons: BTreeSet<&String> = reasons.values().collect();
                reasons.into_iter().cloned().collect()
            }
            _ => Vec::new(),
        }
    }
}
