//! The files of a cluster that kubeadm makes.
//!
//! | module | what it holds |
//! |---|---|
//! | `check` | what cannot be carried out yet |
//! | `kubeadm` | what kubeadm is told |
//! | `machine` | what all machines have |
//! | `bootstrap` | `bootstrap.ign` |
//! | `node` | what the machine-config server hands out |
//! | `kubeconfig` | the administrator's, and what a new machine trusts |
//! | `objects` | `manifests/` |
//! | `drivers` | the operator of the vSphere drivers, and what it is told |
//! | [`rights`] | what the accounts of these programs may do |
//! | `operator` | what keeps the cluster going once the bootstrap machine has left |
//! | [`record`] | how far the agent of the bootstrap machine is |
//!
//! Which of our signers becomes which file of kubeadm, how machines join, and who reads which file on a machine is in
//! `docs/guides/kubernetes.md`. The paths are constants here, for the agent that reads them.

mod bootstrap;
mod check;
mod drivers;
mod kubeadm;
mod kubeconfig;
mod machine;
mod node;
mod objects;
mod operator;
pub mod record;
pub mod rights;

use serde::{Deserialize, Serialize};
use slipway_config::install_config::{Payload, Platform};

use crate::ignition::{metadata, pointer};
use crate::names::Role;
use crate::pki::bootstrap_token;
use crate::{Access, Cluster, Error, Tree, cluster_api, machines};

/// Where everything of ours is on a machine.
pub const FOLDER: &str = "/etc/slipway";
/// What kubeadm starts the cluster from.
pub const INIT_FILE: &str = "/etc/slipway/kubeadm-init.yaml";
/// What kubeadm joins a machine from, once [`MACHINE_NAME`] has been replaced in it.
pub const JOIN_FILE: &str = "/etc/slipway/kubeadm-join.yaml";
/// The token it joins with, which takes the place of [`NO_TOKEN`] in [`JOIN_FILE`]. It is a file of its own because the
/// machine-config server of a running cluster has to renew it.
pub const JOIN_TOKEN_FILE: &str = "/etc/slipway/bootstrap-token";
/// Has the shape of a token, and is none.
pub const NO_TOKEN: &str = "000000.0000000000000000";
/// A Secret in `kube-system`, `bootstrap-token-<id>`, is what the API server knows of a token.
pub const JOIN_TOKEN_SECRET: &str = "bootstrap-token";
/// Whom a machine trusts before it has joined.
pub const DISCOVERY_FILE: &str = "/etc/slipway/discovery.kubeconfig";
/// What the machine-config server of the bootstrap machine hands out: `<role>.ign`.
pub const MACHINE_CONFIG_FOLDER: &str = "/etc/slipway/machine-config";
/// Certificate and key of the machine-config server.
pub const TLS_FOLDER: &str = "/etc/slipway/tls";
/// [`ClusterFacts`].
pub const FACTS_FILE: &str = "/etc/slipway/cluster.json";
/// What the agent of the bootstrap machine remembers: a [`record::Record`].
pub const RECORD_FILE: &str = "/var/lib/slipway/bootstrap.json";
/// Where the same is in the cluster: a ConfigMap in `kube-system`, under [`RECORD_KEY`].
pub const RECORD_NAME: &str = "slipway-bootstrap";
pub const RECORD_KEY: &str = "record";
/// Where the machine-config server of the bootstrap machine says it, to those with the token of the control plane.
pub const RECORD_PATH: &str = "/bootstrap";
/// The ConfigMap in `kube-system` whose `status` becomes `complete`, as on OpenShift.
pub const COMPLETION_NAME: &str = "bootstrap";
/// Where Secrets of the machine-config server are. The operator's own namespace is not the place: the operator reads all Secrets
/// there, since users call those of their vCenters as they like.
pub const MACHINE_CONFIG_NAMESPACE: &str = "kube-system";
/// A Secret for each role in [`MACHINE_CONFIG_NAMESPACE`], `machine-config-<role>`, holds what the machine-config server of a running
/// cluster hands out.
pub const MACHINE_CONFIG_SECRET: &str = "machine-config";
/// The keys in it: the configuration, and hashes of tokens.
pub const MACHINE_CONFIG_KEY: &str = "config.ign";
pub const TOKENS_KEY: &str = "tokens";
/// The Secret in [`MACHINE_CONFIG_NAMESPACE`] with certificate and key of the machine-config server.
pub const MACHINE_CONFIG_TLS_SECRET: &str = "machine-config-server-tls";
/// Stands for the name of the machine in [`JOIN_FILE`]: all machines of a role get the same file.
pub const MACHINE_NAME: &str = "slipway-machine-name";
/// Whom tokens of ours belong to. kubeadm's own group has its certificates approved unseen; this one has not.
pub const BOOTSTRAPPERS: &str = "system:bootstrappers:slipway";
/// The namespace of the operator.
pub const NAMESPACE: &str = "slipway-system";
/// The DaemonSet in `kube-system` that approves certificates of nodes, and its account.
pub const APPROVER: &str = "slipway-csr-approver";
/// The ConfigMap in [`NAMESPACE`] with the key of each machine's first certificate.
pub const FIRST_KEYS: &str = "slipway-first-keys";
/// The ConfigMap in [`NAMESPACE`] with the nodes that have no machine and may renew their certificates.
pub const BARE_METAL_HOSTS: &str = "slipway-bare-metal";
/// kubeadm lets the controller manager approve certificates unseen, by these bindings.
pub const UNSEEN_APPROVAL: [&str; 2] =
    ["kubeadm:node-autoapprove-bootstrap", "kubeadm:node-autoapprove-certificate-rotation"];
pub use slipway_api::well_known::{CERTIFICATES, CONTROL_PLANE};
/// The folder of the network plugin's manifests, in the tree that `ignition` is given.
pub const NETWORK_FOLDER: &str = "network/";

/// What the agent of the bootstrap machine needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterFacts {
    pub name: String,
    pub infra_id: String,
    pub domain: String,
    pub platform: String,
    /// With its `v`.
    pub version: String,
    pub control_plane_replicas: u32,
    pub compute_replicas: u32,
    pub bootstrap_tokens: TokenIds,
    /// Absent where load balancers and DNS are the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onprem: Option<crate::onprem::NetworkFacts>,
}

/// The public half of the token that machines of each role join with. One that leaks from a worker must not open the
/// control plane, so each role has its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenIds {
    pub master: String,
    pub worker: String,
}

impl ClusterFacts {
    /// The name of the machine that starts the cluster, and of its node.
    pub fn bootstrap_name(&self) -> String {
        format!("{}-bootstrap", self.infra_id)
    }

    /// The bindings of [`UNSEEN_APPROVAL`] that are not wanted: without machines of ours to compare with, the controller
    /// manager is the only one who could renew certificates.
    pub fn unwanted_bindings(&self) -> &'static [&'static str] {
        if self.platform == "none" { &UNSEEN_APPROVAL[..1] } else { &UNSEEN_APPROVAL }
    }

    /// The names of the control-plane machines; `None` where the user makes and names the machines.
    pub fn control_plane_names(&self) -> Option<Vec<String>> {
        let name = |index| format!("{}-{}-{index}", self.infra_id, Role::Master.as_str());
        (self.platform != "none").then(|| (0..self.control_plane_replicas).map(name).collect())
    }

    /// The id of the token that machines of a role join with.
    pub fn token_id(&self, role: Role) -> &str {
        match role {
            Role::Master => &self.bootstrap_tokens.master,
            Role::Worker => &self.bootstrap_tokens.worker,
        }
    }

    /// Who asks for the first certificates of machines of a role.
    pub fn bootstrapper(&self, role: Role) -> String {
        format!("system:bootstrap:{}", self.token_id(role))
    }

    fn of(cluster: &Cluster) -> Result<Self, Error> {
        let config = &cluster.config;
        Ok(ClusterFacts {
            name: config.name.to_string(),
            infra_id: cluster.identity.infra_id.to_string(),
            domain: config.cluster_domain(),
            platform: config.platform.name().to_owned(),
            version: format!("v{}", payload(cluster)?.version.version()),
            control_plane_replicas: config.pools.control_plane.replicas,
            compute_replicas: config.pools.compute.replicas,
            bootstrap_tokens: TokenIds {
                master: token_id(cluster, Role::Master)?,
                worker: token_id(cluster, Role::Worker)?,
            },
            onprem: crate::onprem::NetworkFacts::of(config),
        })
    }
}

fn token_id(cluster: &Cluster, role: Role) -> Result<String, Error> {
    Ok(pem(cluster, &bootstrap_token(role))?.split('.').next().unwrap_or_default().to_owned())
}

/// The payload's own settings.
struct Settings<'a> {
    version: &'a slipway_config::install_config::KubernetesVersion,
    image: &'a str,
}

fn payload(cluster: &Cluster) -> Result<Settings<'_>, Error> {
    match &cluster.config.payload {
        Payload::Kubernetes { version, slipway_image: Some(image), .. } => {
            Ok(Settings { version, image: image.as_str() })
        }
        Payload::Kubernetes { slipway_image: None, .. } => Err(Error::SlipwayImage),
        Payload::OpenShift { .. } => {
            Err(Error::Unsupported("this is not a cluster of the Kubernetes payload".to_owned()))
        }
    }
}

/// Whether the platform's cloud controller manager tells the cluster about its machines.
fn has_cloud_provider(platform: &Platform) -> bool {
    matches!(platform, Platform::VSphere(_))
}

/// `manifests/`, `openshift/` and `cluster-api/`. What only OpenShift understands is left out.
pub(crate) fn manifests(cluster: &Cluster) -> Result<Tree, Error> {
    check::check(cluster)?;
    let mut tree = Tree::default();
    objects::add(cluster, &mut tree)?;
    crate::manifests::add_login(cluster, &mut tree)?;
    if cluster.makes_machines() {
        crate::manifests::add_user_data(cluster, &mut tree)?;
        let mut made = Tree::default();
        machines::add(cluster, &mut made)?;
        // An operator of OpenShift reads it, which is not here.
        let ours = made.iter().filter(|(path, _)| !path.ends_with("control-plane-machine-set.yaml"));
        for (path, file) in ours {
            tree.insert(path, file.contents.clone(), file.access);
        }
        cluster_api::add(cluster, &mut tree)?;
    }
    Ok(tree)
}

/// The Ignition configurations, `auth/` and `metadata.json`, from the manifests as they are on disk, and those of the
/// network plugin in `network/`.
pub(crate) fn ignition(cluster: &Cluster, manifests: &Tree) -> Result<Tree, Error> {
    check::check(cluster)?;
    let mut tree = Tree::default();
    tree.insert("bootstrap.ign", bootstrap::bootstrap(cluster, manifests)?, Access::Owner);
    tree.insert("master.ign", pointer(cluster, Role::Master), Access::Owner);
    tree.insert("worker.ign", pointer(cluster, Role::Worker), Access::Owner);
    tree.insert("auth/kubeconfig", kubeconfig::admin(cluster)?, Access::Owner);
    tree.insert("metadata.json", metadata::metadata(cluster), Access::Group);
    Ok(tree)
}

/// The configuration that the machine-config server hands to machines of a role.
pub fn machine_config(cluster: &Cluster, role: Role) -> Result<Vec<u8>, Error> {
    node::node(cluster, role)
}

fn pem<'a>(cluster: &'a Cluster, name: &str) -> Result<&'a str, Error> {
    let pem = cluster.pki.pem(name);
    if pem.is_empty() { Err(Error::Missing { name: name.to_owned() }) } else { Ok(pem) }
}
