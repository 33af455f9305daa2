//! How often each answer was given.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::answer::Outcome;
use super::role::Role;
use crate::runtime::net::{End, Watch};

/// How many of those who do not trust us are remembered, and how long: a machine that boots tries again every few seconds.
const DISTRUSTING: (usize, Duration) = (8, Duration::from_secs(30));

/// Counters of the server.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    requests: Family<Labels, Counter>,
    connections: Gauge,
    distrusting: Arc<Mutex<BTreeMap<IpAddr, Instant>>>,
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
            "Open connections to the machine-config server",
            metrics.connections.clone(),
        );
        metrics
    }

    /// Roles that do not exist are counted under no name: whoever asks must not choose labels.
    pub(super) fn count(&self, role: Option<&Role>, outcome: Outcome) {
        let role = role.map(Role::to_string).unwrap_or_default();
        self.requests.get_or_create(&Labels { role, outcome: outcome.as_str() }).inc();
    }

    /// Who did not accept our certificate lately.
    pub fn distrusting(&self) -> Vec<IpAddr> {
        let distrusting = self.distrusting.lock().unwrap_or_else(PoisonError::into_inner);
        distrusting
            .iter()
            .filter(|(_, since)| since.elapsed() < DISTRUSTING.1)
            .map(|(peer, _)| *peer)
            .collect()
    }

    fn note_distrust(&self, peer: IpAddr) {
        let mut distrusting = self.distrusting.lock().unwrap_or_else(PoisonError::into_inner);
        distrusting.retain(|_, since| since.elapsed() < DISTRUSTING.1);
        if distrusting.len() < DISTRUSTING.0 || distrusting.contains_key(&peer) {
            distrusting.insert(peer, Instant::now());
        }
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
            End::Distrusted => {
                self.note_distrust(peer);
                Outcome::Distrusted
            }
            End::TooSlow => Outcome::TooSlow,
            End::TooLarge => Outcome::TooLarge,
            End::Malformed => Outcome::Malformed,
        };
        self.count(None, outcome);
        // Whoever opens connections must not fill the log as well.
        tracing::debug!(%peer, outcome = outcome.as_str(), "a connection ended without an answer");
    }
}
