//! What is known of a Kubernetes cluster, as a plain value.

mod placing;
pub mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use slipway_api::well_known::{STORAGE_DRIVER, VSPHERE_NODE_LABEL};
use uuid::Uuid;

pub(super) use placing::bears_all;
pub use placing::{Requirement, Selector, Term, Toleration};

/// The storage driver of vSphere.
pub const DRIVER: &str = STORAGE_DRIVER;
/// The cloud provider's mark on nodes it has not looked at.
pub const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// How the id of a node begins whose machine is in a vCenter.
pub const PROVIDER: &str = "vsphere://";
/// Where OpenShift says what a node runs on: `vsphere`, among others.
pub const PLATFORM_LABEL: &str = "node.openshift.io/platform-type";

/// What the checks need to know of a cluster.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    /// Shared by all who look at them: there may be thousands.
    pub nodes: Arc<Vec<Node>>,
    pub storage_classes: Vec<StorageClass>,
    pub volumes: Vec<Volume>,
    /// Pods with volumes of vSphere. Only read where there are nodes that cannot have them.
    pub pods: Vec<Pod>,
    pub driver: Driver,
    /// Until when the control plane's are good, where Slipway renews them.
    pub certificates: Vec<ControlPlaneCertificate>,
    /// Requests of kubelets that are neither approved nor denied.
    pub requests: Vec<PendingRequest>,
    /// What could not be read, and why.
    pub unread: Vec<(String, String)>,
}

/// The certificate of a control-plane machine that ends first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPlaneCertificate {
    pub node: String,
    /// Below `/etc/kubernetes`.
    pub file: String,
    pub until: Timestamp,
}

/// A certificate that a kubelet asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingRequest {
    pub name: String,
    pub since: Timestamp,
}

/// Whose storage driver is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Driver {
    #[default]
    None,
    /// Ours.
    Ours,
    /// The one of an OpenShift release.
    OfRelease,
    /// Another program installed it; what was found.
    Foreign(String),
}

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    pub provider_id: Option<String>,
    pub system_uuid: String,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub addresses: Vec<String>,
    pub ready: bool,
    pub created: Option<Timestamp>,
}

/// A taint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

/// What kind of node it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeKind {
    /// A machine of a vCenter.
    VSphere,
    /// New: the cloud provider has not been there yet.
    Pending,
    /// Something else.
    Other { why: String },
}

/// A way to get volumes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageClass {
    pub name: String,
    pub provisioner: String,
    pub parameters: BTreeMap<String, String>,
}

/// A volume of vSphere's storage driver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volume {
    pub name: String,
    /// The driver's id of it.
    pub handle: String,
    /// Whether several nodes may write to it.
    pub shared: bool,
    /// Where it can be attached; none means that the volume does not say.
    pub places: Option<Selector>,
}

/// A pod that needs volumes of vSphere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    pub namespace: String,
    pub name: String,
    /// What made it, such as `StatefulSet/db`.
    pub owner: Option<String>,
    pub node: Option<String>,
    pub running: bool,
    pub node_selector: BTreeMap<String, String>,
    pub affinity: Option<Selector>,
    pub tolerations: Vec<Toleration>,
    /// The claims with volumes of vSphere, and the volumes that are there already.
    pub claims: Vec<(String, Option<String>)>,
}

impl Cluster {
    /// The nodes, to be changed.
    pub fn nodes_mut(&mut self) -> &mut Vec<Node> {
        Arc::make_mut(&mut self.nodes)
    }
}

impl Node {
    pub fn kind(&self) -> NodeKind {
        let labelled = self.labels.get(PLATFORM_LABEL).is_some_and(|value| value == "vsphere")
            // The operator has found its machine.
            || self.labels.contains_key(VSPHERE_NODE_LABEL);
        match self.provider() {
            Some(id) if id.starts_with(PROVIDER) => NodeKind::VSphere,
            Some(id) => {
                let platform = id.split("://").next().unwrap_or(id);
                NodeKind::Other { why: format!("its provider id belongs to `{platform}`") }
            }
            None if self.taints.iter().any(|taint| taint.key == UNINITIALIZED) => NodeKind::Pending,
            None if labelled => NodeKind::VSphere,
            None => NodeKind::Other {
                why: "no providerID and no vSphere label, so taken for bare metal".to_owned(),
            },
        }
    }

    /// The provider id, if some cloud provider gave it one.
    pub(super) fn provider(&self) -> Option<&str> {
        self.provider_id.as_deref().filter(|id| !id.is_empty())
    }

    /// The id in `vsphere://<id>`.
    pub fn provider_uuid(&self) -> Option<Uuid> {
        self.provider_id.as_deref()?.strip_prefix(PROVIDER)?.trim().parse().ok()
    }

    /// The id its firmware reports.
    pub fn system_id(&self) -> Option<Uuid> {
        self.system_uuid.trim().parse().ok()
    }

    pub(super) fn is_control_plane(&self) -> bool {
        ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"]
            .iter()
            .any(|label| self.labels.contains_key(*label))
    }

    /// Region and zone, as its labels say.
    pub(super) fn place(&self) -> (Option<&str>, Option<&str>) {
        let label = |name: &str| self.labels.get(name).map(String::as_str);
        (label("topology.kubernetes.io/region"), label("topology.kubernetes.io/zone"))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Node, NodeKind, PLATFORM_LABEL, Taint, UNINITIALIZED};

    #[rstest]
    #[case::by_provider(Some("vsphere://42166f45-6f10-6d46-4b2d-7f7e4f5b7a01"), None, false, "vsphere")]
    #[case::by_label(None, Some("vsphere"), false, "vsphere")]
    #[case::by_label_with_an_empty_id(Some(""), Some("vsphere"), false, "vsphere")]
    #[case::new(None, None, true, "pending")]
    #[case::new_and_labelled(None, Some("vsphere"), true, "pending")]
    #[case::bare_metal(None, None, false, "other")]
    #[case::another_label(None, Some("none"), false, "other")]
    #[case::another_platform(Some("baremetalhost:///openshift/host-1"), Some("vsphere"), false, "other")]
    fn kinds(
        #[case] provider: Option<&str>,
        #[case] label: Option<&str>,
        #[case] tainted: bool,
        #[case] expected: &str,
    ) {
        let taint = Taint { key: UNINITIALIZED.to_owned(), ..Taint::default() };
        let node = Node {
            provider_id: provider.map(str::to_owned),
            labels: label.map(|value| (PLATFORM_LABEL.to_owned(), value.to_owned())).into_iter().collect(),
            taints: tainted.then_some(taint).into_iter().collect(),
            ..Node::default()
        };
        let kind = match node.kind() {
            NodeKind::VSphere => "vsphere",
            NodeKind::Pending => "pending",
            NodeKind::Other { .. } => "other",
        };
        assert_eq!(kind, expected);
    }
}
