//! A round in the status of the VDOConfig. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use slipway_api::slipway::condition::{DEGRADED, INSTALLABLE, UPGRADEABLE};
use slipway_api::slipway::vdo_status::{CheckFinding, ChecksStatus};
use slipway_assess::check::catalog::Reason;
use slipway_assess::check::conditions::{DriverConditions as Meaning, State};
use slipway_assess::check::report::{Group, Outcome, Round};
use slipway_assess::check::schedule::Change;

use crate::runtime::conditions::{ConditionStatus, ConditionUpdate, merge};

/// Findings and names of nodes that are shown.
const FINDINGS: usize = 50;
const NAMES: usize = 10;

/// When a round was, and when the next is due.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub now: Timestamp,
    pub pause: Duration,
}

/// What is written down about a round.
pub fn of_round(
    round: &Round,
    meaning: &Meaning,
    before: &[Condition],
    generation: Option<i64>,
    times: Times,
) -> ChecksStatus {
    let verdicts = vec![
        verdict(DEGRADED, &meaning.degraded),
        verdict(UPGRADEABLE, &meaning.upgradeable),
        verdict(INSTALLABLE, &meaning.installable),
    ];
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let failing: BTreeSet<&str> = round
        .findings
        .iter()
        .filter(|finding| finding.outcome == Outcome::Failure)
        .map(|finding| finding.check.code())
        .collect();
    let mut groups = round.groups();
    groups.sort_by_key(|group| group.finding.outcome);
    ChecksStatus {
        passed: count(round.passed()),
        failures: count(round.count(Outcome::Failure)),
        unknown: count(round.count(Outcome::Unknown)),
        warnings: count(round.count(Outcome::Warning)),
        failing: failing.into_iter().map(str::to_owned).collect(),
        findings: groups.iter().take(FINDINGS).map(finding).collect(),
        ..timed(verdicts, before, generation, times)
    }
}

/// What is written down when the cluster itself could not be read.
pub fn unread(why: &str, before: &[Condition], generation: Option<i64>, times: Times) -> ChecksStatus {
    let unknown = |about| ConditionUpdate::new(about, ConditionStatus::Unknown, "NotChecked", why);
    let verdicts = vec![
        ConditionUpdate::new(DEGRADED, false, "NotChecked", why),
        unknown(UPGRADEABLE),
        unknown(INSTALLABLE),
    ];
    timed(verdicts, before, generation, times)
}

fn timed(
    verdicts: Vec<ConditionUpdate>,
    before: &[Condition],
    generation: Option<i64>,
    times: Times,
) -> ChecksStatus {
    let next = times.now.checked_add(times.pause).unwrap_or(Timestamp::MAX);
    ChecksStatus {
        observed_generation: generation,
        conditions: merge(before, verdicts, generation, times.now),
        last_round: Some(Time(times.now)),
        next_round: Some(Time(next)),
        ..ChecksStatus::default()
    }
}

fn verdict(about: &'static str, state: &State) -> ConditionUpdate {
    let holds = state.status.map_or(ConditionStatus::Unknown, ConditionStatus::from);
    let known = Reason::ALL.iter().map(|reason| reason.as_str()).find(|reason| *reason == state.reason);
    ConditionUpdate::new(about, holds, known.unwrap_or("AsExpected"), state.message.clone())
}

fn finding(group: &Group<'_>) -> CheckFinding {
    let finding = group.finding;
    CheckFinding {
        outcome: finding.outcome.as_str().to_owned(),
        check: finding.check.code().to_owned(),
        vcenter: finding.endpoint.clone(),
        object: finding.object.clone(),
        nodes: u32::try_from(group.nodes.len()).unwrap_or(u32::MAX),
        node_names: group.nodes.iter().take(NAMES).map(|name| (*name).to_owned()).collect(),
        message: finding.message.chars().take(1000).collect(),
        remedy: finding.remedy.clone(),
    }
}

/// Something to tell people: one for each check, whatever the number of its nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    pub good: bool,
    pub reason: String,
    pub message: String,
}

/// What changed. Whoever has just started knows by their codes what failed before.
pub fn news(changes: Vec<Change>, round: &Round, known: Option<&[String]>) -> Vec<News> {
    let told = |change: &Change| {
        change.failed && known.is_some_and(|known| known.iter().any(|code| code == change.check.code()))
    };
    let mut grouped: Vec<(Change, Vec<String>)> = Vec::new();
    for change in changes.into_iter().filter(|change| !told(change)) {
        let names = change.node.clone();
        match grouped.iter_mut().find(|(one, _)| (one.check, one.failed) == (change.check, change.failed)) {
            Some((_, nodes)) => nodes.extend(names),
            None => grouped.push((change, names.into_iter().collect())),
        }
    }
    let say = |(change, nodes): (Change, Vec<String>)| {
        let first = round.findings.iter().find(|finding| {
            finding.outcome == Outcome::Failure
                && finding.check == change.check
                && finding.node.as_ref() == change.node.as_ref()
        });
        let message = first.filter(|_| change.failed).map_or("as expected", |one| &one.message);
        let place = match (&nodes[..], first.and_then(|finding| finding.endpoint.as_deref())) {
            ([], Some(server)) => format!("vCenter {server}: "),
            ([], None) => String::new(),
            ([one], _) => format!("node {one}: "),
            ([one, others @ ..], _) => format!("node {one} and {} more: ", others.len()),
        };
        News { good: !change.failed, reason: change.reason(), message: format!("{place}{message}") }
    };
    grouped.into_iter().map(say).collect()
}
