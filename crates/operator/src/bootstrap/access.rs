//! The API of this machine, and that of the cluster.

use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use slipway_assets::onprem::API_PORT;

use super::StageError;
use super::kubeadm::ADMIN;
use crate::csr::approve::AccessError;
use crate::host::Files;

const PATIENCE: Duration = Duration::from_secs(30);

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
    let broken = |error| StageError::Access(AccessError::Kubeconfig(Box::new(error)));
    let kubeconfig = Kubeconfig::from_yaml(&text).map_err(broken)?;
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(broken)?;
    if server == Server::Own {
        let url = format!("https://localhost:{API_PORT}/");
        config.cluster_url = url.parse().map_err(|_| StageError::Other(format!("`{url}` is no URL")))?;
        config.proxy_url = None;
    }
    config.connect_timeout = Some(PATIENCE);
    config.read_timeout = Some(PATIENCE * 10);
    let failed = |source| AccessError::Api { doing: "connecting".to_owned(), source: Box::new(source) };
    Ok(Client::try_from(config).map_err(failed)?)
}
