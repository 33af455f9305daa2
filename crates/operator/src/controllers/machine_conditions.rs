//! Conditions of machines, sets and health checks: `machine.openshift.io` has a form of its own, with a severity.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use slipway_api::openshift::MachineCondition;

/// How bad it is that a condition does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "Info",
            Severity::Warning => "Warning",
            Severity::Error => "Error",
        }
    }
}

/// A condition without its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub about: &'static str,
    /// `None` if it holds.
    pub severity: Option<Severity>,
    pub reason: &'static str,
    pub message: String,
}

impl Verdict {
    /// It holds.
    pub fn holds(about: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Verdict { about, severity: None, reason, message: message.into() }
    }

    /// It does not.
    pub fn fails(
        about: &'static str,
        severity: Severity,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Verdict { about, severity: Some(severity), reason, message: message.into() }
    }

    fn status(&self) -> &'static str {
        if self.severity.is_none() { "True" } else { "False" }
    }
}

/// Conditions as they are to be written: a time changes only when the status does.
pub fn merge(old: &[MachineCondition], new: &[Verdict], now: Timestamp) -> Vec<MachineCondition> {
    let with_time = |verdict: &Verdict| {
        let before = find(old, verdict.about).filter(|before| before.status == verdict.status());
        MachineCondition {
            type_: verdict.about.to_owned(),
            status: verdict.status().to_owned(),
            severity: verdict.severity.map(|severity| severity.as_str().to_owned()),
            last_transition_time: before
                .and_then(|before| before.last_transition_time.clone())
                .or(Some(Time(now))),
            reason: Some(verdict.reason.to_owned()),
            message: Some(verdict.message.chars().take(32_000).collect()),
        }
    };
    new.iter().map(with_time).collect()
}

pub fn find<'c>(conditions: &'c [MachineCondition], about: &str) -> Option<&'c MachineCondition> {
    conditions.iter().find(|condition| condition.type_ == about)
}

/// Whether a condition is there and holds.
pub fn holds(conditions: &[MachineCondition], about: &str) -> bool {
    find(conditions, about).is_some_and(|condition| condition.status == "True")
}

/// Whether all of these are there already, word for word.
pub fn are_there(old: &[MachineCondition], new: &[MachineCondition]) -> bool {
    new.iter().all(|condition| find(old, &condition.type_) == Some(condition))
}

/// Whether a verdict is news to people: another status or reason than before.
pub fn is_news(old: &[MachineCondition], verdict: &Verdict) -> bool {
    find(old, verdict.about).is_none_or(|before| {
        before.status != verdict.status() || before.reason.as_deref() != Some(verdict.reason)
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Severity, Verdict, are_there, is_news, merge};

    #[test]
    fn times_change_with_the_status_only() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let drained =
            |reason, message: &str| Verdict::fails("Drained", Severity::Info, reason, message.to_owned());
        let first = merge(&[], &[drained("Draining", "a")], at(10));
        assert!(!are_there(&[], &first) && are_there(&first, &first));
        let words = drained("Draining", "b");
        assert!(!is_news(&first, &words));
        let second = merge(&first, &[words], at(20));
        assert!(!are_there(&first, &second));
        assert_eq!(second[0].last_transition_time.as_ref().unwrap().0, at(10));
        assert!(is_news(&second, &drained("PodsBlocked", "b")));
        let done = Verdict::holds("Drained", "NodeDrained", "");
        let third = merge(&second, &[done], at(30));
        assert_eq!(third[0].last_transition_time.as_ref().unwrap().0, at(30));
        assert_eq!(third[0].severity, None);
    }
}
