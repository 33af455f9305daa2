//! `create install-config`: an install-config from answers, from a file, or from both.

mod compose;
mod families;
mod server;
mod several;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;
use secrecy::SecretString;
use slipway_config::findings::Report;
use slipway_config::install_config;
use thiserror::Error;

pub use self::server::split_port;
pub use self::several::SeveralFlags;
use crate::store::{INSTALL_CONFIG, make_folder};

/// A platform machines can run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlatformKind {
    VSphere,
    Ovirt,
    KubeVirt,
    None,
}

impl PlatformKind {
    const ALL: [PlatformKind; 4] =
        [PlatformKind::VSphere, PlatformKind::Ovirt, PlatformKind::KubeVirt, PlatformKind::None];

    /// As in the install-config.
    pub fn as_str(self) -> &'static str {
        match self {
            PlatformKind::VSphere => "vsphere",
            PlatformKind::Ovirt => "ovirt",
            PlatformKind::KubeVirt => "kubevirt",
            PlatformKind::None => "none",
        }
    }
}

/// The answers to the usual questions, each as it was given.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    pub platform: Option<PlatformKind>,
    pub name: Option<String>,
    pub base_domain: Option<String>,
    pub ssh_key: Option<String>,
    pub pull_secret: Option<SecretString>,
    pub release_image: Option<String>,
    /// The URL of the image machines of vSphere are made from.
    pub os_image: Option<String>,
    pub control_plane_replicas: Option<u32>,
    pub compute_replicas: Option<u32>,
    pub machine_networks: Vec<String>,
    pub api_vips: Vec<String>,
    pub ingress_vips: Vec<String>,
    /// The network machines are on.
    pub network: Option<String>,
    pub vsphere: VSphereAnswers,
    pub ovirt: OvirtAnswers,
    pub kubevirt: KubeVirtAnswers,
}

/// About one vCenter and the one failure domain on it, or about all of them.
#[derive(Debug, Clone, Default)]
pub struct VSphereAnswers {
    pub server: Option<String>,
    pub port: Option<u16>,
    pub user: Option<String>,
    pub password: Option<PasswordAt>,
    /// The fingerprint of the certificate, SHA-1 or SHA-256.
    pub thumbprint: Option<String>,
    pub datacenter: Option<String>,
    pub cluster: Option<String>,
    pub datastore: Option<String>,
    /// Everything at once, in place of the above.
    pub topology: Option<VSphereTopology>,
}

/// All vCenters and failure domains.
#[derive(Debug, Clone, Default)]
pub struct VSphereTopology {
    pub vcenters: Vec<VCenterAnswers>,
    pub failure_domains: Vec<FailureDomainAnswers>,
}

/// About one of several vCenters.
#[derive(Debug, Clone)]
pub struct VCenterAnswers {
    pub server: String,
    pub port: Option<u16>,
    pub user: String,
    pub password: PasswordAt,
    pub thumbprint: Option<String>,
    pub datacenters: Vec<String>,
}

/// About one of several failure domains.
#[derive(Debug, Clone, Default)]
pub struct FailureDomainAnswers {
    /// Name, region and zone; without them, those that OpenShift's installer gives to the only one.
    pub names: Option<[String; 3]>,
    pub server: String,
    pub datacenter: String,
    /// By name or inventory path, like the datastore.
    pub cluster: String,
    pub datastore: String,
    pub network: String,
}

/// Where a password is, or what it is when it was typed.
#[derive(Debug, Clone)]
pub enum PasswordAt {
    File(PathBuf),
    Env(String),
    Inline(SecretString),
}

/// About an oVirt engine.
#[derive(Debug, Clone, Default)]
pub struct OvirtAnswers {
    pub cluster_id: Option<String>,
    pub storage_domain_id: Option<String>,
    pub vnic_profile_id: Option<String>,
}

/// About an infrastructure cluster.
#[derive(Debug, Clone, Default)]
pub struct KubeVirtAnswers {
    pub namespace: Option<String>,
    pub storage_class: Option<String>,
}

/// Why there is no install-config. Answers are named as the flags of the command.
#[derive(Debug, Error)]
pub enum Error {
    #[error("`{}` exists already, and is never overwritten", .path.display())]
    Exists { path: PathBuf },
    #[error("{} missing", answers(.flags, "is", "are"))]
    Missing { flags: Vec<&'static str> },
    #[error("{} for another platform than {platform}", answers(.flags, "is", "are"))]
    Elsewhere { flags: Vec<&'static str>, platform: &'static str },
    #[error("--platform is {asked}, but the file is for {given}")]
    Platform { asked: &'static str, given: &'static str },
    #[error("the file has {count} {what}, and the flags do not say which one they mean")]
    Several { what: &'static str, count: usize },
    #[error("{flag} is given {given} times for {vcenters} vCenters")]
    Count { flag: &'static str, given: usize, vcenters: usize },
    #[error("--failure-domain {text}: {reason}")]
    FailureDomain { text: String, reason: String },
    #[error("`{field}` in the file is not {expected}")]
    Unexpected { field: String, expected: &'static str },
    #[error("the install-config would not be valid")]
    Invalid {
        report: Box<Report>,
        /// The findings are about the user's own file, not about what was made of it.
        source_file: bool,
    },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Exists { .. } => "edit it, move it away, or use another directory",
            Error::Missing { .. } => "give them, or start from a file with --from",
            Error::Elsewhere { .. } => "leave out what is not for this platform",
            Error::Platform { .. } => "leave --platform out, or start from another file",
            Error::Several { .. } | Error::Unexpected { .. } => {
                "change it in the file, and leave the flags out"
            }
            Error::Count { .. } => {
                "give it once for each vCenter, in their order; a user or password can serve all"
            }
            Error::FailureDomain { .. } => "`slipway create install-config --help` shows how one is written",
            Error::Invalid { .. } => "nothing was written; `slipway explain PATH` describes a field",
            Error::Io(_) => return None,
        };
        Some(hint.to_owned())
    }
}

fn answers(flags: &[&str], one: &str, many: &str) -> String {
    format!("{} {}", flags.join(", "), if flags.len() == 1 { one } else { many })
}

/// An install-config that can be used.
#[derive(Debug)]
pub struct Composed {
    pub text: String,
    /// Without errors.
    pub report: Report,
}

/// Makes an install-config of the answers, over `from` if there is one, and judges it.
pub fn compose(answers: &Answers, from: Option<&str>) -> Result<Composed, Error> {
    let text = compose::text(answers, from)?;
    let loaded = install_config::load(&text);
    if loaded.config.is_none() {
        let source_file = from == Some(text.as_str());
        return Err(Error::Invalid { report: Box::new(loaded.report), source_file });
    }
    Ok(Composed { text, report: loaded.report })
}

/// Where the install-config of a directory is, unless there is one already.
pub fn vacancy(directory: &Path) -> Result<PathBuf, Error> {
    let path = directory.join(INSTALL_CONFIG);
    match fs_err::symlink_metadata(&path) {
        Ok(_) => Err(Error::Exists { path }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path),
        Err(error) => Err(error.into()),
    }
}

/// Writes an install-config for its owner alone: there are secrets in it. Never over another one.
pub fn write(directory: &Path, text: &str) -> Result<PathBuf, Error> {
    let path = vacancy(directory)?;
    make_folder(directory, 0o750)?;
    let opened = fs_err::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let mut file = match opened {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(Error::Exists { path }),
        file => file?,
    };
    if let Err(error) = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()) {
        // Half a file would be in the way of the next attempt.
        let _ = fs_err::remove_file(&path);
        return Err(error.into());
    }
    Ok(path)
}
