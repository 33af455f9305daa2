//! How often each verdict was given.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use slipway_assess::csr::{Decision, Signer};

/// Counters of the approver.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    verdicts: Family<Labels, Counter>,
    pub(super) pending: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    signer: &'static str,
    outcome: &'static str,
    reason: &'static str,
}

impl Metrics {
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Metrics::default();
        registry.register(
            "slipway_csr_verdicts",
            "Decisions on certificate signing requests of kubelets; a request counts once for each reason",
            metrics.verdicts.clone(),
        );
        registry.register(
            "slipway_csr_pending",
            "Certificate signing requests of kubelets that are pending",
            metrics.pending.clone(),
        );
        metrics
    }

    pub(super) fn count(&self, signer: Signer, verdict: &Decision) {
        let (outcome, reason) = match verdict {
            Decision::Approve(ground) => ("approved", ground.reason()),
            Decision::Refuse(refusal) => ("refused", refusal.reason()),
        };
        self.verdicts.get_or_create(&Labels { signer: signer.as_str(), outcome, reason }).inc();
    }
}
