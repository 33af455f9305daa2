//! What the controllers count and measure.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::controllers::checks::Board;

/// Of the controllers of connections and drivers.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    leading: Gauge,
    validations: Family<ConnectionLabel, Counter>,
    ready: Family<ConnectionLabel, Gauge>,
    passes: Family<PassLabel, Counter>,
    drivers: Family<DriverLabels, Gauge>,
    nodes: Family<NodeLabel, Gauge>,
    board: Board,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConnectionLabel {
    connection: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PassLabel {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DriverLabels {
    driver: &'static str,
    condition: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NodeLabel {
    state: &'static str,
}

impl Metrics {
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Metrics::default();
        registry.register(
            "slipway_leading",
            "Whether this copy of the operator is the one that acts",
            metrics.leading.clone(),
        );
        registry.register(
            "slipway_connection_validations",
            "Looks at a vCenter, by connection",
            metrics.validations.clone(),
        );
        registry.register(
            "slipway_connection_ready",
            "Whether the drivers can use a connection",
            metrics.ready.clone(),
        );
        registry.register(
            "slipway_drivers_passes",
            "Passes over the drivers, by how they ended",
            metrics.passes.clone(),
        );
        registry.register("slipway_driver_condition", "Conditions of the drivers", metrics.drivers.clone());
        registry.register("slipway_nodes", "Nodes by their state for the drivers", metrics.nodes.clone());
        registry.register_collector(Box::new(metrics.board.clone()));
        metrics
    }

    /// The series of the health checks.
    pub fn board(&self) -> &Board {
        &self.board
    }

    pub(crate) fn leading(&self, leading: bool) {
        self.leading.set(leading.into());
    }

    pub(crate) fn connection(&self, name: &str, ready: bool) {
        let label = ConnectionLabel { connection: name.to_owned() };
        self.validations.get_or_create(&label).inc();
        self.ready.get_or_create(&label).set(ready.into());
    }

    /// A series of something that is gone would raise alerts for ever.
    pub(crate) fn forget_connection(&self, name: &str) {
        let label = ConnectionLabel { connection: name.to_owned() };
        self.validations.remove(&label);
        self.ready.remove(&label);
    }

    pub(crate) fn pass(&self, result: &'static str) {
        self.passes.get_or_create(&PassLabel { result }).inc();
    }

    pub(crate) fn condition(&self, driver: &'static str, condition: &str, holds: bool) {
        let labels = DriverLabels { driver, condition: condition.to_owned() };
        self.drivers.get_or_create(&labels).set(holds.into());
    }

    pub(crate) fn nodes(&self, state: &'static str, count: u32) {
        self.nodes.get_or_create(&NodeLabel { state }).set(count.into());
    }
}
