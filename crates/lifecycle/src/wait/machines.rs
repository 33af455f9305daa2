//! What the platform knows about machines, written to the cluster: without it no address could be matched to its machine.

use std::collections::BTreeMap;
use std::net::IpAddr;

use kube::Api;
use serde_json::json;
use slipway_api::openshift::Machine;
use slipway_assets::names::MACHINES_NAMESPACE;
use slipway_config::install_config::PayloadType;
use slipway_providers::cluster::merge_part;

use super::WaitTarget;
use crate::text::chain;

/// Those that are still to be told.
#[derive(Debug)]
pub(super) struct PendingAddresses {
    left: BTreeMap<String, Vec<IpAddr>>,
}

impl PendingAddresses {
    /// On OpenShift its own controllers do it. Virtual addresses belong to no machine.
    pub(super) fn new(addresses: &BTreeMap<String, Vec<IpAddr>>, subject: &WaitTarget) -> Self {
        let mut left = addresses.clone();
        for addresses in left.values_mut() {
            addresses.retain(|own| !subject.vips.contains(own) && !subject.ingress_vips.contains(own));
        }
        left.retain(|_, addresses| !addresses.is_empty() && subject.payload == PayloadType::Kubernetes);
        PendingAddresses { left }
    }

    /// Writes what can be written now; the rest another time.
    pub(super) async fn tell(&mut self, subject: &WaitTarget) {
        if self.left.is_empty() {
            return;
        }
        let Ok(client) = subject.client().await else { return };
        let api: Api<Machine> = Api::namespaced(client, MACHINES_NAMESPACE);
        for (name, addresses) in std::mem::take(&mut self.left) {
            let kinds = addresses.iter().map(|address| ("InternalIP", address.to_string()));
            let names = [("InternalDNS", name.clone()), ("Hostname", name.clone())];
            let all: Vec<_> = names
                .into_iter()
                .chain(kinds)
                .map(|(kind, address)| json!({"type": kind, "address": address}))
                .collect();
            let change = json!({"status": {"addresses": all}});
            let doing = "writing the addresses of a machine";
            if let Err(error) = merge_part(&api, "status", &name, doing, &change).await {
                tracing::debug!(
                    machine = name,
                    error = chain(&error),
                    "the addresses of a machine are not in the cluster yet"
                );
                self.left.insert(name, addresses);
            }
        }
    }
}
