//! How to log in to the platform: from the install-config, from files, or from the environment.

mod kubeconfig;
mod ovirt;
mod secret_file;
#[cfg(test)]
mod tests;
mod tree;
mod vsphere;

use std::path::{Path, PathBuf};

use secrecy::ExposeSecret;
use slipway_assets::{Credentials, Login, OvirtEngine};
use slipway_config::install_config::{InstallConfig, Platform};
use thiserror::Error;

use crate::environment::Environment;
use crate::store::Digest;

pub(crate) use self::tree::json as to_json;

/// Credentials, and what should be said about where they came from.
#[derive(Debug)]
pub struct Resolved {
    pub credentials: Credentials,
    pub warnings: Vec<String>,
}

/// Why there are no credentials.
#[derive(Debug, Error)]
pub enum Error {
    #[error("{} for vCenters cannot be read", if .0.len() == 1 { "a password".to_owned() } else { format!("{} passwords", .0.len()) })]
    Passwords(Vec<Missing>),
    #[error("how to log in to {what} is not known: `{}` does not exist", .path.display())]
    NoFile { what: &'static str, variable: &'static str, path: PathBuf },
    #[error("how to log in to {what} is not known: neither {variable} nor HOME is set")]
    NoHome { what: &'static str, variable: &'static str },
    #[error("`{}` cannot be used", .path.display())]
    File { path: PathBuf, problems: Vec<String> },
    #[error("user `{user}` of `{}` logs in with {method}, which only works on this machine", .path.display())]
    Plugin { path: PathBuf, user: String, method: &'static str },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A password that is not where the install-config says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The field that says where.
    pub field: String,
    pub server: String,
    pub reason: String,
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Passwords(missing) => {
                let fields: Vec<&str> = missing.iter().map(|missing| missing.field.as_str()).collect();
                Some(format!("put the password there, or change {} in install-config.yaml", fields.join(", ")))
            }
            Error::NoFile { variable, .. } | Error::NoHome { variable, .. } => {
                Some(format!("set {variable} to the file that says how"))
            }
            Error::Plugin { .. } => Some(
                "the new cluster keeps these credentials and runs no plugins: create a service account in the infrastructure \
                 cluster and use a kubeconfig with its token"
                    .to_owned(),
            ),
            Error::File { .. } | Error::Io(_) => None,
        }
    }

    /// The lines that follow the message.
    pub fn details(&self) -> Vec<String> {
        match self {
            Error::Passwords(missing) => missing
                .iter()
                .map(|Missing { field, server, reason }| format!("{field} (vCenter `{server}`): {reason}"))
                .collect(),
            Error::File { problems, .. } => problems.clone(),
            _ => Vec::new(),
        }
    }
}

/// Finds the credentials the platform asks for. Relative paths in the install-config start at its directory.
pub fn resolve(
    config: &InstallConfig,
    directory: &Path,
    environment: &Environment,
) -> Result<Resolved, Error> {
    let mut warnings: Vec<String> = secret_file::exposed(config, directory).into_iter().collect();
    let credentials = match &config.platform {
        Platform::VSphere(platform) => {
            Credentials::VSphere(vsphere::logins(&platform.vcenters, directory, environment, &mut warnings)?)
        }
        Platform::Ovirt(_) => Credentials::Ovirt(ovirt::engine(environment, &mut warnings)?),
        Platform::KubeVirt(_) => {
            Credentials::KubeVirt(kubeconfig::infra_cluster(environment, &mut warnings)?)
        }
        Platform::None => Credentials::None,
    };
    Ok(Resolved { credentials, warnings })
}

/// Tells whether credentials are the ones of an earlier run.
pub(crate) fn digest(credentials: &Credentials) -> Digest {
    let login = |Login { user, password }: &Login| [user.clone(), password.expose_secret().to_owned()];
    let parts: Vec<String> = match credentials {
        Credentials::VSphere(logins) => logins.iter().flat_map(login).collect(),
        Credentials::Ovirt(OvirtEngine { url, login: engine, insecure, ca_bundle }) => {
            let rest = [url.clone(), insecure.to_string(), ca_bundle.clone().unwrap_or_default()];
            login(engine).into_iter().chain(rest).collect()
        }
        Credentials::KubeVirt(infra) => vec![infra.kubeconfig.expose_secret().to_owned()],
        Credentials::None => Vec::new(),
    };
    Digest::of(parts.join("\0").as_bytes())
}
