//! How many nodes the drivers serve. Machines of other kinds are counted, and left alone.

use slipway_api::slipway::vdo_status::NodeCounts;
use slipway_assets::drivers::NodeMark;

use crate::runtime::nodes::{All, Kind, Label};

/// Names that are shown of each kind.
const SHOWN: usize = 10;

/// All nodes, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    pub control_plane: u32,
    /// Nodes of vCenters that the cloud provider has found, or that do not need one.
    pub found: u32,
    /// Those of them whose kubelet is silent: no pod can become ready there.
    pub silent: u32,
    /// There is a node that only our label tells from machines of other kinds.
    pub marked_only: bool,
    waiting: Vec<String>,
    skipped: Vec<String>,
}

impl Census {
    pub fn of(nodes: &All, cloud_provider: bool) -> Self {
        let mut census = Census::default();
        for (name, node) in nodes {
            census.control_plane += u32::from(node.has(Label::ControlPlane));
            census.marked_only |=
                node.has(Label::Mark(NodeMark::Slipway)) && !node.has(Label::Mark(NodeMark::InstanceType));
            match node.kind() {
                Kind::VSphere if !node.is_initialized => census.waiting.push(name.clone()),
                Kind::VSphere => {
                    census.found += 1;
                    census.silent += u32::from(!node.is_up);
                }
                // Without a cloud provider of ours it is somebody else's.
                Kind::Unknown if cloud_provider => census.waiting.push(name.clone()),
                Kind::Unknown | Kind::Other => census.skipped.push(name.clone()),
            }
        }
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

    use super::Census;
    use crate::runtime::nodes::{All, Node, tests};

    fn node(name: &str, provider: Option<&str>, tainted: bool, labels: &Value) -> (String, Node) {
        let taint = json!({"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"});
        let taints = if tainted { json!([taint]) } else { json!([]) };
        let ready = json!([{"type": "Ready", "status": if name == "silent" { "Unknown" } else { "True" }}]);
        let node = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"providerID": provider, "taints": taints}, "status": {"conditions": ready},
        });
        (name.to_owned(), tests::node(node))
    }

    /// Machines of other kinds are skipped, whatever state they are in.
    #[test]
    fn every_kind_of_node() {
        let nodes = All::from([
            node("master", Some("vsphere://1"), false, &json!({"node-role.kubernetes.io/control-plane": ""})),
            node("silent", Some("vsphere://2"), false, &json!({})),
            node("new", None, true, &json!({})),
            node("marked", None, false, &json!({"slipway.dev/vsphere-node": ""})),
            node("labelled", None, false, &json!({"node.openshift.io/platform-type": "vsphere"})),
            node("metal", None, false, &json!({})),
            node("cloud", Some("aws:///x"), true, &json!({})),
        ]);
        let census = Census::of(&nodes, true);
        assert_eq!((census.control_plane, census.found, census.silent), (1, 4, 1));
        assert!(census.marked_only);
        let labels =
            json!({"slipway.dev/vsphere-node": "", "node.kubernetes.io/instance-type": "vsphere-vm"});
        let both = node("both", Some("vsphere://3"), false, &labels);
        assert!(!Census::of(&All::from([both]), true).marked_only, "the cloud provider has seen it, too");
        let counts = census.counts(None);
        assert_eq!((counts.ready, counts.pending, counts.skipped), (4, 1, 2));
        assert_eq!(counts.pending_names, ["new"]);
        assert_eq!(counts.skipped_names, ["cloud", "metal"]);
        let counts = census.counts(Some(2));
        assert_eq!((counts.ready, counts.pending), (2, 3));
        assert_eq!(Census::of(&nodes, false).counts(None).skipped, 3, "nobody of ours will find it");
    }
}
