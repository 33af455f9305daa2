//! What is known about machines and nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};

use super::OPENSHIFT_BOOTSTRAPPER;
use super::request::Csr;

/// Requests count for the breaker as long as this.
const RECENT: SignedDuration = SignedDuration::from_hours(1);
/// How many requests there may be beyond one for each node or machine.
const SLACK: usize = 100;

/// The group of the tokens that kubeadm makes by itself.
const KUBEADM_TOKENS: &str = "system:bootstrappers:kubeadm:default-node-token";

/// A machine that may become a node, or is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub name: String,
    pub created: Timestamp,
    /// The name its node will have.
    pub internal_names: BTreeSet<String>,
    /// All names its server may be reached by, the internal ones among them.
    pub names: BTreeSet<String>,
    pub addresses: BTreeSet<IpAddr>,
    /// The node it has become.
    pub node: Option<String>,
    /// It is being removed.
    pub leaving: bool,
    /// Why it must not come in yet: control-plane machines do so one after the other.
    pub held: Option<String>,
}

/// Who may ask for a machine's first certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bootstrapper {
    pub username: String,
    /// Exactly those of one of these sets.
    pub groups: Vec<BTreeSet<String>>,
}

impl Bootstrapper {
    /// OpenShift's own, a service account.
    pub fn openshift() -> Self {
        let namespace = "openshift-machine-config-operator";
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".to_owned(),
        ];
        Bootstrapper { username: OPENSHIFT_BOOTSTRAPPER.to_owned(), groups: vec![groups.into()] }
    }

    /// Whether it is a bootstrap token: machines of clusters made by kubeadm have the names of their nodes.
    pub fn is_token(&self) -> bool {
        self.username.starts_with("system:bootstrap:")
    }

    /// A service account, `system:serviceaccount:<namespace>:<name>`, or a bootstrap token of kubeadm's,
    /// `system:bootstrap:<id>`; the groups follow from the name.
    pub fn of(username: &str) -> Option<Self> {
        let parts: Vec<&str> = username.split(':').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return None;
        }
        let (common, own) = match parts[..] {
            ["system", "serviceaccount", namespace, _] => {
                ("system:serviceaccounts", vec![format!("system:serviceaccounts:{namespace}")])
            }
            // A token is in the group that its maker chose: kubeadm's own, or ours.
            ["system", "bootstrap", _] => {
                let own = [KUBEADM_TOKENS, slipway_assets::kubernetes::BOOTSTRAPPERS];
                ("system:bootstrappers", own.map(ToOwned::to_owned).into())
            }
            _ => return None,
        };
        let set = |own| [common.to_owned(), own, "system:authenticated".to_owned()].into();
        Some(Bootstrapper { username: username.to_owned(), groups: own.into_iter().map(set).collect() })
    }
}

/// Everything a verdict depends on, apart from the request.
#[derive(Debug, Clone)]
pub struct Cluster {
    machines: Vec<Machine>,
    by_internal_name: BTreeMap<String, Vec<usize>>,
    by_node: BTreeMap<String, Vec<usize>>,
    nodes: BTreeSet<String>,
    vips: BTreeSet<IpAddr>,
    bootstrapper: Bootstrapper,
    pending: usize,
}

impl Cluster {
    pub fn new(bootstrapper: Bootstrapper, vips: impl IntoIterator<Item = IpAddr>) -> Self {
        Cluster {
            machines: Vec::new(),
            by_internal_name: BTreeMap::new(),
            by_node: BTreeMap::new(),
            nodes: BTreeSet::new(),
            vips: vips.into_iter().map(|vip| vip.to_canonical()).collect(),
            bootstrapper,
            pending: 0,
        }
    }

    #[must_use]
    pub fn with_machines(mut self, machines: impl IntoIterator<Item = Machine>) -> Self {
        for machine in machines {
            let index = self.machines.len();
            for name in &machine.internal_names {
                self.by_internal_name.entry(name.clone()).or_default().push(index);
            }
            if let Some(node) = &machine.node {
                self.by_node.entry(node.clone()).or_default().push(index);
            }
            self.machines.push(machine);
        }
        self
    }

    #[must_use]
    pub fn with_nodes(mut self, nodes: impl IntoIterator<Item = String>) -> Self {
        self.nodes.extend(nodes);
        self
    }

    /// Counts the requests that nobody has decided about.
    #[must_use]
    pub fn with_requests<'a>(mut self, requests: impl IntoIterator<Item = &'a Csr>, now: Timestamp) -> Self {
        let recent = |csr: &&Csr| csr.is_pending() && now.duration_since(csr.created) < RECENT;
        self.pending = requests.into_iter().filter(recent).count();
        self
    }

    pub(super) fn by_internal_name(&self, name: &str) -> Vec<&Machine> {
        let found = self.by_internal_name.get(name);
        found.into_iter().flatten().filter_map(|index| self.machines.get(*index)).collect()
    }

    pub(super) fn by_node(&self, node: &str) -> Vec<&Machine> {
        let found = self.by_node.get(node);
        found.into_iter().flatten().filter_map(|index| self.machines.get(*index)).collect()
    }

    pub(super) fn has_node(&self, name: &str) -> bool {
        self.nodes.contains(name)
    }

    pub(super) fn is_vip(&self, address: &IpAddr) -> bool {
        self.vips.contains(address)
    }

    pub(super) fn bootstrapper(&self) -> &Bootstrapper {
        &self.bootstrapper
    }

    /// Whether there are more requests than a cluster of this size has.
    pub(super) fn is_flooded(&self) -> bool {
        let (pending, limit) = self.flood();
        pending > limit
    }

    /// How many requests are pending, and how many may be.
    pub(super) fn flood(&self) -> (usize, usize) {
        (self.pending, self.nodes.len().max(self.machines.len()) + SLACK)
    }
}
