//! Conditions of the drivers, one by one and together. Pure.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use slipway_api::slipway::condition::{AVAILABLE, DEGRADED, PROGRESSING, UPGRADEABLE};
use slipway_api::slipway::vdo_status::{DriverStatus, Failure};
use slipway_assess::check::catalog::Reason;
use slipway_config::matrix::Driver;

use super::choose::{DesiredDriver, failure};
use super::health::{ObjectKey, Workload};
use super::upgrade::Next;
use crate::controllers::connections::problem::Problem;
use crate::runtime::conditions::{ConditionStatus, ConditionUpdate, find, merge};

/// What is known about a driver at the end of a pass.
#[derive(Debug)]
pub struct DriverState<'a> {
    pub driver: Driver,
    pub desired: &'a DesiredDriver,
    pub next: &'a Next,
    pub places: &'a [ObjectKey],
    pub workloads: &'a [Workload],
    pub silent: u32,
    /// What went wrong while objects were made and applied.
    pub failures: &'a [Failure],
    pub before: &'a DriverStatus,
    pub generation: Option<i64>,
    pub now: Timestamp,
    pub patience: Duration,
}

/// Somebody else runs the driver.
pub fn of_owner(owner: &str, before: &DriverStatus, generation: Option<i64>, now: Timestamp) -> DriverStatus {
    let message = format!("{owner}; nothing is changed here");
    let verdicts = [AVAILABLE, PROGRESSING, DEGRADED, UPGRADEABLE].map(|about| {
        ConditionUpdate::new(about, ConditionStatus::Unknown, "OwnedByRelease", message.clone())
    });
    DriverStatus {
        conditions: merge(&before.conditions, verdicts.into(), generation, now),
        choice: Some(message),
        ..DriverStatus::default()
    }
}

/// The status of a driver, and everything that is wrong with it.
pub fn judge(seen: &DriverState<'_>) -> (DriverStatus, Vec<Failure>) {
    let subject = seen.driver.key();
    let mut failures = seen.desired.failures.clone();
    failures.extend(seen.failures.iter().cloned());
    if let Some(rollback) = &seen.next.rollback {
        let message = format!(
            "the upgrade to {} was taken back to {}: {}",
            rollback.from, rollback.to, rollback.message
        );
        let remedy = "look at the pods of the failed version in the events of the namespace; change the VDOConfig to \
                      try again, or pin a version";
        failures.push(failure(subject, "RolledBack", &message, Some(remedy)));
    }
    let live: Vec<Option<&Workload>> = seen
        .places
        .iter()
        .map(|place| seen.workloads.iter().find(|live| live.ours && live.is_at(place)))
        .collect();
    let down: Vec<String> = seen
        .places
        .iter()
        .zip(&live)
        .filter(|(_, live)| !live.is_some_and(Workload::serves))
        .map(|(place, live)| {
            live.map_or_else(
                || format!("{} {}/{} is not there", place.0, place.1, place.2),
                Workload::describe,
            )
        })
        .collect();
    let rolling: Vec<String> = live
        .iter()
        .flatten()
        .filter(|live| !live.is_complete(seen.silent))
        .map(|live| live.describe())
        .collect();
    let progressing = progressing(seen, &down, &rolling);
    let stuck = find(&seen.before.conditions, PROGRESSING).filter(|before| {
        let patience = seen.patience.try_into().unwrap_or(jiff::SignedDuration::MAX);
        progressing.holds == ConditionStatus::Yes
            && seen.next.upgrade.is_none()
            && before.status == "True"
            && seen.now.duration_since(before.last_transition_time.0) > patience
    });
    if stuck.is_some() {
        let message = rolling.iter().chain(&down).cloned().collect::<Vec<_>>().join("; ");
        let remedy = "look at the events of the pods: `kubectl describe pods` in that namespace";
        failures.push(failure(subject, "NotHealthy", &message, Some(remedy)));
    }
    let verdicts = vec![
        if down.is_empty() {
            ConditionUpdate::new(AVAILABLE, true, "Serving", "every part of it serves")
        } else {
            ConditionUpdate::new(AVAILABLE, false, "NotServing", down.join("; "))
        },
        progressing,
        degraded(&failures),
        upgradeable(seen, &failures, down.is_empty() && rolling.is_empty()),
    ];
    let status = DriverStatus {
        conditions: merge(&seen.before.conditions, verdicts, seen.generation, seen.now),
        wanted_version: seen.desired.version.as_ref().map(ToString::to_string),
        choice: seen.desired.why.clone(),
        deployed_version: seen.next.deployed.as_ref().map(ToString::to_string),
        last_good_version: seen.next.last_good.as_ref().map(ToString::to_string),
        upgrade: seen.next.upgrade.clone(),
        rollback: seen.next.rollback.clone(),
    };
    (status, failures)
}

fn progressing(seen: &DriverState<'_>, down: &[String], rolling: &[String]) -> ConditionUpdate {
    if let Some(upgrade) = &seen.next.upgrade {
        let message = format!("from {} to {}, at {}", upgrade.from, upgrade.to, upgrade.step);
        return ConditionUpdate::new(PROGRESSING, true, "Upgrading", message);
    }
    if let Some(held) = &seen.desired.install {
        let waits = held.holds == ConditionStatus::Unknown;
        let reason = if waits { held.reason } else { "InstallationBlocked" };
        return ConditionUpdate::new(PROGRESSING, waits, reason, held.message.clone());
    }
    let Some(version) = seen.next.plan.version() else {
        return ConditionUpdate::new(PROGRESSING, false, "NothingToDo", "no version can be installed now");
    };
    if seen.next.deployed.is_none() {
        return ConditionUpdate::new(
            PROGRESSING,
            true,
            "Installing",
            format!("{version} is being installed"),
        );
    }
    if rolling.is_empty() && down.is_empty() {
        return ConditionUpdate::new(PROGRESSING, false, "Complete", format!("{version} is everywhere"));
    }
    ConditionUpdate::new(
        PROGRESSING,
        true,
        "RollingOut",
        rolling.iter().chain(down).cloned().collect::<Vec<_>>().join("; "),
    )
}

fn degraded(failures: &[Failure]) -> ConditionUpdate {
    match failures.first() {
        None => ConditionUpdate::new(DEGRADED, false, "AsExpected", "nothing is wrong"),
        Some(first) => ConditionUpdate::new(DEGRADED, true, word(&first.reason), words(failures)),
    }
}

fn upgradeable(seen: &DriverState<'_>, failures: &[Failure], well: bool) -> ConditionUpdate {
    let no = |reason, message: String| ConditionUpdate::new(UPGRADEABLE, false, reason, message);
    if seen.next.upgrade.is_some() {
        return no("Upgrading", "an upgrade is under way".to_owned());
    }
    if !seen.desired.automatic {
        let message = "the version is pinned, or upgrades are switched off";
        return no("NotAutomatic", message.to_owned());
    }
    if let Some(first) = failures.first() {
        return no(word(&first.reason), words(failures));
    }
    if let Some(held) = &seen.desired.upgrade {
        return ConditionUpdate::new(UPGRADEABLE, held.holds, held.reason, held.message.clone());
    }
    if !well {
        return no("NotHealthy", "not every part of it is well".to_owned());
    }
    ConditionUpdate::new(UPGRADEABLE, true, "Ready", "a newer version can be installed at any time")
}

fn words(failures: &[Failure]) -> String {
    let each = failures.iter().map(|failure| match &failure.remedy {
        Some(remedy) => format!("{}; {remedy}", failure.message),
        None => failure.message.clone(),
    });
    each.collect::<Vec<_>>().join(". ")
}

/// Reasons of conditions are from a fixed list, so that programs can rely on them.
fn word(reason: &str) -> &'static str {
    const WORDS: [&str; 17] = [
        "NotValidated",
        "ConnectionMissing",
        "NoConnection",
        "NoFittingVersion",
        "Refused",
        "SameServer",
        "BadManifests",
        "NotApplied",
        "NotPruned",
        "ForeignDriver",
        "VolumesAttached",
        "RolledBack",
        "NotHealthy",
        "MatrixRefused",
        "PullSecretMissing",
        "NotInMatrix",
        "Unwritable",
    ];
    let found = Reason::ALL.iter().map(|reason| reason.as_str());
    WORDS.into_iter().chain(Problem::REASONS).chain(found).find(|word| *word == reason).unwrap_or("Failed")
}

/// The conditions of all drivers together.
pub fn together(
    drivers: &[(&'static str, &DriverStatus)],
    others: &[Failure],
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let mut verdicts = Vec::new();
    for (about, good) in
        [(AVAILABLE, "True"), (PROGRESSING, "False"), (DEGRADED, "False"), (UPGRADEABLE, "True")]
    {
        let of = |status: &str| {
            let matching = drivers.iter().filter_map(|(name, driver)| {
                find(&driver.conditions, about).filter(|one| one.status == status).map(|one| (name, one))
            });
            matching.collect::<Vec<_>>()
        };
        let bad = of(if good == "True" { "False" } else { "True" });
        let unknown = of("Unknown");
        let message = |list: &[(&&'static str, &Condition)]| {
            list.iter().map(|(name, one)| format!("{name}: {}", one.message)).collect::<Vec<_>>().join(". ")
        };
        verdicts.push(match (&*bad, &*unknown) {
            ([], []) if about == DEGRADED && !others.is_empty() => degraded(others),
            ([], []) if drivers.is_empty() => {
                ConditionUpdate::new(about, ConditionStatus::Unknown, "NoDriver", "no driver is wanted")
            }
            ([], []) => ConditionUpdate::new(about, good == "True", "AsExpected", "both are as expected"),
            ([], unknown) => {
                let reason = unknown.first().map_or("Failed", |(_, one)| known_reason(&one.reason));
                ConditionUpdate::new(about, ConditionStatus::Unknown, reason, message(unknown))
            }
            (bad, _) => {
                let reason = bad.first().map_or("Failed", |(_, one)| known_reason(&one.reason));
                ConditionUpdate::new(about, good != "True", reason, message(bad))
            }
        });
    }
    merge(before, verdicts, generation, now)
}

/// Reasons that conditions of a driver have, or else the word itself.
pub(crate) fn known_reason(reason: &str) -> &'static str {
    const OWN: [&str; 11] = [
        "NotServing",
        "Installing",
        "RollingOut",
        "Upgrading",
        "NotAutomatic",
        "NothingToDo",
        "NotHealthy",
        "OwnedByRelease",
        "InstallationBlocked",
        "Checking",
        "NotChecked",
    ];
    OWN.into_iter().find(|word| *word == reason).unwrap_or_else(|| word(reason))
}
