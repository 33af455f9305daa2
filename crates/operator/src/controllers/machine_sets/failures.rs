//! The budget of machines that fail one after the other without ever becoming a node. Where a health check deletes what failed, a
//! set with a wrong template would make and lose machines for ever.
//!
//! What failed is written down on the set before another machine is made, so that it outlives the machines and this process.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use slipway_api::openshift::{Machine, MachineSet};
use slipway_assess::machines::names::{CREATE_FAILURES, FAILED, annotation};

/// So many failures in a row and the next machine waits.
const MAX_FAILURES: usize = 3;
/// How many are remembered: enough for the longest pause.
const MAX_REMEMBERED: usize = 8;
const FIRST_PAUSE: SignedDuration = SignedDuration::from_mins(2);
const MAX_PAUSE: SignedDuration = SignedDuration::from_hours(1);

/// Failures in a row, of one template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failures {
    /// Of which template: another one begins anew.
    template: String,
    /// When each was seen to have failed, by the id of the machine.
    failed: BTreeMap<String, Timestamp>,
}

/// What the budget allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Allowed {
    Any,
    /// One at a time: something failed.
    One,
    /// Nothing before this time.
    After(Timestamp),
}

impl Failures {
    /// What is written on a set. What cannot be read is nothing.
    pub(super) fn of(set: &MachineSet) -> Self {
        let written = annotation(&set.metadata, CREATE_FAILURES);
        written.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// With what the machines of the set show now.
    pub(super) fn updated(&self, set: &MachineSet, machines: &[&Machine], now: Timestamp) -> Self {
        let template = fingerprint(set);
        let mut failed = if self.template == template { self.failed.clone() } else { BTreeMap::default() };
        let made_of_it = |machine: &&&Machine| {
            machine.spec.provider_spec.value == set.spec.template.spec.provider_spec.value
        };
        for machine in machines.iter().filter(made_of_it).filter(|machine| has_failed(machine)) {
            if let Some(uid) = &machine.metadata.uid {
                failed.entry(uid.clone()).or_insert(now);
            }
        }
        // One that was made after the last failure and works: the template is good.
        let last = failed.values().max().copied();
        let works = |machine: &&&Machine| {
            let created = machine.metadata.creation_timestamp.as_ref().map(|time| time.0);
            machine.status.as_ref().is_some_and(|status| status.node_ref.is_some()) && created > last
        };
        if last.is_some() && machines.iter().filter(made_of_it).any(|machine| works(&machine)) {
            failed.clear();
        }
        while failed.len() > MAX_REMEMBERED {
            let oldest = failed.iter().min_by_key(|(_, at)| **at).map(|(uid, _)| uid.clone());
            let Some(oldest) = oldest else { break };
            failed.remove(&oldest);
        }
        let template = if failed.is_empty() { String::new() } else { template };
        Failures { template, failed }
    }

    pub(super) fn count(&self) -> usize {
        self.failed.len()
    }

    pub(super) fn allowed(&self, now: Timestamp) -> Allowed {
        let Some(last) = self.failed.values().max() else { return Allowed::Any };
        if self.count() < MAX_FAILURES {
            return Allowed::One;
        }
        let doublings = u32::try_from(self.count() - MAX_FAILURES).unwrap_or(u32::MAX);
        let pause =
            FIRST_PAUSE.checked_mul(2_i32.saturating_pow(doublings)).unwrap_or(MAX_PAUSE).min(MAX_PAUSE);
        match last.checked_add(pause) {
            Ok(until) if until > now => Allowed::After(until),
            _ => Allowed::One,
        }
    }

    /// As it is written down; `None` for nothing to remember.
    pub(super) fn text(&self) -> Option<String> {
        (!self.failed.is_empty()).then(|| serde_json::to_string(self).ok()).flatten()
    }
}

/// A machine that will never work, and never did.
fn has_failed(machine: &Machine) -> bool {
    let status = machine.status.as_ref();
    status.is_some_and(|status| status.phase.as_deref() == Some(FAILED) && status.node_ref.is_none())
}

/// What is new about a template is that its machines are made differently.
fn fingerprint(set: &MachineSet) -> String {
    let text = set.spec.template.spec.provider_spec.value.to_string();
    let hash = digest(&SHA256, text.as_bytes());
    hash.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use serde_json::{Value, json};
    use slipway_api::openshift::{Machine, MachineSet};

    use super::{Allowed, Failures};

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minutes).unwrap()
    }

    fn set(template: &str) -> MachineSet {
        let value = json!({"template": template});
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": {"name": "set"},
            "spec": {"template": {"spec": {"providerSpec": {"value": value}}}},
        }))
        .unwrap()
    }

    fn machine(uid: &str, template: &str, created: i64, status: &Value) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": uid, "uid": uid, "creationTimestamp": at(created).to_string()},
            "spec": {"providerSpec": {"value": {"template": template}}}, "status": status,
        }))
        .unwrap()
    }

    /// One after the other fails and is deleted, a minute each.
    fn after(count: i64) -> Failures {
        let set = set("wrong");
        (0..count).fold(Failures::default(), |failures, number| {
            let failed = machine(&number.to_string(), "wrong", number, &json!({"phase": "Failed"}));
            let seen = failures.updated(&set, &[&failed], at(number));
            assert_eq!(seen.updated(&set, &[&failed], at(number + 9)), seen, "each counts once");
            seen
        })
    }

    #[test]
    fn pauses_grow_and_end() {
        assert_eq!(after(0).allowed(at(0)), Allowed::Any);
        assert_eq!(after(2).allowed(at(2)), Allowed::One);
        assert_eq!(after(3).allowed(at(2)), Allowed::After(at(4)));
        assert_eq!(after(3).allowed(at(4)), Allowed::One);
        assert_eq!(after(5).allowed(at(5)), Allowed::After(at(12)));
        let hour = SignedDuration::from_hours(1);
        assert_eq!(after(40).allowed(at(39)), Allowed::After(at(39) + hour));
        assert_eq!(after(40).count(), 8);
    }

    #[test]
    fn it_outlives_the_process() {
        let mut set = set("wrong");
        let failures = after(4);
        let written = [("slipway.dev/create-failures".to_owned(), failures.text().unwrap())];
        set.metadata.annotations = Some(written.into());
        assert_eq!(Failures::of(&set), failures);
        set.metadata.annotations = Some([("slipway.dev/create-failures".to_owned(), "{".to_owned())].into());
        assert_eq!(Failures::of(&set), Failures::default());
    }

    #[test]
    fn another_template_or_a_success_begins_anew() {
        let failures = after(4);
        assert_eq!(failures.updated(&set("right"), &[], at(5)), Failures::default());
        let joined = json!({"phase": "Running", "nodeRef": {"name": "n"}});
        let before = machine("b", "wrong", -5, &joined);
        assert_eq!(
            failures.updated(&set("wrong"), &[&before], at(5)),
            failures,
            "it is older than the failures"
        );
        let later = machine("c", "wrong", 5, &joined);
        assert_eq!(failures.updated(&set("wrong"), &[&later], at(6)), Failures::default());
        assert_eq!(Failures::default().text(), None);
    }

    #[test]
    fn what_worked_once_or_is_of_another_template_does_not_count() {
        let gone = machine("a", "wrong", 0, &json!({"phase": "Failed", "nodeRef": {"name": "n"}}));
        let old = machine("b", "other", 0, &json!({"phase": "Failed"}));
        let none = Failures::default();
        assert_eq!(none.updated(&set("wrong"), &[&gone, &old], at(1)), none);
    }
}
