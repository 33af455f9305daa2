//! The API of this machine, and that of the cluster.

use std::time::Duration;

use kube::Client;
use kube::config::Kubeconfig;
use slipway_assets::onprem::API_PORT;
use slipway_providers::cluster::{client_of, config_of};

use super::StageError;
use super::kubeadm::ADMIN;
use crate::runtime::host::Files;

/// A watch that says nothing for so long is dead.
const WATCH_TIMEOUT: Duration = Duration::from_mins(5);

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
    let mut config = config_of(Kubeconfig::from_yaml(&text), ADMIN).await?;
    if server == Server::Own {
        let url = format!("https://localhost:{API_PORT}/");
        config.cluster_url = url.parse().map_err(|_| StageError::Other(format!("`{url}` is not a URL")))?;
        config.proxy_url = None;
    }
    config.read_timeout = Some(WATCH_TIMEOUT);
    Ok(client_of(config)?)
}
