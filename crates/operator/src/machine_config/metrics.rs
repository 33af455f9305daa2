//! How often each answer was given.

use std::net::IpAddr;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::answer::Outcome;
use super::role::Role;
use crate::net::{End, Watch};

/// Counters of the server.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    requests: Family<Labels, Counter>,
    connections: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    role: String,
    outcome: &'static str,
}

impl Metrics {
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Metrics::default();
        registry.register(
            "slipway_machine_config_requests",
            "Requests to the machine-config server, and connections that never had one",
            metrics.requests.clone(),
        );
        registry.register(
            "slipway_machine_config_connections",
            "Connections that are open",
            metrics.connections.clone(),
        );
        metrics
    }

    /// Roles that do not exist are counted under no name: whoever asks must not choose labels.
    pub(super) fn count(&self, role: Option<&Role>, outcome: Outcome) {
        let role = role.map(Role::to_string).unwrap_or_default();
        self.requests.get_or_create(&Labels { role, outcome: outcome.as_str() }).inc();
    }

    pub fn counted(&self, role: &str, outcome: Outcome) -> u64 {
        self.requests.get_or_create(&Labels { role: role.to_owned(), outcome: outcome.as_str() }).get()
    }
}

impl Watch for Metrics {
    fn opened(&self) {
        self.connections.inc();
    }

    fn closed(&self) {
        self.connections.dec();
    }

    fn ended(&self, peer: IpAddr, end: End) {
        let outcome = match end {
            End::ForeignNetwork => Outcome::ForeignNetwork,
            End::TooManyConnections => Outcome::TooManyConnections,
            End::NoHandshake => Outcome::NoHandshake,
            End::TooSlow => Outcome::TooSlow,
            End::TooLarge => Outcome::TooLarge,
            End::Malformed => Outcome::Malformed,
        };
        self.count(None, outcome);
        // Whoever opens connections must not fill the log as well.
        tracing::debug!(%peer, outcome = outcome.as_str(), "a connection ended without an answer");
    }
}
