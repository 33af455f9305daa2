//! Conditions: what is written, and what of it is new.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionStatus {
    Yes,
    No,
    Unknown,
}

impl ConditionStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            ConditionStatus::Yes => "True",
            ConditionStatus::No => "False",
            ConditionStatus::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { ConditionStatus::Yes } else { ConditionStatus::No }
    }
}

/// A condition without its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionUpdate {
    pub about: &'static str,
    pub holds: ConditionStatus,
    pub reason: &'static str,
    pub message: String,
}

impl ConditionUpdate {
    pub fn new(
        about: &'static str,
        holds: impl Into<ConditionStatus>,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        ConditionUpdate { about, holds: holds.into(), reason, message: message.into() }
    }
}

/// Conditions as they are to be written: a time changes only when the status does.
pub fn merge(
    old: &[Condition],
    new: Vec<ConditionUpdate>,
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let with_time = |verdict: ConditionUpdate| {
        let before = find(old, verdict.about).filter(|before| before.status == verdict.holds.as_str());
        Condition {
            type_: verdict.about.to_owned(),
            status: verdict.holds.as_str().to_owned(),
            reason: verdict.reason.to_owned(),
            message: verdict.message.chars().take(32_000).collect(),
            last_transition_time: before.map_or(Time(now), |before| before.last_transition_time.clone()),
            observed_generation: generation,
        }
    };
    new.into_iter().map(with_time).collect()
}

pub fn find<'c>(conditions: &'c [Condition], about: &str) -> Option<&'c Condition> {
    conditions.iter().find(|condition| condition.type_ == about)
}

/// Whether a condition is there and holds.
pub fn holds(conditions: &[Condition], about: &str) -> bool {
    find(conditions, about).is_some_and(|condition| condition.status == "True")
}

/// Conditions whose status or reason is another one than before: what people are told about.
pub fn news<'c>(old: &[Condition], new: &'c [Condition]) -> Vec<&'c Condition> {
    let same = |condition: &&Condition| {
        find(old, &condition.type_)
            .is_none_or(|before| before.status != condition.status || before.reason != condition.reason)
    };
    new.iter().filter(same).collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{ConditionUpdate, merge, news};

    #[test]
    fn only_changes_are_news() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let ready =
            |holds, reason, message: &str| vec![ConditionUpdate::new("Ready", holds, reason, message)];
        let first = merge(&[], ready(false, "Unreachable", "a"), Some(1), at(10));
        assert_eq!(news(&[], &first).len(), 1);
        let words = merge(&first, ready(false, "Unreachable", "b"), Some(2), at(20));
        assert!(news(&first, &words).is_empty());
        assert_eq!((words[0].last_transition_time.0, words[0].message.as_str()), (at(10), "b"));
        let reason = merge(&words, ready(false, "InvalidLogin", "c"), Some(2), at(30));
        assert_eq!(news(&words, &reason).len(), 1);
        assert_eq!(reason[0].last_transition_time.0, at(10));
        let good = merge(&reason, ready(true, "Valid", "d"), Some(2), at(40));
        assert_eq!(good[0].last_transition_time.0, at(40));
    }
}
