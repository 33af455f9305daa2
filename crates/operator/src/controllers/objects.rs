//! What connections, drivers and checks all look at, watched once for the three of them.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::runtime::reflector::ObjectRef;
use slipway_api::slipway::{VDO_CONFIG_NAME, VDOConfig, VSphereConnection, VSphereConnectionSpec};

use crate::runtime::trigger::Trigger;
use crate::runtime::watches::{Mirror, Watches, version};

/// The VDOConfig, the connections, and the Secrets and ConfigMaps beside them. Of the latter two only the versions are kept.
#[derive(Debug, Clone)]
pub struct Objects {
    namespace: String,
    vdo: Mirror<DeserializeGuard<VDOConfig>>,
    connections: Mirror<DeserializeGuard<VSphereConnection>>,
    secrets: Mirror<PartialObjectMeta<Secret>>,
    maps: Mirror<PartialObjectMeta<ConfigMap>>,
}

/// The versions of what a connection names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    pub secret: Option<String>,
    pub authorities: Option<String>,
}

impl Objects {
    /// Those of a namespace; their changes wake the trigger.
    pub fn watch(watches: &Watches, namespace: &str, trigger: &Trigger) -> Self {
        let client = || watches.client().clone();
        Objects {
            namespace: namespace.to_owned(),
            vdo: watches.keep(Api::all(client()), trigger),
            connections: watches.keep(Api::namespaced(client(), namespace), trigger),
            secrets: watches.keep(Api::namespaced(client(), namespace), trigger),
            maps: watches.keep(Api::namespaced(client(), namespace), trigger),
        }
    }

    /// Waits until all are known. The writers live as long as the watches do.
    pub async fn ready(&self) {
        let _ = tokio::join!(
            self.vdo.wait_until_ready(),
            self.connections.wait_until_ready(),
            self.secrets.wait_until_ready(),
            self.maps.wait_until_ready(),
        );
    }

    /// The VDOConfig, unless it is malformed.
    pub fn config(&self) -> Option<VDOConfig> {
        self.vdo.get(&ObjectRef::new(VDO_CONFIG_NAME)).and_then(|config| config.0.clone().ok())
    }

    /// The connections that are not malformed, by name.
    pub fn connections(&self) -> Vec<VSphereConnection> {
        let state = self.connections.state();
        let mut all: Vec<VSphereConnection> =
            state.iter().filter_map(|object| object.0.as_ref().ok().cloned()).collect();
        all.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        all
    }

    /// The versions of what a connection names.
    pub fn versions(&self, spec: &VSphereConnectionSpec) -> Versions {
        let bundle = spec.tls.as_ref().and_then(|tls| tls.ca_bundle.as_ref());
        Versions {
            secret: version(&self.secrets, &self.namespace, &spec.credentials_secret.name),
            authorities: bundle.and_then(|bundle| version(&self.maps, &self.namespace, &bundle.name)),
        }
    }
}
