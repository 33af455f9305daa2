//! What all files of a cluster are made from.

use std::ops::Deref;

use jiff::Timestamp;
use secrecy::SecretString;
use slipway_config::ids::InfraId;
use slipway_config::install_config::InstallConfig;
use uuid::Uuid;

use crate::{Identity, Pki};

/// A configuration and the names that were drawn for it: enough to say what will be made and what it will be called.
#[derive(Debug, Clone)]
pub struct Named {
    pub config: InstallConfig,
    pub identity: Identity,
}

impl Named {
    /// The names as they will be before any are drawn: of the same length, and those of no cluster.
    pub fn undrawn(config: InstallConfig) -> Self {
        let identity = Identity {
            infra_id: InfraId::new(&config.name, |_| 0),
            cluster_id: Uuid::nil(),
            created: Timestamp::UNIX_EPOCH,
            kubeadmin_password: "".into(),
            kubeadmin_hash: "".into(),
        };
        Named { config, identity }
    }
}

/// A cluster: its configuration and names, its keys, and how to log in to where it will live.
#[derive(Debug, Clone)]
pub struct Cluster {
    pub named: Named,
    pub pki: Pki,
    pub credentials: Credentials,
}

impl Deref for Cluster {
    type Target = Named;

    fn deref(&self) -> &Named {
        &self.named
    }
}

/// How to log in to the platform.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// One login per vCenter, in the order of the configuration.
    VSphere(Vec<Login>),
    Ovirt(OvirtEngine),
    KubeVirt(InfraCluster),
    None,
}

/// User and password.
#[derive(Debug, Clone)]
pub struct Login {
    pub user: String,
    pub password: SecretString,
}

/// An oVirt engine and how to log in to it.
#[derive(Debug, Clone)]
pub struct OvirtEngine {
    pub url: String,
    pub login: Login,
    pub insecure: bool,
    /// PEM certificates.
    pub ca_bundle: Option<String>,
}

/// The infrastructure cluster of KubeVirt, and how to reach it.
#[derive(Debug, Clone)]
pub struct InfraCluster {
    /// URL of its API.
    pub server: String,
    /// A kubeconfig with one context and everything in it.
    pub kubeconfig: SecretString,
}
