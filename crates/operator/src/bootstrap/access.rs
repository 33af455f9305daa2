//! The API of this machine, and that of the cluster.

use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use slipway_assets::onprem::API_PORT;
use slipway_lifecycle::access::{AccessError, client_of, problem};

use super::StageError;
use super::kubeadm::ADMIN;
use crate::host::Files;

/// A watch that says nothing for so long is dead.
const QUIET: Duration = Duration::from_mins(5);

/// Which API server is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// That of this machine, whoever has the virtual address.
    Own,
    /// Whichever the cluster's name leads to.
    Cluster,
}

/// Access as the administrator that kubeadm made.
pub async fn client(files: &Files, server: Server) -> Result<Client, StageError> {
    let text = files.read(ADMIN)?;
    let broken = |error| {
        StageError::Access(AccessError::Kubeconfig { file: ADMIN.to_owned(), problem: problem(&error) })
    };
    let kubeconfig = Kubeconfig::from_yaml(&text).map_err(broken)?;
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(broken)?;
    if server == Server::Own {
        let url = format!("https://localhost:{API_PORT}/");
        config.cluster_url = url.parse().map_err(|_| StageError::Other(format!("`{url}` is no URL")))?;
        config.proxy_url = None;
    }
    config.read_timeout = Some(QUIET);
    Ok(client_of(config)?)
}
