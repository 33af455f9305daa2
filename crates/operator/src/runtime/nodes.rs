//! The nodes of a cluster in short, watched once for all controllers.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use futures_util::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, Resource};
use serde::Deserialize;
use slipway_assess::check::cluster::{PLATFORM_LABEL, PROVIDER, UNINITIALIZED};
use slipway_assets::drivers::NodeMark;
use tokio::sync::watch;
use tokio::task::JoinSet;

const CONTROL_PLANE: [&str; 3] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/controlplane",
    "node-role.kubernetes.io/master",
];
/// Nodes are large, and thousands at once would be tens of megabytes that no allocator gives back.
const PAGE: u32 = 50;

/// A node as it is told. Whatever is not needed is not even read.
#[derive(Debug, Clone, Default, Resource, Deserialize)]
#[resource(inherit = "k8s_openapi::api::core::v1::Node")]
struct NodeSubset {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Spec {
    #[serde(default, rename = "providerID")]
    provider_id: Option<String>,
    #[serde(default)]
    taints: Vec<Taint>,
}

#[derive(Debug, Clone, Deserialize, Hash)]
struct Taint {
    key: String,
    effect: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
    #[serde(default)]
    node_info: Info,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Info {
    #[serde(default, rename = "systemUUID")]
    system_uuid: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
}

/// What a node is, as far as it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    VSphere,
    /// Waits for a cloud provider, which may be ours.
    Unknown,
    Other,
}

/// A label that means something to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    ControlPlane,
    /// The machine was found, by the cloud provider or by us.
    Mark(NodeMark),
    /// OpenShift says that it is one of a vCenter.
    Platform,
}

/// What is remembered of a node: a cluster has thousands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Empty if it has none.
    pub provider_id: Box<str>,
    pub uuid: Box<str>,
    labels: Box<[Label]>,
    pub is_initialized: bool,
    /// Its kubelet is heard of.
    pub is_up: bool,
    /// All that checks see of it in one number; heartbeats are none of it.
    pub seen: u64,
}

impl Node {
    pub fn has(&self, label: Label) -> bool {
        self.labels.contains(&label)
    }

    /// Whether its id says that it is a machine of a vCenter.
    pub fn is_of_vsphere(&self) -> bool {
        self.provider_id.starts_with(PROVIDER)
    }

    pub fn kind(&self) -> Kind {
        if self.is_of_vsphere() {
            Kind::VSphere
        } else if !self.provider_id.is_empty() {
            Kind::Other
        } else if self.has(Label::Platform) || self.has(Label::Mark(NodeMark::Slipway)) {
            Kind::VSphere
        } else if self.is_initialized {
            Kind::Other
        } else {
            Kind::Unknown
        }
    }
}

impl From<NodeSubset> for Node {
    fn from(NodeSubset { metadata, spec, status }: NodeSubset) -> Self {
        let labels = metadata.labels.unwrap_or_default();
        let mut seen = DefaultHasher::new();
        (&metadata.name, &labels, &spec.provider_id, &spec.taints, &status.node_info.system_uuid)
            .hash(&mut seen);
        let marks = [NodeMark::InstanceType, NodeMark::Slipway].map(|mark| (mark.label(), Label::Mark(mark)));
        let known = CONTROL_PLANE.map(|name| (name, Label::ControlPlane)).into_iter().chain(marks);
        let mut labels_here: Vec<Label> =
            known.filter(|(name, _)| labels.contains_key(*name)).map(|(_, label)| label).collect();
        if labels.get(PLATFORM_LABEL).is_some_and(|value| value == "vsphere") {
            labels_here.push(Label::Platform);
        }
        let ready = |condition: &Condition| condition.type_ == "Ready" && condition.status == "True";
        Node {
            provider_id: spec.provider_id.unwrap_or_default().into(),
            uuid: status.node_info.system_uuid.into(),
            labels: labels_here.into(),
            is_initialized: !spec.taints.iter().any(|taint| taint.key == UNINITIALIZED),
            is_up: status.conditions.iter().any(ready),
            seen: seen.finish(),
        }
    }
}

/// All nodes, by name.
pub type All = BTreeMap<String, Node>;

/// The nodes of a cluster, kept up to date.
#[derive(Debug, Clone)]
pub struct Nodes {
    known: Arc<RwLock<All>>,
    /// Changes with every change that means something. Before all are known it is false.
    news: watch::Receiver<bool>,
}

impl Nodes {
    /// Begins to follow them.
    pub fn follow(client: Client, watches: &mut JoinSet<()>) -> Self {
        let known = Arc::new(RwLock::new(All::new()));
        let (told, news) = watch::channel(false);
        watches.spawn(follow(client, Arc::clone(&known), told));
        Nodes { known, news }
    }

    /// Waits until all are known.
    pub async fn wait_until_ready(&mut self) {
        if self.news.wait_for(|ready| *ready).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for a change.
    pub async fn changed(&mut self) {
        if self.news.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// As they are now. Not to be kept over a pause.
    pub fn now(&self) -> RwLockReadGuard<'_, All> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn follow(client: Client, known: Arc<RwLock<All>>, told: watch::Sender<bool>) {
    let all: Api<NodeSubset> = Api::all(client);
    let mut events = pin!(watcher(all, Config::default().page_size(PAGE)).default_backoff());
    let mut listed = All::new();
    let name = |node: &NodeSubset| node.metadata.name.clone().unwrap_or_default();
    while let Some(event) = events.next().await {
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        let changed = match event {
            Ok(Event::Init) => {
                listed.clear();
                false
            }
            Ok(Event::InitApply(node)) => {
                listed.insert(name(&node), node.into());
                false
            }
            Ok(Event::InitDone) => {
                *known = std::mem::take(&mut listed);
                true
            }
            Ok(Event::Apply(node)) => {
                let (name, node) = (name(&node), Node::from(node));
                let same = known.get(&name) == Some(&node);
                known.insert(name, node);
                !same
            }
            Ok(Event::Delete(node)) => known.remove(&name(&node)).is_some(),
            Err(error) => {
                tracing::warn!(%error, "the watch on nodes was interrupted");
                false
            }
        };
        drop(known);
        if changed {
            told.send_replace(true);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::{Node, NodeSubset};

    /// A node as the API server has it.
    pub(crate) fn node(object: Value) -> Node {
        serde_json::from_value::<NodeSubset>(object).unwrap().into()
    }

    #[test]
    fn heartbeats_do_not_count_and_everything_else_does() {
        let with = |change: &Value| {
            let mut object = json!({"metadata": {"name": "a"}, "spec": {"providerID": "vsphere://1"}});
            for (key, value) in change.as_object().unwrap() {
                object[key] = value.clone();
            }
            node(object).seen
        };
        let plain = with(&json!({}));
        let beat = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}});
        assert_eq!(plain, with(&beat));
        for change in [
            json!({"spec": {"providerID": "vsphere://2"}}),
            json!({"status": {"nodeInfo": {"systemUUID": "1"}}}),
            json!({"metadata": {"name": "b"}}),
            json!({"metadata": {"name": "a", "labels": {"x": "y"}}}),
            json!({"spec": {"providerID": "vsphere://1", "taints": [{"key": "x", "effect": "NoSchedule"}]}}),
        ] {
            assert_ne!(plain, with(&change), "{change}");
        }
    }
}
