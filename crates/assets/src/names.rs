//! Names that several files agree on.

use std::net::IpAddr;

pub use slipway_config::ids::{CLUSTER_MARK, OBJECT_MARK};
use slipway_config::install_config::kubevirt::Network;
use slipway_config::install_config::{InstallConfig, LoadBalancer, Platform, Pools, Vips};
use uuid::Uuid;

use crate::{Identity, Named};

/// Where Machines are.
pub const MACHINES_NAMESPACE: &str = "openshift-machine-api";
/// The label of a Machine with its [`Role`].
pub const MACHINE_ROLE: &str = "machine.openshift.io/cluster-api-machine-role";

/// The part a machine plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Master,
    Worker,
}

impl Role {
    pub const ALL: [Role; 2] = [Role::Master, Role::Worker];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::Master => "master",
            Role::Worker => "worker",
        }
    }

    /// The role of a name.
    pub fn named(name: &str) -> Option<Self> {
        Role::ALL.into_iter().find(|role| role.as_str() == name)
    }

    /// What belongs to the role.
    pub fn of<T>(self, pools: &Pools<T>) -> &T {
        match self {
            Role::Master => &pools.control_plane,
            Role::Worker => &pools.compute,
        }
    }
}

impl Named {
    /// The name of the machine that starts the cluster.
    pub fn bootstrap_name(&self) -> String {
        format!("{}-bootstrap", self.identity.infra_id)
    }

    /// The name of the `index`th machine of a role.
    pub fn machine_name(&self, role: Role, index: usize) -> String {
        format!("{}-{}-{index}", self.identity.infra_id, role.as_str())
    }

    /// How many machines of a role there are.
    pub fn replicas(&self, role: Role) -> usize {
        role.of(&self.config.pools).replicas as usize
    }
}

impl Identity {
    /// The mark of the object of that name: the same whenever it is asked for, and different in every cluster.
    pub fn object_id(&self, name: &str) -> Uuid {
        Uuid::new_v5(&self.cluster_id, name.as_bytes())
    }

    /// The mark of a template that is imported: a machine may have the same name.
    pub fn template_id(&self, name: &str) -> Uuid {
        self.object_id(&format!("template/{name}"))
    }
}

/// The virtual addresses of the cluster; none where DNS and load balancers are the user's.
pub fn vips(config: &InstallConfig) -> Vips {
    match &config.platform {
        Platform::VSphere(platform) => platform.vips.clone(),
        Platform::Ovirt(platform) => platform.vips.clone(),
        Platform::KubeVirt(platform) => match &platform.network {
            Network::Attachment { vips, .. } => vips.clone(),
            Network::Pods => Vips::default(),
        },
        Platform::None => Vips::default(),
    }
}

/// Who balances the load of API and ingress.
pub fn load_balancer(config: &InstallConfig) -> LoadBalancer {
    match &config.platform {
        Platform::VSphere(platform) => platform.load_balancer,
        Platform::Ovirt(platform) => platform.load_balancer,
        Platform::KubeVirt(_) | Platform::None => LoadBalancer::OpenShiftManagedDefault,
    }
}

/// Addresses as text.
pub(crate) fn texts(addresses: &[IpAddr]) -> Vec<String> {
    addresses.iter().map(IpAddr::to_string).collect()
}

/// `/`, `:` and the like cannot stand in the key of a Secret.
pub(crate) fn is_secret_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}
