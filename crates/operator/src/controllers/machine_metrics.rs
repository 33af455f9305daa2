//! What is counted about sets, health checks, drains and links.

use std::collections::BTreeMap;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use slipway_api::openshift::{MachineSet, MachineSetStatus};

use super::machine_conditions::Verdict;

/// Of the controllers of machines beside the one that makes them.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    sets: Family<SetLabels, Gauge>,
    set_changes: Family<SetChangeLabels, Counter>,
    set_holds: Family<SetHoldLabels, Gauge>,
    checks: Family<CheckLabels, Gauge>,
    checks_allowed: Family<CheckLabel, Gauge>,
    remediations: Family<RemediationLabels, Counter>,
    drains: Family<ReasonLabel, Gauge>,
    evictions: Family<ResultLabel, Counter>,
    links: Family<StateLabel, Gauge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SetLabels {
    set: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SetChangeLabels {
    set: String,
    change: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SetHoldLabels {
    set: String,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CheckLabels {
    check: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CheckLabel {
    check: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RemediationLabels {
    check: String,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

/// A set as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetSight {
    name: String,
    states: [(&'static str, u32); 4],
    /// Why it makes no machines.
    held: Option<&'static str>,
}

impl SetSight {
    /// As its new status says.
    pub(crate) fn new(set: &MachineSet, status: &MachineSetStatus, verdict: &Verdict) -> Self {
        let states = [
            ("wanted", set.spec.replicas),
            ("present", status.replicas),
            ("ready", status.ready_replicas),
            ("available", status.available_replicas),
        ];
        let held = verdict.severity.map(|_| verdict.reason);
        SetSight { name: set.metadata.name.clone().unwrap_or_default(), states, held }
    }
}

/// A health check as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckSight {
    pub(crate) name: String,
    /// Machines by state; none where it is paused or broken.
    pub(crate) states: Vec<(&'static str, usize)>,
    pub(crate) is_allowed: bool,
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Metrics {
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Metrics::default();
        registry.register(
            "slipway_machine_set_machines",
            "Machines of a set: wanted, present, ready and available",
            metrics.sets.clone(),
        );
        registry.register(
            "slipway_machine_set_changes",
            "Machines that a set has created, deleted or retained",
            metrics.set_changes.clone(),
        );
        registry.register(
            "slipway_machine_set_held",
            "Sets that make no machines, by reason",
            metrics.set_holds.clone(),
        );
        registry.register(
            "slipway_machine_health_check_machines",
            "Machines of a health check: expected, healthy, and held, which are unhealthy and not replaced",
            metrics.checks.clone(),
        );
        registry.register(
            "slipway_machine_health_check_allowed",
            "Whether a health check may have machines replaced",
            metrics.checks_allowed.clone(),
        );
        registry.register(
            "slipway_machine_health_check_remediations",
            "Machines that a health check has had deleted or retained",
            metrics.remediations.clone(),
        );
        registry.register(
            "slipway_drain_machines",
            "Machines that are being deleted and not drained yet, by the reason of their condition",
            metrics.drains.clone(),
        );
        registry.register(
            "slipway_drain_evictions",
            "Evictions of pods, by what came of them: leaving, gone, kept or failed",
            metrics.evictions.clone(),
        );
        registry.register(
            "slipway_node_links",
            "Machines by whether their node is known: linked, unlinked or ambiguous",
            metrics.links.clone(),
        );
        metrics
    }

    /// All sets: a series of one that is gone would raise alerts for ever.
    pub(crate) fn sets(&self, all: &[SetSight]) {
        self.sets.clear();
        self.set_holds.clear();
        for SetSight { name, states, held } in all {
            for (state, count) in states {
                self.sets.get_or_create(&SetLabels { set: name.clone(), state }).set((*count).into());
            }
            if let Some(reason) = held {
                self.set_holds.get_or_create(&SetHoldLabels { set: name.clone(), reason }).set(1);
            }
        }
    }

    pub(crate) fn set_changed(&self, set: &str, change: &'static str, count: usize) {
        let labels = SetChangeLabels { set: set.to_owned(), change };
        self.set_changes.get_or_create(&labels).inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// All health checks.
    pub(crate) fn checks(&self, all: &[CheckSight]) {
        self.checks.clear();
        self.checks_allowed.clear();
        for CheckSight { name, states, is_allowed } in all {
            for (state, count) in states {
                self.checks.get_or_create(&CheckLabels { check: name.clone(), state }).set(number(*count));
            }
            self.checks_allowed.get_or_create(&CheckLabel { check: name.clone() }).set((*is_allowed).into());
        }
    }

    pub(crate) fn remediated(&self, check: &str, result: &'static str) {
        self.remediations.get_or_create(&RemediationLabels { check: check.to_owned(), result }).inc();
    }

    /// All machines that are not drained yet.
    pub(crate) fn drains(&self, reasons: &[&'static str]) {
        set_counts(&self.drains, reasons, |reason| ReasonLabel { reason });
    }

    pub(crate) fn evicted(&self, result: &'static str) {
        self.evictions.get_or_create(&ResultLabel { result }).inc();
    }

    /// All machines.
    pub(crate) fn links(&self, states: &[&'static str]) {
        set_counts(&self.links, states, |state| StateLabel { state });
    }
}

fn set_counts<L>(family: &Family<L, Gauge>, all: &[&'static str], label: impl Fn(&'static str) -> L)
where
    L: Clone + std::hash::Hash + Eq,
{
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    family.clear();
    for (one, count) in counts {
        family.get_or_create(&label(one)).set(number(count));
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::{CheckSight, Metrics};

    fn lines(registry: &Registry) -> Vec<String> {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        let mut lines: Vec<_> =
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
        lines.sort();
        lines
    }

    #[test]
    fn what_is_gone_has_no_series() {
        let mut registry = Registry::default();
        let metrics = Metrics::register(&mut registry);
        metrics.drains(&["Draining", "PodsBlocked", "Draining"]);
        let states = vec![("expected", 3), ("healthy", 1), ("held", 2)];
        metrics.checks(&[CheckSight { name: "workers".to_owned(), states, is_allowed: false }]);
        metrics.remediated("workers", "deleted");
        assert_eq!(
            lines(&registry),
            [
                r#"slipway_drain_machines{reason="Draining"} 2"#,
                r#"slipway_drain_machines{reason="PodsBlocked"} 1"#,
                r#"slipway_machine_health_check_allowed{check="workers"} 0"#,
                r#"slipway_machine_health_check_machines{check="workers",state="expected"} 3"#,
                r#"slipway_machine_health_check_machines{check="workers",state="healthy"} 1"#,
                r#"slipway_machine_health_check_machines{check="workers",state="held"} 2"#,
                r#"slipway_machine_health_check_remediations_total{check="workers",result="deleted"} 1"#,
            ]
        );
        metrics.drains(&[]);
        metrics.checks(&[]);
        assert_eq!(
            lines(&registry),
            [r#"slipway_machine_health_check_remediations_total{check="workers",result="deleted"} 1"#]
        );
    }
}
