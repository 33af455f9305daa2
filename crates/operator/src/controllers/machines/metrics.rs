//! What is counted about Machines.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Of the Machine controller.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    machines: Family<PhaseLabel, Gauge>,
    work: Family<ResultLabel, Counter>,
    observing: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabel {
    phase: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: String,
}

impl Metrics {
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Metrics::default();
        registry.register("slipway_machines", "Machines by phase", metrics.machines.clone());
        registry.register(
            "slipway_machine_work",
            "What was done about Machines, by how it ended: ok, or the reason",
            metrics.work.clone(),
        );
        registry.register(
            "slipway_machines_observed_only",
            "Whether another program owns the Machines, so that they are only looked at",
            metrics.observing.clone(),
        );
        metrics
    }

    pub(super) fn phases<'a>(&self, phases: impl Iterator<Item = &'a str>) {
        let mut counts = std::collections::BTreeMap::new();
        for phase in phases {
            *counts.entry(phase).or_insert(0) += 1;
        }
        self.machines.clear();
        for (phase, count) in counts {
            self.machines.get_or_create(&PhaseLabel { phase: phase.to_owned() }).set(count);
        }
    }

    pub(super) fn worked(&self, result: &str) {
        self.work.get_or_create(&ResultLabel { result: result.to_owned() }).inc();
    }

    pub(super) fn observing(&self, observing: bool) {
        self.observing.set(observing.into());
    }
}
