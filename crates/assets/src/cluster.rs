//! What all files of a cluster are made from.

use secrecy::SecretString;
use slipway_config::install_config::InstallConfig;

use crate::{Identity, Pki};

/// A cluster: its configuration, what was drawn for it, and how to log in to where it will live.
#[derive(Debug, Clone)]
pub struct Cluster {
    pub config: InstallConfig,
    pub identity: Identity,
    pub pki: Pki,
    pub credentials: Credentials,
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
