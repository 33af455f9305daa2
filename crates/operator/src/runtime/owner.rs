//! Who owns the Machines of a cluster. On OpenShift that is its machine-api operator, and two owners would fight.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Config;

use super::trigger::Trigger;
use super::watches::{Mirror, Watches};

/// OpenShift's own controllers of Machines, in the namespace of the Machines.
const OPENSHIFT: &str = "machine-api-controllers";
/// How long a controller rests while another owner is there. It is woken when that goes.
pub const RESYNC_INTERVAL: Duration = Duration::from_mins(10);

/// Watches for another owner.
#[derive(Debug)]
pub struct Owner {
    deployments: Mirror<PartialObjectMeta<Deployment>>,
    /// What was logged last.
    known: Option<String>,
}

impl Owner {
    pub fn watch(watches: &Watches, namespace: &str, trigger: &Trigger) -> Self {
        let only = Config::default().fields(&format!("metadata.name={OPENSHIFT}"));
        let api: Api<PartialObjectMeta<Deployment>> = Api::namespaced(watches.client().clone(), namespace);
        Owner { deployments: watches.keep_some(api, only, trigger), known: None }
    }

    /// The other owner, if there is one. Waits until that is known: nothing is done on doubt.
    pub async fn other(&mut self) -> Option<&str> {
        // The writers live as long as the watches do.
        let _ = self.deployments.wait_until_ready().await;
        let found = self.deployments.state();
        let found = found.iter().find(|one| one.metadata.name.as_deref() == Some(OPENSHIFT));
        let found = found.map(|one| {
            format!("Deployment {}/{OPENSHIFT}", one.metadata.namespace.as_deref().unwrap_or_default())
        });
        if found != self.known {
            if let Some(owner) = &found {
                tracing::warn!(owner, "Machines have another owner, and are only observed");
            } else {
                tracing::info!("Machines have no other owner any more");
            }
            self.known = found;
        }
        self.known.as_deref()
    }
}
