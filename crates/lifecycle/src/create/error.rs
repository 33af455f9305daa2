//! Why files cannot be created.

use std::path::PathBuf;

use jiff::Timestamp;
use slipway_config::findings::Report;
use thiserror::Error;

use super::edited_manifests::Broken;
use crate::{credentials, store};

/// Why files cannot be created.
#[derive(Debug, Error)]
pub enum Error {
    #[error("there is no install-config.yaml in `{}`", .directory.display())]
    NoInstallConfig { directory: PathBuf },
    #[error("`{}` is not UTF-8 text", .path.display())]
    NotText { path: PathBuf },
    /// The install-config is a pipe, a device or a directory.
    #[error(transparent)]
    NotAFile(std::io::Error),
    #[error("`{}` is not valid", .path.display())]
    InstallConfig { path: PathBuf, report: Box<Report> },
    #[error("`{}` is the directory of cluster `{was}` ({infra_id}), but install-config.yaml is now for `{is}`", .directory.display())]
    OtherCluster { directory: PathBuf, was: String, infra_id: String, is: String },
    #[error("{}", expired(.expires, .now))]
    Expired { expires: Timestamp, now: Timestamp },
    #[error(
        "the certificates of this directory no longer fit, and Ignition configurations were created from them"
    )]
    Renewal { changed: Vec<String> },
    #[error("{}", unusable(.0))]
    Manifests(Vec<Broken>),
    #[error("the manifests in `payload.networkManifests` cannot be used")]
    NetworkManifests(Vec<String>),
    #[error(transparent)]
    Credentials(#[from] credentials::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Pki(#[from] slipway_assets::pki::PkiError),
    #[error(transparent)]
    Assets(#[from] slipway_assets::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::NoInstallConfig { .. } => {
                "name its directory with --dir, or create one with `slipway create install-config`"
            }
            Error::InstallConfig { .. } => "`slipway explain PATH` describes a field",
            Error::OtherCluster { .. } => {
                "give it its old name again, or use a new directory for the new cluster. --force starts over here, with new names, keys and password; \
                 the old state goes to .slipway/backup"
            }
            Error::Expired { .. } => {
                "run again with --force to create new ones; Ignition configurations made before are then of no use"
            }
            Error::Renewal { .. } => {
                "nothing was written. Machines that booted from the old files would not trust new certificates, and \
                 auth/kubeconfig would not open their cluster. Undo the change, or use a new directory; if no machine \
                 was started, run again with --force: the old keys go to .slipway/backup"
            }
            Error::Manifests(broken) if broken.iter().all(|broken| broken.missing) => {
                "run again with --force: all manifests that were deleted are then written again"
            }
            Error::Manifests(_) => "correct them, or move them out of manifests/ and openshift/",
            Error::NetworkManifests(_) => {
                "`payload.networkManifests` names a directory, from that of install-config.yaml on, with the plugin's \
                 manifests in *.yaml, *.yml or *.json"
            }
            Error::Credentials(error) => return error.hint(),
            Error::Store(error) => return error.hint(),
            Error::NotText { .. } | Error::NotAFile(_) | Error::Pki(_) | Error::Assets(_) | Error::Io(_) => {
                return None;
            }
        };
        Some(hint.to_owned())
    }

    /// The lines that follow the message: one per thing it is about.
    pub fn details(&self) -> Vec<String> {
        match self {
            Error::Renewal { changed } => changed.clone(),
            Error::NetworkManifests(reasons) => reasons.clone(),
            Error::Manifests(broken) => broken.iter().map(ToString::to_string).collect(),
            Error::Store(store::Error::Conflicts { conflicts, changed }) => {
                let mut lines: Vec<String> = conflicts
                    .iter()
                    .map(|conflict| format!("{} {}", conflict.path, conflict.reason.as_str()))
                    .collect();
                if !changed.is_empty() {
                    lines.push(format!("changed since the last run: {}", changed.join(", ")));
                }
                lines
            }
            Error::Credentials(error) => error.details(),
            _ => Vec::new(),
        }
    }
}

fn unusable(broken: &[Broken]) -> String {
    let manifests =
        if broken.len() == 1 { "a manifest".to_owned() } else { format!("{} manifests", broken.len()) };
    let missing = broken.iter().filter(|broken| broken.missing).count();
    match missing {
        0 => format!("{manifests} cannot be used"),
        1 if broken.len() == 1 => format!("{manifests} is missing"),
        all if all == broken.len() => format!("{manifests} are missing"),
        _ => format!("{manifests} are missing or cannot be used"),
    }
}

fn expired(expires: &Timestamp, now: &Timestamp) -> String {
    let verb = if expires <= now { "expired" } else { "expire" };
    format!("the certificates of this directory {verb} at {expires:.0}")
}
