//! Which machines are replaced now, and why others are not. Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::ResourceExt;
use slipway_api::openshift::Machine;
use slipway_assess::machines::domain::FailureDomain;
use slipway_assess::machines::names::{PAUSED, annotation};

use super::health::{Cause, Health};
use super::rules::Max;
use crate::controllers::machine_conditions::{Severity, Verdict};

/// Machines that something else repairs.
const STRATEGY: &str = "machine.openshift.io/remediation-strategy";
/// Of a failure domain a fifth is replaced at a time, and one at least.
const DOMAIN_SHARE: usize = 5;

/// The condition of a check that may have machines replaced, as OpenShift calls it.
pub(super) const REMEDIATION_ALLOWED: &str = "RemediationAllowed";
/// The condition of a check none of whose failure domains is down as a whole.
pub(super) const DOMAINS_UP: &str = "FailureDomainsUp";

/// A machine that a check selects.
#[derive(Debug, Clone)]
pub(super) struct Judged<'m> {
    pub(super) machine: &'m Machine,
    pub(super) health: Health,
    /// It is being deleted, or was told to go.
    pub(super) is_leaving: bool,
    pub(super) domain: FailureDomain,
}

/// Why an unhealthy machine is not replaced now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hold {
    TooManyUnhealthy,
    DomainDown,
    DomainBudget,
    NoController,
    Paused,
    Rollout,
    OtherStrategy,
}

impl Hold {
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Hold::TooManyUnhealthy => "TooManyUnhealthy",
            Hold::DomainDown => "FailureDomainDown",
            Hold::DomainBudget => "FailureDomainBudget",
            Hold::NoController => "SkippedNoController",
            Hold::Paused => "Paused",
            Hold::Rollout => "RolloutRunning",
            Hold::OtherStrategy => "OtherStrategy",
        }
    }

    pub(super) fn sentence(&self) -> &'static str {
        match self {
            Hold::TooManyUnhealthy => "too many machines are unhealthy at once",
            Hold::DomainDown => {
                "all machines of its failure domain are unhealthy: it is the place that failed"
            }
            Hold::DomainBudget => "enough machines of its failure domain are being replaced already",
            Hold::NoController => "no set owns it, so nothing would replace it",
            Hold::Paused => "it is paused",
            Hold::Rollout => "its set is being rolled out",
            Hold::OtherStrategy => "its annotation names another way to repair it",
        }
    }
}

/// What a check leads to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Decision {
    /// To be replaced, by position, and why.
    pub(super) replace: Vec<(usize, Cause)>,
    /// Unhealthy, and left.
    pub(super) held: Vec<(usize, Cause, Hold)>,
    pub(super) expected: usize,
    pub(super) healthy: usize,
    /// How many more may become unhealthy.
    pub(super) allowed: usize,
    pub(super) verdicts: Vec<Verdict>,
    /// When the next one may become unhealthy.
    pub(super) due: Option<Timestamp>,
}

/// Decides about all machines that a check selects. `rollouts` are the ids of sets that are being rolled out.
pub(super) fn decide(judged: &[Judged<'_>], max: Max, rollouts: &BTreeSet<String>) -> Decision {
    // One that leaves in good health is scaled down: that says nothing about the rest.
    let counted: Vec<(usize, &Judged<'_>)> = judged
        .iter()
        .enumerate()
        .filter(|(_, one)| !(one.is_leaving && one.health == Health::Healthy))
        .collect();
    let is_unhealthy = |one: &Judged<'_>| matches!(one.health, Health::Unhealthy(_));
    let unhealthy = counted.iter().filter(|(_, one)| one.is_leaving || is_unhealthy(one)).count();
    let (expected, max) = (counted.len(), max.of_total(counted.len()));
    let healthy = counted.iter().filter(|(_, one)| !one.is_leaving && one.health == Health::Healthy).count();
    let domains = Domains::of(&counted);
    let mut begun = domains.leaving.clone();
    let (mut replace, mut held) = (Vec::new(), Vec::new());
    for (at, one) in &counted {
        let Health::Unhealthy(cause) = &one.health else { continue };
        if one.is_leaving {
            continue;
        }
        let hold = if unhealthy > max {
            Some(Hold::TooManyUnhealthy)
        } else {
            own_hold(one.machine, rollouts).or_else(|| domains.hold(one, cause, &begun))
        };
        if let Some(hold) = hold {
            held.push((*at, cause.clone(), hold));
        } else {
            *begun.entry(&one.domain).or_default() += 1;
            replace.push((*at, cause.clone()));
        }
    }
    let due = judged.iter().filter(|one| !one.is_leaving).filter_map(|one| match &one.health {
        Health::Starting(until) => *until,
        Health::Suspect(until) => Some(*until),
        Health::Healthy | Health::Unhealthy(_) => None,
    });
    Decision {
        replace,
        held,
        expected,
        healthy,
        allowed: max.saturating_sub(unhealthy),
        verdicts: vec![budget_verdict(unhealthy, max, expected), domains.verdict()],
        due: due.min(),
    }
}

fn budget_verdict(unhealthy: usize, max: usize, expected: usize) -> Verdict {
    if unhealthy > max {
        let message = format!(
            "{unhealthy} of {expected} machines are unhealthy, and `maxUnhealthy` is {max}: none is replaced before there are fewer"
        );
        return Verdict::fails(REMEDIATION_ALLOWED, Severity::Warning, "TooManyUnhealthy", message);
    }
    Verdict::holds(REMEDIATION_ALLOWED, "WithinBudget", "")
}

/// What keeps a machine from being replaced, whatever others do.
fn own_hold(machine: &Machine, rollouts: &BTreeSet<String>) -> Option<Hold> {
    let mut owners = machine.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true));
    if annotation(&machine.metadata, PAUSED).is_some() {
        Some(Hold::Paused)
    } else if annotation(&machine.metadata, STRATEGY).is_some() {
        Some(Hold::OtherStrategy)
    } else {
        match owner {
            None => Some(Hold::NoController),
            Some(owner) => rollouts.contains(&owner.uid).then_some(Hold::Rollout),
        }
    }
}

/// The failure domains of the machines of a check.
struct Domains<'j> {
    /// How many machines each has.
    size: BTreeMap<&'j FailureDomain, usize>,
    /// How many of them are going because they were unhealthy.
    leaving: BTreeMap<&'j FailureDomain, usize>,
    /// Those whose nodes are all unwell: several at once are the place, not the machines.
    down: BTreeSet<&'j FailureDomain>,
    /// The same of whole endpoints.
    servers_down: BTreeSet<&'j str>,
}

impl<'j> Domains<'j> {
    fn of(counted: &[(usize, &'j Judged<'j>)]) -> Self {
        let (mut size, mut leaving) = (BTreeMap::new(), BTreeMap::new());
        // Of machines with nodes: how many there are, and how many of their nodes are unwell.
        let mut nodes: BTreeMap<&FailureDomain, (usize, usize)> = BTreeMap::new();
        let mut servers: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (_, one) in counted {
            *size.entry(&one.domain).or_default() += 1;
            if one.is_leaving {
                *leaving.entry(&one.domain).or_default() += 1;
            }
            let is_unwell = match &one.health {
                Health::Healthy => false,
                Health::Suspect(_) => true,
                Health::Unhealthy(cause) if cause.is_of_node => true,
                Health::Starting(_) | Health::Unhealthy(_) => continue,
            };
            let count = |entry: &mut (usize, usize)| {
                entry.0 += 1;
                entry.1 += usize::from(is_unwell);
            };
            count(nodes.entry(&one.domain).or_default());
            if let Some(server) = &one.domain.server {
                count(servers.entry(server).or_default());
            }
        }
        let is_down = |(all, unwell): &(usize, usize)| *all >= 2 && all == unwell;
        Domains {
            size,
            leaving,
            down: nodes.iter().filter(|(_, counts)| is_down(counts)).map(|(domain, _)| *domain).collect(),
            servers_down: servers
                .iter()
                .filter(|(_, counts)| is_down(counts))
                .map(|(name, _)| *name)
                .collect(),
        }
    }

    fn hold(
        &self,
        one: &Judged<'_>,
        cause: &Cause,
        begun: &BTreeMap<&'j FailureDomain, usize>,
    ) -> Option<Hold> {
        let server = one.domain.server.as_deref();
        let is_down = self.down.contains(&one.domain)
            || server.is_some_and(|server| self.servers_down.contains(server));
        if cause.is_of_node && is_down {
            return Some(Hold::DomainDown);
        }
        let size = self.size.get(&one.domain).copied().unwrap_or_default();
        let budget = (size / DOMAIN_SHARE).max(1);
        (begun.get(&one.domain).copied().unwrap_or_default() >= budget).then_some(Hold::DomainBudget)
    }

    fn verdict(&self) -> Verdict {
        let mut down: Vec<String> = self.down.iter().map(ToString::to_string).collect();
        down.extend(self.servers_down.iter().map(|server| format!("all of {server}")));
        if down.is_empty() {
            return Verdict::holds(DOMAINS_UP, "AsExpected", "");
        }
        let message = format!(
            "every node is unwell in: {}. Nothing is replaced there: look at the place first",
            down.join(", ")
        );
        Verdict::fails(DOMAINS_UP, Severity::Warning, "FailureDomainDown", message)
    }
}

/// What is said about a machine that is not replaced.
pub(super) fn held_sentence(machine: &Machine, cause: &Cause, hold: &Hold) -> String {
    format!(
        "machine `{}` is unhealthy ({}), and is not replaced: {}",
        machine.name_any(),
        cause.message,
        hold.sentence()
    )
}

#[cfg(test)]
mod tests;
