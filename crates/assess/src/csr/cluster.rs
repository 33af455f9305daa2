//! What is known about machines and nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};

use slipway_assets::names::Role;

use super::OPENSHIFT_BOOTSTRAPPER;
use super::keys::Keys;
use super::request::Csr;

/// Requests count for the breaker as long as this.
const RECENT: SignedDuration = SignedDuration::from_hours(1);
/// How many first certificates may be asked for beyond one for each node or machine.
const SLACK: usize = 100;
/// How many requests a kubelet may have pending. It asks for two certificates, and anew when it is started again.
const MAX_PENDING_OF_NODE: usize = 20;

/// The group of the tokens that kubeadm makes by itself.
const KUBEADM_TOKENS: &str = "system:bootstrappers:kubeadm:default-node-token";

/// A machine that may become a node, or is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    pub name: String,
    /// Of its object, if it has one.
    pub uid: Option<String>,
    /// When it was made: it asks for its first certificate soon after. `None` for a machine that is waited for, however long
    /// it takes.
    pub made: Option<Timestamp>,
    /// `None` if it is not known.
    pub role: Option<Role>,
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
    /// It asks for machines of this role only; without one for all.
    pub role: Option<Role>,
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
        Bootstrapper { role: None, username: OPENSHIFT_BOOTSTRAPPER.to_owned(), groups: vec![groups.into()] }
    }

    /// Whether it is a bootstrap token: machines of clusters made by kubeadm have the names of their nodes.
    pub fn is_token(&self) -> bool {
        self.username.starts_with("system:bootstrap:")
    }

    /// A service account, `system:serviceaccount:<namespace>:<name>`, or a bootstrap token of kubeadm's,
    /// `system:bootstrap:<id>`, after the role it asks for, such as `worker=`, if it has one; the groups follow from the name.
    pub fn of(text: &str) -> Option<Self> {
        let (role, username) = match text.split_once('=') {
            Some((role, username)) => (Some(Role::named(role)?), username),
            None => (None, text),
        };
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
        Some(Bootstrapper { role, username: username.to_owned(), groups: own.into_iter().map(set).collect() })
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
    bootstrappers: Vec<Bootstrapper>,
    keys: Keys,
    /// How many requests each user has.
    pending: BTreeMap<String, usize>,
}

impl Cluster {
    pub fn new(bootstrappers: Vec<Bootstrapper>, vips: impl IntoIterator<Item = IpAddr>) -> Self {
        Cluster {
            machines: Vec::new(),
            by_internal_name: BTreeMap::new(),
            by_node: BTreeMap::new(),
            nodes: BTreeSet::new(),
            vips: vips.into_iter().map(|vip| vip.to_canonical()).collect(),
            bootstrappers,
            keys: Keys::default(),
            pending: BTreeMap::new(),
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

    /// With the keys that machines came with before.
    #[must_use]
    pub fn with_keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// Counts the requests that are not decided yet.
    #[must_use]
    pub fn with_requests<'a>(mut self, requests: impl IntoIterator<Item = &'a Csr>, now: Timestamp) -> Self {
        let recent = |csr: &&Csr| csr.is_pending() && now.duration_since(csr.created) < RECENT;
        for csr in requests.into_iter().filter(recent) {
            *self.pending.entry(csr.username.clone()).or_default() += 1;
        }
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

    pub(super) fn bootstrapper(&self, username: &str) -> Option<&Bootstrapper> {
        self.bootstrappers.iter().find(|one| one.username == username)
    }

    /// The names of all who may ask for first certificates.
    pub(super) fn bootstrappers(&self) -> Vec<String> {
        self.bootstrappers.iter().map(|one| one.username.clone()).collect()
    }

    /// The key a machine came with before.
    pub(super) fn first_key(&self, node: &str, machine: &Machine) -> Option<&str> {
        self.keys.of(node, machine.uid.as_deref())
    }

    /// The machine that a node is, or would be, if there is exactly one.
    pub fn machine_for(&self, node: &str) -> Option<&Machine> {
        let found =
            [self.by_node(node), self.by_internal_name(node)].into_iter().find(|found| !found.is_empty())?;
        if let [machine] = found[..] { Some(machine) } else { None }
    }

    /// Whether there is neither a node of this name nor a Machine of this id.
    pub fn is_gone(&self, node: &str, uid: &str) -> bool {
        !self.nodes.contains(node) && !self.machines.iter().any(|machine| machine.uid.as_deref() == Some(uid))
    }

    /// Whether a user has more pending requests than its machines have a reason for.
    pub fn is_flooded_by(&self, username: &str) -> bool {
        let (pending, limit) = self.flood(username);
        pending > limit
    }

    /// How many requests of a user are pending, and how many may be. Each user counts alone: a kubelet that asks without end
    /// keeps only itself from its certificates, and who has a token that leaked keeps no node from renewing its own.
    pub(super) fn flood(&self, username: &str) -> (usize, usize) {
        let limit = match self.bootstrapper(username) {
            Some(_) => self.nodes.len().max(self.machines.len()) + SLACK,
            None => MAX_PENDING_OF_NODE,
        };
        (self.pending.get(username).copied().unwrap_or_default(), limit)
    }
}
