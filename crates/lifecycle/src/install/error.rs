//! Why a cluster cannot be worked on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use slipway_config::ids::InfraId;
use slipway_config::install_config::Missing;
use slipway_engine::journal::JournalError;
use slipway_engine::resource::GraphError;
use slipway_engine::{Endpoint, Failure, Id};
use slipway_providers::provider::{EndpointsUnreadable, NotVisible, Unreachable, Words};
use thiserror::Error;

use crate::platform::{BrokenFile, ImageError};
use crate::release::ReleaseError;
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
    #[error("creating machines on {0} is not supported yet")]
    Platform(&'static str),
    #[error("the install-config lacks what machines are created from")]
    Missing(Vec<Missing>),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Endpoint(EndpointError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error("{} could not be read, so nothing was removed", endpoints.join(", "))]
    Unreadable { endpoints: Vec<String> },
    #[error("parts of the cluster were created on {} that the install-config does not name any more", words.endpoints)]
    Strays { strays: Vec<NotVisible>, words: Words },
    #[error("nothing of a cluster `{infra_id}` was found on the {}", words.endpoints)]
    NothingFound {
        infra_id: InfraId,
        /// Ids of clusters that have something there, and look alike.
        similar: Vec<InfraId>,
        words: Words,
    },
    #[error("something the steps need is missing, so nothing was removed")]
    Lacking(BTreeMap<Id, String>),
    #[error("`{name}` is not a resource of this cluster that can be created again")]
    NoResource { name: String },
    #[error("`{name}` is not a resource that was created and is not visible now")]
    NotRemembered { name: String },
    #[error("`{one}` and `{other}` are the same {}", words.endpoint)]
    Twins { one: Endpoint, other: Endpoint, words: Words },
    #[error("nothing was planned that could be applied")]
    NotPlanned,
}

/// What a platform's client answered with, and what can be done about it.
#[derive(Debug)]
pub struct EndpointError {
    error: Box<dyn std::error::Error + Send + Sync>,
    hint: Option<String>,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for EndpointError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// An endpoint refused something.
pub fn refused(error: impl Failure) -> Error {
    let hint = error.remedy();
    Error::Endpoint(EndpointError { error: Box::new(error), hint })
}

impl From<EndpointsUnreadable> for Error {
    fn from(EndpointsUnreadable { endpoints }: EndpointsUnreadable) -> Self {
        Error::Unreadable { endpoints }
    }
}

impl Error {
    pub(super) fn blind(silent: &Unreachable) -> Self {
        Error::Unreadable {
            endpoints: silent.iter().map(|(endpoint, why)| format!("{endpoint} ({why})")).collect(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Create(error) => return error.hint(),
            Error::Store(error) => return error.hint(),
            Error::NoFiles { directory } => {
                return Some(format!(
                    "create them first: slipway create ignition-configs{}",
                    create::directory_flag(directory)
                ));
            }
            Error::Unknown { .. } => {
                "give the id of its infrastructure: --infra-id NAME-xxxxx; it is in metadata.json, and the name of \
                 its folder and of its tag"
            }
            Error::Files(_) => {
                "`slipway plan` writes what is missing and what follows from the install-config; files that you changed yourself \
                 are yours to mend"
            }
            Error::Endpoint(error) => return error.hint.clone(),
            Error::Journal(JournalError::InUse { .. }) => {
                "wait until the other `slipway` that has locked this directory ends"
            }
            Error::Journal(_) => {
                "nothing was changed; restore the journal from a backup, or move it away to start without"
            }
            Error::Unreadable { .. } => {
                "check login, certificate and network of what is named, then run the same command again"
            }
            Error::Strays { strays, words } => {
                let server = strays.first().map_or("", |stray| stray.resource.endpoint.as_str());
                return Some(format!(
                    "nothing was removed. Put the {} back into the install-config and run it again; or, if nothing is left there, add \
                     --forget {server}",
                    words.endpoints
                ));
            }
            Error::NothingFound { similar, .. } if !similar.is_empty() => {
                let similar: Vec<String> = similar.iter().map(|infra_id| format!("`{infra_id}`")).collect();
                return Some(format!("nothing was changed. Did you mean {}?", similar.join(" or ")));
            }
            Error::NothingFound { .. } => {
                "nothing was changed. Check the id: it is in metadata.json, and the name of the cluster's folder and of its tag"
            }
            Error::Lacking(_) => {
                "give the user what is named, or use another one, and run the same command again"
            }
            Error::NoResource { .. } => "`slipway plan` shows the names of what would be created",
            Error::NotRemembered { .. } => {
                "give the name of a resource that is not visible, or a server that the install-config does not name any more"
            }
            Error::Twins { words, .. } => {
                return Some(format!(
                    "nothing was changed. Name it once in `{}`, and use that name in all failure domains",
                    words.field
                ));
            }
            Error::Release(error) => return Some(format!("nothing was changed; {}", error.hint())),
            Error::Image(_) => "check `clusterOSImage`, or use a template that is there: `topology.template`",
            Error::Platform(_) => {
                "`slipway create ignition-configs` writes what the machines boot from; create the machines yourself"
            }
            Error::Missing(missing) => {
                let hints: Vec<&str> = missing.iter().map(Missing::hint).collect();
                return Some(format!("nothing was changed; {}", hints.join("; ")));
            }
            Error::Graph(_) | Error::NotPlanned => return None,
        };
        Some(hint.to_owned())
    }

    /// The lines that follow the message.
    pub fn details(&self) -> Vec<String> {
        match self {
            Error::Create(error) => error.details(),
            Error::Release(error) => error.details(),
            Error::Files(broken) => broken.iter().map(ToString::to_string).collect(),
            Error::Missing(missing) => missing.iter().map(ToString::to_string).collect(),
            Error::Strays { strays, .. } => strays.iter().map(ToString::to_string).collect(),
            Error::Lacking(reasons) => {
                let reasons: BTreeSet<&String> = reasons.values().collect();
                reasons.into_iter().cloned().collect()
            }
            _ => Vec::new(),
        }
    }
}
