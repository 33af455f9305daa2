//! What the controllers of machines look at, watched once for all of them.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{NodeAddress, NodeCondition, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DeserializeGuard;
use kube::{Api, Resource};
use serde::{Deserialize, Deserializer};
use slipway_api::openshift::Machine;

use crate::runtime::trigger::Trigger;
use crate::runtime::watches::{Mirror, Watches};

/// A machine, unless it is malformed.
pub type GuardedMachine = DeserializeGuard<Machine>;

/// A node without what is not needed: a cluster has thousands.
#[derive(Debug, Clone, Default, Resource, Deserialize)]
#[resource(inherit = "k8s_openapi::api::core::v1::Node")]
pub struct NodeObject {
    #[serde(deserialize_with = "without_managers")]
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: NodeSpec,
    #[serde(default)]
    pub status: NodeStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSpec {
    #[serde(default, rename = "providerID")]
    pub provider_id: Option<String>,
    #[serde(default)]
    pub unschedulable: bool,
    #[serde(default)]
    pub taints: Vec<Taint>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct NodeStatus {
    #[serde(default)]
    pub conditions: Vec<NodeCondition>,
    #[serde(default)]
    pub addresses: Vec<NodeAddress>,
}

/// Who wrote which field is most of an object, and nothing here asks for it.
fn without_managers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let metadata = ObjectMeta::deserialize(deserializer)?;
    Ok(ObjectMeta { managed_fields: None, ..metadata })
}

impl NodeObject {
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub fn condition(&self, about: &str) -> Option<&NodeCondition> {
        self.status.conditions.iter().find(|condition| condition.type_ == about)
    }

    /// Its kubelet says that it can run pods.
    pub fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|ready| ready.status == "True")
    }

    /// Its kubelet has not been heard of for a while.
    pub fn is_unreachable(&self) -> bool {
        self.condition("Ready").is_some_and(|ready| ready.status == "Unknown")
    }
}

/// The machines of a namespace.
#[derive(Debug, Clone)]
pub struct Machines(Mirror<GuardedMachine>);

impl Machines {
    /// Their changes wake the trigger.
    pub fn watch(watches: &Watches, namespace: &str, trigger: &Trigger) -> Self {
        Machines(watches.keep(Api::namespaced(watches.client().clone(), namespace), trigger))
    }

    /// Waits until all are known. The writer lives as long as the watches do.
    pub async fn ready(&self) {
        let _ = self.0.wait_until_ready().await;
    }

    /// Those that are not malformed, by name.
    pub fn all(&self) -> Vec<Machine> {
        let state: Vec<Arc<GuardedMachine>> = self.0.state();
        let mut all: Vec<Machine> =
            state.iter().filter_map(|object| object.0.as_ref().ok().cloned()).collect();
        all.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        all
    }
}

/// All nodes.
#[derive(Debug, Clone)]
pub struct Nodes(Mirror<NodeObject>);

impl Nodes {
    /// Their changes wake the trigger.
    pub fn watch(watches: &Watches, trigger: &Trigger) -> Self {
        Nodes(watches.keep(Api::all(watches.client().clone()), trigger))
    }

    /// Waits until all are known. The writer lives as long as the watches do.
    pub async fn ready(&self) {
        let _ = self.0.wait_until_ready().await;
    }

    pub fn all(&self) -> Vec<Arc<NodeObject>> {
        self.0.state()
    }
}
