//! Which machines a set adopts, makes and gives up. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};
use slipway_api::openshift::{Machine, MachineSet};
use slipway_assess::machines::deletion::{DeletePolicy, UnknownPolicy, order};
use slipway_assess::machines::names::{MAX_SURGE, PAUSED, RETAINED, annotation, is_kept};
use thiserror::Error;

use super::failures::{Allowed, Failures};

/// Why a set cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Problem {
    #[error("the selector of the MachineSet is empty; name a label that its template has")]
    EmptySelector,
    #[error("the selector of the MachineSet cannot be read: {0}")]
    UnreadableSelector(String),
    #[error(
        "the labels of the template do not match the selector; machines made of it would not belong to the set"
    )]
    SelectorMismatch,
    #[error(transparent)]
    Policy(#[from] UnknownPolicy),
    #[error("the annotation `{MAX_SURGE}` is `{0}`; write a number")]
    Surge(String),
}

/// The reason of all of them: what OpenShift calls it.
pub(super) const INVALID: &str = "InvalidConfiguration";

/// The machines of a namespace as a set sees them.
#[derive(Debug)]
pub(super) struct Members<'m> {
    /// Its own that stay.
    pub(super) own: Vec<&'m Machine>,
    /// Its own that are being deleted.
    pub(super) leaving: Vec<&'m Machine>,
    /// Those that match and belong to no other.
    pub(super) orphans: Vec<&'m Machine>,
    /// Its own that do not match any more: they were taken out by hand.
    pub(super) strayed: Vec<&'m Machine>,
}

/// What is to be done.
#[derive(Debug, Clone)]
pub(super) struct Plan<'m> {
    pub(super) adopt: Vec<&'m Machine>,
    /// They leave the set and stay what they are.
    pub(super) release: Vec<&'m Machine>,
    /// They leave the set, marked, since their policy is to be kept.
    pub(super) retain: Vec<&'m Machine>,
    pub(super) delete: Vec<&'m Machine>,
    /// How many are made.
    pub(super) create: usize,
    /// Why fewer are made than are missing, and until when.
    pub(super) hold: Option<Hold>,
    /// To be written down before anything is made.
    pub(super) failures: Failures,
}

impl Plan<'_> {
    /// Whether the number of machines changes.
    pub(super) fn is_scaling(&self) -> bool {
        self.create > 0 || !self.delete.is_empty() || !self.retain.is_empty()
    }
}

/// Why fewer machines are made than are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hold {
    /// The last ones failed.
    Failures { count: usize, until: Timestamp },
    /// Some must be gone first.
    Surge { leaving: usize },
}

/// The selector of a set, if it is one.
pub(super) fn selector(set: &MachineSet) -> Result<Selector, Problem> {
    let selector = Selector::try_from(set.spec.selector.clone())
        .map_err(|error| Problem::UnreadableSelector(error.to_string()))?;
    if selector.selects_all() {
        return Err(Problem::EmptySelector);
    }
    if !selector.matches(&set.spec.template.metadata.labels) {
        return Err(Problem::SelectorMismatch);
    }
    Ok(selector)
}

/// Whether a set is left alone: it is going itself, is paused, or another API has it.
pub(super) fn is_left_alone(set: &MachineSet) -> bool {
    set.metadata.deletion_timestamp.is_some()
        || annotation(&set.metadata, PAUSED).is_some()
        || set.spec.authoritative_api.as_deref().is_some_and(|api| api != "MachineAPI")
}

impl<'m> Members<'m> {
    pub(super) fn of(set: &MachineSet, selector: &Selector, machines: &'m [Machine]) -> Self {
        let mut members =
            Members { own: Vec::new(), leaving: Vec::new(), orphans: Vec::new(), strayed: Vec::new() };
        let none = BTreeMap::new();
        for machine in machines {
            let matches = selector.matches(machine.metadata.labels.as_ref().unwrap_or(&none));
            let is_leaving = machine.metadata.deletion_timestamp.is_some();
            match controller(machine) {
                Some(uid) if Some(uid) == set.metadata.uid.as_deref() => match (is_leaving, matches) {
                    (true, _) => members.leaving.push(machine),
                    (false, true) => members.own.push(machine),
                    (false, false) => members.strayed.push(machine),
                },
                None if matches && !is_leaving && annotation(&machine.metadata, RETAINED).is_none() => {
                    members.orphans.push(machine);
                }
                _ => {}
            }
        }
        members
    }
}

/// The id of the object that controls a machine.
pub(super) fn controller(machine: &Machine) -> Option<&str> {
    let mut owners = machine.metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

/// What is to be done about a set now.
pub(super) fn decide<'m>(
    set: &MachineSet,
    members: &Members<'m>,
    now: Timestamp,
) -> Result<Plan<'m>, Problem> {
    let policy = DeletePolicy::of(set.spec.delete_policy.as_deref())?;
    let surge = match annotation(&set.metadata, MAX_SURGE) {
        None => None,
        Some(text) => Some(text.parse::<usize>().map_err(|_| Problem::Surge(text.to_owned()))?),
    };
    let wanted = usize::try_from(set.spec.replicas).unwrap_or(usize::MAX);
    let everything: Vec<&Machine> = members.own.iter().chain(&members.leaving).copied().collect();
    let failures = Failures::of(set).updated(set, &everything, now);
    let mut plan = Plan {
        adopt: members.orphans.clone(),
        release: members.strayed.clone(),
        retain: Vec::new(),
        delete: Vec::new(),
        create: 0,
        hold: None,
        failures,
    };
    let there = members.own.len() + members.orphans.len();
    // Orphans are nobody's to delete before they are adopted.
    let surplus = there.saturating_sub(wanted).min(members.own.len());
    for machine in order(&members.own, policy, now).into_iter().take(surplus) {
        if is_kept(&machine.metadata) { plan.retain.push(machine) } else { plan.delete.push(machine) }
    }
    let mut create = wanted.saturating_sub(there);
    if create == 0 {
        return Ok(plan);
    }
    if let Some(surge) = surge {
        let room = wanted.saturating_add(surge).saturating_sub(there + members.leaving.len());
        if room < create {
            create = room;
            plan.hold = Some(Hold::Surge { leaving: members.leaving.len() });
        }
    }
    match plan.failures.allowed(now) {
        Allowed::Any => {}
        Allowed::One => create = create.min(usize::from(!is_any_on_its_way(&members.own))),
        Allowed::After(until) => {
            create = 0;
            plan.hold = Some(Hold::Failures { count: plan.failures.count(), until });
        }
    }
    plan.create = create;
    Ok(plan)
}

/// Whether it is not known of one whether it will work.
fn is_any_on_its_way(machines: &[&Machine]) -> bool {
    machines.iter().any(|machine| {
        let status = machine.status.as_ref();
        let has_node = status.is_some_and(|status| status.node_ref.is_some());
        let has_failed = status.is_some_and(|status| status.phase.as_deref() == Some("Failed"));
        !has_node && !has_failed
    })
}

impl Hold {
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Hold::Failures { .. } => "FailureBudgetExhausted",
            Hold::Surge { .. } => "MaxSurgeReached",
        }
    }

    /// For people; `failed` is what one of the failed machines says.
    pub(super) fn sentence(&self, failed: Option<&str>) -> String {
        match self {
            Hold::Failures { count, until } => {
                let why = failed.map(|why| format!(" ({why})")).unwrap_or_default();
                format!(
                    "{count} machines failed one after the other{why}; the next one is created after {until}, or when the template \
                     changes"
                )
            }
            Hold::Surge { leaving } => {
                format!(
                    "{leaving} machines are still being deleted, and `{MAX_SURGE}` allows no more beside them"
                )
            }
        }
    }
}

/// What the last machine that failed says about it.
pub(super) fn why_failed(members: &Members<'_>) -> Option<String> {
    let all = members.own.iter().chain(&members.leaving);
    let failed = all.filter(|machine| {
        machine.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Failed"))
    });
    let last =
        failed.max_by_key(|machine| machine.metadata.creation_timestamp.as_ref().map(|time| time.0))?;
    let message = last.status.as_ref().and_then(|status| status.error_message.clone());
    Some(format!("`{}`: {}", last.name_any(), message.unwrap_or_else(|| "no reason given".to_owned())))
}

#[cfg(test)]
mod tests;
