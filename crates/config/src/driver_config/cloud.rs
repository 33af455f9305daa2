//! The cloud provider's configuration: one model, read from and written to YAML and INI.

mod check;
mod effective;
mod nsxt;
mod places;
mod read;
mod sections;
mod write;

use std::collections::BTreeMap;

pub use effective::{Credentials, EffectiveVCenter};
pub use read::{Format, Reading, read};
pub use sections::{
    Disk, Global, Labels, LegacyGlobal, LoadBalancer, LoadBalancerClass, Network, Nodes, Nsxt, Route,
    VCenter, Workspace,
};

pub use super::ini::Leftover;

/// The configuration of the vSphere cloud provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloudConfig {
    pub global: Global,
    /// By the name other settings refer to them with, usually the server's.
    pub vcenters: BTreeMap<String, VCenter>,
    pub labels: Labels,
    pub nodes: Nodes,
    pub load_balancer: LoadBalancer,
    pub load_balancer_classes: BTreeMap<String, LoadBalancerClass>,
    pub route: Route,
    pub nsxt: Nsxt,
    /// What only the provider inside old Kubernetes knew; INI files of old clusters still have it.
    pub legacy: Legacy,
}

/// Sections of the provider that was part of Kubernetes itself. They have no place in YAML.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Legacy {
    pub global: LegacyGlobal,
    pub workspace: Workspace,
    pub network: Network,
    pub disk: Disk,
}
