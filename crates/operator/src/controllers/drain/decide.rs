//! What comes next for a machine that is being deleted. Pure.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use slipway_api::openshift::Machine;
use slipway_assess::machines::names::{
    DRAIN_TIMEOUT, DRAINABLE, DRAINED, EXCLUDE_DRAINING, PAUSED, annotation,
};
use slipway_assess::machines::pods::{called, stays};
use slipway_assess::machines::time;

use crate::controllers::machine_conditions::{Severity, Verdict, holds};

/// Messages name this many pods.
const MAX_NAMED: usize = 5;
/// On a node that is not heard of no pod is ever confirmed gone: those that were told to go are not waited for any longer.
const UNREACHABLE_GRACE: SignedDuration = SignedDuration::from_secs(1);

/// Whether a machine is to be drained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gate {
    /// It is not being deleted, or it is drained.
    Leave,
    /// There is nothing to drain.
    Done(Verdict),
    /// A hook keeps it.
    Held(Verdict),
    /// Its node is to be drained, if it is there.
    Node(String),
}

/// What is known without looking at its node. `by_id` finds the node of a provider's id, for a machine that goes before it was
/// linked.
pub(super) fn gate(machine: &Machine, by_id: impl Fn(&str) -> Option<String>) -> Gate {
    let status = machine.status.clone().unwrap_or_default();
    let is_paused = annotation(&machine.metadata, PAUSED).is_some();
    if machine.metadata.deletion_timestamp.is_none() || is_paused || holds(&status.conditions, DRAINED) {
        return Gate::Leave;
    }
    if annotation(&machine.metadata, EXCLUDE_DRAINING).is_some() {
        let message = format!("not drained, because of the annotation `{EXCLUDE_DRAINING}`");
        return Gate::Done(Verdict::holds(DRAINED, "DrainExcluded", message));
    }
    let hooks = machine.spec.lifecycle_hooks.clone().unwrap_or_default().pre_drain;
    if !hooks.is_empty() {
        let named: Vec<String> =
            hooks.iter().map(|hook| format!("`{}` of `{}`", hook.name, hook.owner)).collect();
        let message = format!("waits for its hooks before the drain: {}", named.join(", "));
        return Gate::Held(Verdict::fails(DRAINABLE, Severity::Warning, "HookPresent", message));
    }
    let linked = status.node_ref.and_then(|node| node.name);
    match linked.or_else(|| machine.spec.provider_id.as_deref().and_then(by_id)) {
        Some(node) => Gate::Node(node),
        None => Gate::Done(Verdict::holds(DRAINED, "NoNode", "it never became a node")),
    }
}

/// When the drain ends whatever is left, if the machine says so.
pub(super) fn deadline(machine: &Machine) -> Option<Timestamp> {
    let limit = time::parse(annotation(&machine.metadata, DRAIN_TIMEOUT)?)?;
    let begun = machine.metadata.deletion_timestamp.as_ref()?.0;
    begun.checked_add(limit).ok()
}

/// What is to be done about the pods of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pods {
    /// By position in the list.
    pub(super) evict: Vec<usize>,
    /// Told to go already, by name.
    pub(super) leaving: Vec<String>,
}

impl Pods {
    pub(super) fn is_empty(&self) -> bool {
        self.evict.is_empty() && self.leaving.is_empty()
    }
}

/// Sorts the pods of a node.
pub(super) fn pods(all: &[Pod], is_unreachable: bool, now: Timestamp) -> Pods {
    let mut pods = Pods::default();
    for (at, pod) in all.iter().enumerate().filter(|(_, pod)| stays(pod).is_none()) {
        match &pod.metadata.deletion_timestamp {
            None => pods.evict.push(at),
            Some(gone) if is_unreachable && now.duration_since(gone.0) >= UNREACHABLE_GRACE => {}
            Some(_) => pods.leaving.push(called(pod)),
        }
    }
    pods
}

/// What became of a round of evictions, by pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Round {
    /// On their way.
    pub(super) leaving: Vec<String>,
    /// Kept by a disruption budget, and what the API server says about it.
    pub(super) kept: Vec<(String, String)>,
    /// Nothing was found out.
    pub(super) failed: Vec<(String, String)>,
}

/// What is said about a machine after a round.
pub(super) fn verdict(round: &Round, node: &str, deadline: Option<Timestamp>, now: Timestamp) -> Verdict {
    let Round { leaving, kept, failed } = round;
    if leaving.is_empty() && kept.is_empty() && failed.is_empty() {
        return Verdict::holds(DRAINED, "NodeDrained", format!("no pod is left to leave node `{node}`"));
    }
    let all = kept.iter().chain(failed).map(|(pod, _)| pod).chain(leaving);
    if deadline.is_some_and(|deadline| deadline <= now) {
        let message = format!(
            "the drain of node `{node}` took longer than `{DRAIN_TIMEOUT}` allows; left: {}",
            some(all)
        );
        return Verdict::holds(DRAINED, "DrainTimeout", message);
    }
    let end = match deadline {
        Some(deadline) => format!("the drain ends at {deadline} with what is left then"),
        None => {
            format!("the drain has no deadline; the annotation `{DRAIN_TIMEOUT}` on the Machine gives it one")
        }
    };
    let fails = |severity, reason, message| Verdict::fails(DRAINED, severity, reason, message);
    if !kept.is_empty() {
        let (more, named) = (kept.len().saturating_sub(MAX_NAMED), kept.iter().take(MAX_NAMED));
        let mut named: Vec<String> = named.map(|(pod, why)| format!("pod `{pod}`: {why}")).collect();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        let message = format!("node `{node}` cannot be drained yet: {}; {end}", named.join("; "));
        return fails(Severity::Warning, "PodsBlocked", message);
    }
    if let Some((pod, why)) = failed.first() {
        return fails(Severity::Warning, "DrainError", format!("pod `{pod}` on node `{node}`: {why}; {end}"));
    }
    fails(
        Severity::Info,
        "Draining",
        format!("pods are leaving node `{node}`: {}; {end}", some(leaving.iter())),
    )
}

/// The first few names.
fn some<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let mut names: Vec<&String> = names.collect();
    names.sort();
    let mut text =
        names.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMED {
        text.push_str(&format!(" and {} more", names.len() - MAX_NAMED));
    }
    text
}

/// Of the control plane one node at a time: what a node waits for.
pub(super) fn turn(node: &str, others: &[String]) -> Option<Verdict> {
    let other = others.iter().find(|other| *other != node)?;
    let message = format!(
        "node `{node}` of the control plane waits until `{other}`, which is cordoned, is back or gone: they are drained one at a time"
    );
    Some(Verdict::fails(DRAINED, Severity::Info, "WaitingForControlPlane", message))
}

#[cfg(test)]
mod tests;
