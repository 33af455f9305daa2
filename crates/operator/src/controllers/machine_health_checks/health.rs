//! Whether a machine is healthy, and since when it is not. Pure.

use jiff::Timestamp;
use slipway_api::openshift::{Machine, MachineStatus};
use slipway_assess::machines::names::{FAILED, INSTANCE_EXISTS};

use super::rules::Rules;
use crate::controllers::machine_conditions::find;
use crate::controllers::machine_objects::NodeObject;

/// How a machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Health {
    Healthy,
    /// It is on its way to become a node, until this time; without one nothing is known to be late.
    Starting(Option<Timestamp>),
    /// Its node is not well, and is unhealthy from this time on.
    Suspect(Timestamp),
    Unhealthy(Cause),
}

/// Why a machine is unhealthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// It is its node that is not well, which a failure of the place it is in explains too.
    pub(super) is_of_node: bool,
}

fn unhealthy(reason: &'static str, is_of_node: bool, message: String) -> Health {
    Health::Unhealthy(Cause { reason, message, is_of_node })
}

/// Judges a machine by its node, if that is there.
pub(super) fn judge(machine: &Machine, node: Option<&NodeObject>, rules: &Rules, now: Timestamp) -> Health {
    let status = machine.status.clone().unwrap_or_default();
    if status.phase.as_deref() == Some(FAILED) {
        let why = status.error_message.unwrap_or_else(|| "it gives no reason".to_owned());
        return unhealthy("MachineFailed", false, format!("it has failed: {why}"));
    }
    let Some(name) = status.node_ref.as_ref().and_then(|node| node.name.as_deref()) else {
        return starting(machine, &status, rules, now);
    };
    let Some(node) = node else {
        return unhealthy("NodeMissing", true, format!("its node `{name}` is gone"));
    };
    let mut due: Option<Timestamp> = None;
    for rule in &rules.conditions {
        let Some(condition) = node.condition(&rule.about).filter(|one| one.status == rule.status) else {
            continue;
        };
        // Without a time it may just have begun.
        let since = condition.last_transition_time.as_ref().map_or(now, |time| time.0);
        let until = since.checked_add(rule.timeout).unwrap_or(Timestamp::MAX);
        if until <= now {
            let message = format!("{} of its node `{name}` is {} since {since}", rule.about, rule.status);
            return unhealthy("NodeCondition", true, message);
        }
        due = Some(due.map_or(until, |due| due.min(until)));
    }
    due.map_or(Health::Healthy, Health::Suspect)
}

/// Time counts from the moment its virtual machine was there: one that waits for its turn to be made is not late, and what else
/// changes in its status does not begin it anew.
fn starting(machine: &Machine, status: &MachineStatus, rules: &Rules, now: Timestamp) -> Health {
    let Some(timeout) = rules.startup else { return Health::Starting(None) };
    let created = machine.metadata.creation_timestamp.as_ref();
    let since = match find(&status.conditions, INSTANCE_EXISTS) {
        Some(exists) if exists.status == "True" => exists.last_transition_time.as_ref().or(created),
        // It is not there, or cannot be asked about: nothing is known to be late.
        Some(_) => None,
        // Controllers that say nothing about it give it an id.
        None => created.filter(|_| machine.spec.provider_id.as_deref().is_some_and(|id| !id.is_empty())),
    };
    let Some(since) = since else { return Health::Starting(None) };
    let until = since.0.checked_add(timeout).unwrap_or(Timestamp::MAX);
    if until <= now {
        let message = format!("its virtual machine exists since {} and no node has joined from it", since.0);
        return unhealthy("NodeStartupTimeout", false, message);
    }
    Health::Starting(Some(until))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::{Health, judge};
    use crate::controllers::machine_health_checks::rules::Rules;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minutes).unwrap()
    }

    fn rules() -> Rules {
        let spec = json!({
            "unhealthyConditions": [
                {"type": "Ready", "status": "Unknown", "timeout": "5m"},
                {"type": "Ready", "status": "False", "timeout": "5m"},
            ],
            "nodeStartupTimeout": "20m",
        });
        Rules::of(&serde_json::from_value(spec).unwrap()).unwrap()
    }

    fn told(health: &Health) -> String {
        let minutes = |time: &Timestamp| time.duration_since(at(0)).as_mins();
        match health {
            Health::Healthy => "healthy".to_owned(),
            Health::Starting(None) => "starting".to_owned(),
            Health::Starting(Some(until)) => format!("starting until {}", minutes(until)),
            Health::Suspect(until) => format!("suspect until {}", minutes(until)),
            Health::Unhealthy(cause) => cause.reason.to_owned(),
        }
    }

    fn ready(status: &str, since: i64) -> Value {
        let ready = json!({"type": "Ready", "status": status, "lastTransitionTime": at(since).to_string()});
        json!({"metadata": {"name": "n"}, "status": {"conditions": [ready]}})
    }

    fn exists(since: i64) -> Value {
        json!({"type": "InstanceExists", "status": "True", "lastTransitionTime": at(since).to_string()})
    }

    const LINKED: &str = r#"{"nodeRef": {"kind": "Node", "name": "n"}}"#;

    #[rstest]
    #[case::well(LINKED, Some(ready("True", -60)), "healthy")]
    #[case::just_now(LINKED, Some(ready("Unknown", -2)), "suspect until 3")]
    #[case::long_enough(LINKED, Some(ready("Unknown", -5)), "NodeCondition")]
    #[case::another_status(LINKED, Some(ready("False", -9)), "NodeCondition")]
    #[case::node_gone(LINKED, None, "NodeMissing")]
    #[case::failed(r#"{"phase": "Failed"}"#, None, "MachineFailed")]
    #[case::waits_for_its_turn("{}", None, "starting")]
    fn a_node_makes_a_machine(#[case] status: &str, #[case] node: Option<Value>, #[case] expected: &str) {
        let machine = machine(&serde_json::from_str(status).unwrap(), &json!({}));
        let node = node.map(|node| serde_json::from_value(node).unwrap());
        assert_eq!(told(&judge(&machine, node.as_ref(), &rules(), at(0))), expected);
    }

    #[rstest]
    #[case::just_made(json!({"conditions": [exists(-1)]}), json!({}), "starting until 19")]
    #[case::late(json!({"conditions": [exists(-20)]}), json!({}), "NodeStartupTimeout")]
    #[case::status_changes_all_the_time(
        json!({"conditions": [exists(-20)], "lastUpdated": at(0).to_string()}), json!({}), "NodeStartupTimeout"
    )]
    #[case::says_nothing_about_it(json!({}), json!({"providerID": "vsphere://1"}), "NodeStartupTimeout")]
    #[case::cannot_be_asked(
        json!({"conditions": [{"type": "InstanceExists", "status": "Unknown", "lastTransitionTime": at(-60).to_string()}]}),
        json!({"providerID": "vsphere://1"}), "starting"
    )]
    #[case::missing(
        json!({"conditions": [{"type": "InstanceExists", "status": "False", "lastTransitionTime": at(-60).to_string()}]}),
        json!({}), "starting"
    )]
    fn startup_counts_from_the_virtual_machine(
        #[case] status: Value,
        #[case] spec: Value,
        #[case] expected: &str,
    ) {
        assert_eq!(told(&judge(&machine(&status, &spec), None, &rules(), at(0))), expected);
        let for_ever = Rules { startup: None, ..rules() };
        assert_eq!(told(&judge(&machine(&status, &spec), None, &for_ever, at(0))), "starting");
    }

    fn machine(status: &Value, spec: &Value) -> slipway_api::openshift::Machine {
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": "m", "creationTimestamp": at(-30).to_string()}, "spec": spec, "status": status,
        }))
        .unwrap()
    }
}
