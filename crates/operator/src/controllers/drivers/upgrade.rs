//! What comes next for a driver: a pure function of what is wanted, what was written down and what is there.
//!
//! An upgrade replaces one workload after the other, and goes on when all of its pods are well. If that takes too long,
//! everything goes back to the version before. All that is remembered is in the status, so that it does not matter who
//! goes on, and when.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use semver::Version;
use slipway_api::slipway::vdo_status::{DriverStatus, Rollback, Upgrade};

use super::health::{ObjectKey, Workload};

/// What the next step depends on.
#[derive(Debug)]
pub struct Observed<'a> {
    /// The version that was chosen; none if nothing fits.
    pub wanted: Option<&'a Version>,
    /// The user asks for that version, whatever the state of things.
    pub asked: bool,
    /// Why an upgrade must not start now.
    pub obstacles: &'a [String],
    pub before: &'a DriverStatus,
    pub places: &'a [ObjectKey],
    pub workloads: &'a [Workload],
    /// Nodes whose kubelet is silent.
    pub silent: u32,
    pub generation: Option<i64>,
    pub now: Timestamp,
    /// How long a step may take.
    pub patience: Duration,
}

/// Which objects are to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// None that we would make.
    Nothing,
    /// All of a version.
    All(Version),
    /// All of a version, but of the workloads only the first ones; the others stay as they are.
    Upto(Version, usize),
}

impl Plan {
    pub fn version(&self) -> Option<&Version> {
        match self {
            Plan::Nothing => None,
            Plan::All(version) | Plan::Upto(version, _) => Some(version),
        }
    }
}

/// What is to be done, and what is written down about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    pub plan: Plan,
    pub deployed: Option<Version>,
    pub last_good: Option<Version>,
    pub upgrade: Option<Upgrade>,
    pub rollback: Option<Rollback>,
    /// A newer version is there, but has to wait.
    pub waits: bool,
}

pub fn next(seen: &Observed<'_>) -> Next {
    let before = seen.before;
    let parse = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<Version>().ok());
    let ours = seen.workloads.iter().filter(|workload| workload.ours);
    let labelled = ours.filter_map(|workload| workload.version.clone()).min();
    let deployed = parse(&before.deployed_version);
    let mut next = Next {
        plan: Plan::Nothing,
        deployed: deployed.clone(),
        last_good: parse(&before.last_good_version),
        upgrade: None,
        // It is over when another version is wanted.
        rollback: before
            .rollback
            .clone()
            .filter(|rollback| seen.wanted.is_some_and(|wanted| wanted.to_string() == rollback.from)),
        waits: false,
    };
    if let Some(upgrade) = &before.upgrade
        && let (Ok(from), Ok(to)) = (upgrade.from.parse::<Version>(), upgrade.to.parse::<Version>())
    {
        return go_on(seen, upgrade, from, to, next);
    }
    let Some(current) = deployed.or(labelled) else {
        next.plan = seen.wanted.cloned().map_or(Plan::Nothing, Plan::All);
        return next;
    };
    let complete = seen.all_complete(&current);
    if complete {
        next.deployed = Some(current.clone());
        next.last_good = Some(current.clone());
    }
    let Some(wanted) = seen.wanted.filter(|wanted| **wanted != current) else {
        next.plan = Plan::All(current);
        return next;
    };
    let failed =
        next.rollback.as_ref().is_some_and(|rollback| rollback.observed_generation == seen.generation);
    let dead = !seen.workloads.iter().any(Workload::serves);
    let may = !failed && (seen.asked || dead || (complete && seen.obstacles.is_empty()));
    if !may {
        next.waits = true;
        next.plan = Plan::All(current);
        return next;
    }
    next.rollback = None;
    next.deployed = Some(current.clone());
    next.plan = Plan::Upto(wanted.clone(), 0);
    next.upgrade = Some(seen.step(&current, wanted, 0, Some(seen.now)));
    next
}

fn go_on(seen: &Observed<'_>, upgrade: &Upgrade, from: Version, to: Version, mut next: Next) -> Next {
    let started = upgrade.started.as_ref().map(|time| time.0);
    if let Some(wanted) = seen.wanted.filter(|wanted| **wanted != to) {
        // Somebody thought otherwise.
        if *wanted == from {
            next.plan = Plan::All(from);
        } else {
            next.plan = Plan::Upto(wanted.clone(), 0);
            next.upgrade = Some(seen.step(&from, wanted, 0, started));
        }
        return next;
    }
    let mut step = seen.places.iter().position(|(_, _, name)| *name == upgrade.step).unwrap_or(0);
    let first = step;
    while seen.is_complete(step, &to) {
        step += 1;
        if step >= seen.places.len() {
            next.deployed = Some(to.clone());
            next.last_good = Some(to.clone());
            next.plan = Plan::All(to);
            return next;
        }
    }
    if step > first {
        next.plan = Plan::Upto(to.clone(), step);
        next.upgrade = Some(seen.step(&from, &to, step, started));
        return next;
    }
    let since = upgrade.step_started.as_ref().map_or(seen.now, |time| time.0);
    let patience = seen.patience.try_into().unwrap_or(jiff::SignedDuration::MAX);
    if seen.now.duration_since(since) > patience {
        let state = seen.at(step).map_or_else(|| "it is not there".to_owned(), Workload::describe);
        next.rollback = Some(Rollback {
            from: to.to_string(),
            to: from.to_string(),
            reason: "NotHealthyInTime".to_owned(),
            message: format!("{state}, after {} seconds", seen.patience.as_secs()),
            time: Some(Time(seen.now)),
            observed_generation: seen.generation,
        });
        next.plan = Plan::All(from);
        return next;
    }
    next.plan = Plan::Upto(to, step);
    next.upgrade = Some(upgrade.clone());
    next
}

impl Observed<'_> {
    fn at(&self, step: usize) -> Option<&Workload> {
        let place = self.places.get(step)?;
        self.workloads.iter().find(|workload| workload.is_at(place))
    }

    fn is_complete(&self, step: usize, version: &Version) -> bool {
        self.at(step).is_some_and(|workload| {
            workload.version.as_ref() == Some(version) && workload.is_complete(self.silent)
        })
    }

    fn all_complete(&self, version: &Version) -> bool {
        (0..self.places.len()).all(|step| self.is_complete(step, version))
    }

    fn step(&self, from: &Version, to: &Version, step: usize, started: Option<Timestamp>) -> Upgrade {
        Upgrade {
            from: from.to_string(),
            to: to.to_string(),
            step: self.places.get(step).map(|(_, _, name)| (*name).to_owned()).unwrap_or_default(),
            started: Some(Time(started.unwrap_or(self.now))),
            step_started: Some(Time(self.now)),
        }
    }
}

#[cfg(test)]
mod tests;
