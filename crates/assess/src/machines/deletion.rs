//! Which machines of a set go first, by the numbers that OpenShift's own controller gives them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slipway_api::openshift::Machine;
use thiserror::Error;

use super::names::{DELETE_MACHINE, FAILED, annotation};

/// What goes before everything else.
const FIRST: f64 = 100.0;
/// A machine that was marked or failed, where the rest is random.
const BETTER: f64 = 50.0;
/// A machine that never became a node.
const NODELESS: f64 = 40.0;
const ANY: f64 = 20.0;
/// After this time age makes little difference: a hundred days.
const SECONDS_OF_AGE: f64 = 8_640_000.0;

/// What a set says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletePolicy {
    Random,
    Newest,
    Oldest,
}

/// A policy that there is none of.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`deletePolicy` is `{0}`; write Random, Newest or Oldest")]
pub struct UnknownPolicy(String);

impl DeletePolicy {
    /// The policy of a set; without one it is random.
    pub fn of(text: Option<&str>) -> Result<Self, UnknownPolicy> {
        match text {
            None | Some("" | "Random") => Ok(DeletePolicy::Random),
            Some("Newest") => Ok(DeletePolicy::Newest),
            Some("Oldest") => Ok(DeletePolicy::Oldest),
            Some(other) => Err(UnknownPolicy(other.to_owned())),
        }
    }
}

/// What is looked at.
#[derive(Debug, Clone, Copy)]
struct Facts {
    is_marked: bool,
    has_failed: bool,
    has_node: bool,
    /// In seconds.
    age: f64,
}

impl Facts {
    fn of(machine: &Machine, now: Timestamp) -> Self {
        let status = machine.status.as_ref();
        let failed = |status: &slipway_api::openshift::MachineStatus| {
            status.phase.as_deref() == Some(FAILED) || status.error_reason.is_some()
        };
        let created = machine.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
        Facts {
            is_marked: is_marked(&machine.metadata),
            has_failed: status.is_some_and(failed),
            has_node: status.is_some_and(|status| status.node_ref.is_some()),
            age: now.duration_since(created).as_secs_f64().max(0.0),
        }
    }

    /// The higher, the sooner it goes.
    fn priority(self, policy: DeletePolicy) -> f64 {
        let by_age = BETTER * (1.0 - (-self.age / SECONDS_OF_AGE).exp());
        match policy {
            DeletePolicy::Random if self.is_marked || self.has_failed => BETTER,
            DeletePolicy::Random if !self.has_node => NODELESS,
            DeletePolicy::Random => ANY,
            _ if self.is_marked || self.has_failed => FIRST,
            DeletePolicy::Oldest => by_age,
            DeletePolicy::Newest => FIRST - by_age,
        }
    }
}

/// Whether a machine was marked to go first.
pub fn is_marked(metadata: &ObjectMeta) -> bool {
    DELETE_MACHINE.iter().any(|name| annotation(metadata, name).is_some())
}

/// The machines in the order in which they go. Those of equal priority are spread by their ids, the same way every time: two
/// looks at the same machines choose the same ones.
pub fn order<'m>(machines: &[&'m Machine], policy: DeletePolicy, now: Timestamp) -> Vec<&'m Machine> {
    let key = |machine: &Machine| {
        let uid = machine.metadata.uid.as_deref().unwrap_or_default();
        // Of two that are chosen at random, one that was marked still goes before one that failed by itself.
        (Facts::of(machine, now).priority(policy), is_marked(&machine.metadata), spread(uid))
    };
    let mut ordered = machines.to_vec();
    ordered.sort_by(|one, other| {
        let ((a, marked_a, spread_a), (b, marked_b, spread_b)) = (key(one), key(other));
        b.total_cmp(&a).then(marked_b.cmp(&marked_a)).then(spread_a.cmp(&spread_b))
    });
    ordered
}

/// FNV-1a: the same in every build.
fn spread(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;
    use serde_json::json;
    use slipway_api::openshift::Machine;

    use super::{DeletePolicy, order};

    const NOW: i64 = 1_800_000_000;

    fn machine(name: &str, age: i64, extra: &serde_json::Value) -> Machine {
        let created = Timestamp::from_second(NOW - age).unwrap().to_string();
        let mut object = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "uid": name, "creationTimestamp": created},
            "spec": {}, "status": {"nodeRef": {"kind": "Node", "name": name}},
        });
        for (key, value) in extra.as_object().unwrap() {
            if key == "annotations" {
                object["metadata"]["annotations"] = value.clone();
            } else {
                object[key] = value.clone();
            }
        }
        serde_json::from_value(object).unwrap()
    }

    fn all() -> Vec<Machine> {
        let marked = json!({"annotations": {"machine.openshift.io/delete-machine": "true"}});
        vec![
            machine("old", 9_000_000, &json!({})),
            machine("young", 60, &json!({})),
            machine("nodeless", 600, &json!({"status": {}})),
            machine("failed", 3600, &json!({"status": {"phase": "Failed"}})),
            machine("marked", 7200, &marked),
        ]
    }

    #[rstest]
    #[case::random("Random", &["marked", "failed", "nodeless"])]
    #[case::newest("Newest", &["marked", "failed", "young", "nodeless", "old"])]
    #[case::oldest("Oldest", &["marked", "failed", "old", "nodeless", "young"])]
    fn marked_and_failed_go_first(#[case] policy: &str, #[case] expected: &[&str]) {
        let machines = all();
        let policy = DeletePolicy::of(Some(policy)).unwrap();
        let now = Timestamp::from_second(NOW).unwrap();
        let mut given: Vec<&Machine> = machines.iter().collect();
        let names = |given: &[&Machine]| -> Vec<String> {
            order(given, policy, now).iter().map(|one| one.metadata.name.clone().unwrap()).collect()
        };
        let ordered = names(&given);
        assert_eq!(ordered[..expected.len()], *expected);
        given.reverse();
        assert_eq!(names(&given), ordered, "however they are listed");
    }

    #[test]
    fn a_policy_that_is_none_is_told() {
        assert_eq!(DeletePolicy::of(None), Ok(DeletePolicy::Random));
        let error = DeletePolicy::of(Some("Youngest")).unwrap_err();
        assert_eq!(error.to_string(), "`deletePolicy` is `Youngest`; write Random, Newest or Oldest");
    }
}
