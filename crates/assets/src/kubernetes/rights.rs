//! What the accounts of the programs that keep a cluster going may do, as data. Roles and bindings are made from it, and the
//! tests ask an API server whether each account may do exactly this.

pub mod machines;

use serde_json::{Value, json};

pub use slipway_api::well_known::KUBELET_SIGNERS;

use super::{
    APPROVER, BARE_METAL_HOSTS, CERTIFICATES, COMPLETION_NAME, CONTROL_PLANE, ClusterFacts, FIRST_KEYS,
    JOIN_TOKEN_SECRET, MACHINE_CONFIG_NAMESPACE, MACHINE_CONFIG_SECRET, MACHINE_CONFIG_TLS_SECRET, NAMESPACE,
};
use crate::names::{MACHINES_NAMESPACE, Role};

/// Where the accounts are.
pub const SYSTEM: &str = slipway_api::well_known::SYSTEM_NAMESPACE;
/// The account that follows the machines, on every machine.
pub const NODE: &str = "slipway-node";
/// The account of the machine-config server.
pub const MACHINE_CONFIG: &str = "slipway-machine-config";

const RBAC: &str = "rbac.authorization.k8s.io";
/// What a watch needs.
const WATCH: &[&str] = &["list", "watch"];
/// With server-side apply, making is bound to the name too.
const WRITE: &[&str] = &["get", "create", "patch"];

/// An account and all it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: &'static str,
    pub rights: Vec<Right>,
}

/// Something an account may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// `None` for the whole cluster.
    pub namespace: Option<&'static str>,
    pub group: &'static str,
    pub resource: &'static str,
    /// Objects of these names only; none for all.
    pub names: Vec<String>,
    pub verbs: &'static [&'static str],
}

impl Right {
    fn new(group: &'static str, resource: &'static str, verbs: &'static [&'static str]) -> Self {
        Right { namespace: None, group, resource, names: Vec::new(), verbs }
    }

    fn within(self, namespace: &'static str) -> Self {
        Right { namespace: Some(namespace), ..self }
    }

    fn named(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Right { names: names.into_iter().map(Into::into).collect(), ..self }
    }

    fn rule(&self) -> Value {
        let mut rule = json!({"apiGroups": [self.group], "resources": [self.resource], "verbs": self.verbs});
        if !self.names.is_empty() {
            rule["resourceNames"] = json!(self.names);
        }
        rule
    }
}

/// The accounts of a cluster.
pub fn accounts(facts: &ClusterFacts) -> Vec<Account> {
    let mut accounts = vec![approver(facts), certificates(), control_plane(), machine_config(facts)];
    if facts.onprem.is_some() {
        accounts.push(Account { name: NODE, rights: vec![Right::new("", "nodes", WATCH)] });
    }
    accounts
}

/// What approving certificates of nodes takes, whichever account does it: the cluster's own approver, or the operator.
pub(crate) fn approving() -> Vec<Right> {
    const CERTIFICATE: &str = "certificates.k8s.io";
    vec![
        Right::new(CERTIFICATE, "certificatesigningrequests", WATCH),
        Right::new(CERTIFICATE, "certificatesigningrequests/approval", &["patch"]),
        Right::new(CERTIFICATE, "signers", &["approve"]).named(KUBELET_SIGNERS),
        Right::new("", "nodes", &["get", "list", "watch"]),
        Right::new("machine.openshift.io", "machines", WATCH).within(MACHINES_NAMESPACE),
        Right::new("", "configmaps", WATCH).within(NAMESPACE).named([BARE_METAL_HOSTS]),
        Right::new("", "configmaps", WRITE).within(NAMESPACE).named([FIRST_KEYS]),
    ]
}

/// It judges what kubelets ask for, and nothing that listens to machines shares its account.
fn approver(facts: &ClusterFacts) -> Account {
    let mut rights = approving();
    // An upgrade with kubeadm makes them anew.
    let unwanted = facts.unwanted_bindings().iter().copied();
    rights.push(Right::new(RBAC, "clusterrolebindings", &["get", "delete"]).named(unwanted));
    rights.push(Right::new("", "configmaps", &["get"]).within(SYSTEM).named([COMPLETION_NAME]));
    rights.push(events());
    Account { name: APPROVER, rights }
}

/// It reads what machines boot from, and renews the tokens that they join with.
fn machine_config(facts: &ClusterFacts) -> Account {
    let mut configs: Vec<String> =
        Role::ALL.map(|role| format!("{MACHINE_CONFIG_SECRET}-{}", role.as_str())).into();
    configs.push(MACHINE_CONFIG_TLS_SECRET.to_owned());
    let tokens = Role::ALL.map(|role| format!("{JOIN_TOKEN_SECRET}-{}", facts.token_id(role)));
    let rights = vec![
        Right::new("", "secrets", &["get"]).within(MACHINE_CONFIG_NAMESPACE).named(configs),
        Right::new("", "secrets", WRITE).within(SYSTEM).named(tokens),
    ];
    Account { name: MACHINE_CONFIG, rights }
}

/// It waits for its turn, and says until when certificates are good. What it does on its machine it does as root.
fn certificates() -> Account {
    let rights = vec![
        Right::new("coordination.k8s.io", "leases", &["get", "update"]).within(SYSTEM).named([CERTIFICATES]),
        Right::new("", "configmaps", WRITE).within(SYSTEM).named([CERTIFICATES]),
        events(),
    ];
    Account { name: CERTIFICATES, rights }
}

/// It waits for its turn, keeps a hook on the Machines of the control plane, and renews what new ones join with. What it does on
/// its machine, and in etcd, it does as root.
fn control_plane() -> Account {
    let master = Role::Master.as_str();
    let rights = vec![
        Right::new("coordination.k8s.io", "leases", &["get", "update"]).within(SYSTEM).named([CONTROL_PLANE]),
        Right::new("machine.openshift.io", "machines", &["get", "list", "watch", "patch"])
            .within(MACHINES_NAMESPACE),
        Right::new("", "secrets", &["get", "patch"])
            .within(MACHINE_CONFIG_NAMESPACE)
            .named([format!("{MACHINE_CONFIG_SECRET}-{master}")]),
        Right::new("", "secrets", &["get", "patch"])
            .within(MACHINES_NAMESPACE)
            .named([format!("{master}-user-data")]),
        Right::new("", "configmaps", &["get"]).within(SYSTEM).named(["kubeadm-config"]),
        Right::new("events.k8s.io", "events", &["create", "patch"]).within(MACHINES_NAMESPACE),
    ];
    Account { name: CONTROL_PLANE, rights }
}

/// Events about what is in no namespace are in `default`.
fn events() -> Right {
    Right::new("events.k8s.io", "events", &["create", "patch"]).within("default")
}

impl Account {
    /// As the API server knows it.
    pub fn username(&self) -> String {
        format!("system:serviceaccount:{SYSTEM}:{}", self.name)
    }

    /// The account with its roles and bindings, each with the end of its file's name.
    pub(super) fn objects(&self) -> Vec<(String, Value)> {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": self.name, "namespace": SYSTEM},
        });
        let mut objects = vec![("account".to_owned(), account)];
        objects.extend(roles(self.name, &self.rights, (SYSTEM, self.name)));
        objects
    }
}

/// Roles that give rights, one for each namespace and one for the whole cluster, and their bindings to an account, by its
/// namespace and name. Each has the end of its file's name.
pub(crate) fn roles(name: &str, rights: &[Right], account: (&str, &str)) -> Vec<(String, Value)> {
    let mut objects = Vec::new();
    let mut places: Vec<Option<&str>> = rights.iter().map(|right| right.namespace).collect();
    places.sort_unstable();
    places.dedup();
    for place in places {
        let here = rights.iter().filter(|right| right.namespace == place);
        let rules: Vec<Value> = here.map(Right::rule).collect();
        let (prefix, end, metadata) = match place {
            None => ("Cluster", String::new(), json!({"name": name})),
            Some(place) => ("", format!("-{place}"), json!({"name": name, "namespace": place})),
        };
        let role = format!("{prefix}Role");
        let binding = json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": format!("{role}Binding"), "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": role, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account.1, "namespace": account.0}],
        });
        let role =
            json!({"apiVersion": format!("{RBAC}/v1"), "kind": role, "metadata": metadata, "rules": rules});
        objects.push((format!("role{end}"), role));
        objects.push((format!("binding{end}"), binding));
    }
    objects
}
