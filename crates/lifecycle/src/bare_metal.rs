//! Hosts that are no machines of the platform.

use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use sha2::{Digest, Sha512};
use slipway_assets::ignition::bare_metal;
use slipway_assets::names::MACHINES_NAMESPACE;
use slipway_providers::cluster::{AccessError, call};
use thiserror::Error;

/// Where a cluster keeps what its workers are ignited with.
const USER_DATA: (&str, &str, &str) = (MACHINES_NAMESPACE, "worker-user-data", "userData");

/// Why a host cannot be prepared.
#[derive(Debug, Error)]
pub enum Error {
    #[error("reading `{}`", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("there is no worker.ign in `{}`: create it with `slipway create ignition-configs`", .directory.display())]
    NoWorker { directory: PathBuf },
    #[error("writing `{}`", .path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(
        "the cluster has no Secret `{}/{}` with the configuration of its workers: name a directory with a worker.ign",
        USER_DATA.0,
        USER_DATA.1
    )]
    NoUserData,
}

/// What the workers of a directory's cluster are ignited with.
pub fn worker_of(directory: &Path) -> Result<Vec<u8>, Error> {
    let path = directory.join("worker.ign");
    match std::fs::read(&path) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::NoWorker { directory: directory.to_owned() })
        }
        Err(source) => Err(Error::Read { path, source }),
    }
}

/// The same from a running cluster.
pub async fn worker_from(client: &Client) -> Result<Vec<u8>, Error> {
    let (namespace, name, key) = USER_DATA;
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let found =
        call(&format!("reading the Secret `{namespace}/{name}` of the cluster"), api.get_opt(name)).await?;
    let data = found.and_then(|secret| secret.data?.remove(key));
    data.map(|bytes| bytes.0).ok_or(Error::NoUserData)
}

/// What a host is ignited with.
pub fn ignition(worker: &[u8], hostname: &str) -> Vec<u8> {
    bare_metal(worker, hostname)
}

/// How coreos-installer knows a file.
pub fn digest(ignition: &[u8]) -> String {
    format!("sha512-{:x}", Sha512::digest(ignition))
}

/// Writes it for its owner alone: with it every host can ask for the workers' configuration.
pub fn write(path: &Path, ignition: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path).map_err(failed)?;
    // A file that was there keeps its mode.
    file.set_permissions(std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    file.write_all(ignition).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::write;

    /// Others may have been able to read what was there before.
    #[test]
    fn only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metal-0.ign");
        std::fs::write(&path, "before").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, b"now").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read(&path).unwrap(), b"now");
    }
}
