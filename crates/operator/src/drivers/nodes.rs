//! The nodes of a cluster as the drivers see them. Machines of other kinds are counted, and left alone.

use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Serialize};
use slipway_api::slipway::vdo_status::NodeCounts;
use slipway_assets::drivers::NodeMark;

/// What a node has until its cloud provider has found it.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
const PROVIDER: &str = "vsphere://";
const PLATFORM: (&str, &str) = ("node.openshift.io/platform-type", "vsphere");
const CONTROL_PLANE: [&str; 3] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/controlplane",
    "node-role.kubernetes.io/master",
];
/// Nodes are large, and thousands at once would be tens of megabytes that no allocator gives back.
pub const PAGE: u32 = 50;
/// Names that are shown of each kind.
const SHOWN: usize = 10;

/// Of a node only what is needed: a cluster has thousands.
#[derive(Debug, Clone, Default, Resource, Serialize, Deserialize)]
#[resource(inherit = "Node")]
pub struct NodeBrief {
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: BriefSpec,
    #[serde(default)]
    pub status: BriefStatus,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct BriefSpec {
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    #[serde(default)]
    pub taints: Vec<Taint>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BriefStatus {
    #[serde(default)]
    pub conditions: Vec<BriefCondition>,
    #[serde(default)]
    pub node_info: BriefInfo,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct BriefInfo {
    #[serde(default, rename = "systemUUID")]
    pub system_uuid: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct BriefCondition {
    #[serde(rename = "type")]
    pub type_: String,
    pub status: String,
}

impl NodeBrief {
    /// Drops what makes objects large.
    pub fn slim(&mut self) {
        self.metadata.managed_fields = None;
        self.metadata.annotations = None;
        self.metadata.owner_references = None;
        self.status.conditions.retain(|condition| condition.type_ == "Ready");
    }

    fn has_label(&self, name: &str) -> bool {
        self.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(name))
    }

    fn is_uninitialized(&self) -> bool {
        self.spec.taints.iter().any(|taint| taint.key == UNINITIALIZED)
    }

    fn is_up(&self) -> bool {
        self.status
            .conditions
            .iter()
            .any(|condition| condition.type_ == "Ready" && condition.status == "True")
    }

    fn kind(&self) -> Kind {
        let platform = self.metadata.labels.as_ref().and_then(|labels| labels.get(PLATFORM.0));
        match self.spec.provider_id.as_deref() {
            Some(id) if id.starts_with(PROVIDER) => Kind::VSphere,
            Some(id) if !id.is_empty() => Kind::Other,
            _ if platform.is_some_and(|platform| platform == PLATFORM.1) => Kind::VSphere,
            // The operator has found its machine.
            _ if self.has_label(NodeMark::Slipway.label()) => Kind::VSphere,
            _ if self.is_uninitialized() => Kind::Unknown,
            _ => Kind::Other,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    VSphere,
    /// Waits for a cloud provider, which may be ours.
    Unknown,
    Other,
}

/// All nodes, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    pub control_plane: u32,
    /// Nodes of vCenters that the cloud provider has found, or that do not need one.
    pub found: u32,
    /// Those of them whose kubelet is silent: no pod can become ready there.
    pub silent: u32,
    waiting: Vec<String>,
    skipped: Vec<String>,
}

impl Census {
    pub fn of<'n>(nodes: impl IntoIterator<Item = &'n NodeBrief>, cloud_provider: bool) -> Self {
        let mut census = Census::default();
        for node in nodes {
            let name = node.metadata.name.clone().unwrap_or_default();
            census.control_plane += u32::from(CONTROL_PLANE.iter().any(|label| node.has_label(label)));
            match node.kind() {
                Kind::VSphere if node.is_uninitialized() => census.waiting.push(name),
                Kind::VSphere => {
                    census.found += 1;
                    census.silent += u32::from(!node.is_up());
                }
                // Without a cloud provider of ours it is somebody else's.
                Kind::Unknown if cloud_provider => census.waiting.push(name),
                Kind::Unknown | Kind::Other => census.skipped.push(name),
            }
        }
        census.waiting.sort();
        census.skipped.sort();
        census
    }

    /// With the number of nodes on which the storage driver is available, if it is installed.
    pub fn counts(&self, available: Option<u32>) -> NodeCounts {
        let count = |names: &[String]| u32::try_from(names.len()).unwrap_or(u32::MAX);
        let ready = available.map_or(self.found, |available| available.min(self.found));
        NodeCounts {
            ready,
            pending: self.found - ready + count(&self.waiting),
            skipped: count(&self.skipped),
            pending_names: self.waiting.iter().take(SHOWN).cloned().collect(),
            skipped_names: self.skipped.iter().take(SHOWN).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Census, NodeBrief};

    fn node(name: &str, provider: Option<&str>, tainted: bool, labels: &Value) -> NodeBrief {
        let taints =
            if tainted { json!([{"key": super::UNINITIALIZED, "effect": "NoSchedule"}]) } else { json!([]) };
        let ready = json!([{"type": "Ready", "status": if name == "silent" { "Unknown" } else { "True" }}]);
        let node = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"providerID": provider, "taints": taints}, "status": {"conditions": ready},
        });
        serde_json::from_value(node).unwrap()
    }

    /// Machines of other kinds are skipped, whatever state they are in.
    #[test]
    fn every_kind_of_node() {
        let nodes = [
            node("master", Some("vsphere://1"), false, &json!({"node-role.kubernetes.io/control-plane": ""})),
            node("silent", Some("vsphere://2"), false, &json!({})),
            node("new", None, true, &json!({})),
            node("marked", None, false, &json!({"slipway.dev/vsphere-node": ""})),
            node("labelled", None, false, &json!({"node.openshift.io/platform-type": "vsphere"})),
            node("metal", None, false, &json!({})),
            node("cloud", Some("aws:///x"), true, &json!({})),
        ];
        let census = Census::of(&nodes, true);
        assert_eq!((census.control_plane, census.found, census.silent), (1, 4, 1));
        let counts = census.counts(None);
        assert_eq!((counts.ready, counts.pending, counts.skipped), (4, 1, 2));
        assert_eq!(counts.pending_names, ["new"]);
        assert_eq!(counts.skipped_names, ["cloud", "metal"]);
        let counts = census.counts(Some(2));
        assert_eq!((counts.ready, counts.pending), (2, 3));
        assert_eq!(Census::of(&nodes, false).counts(None).skipped, 3, "nobody of ours will find it");
    }
}
