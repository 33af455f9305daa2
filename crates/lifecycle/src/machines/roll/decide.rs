//! What comes next in a rollout. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::machines::MachinesError;
use crate::machines::list::State;

/// What was to be done when it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Begun {
    /// How many machines the set has, before and after.
    pub(super) replicas: u32,
    /// The ids of those that are replaced.
    pub(super) machines: BTreeSet<String>,
}

/// A set that is rolled out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Observed {
    pub(super) set: String,
    /// As the set says now.
    pub(super) replicas: u32,
    /// As it said when the rollout began.
    pub(super) wanted: u32,
    pub(super) machines: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    /// It is to be replaced.
    pub(super) is_old: bool,
    /// It was chosen to go.
    pub(super) is_marked: bool,
    pub(super) state: State,
    pub(super) reason: Option<String>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Scale {
        to: u32,
    },
    /// The machine goes first, and the set shrinks by one.
    GiveUp {
        machine: String,
        to: u32,
    },
    Wait {
        reason: String,
    },
    Done,
}

impl Step {
    /// For people.
    pub(super) fn sentence(&self, set: &str) -> String {
        match self {
            Step::Scale { to } => format!("scaling `{set}` to {to}"),
            Step::GiveUp { machine, to } => {
                format!("deleting the machine `{machine}` of the old spec, scaling `{set}` back to {to}")
            }
            Step::Wait { reason } => format!("waiting: {reason}"),
            Step::Done => format!("all machines of `{set}` are as wanted"),
        }
    }
}

/// One step further. It stops where something else than expected happened.
pub(super) fn next(observed: &Observed) -> Result<Step, MachinesError> {
    let Observed { set, replicas, wanted, machines } = observed;
    let (replicas, wanted) = (*replicas, *wanted);
    let surged = wanted.saturating_add(1);
    if replicas != wanted && replicas != surged {
        return Err(MachinesError::ReplicasChanged { set: set.clone(), found: replicas, wanted });
    }
    let (leaving, staying): (Vec<&Member>, Vec<&Member>) =
        machines.iter().partition(|machine| machine.state == State::Deleting);
    if let Some(one) = leaving.first() {
        return Ok(waits("to go", one));
    }
    let new: Vec<&&Member> = staying.iter().filter(|machine| !machine.is_old).collect();
    if let Some(failed) = new.iter().find(|machine| machine.state == State::Failed) {
        let message = failed.reason.clone().unwrap_or_else(|| "it gives no reason".to_owned());
        return Err(MachinesError::NewFailed { machine: failed.name.clone(), message });
    }
    let mut old: Vec<&&Member> = staying.iter().filter(|machine| machine.is_old).collect();
    let expected = usize::try_from(replicas).unwrap_or(usize::MAX);
    if old.is_empty() && replicas == wanted {
        let late = new.iter().find(|machine| !machine.state.is_good());
        return Ok(late.map_or(Step::Done, |machine| waits("to become ready", machine)));
    }
    if old.is_empty() {
        return Ok(Step::Scale { to: wanted });
    }
    if staying.len() != expected {
        let reason = format!("`{set}` has {} machines, and {expected} are wanted", staying.len());
        return Ok(Step::Wait { reason });
    }
    if replicas == wanted {
        return Ok(Step::Scale { to: surged });
    }
    if let Some(late) = new.iter().find(|machine| !machine.state.is_good()) {
        return Ok(waits("to become ready", late));
    }
    // What was chosen before it was cut off goes first, then what does not work anyway.
    old.sort_by_key(|machine| (!machine.is_marked, machine.state.is_good(), machine.name.clone()));
    Ok(old.first().map_or(Step::Done, |machine| Step::GiveUp { machine: machine.name.clone(), to: wanted }))
}

fn waits(what: &str, machine: &Member) -> Step {
    let state = machine.state.as_str();
    let why = machine.reason.as_ref().map(|reason| format!(", {reason}")).unwrap_or_default();
    Step::Wait { reason: format!("for `{}` {what} ({state}{why})", machine.name) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Member, Observed, Step, next};
    use crate::machines::list::State;

    /// `old`, `new`, with `+` for one that runs, `!` for one that goes, `#` for one that failed, `*` for one that is marked.
    fn member(text: &str) -> Member {
        let state = match text {
            _ if text.contains('+') => State::Running,
            _ if text.contains('!') => State::Deleting,
            _ if text.contains('#') => State::Failed,
            _ => State::Provisioning,
        };
        Member {
            name: text.to_owned(),
            is_old: text.starts_with("old"),
            is_marked: text.contains('*'),
            state,
            reason: None,
        }
    }

    fn observed(replicas: u32, wanted: u32, machines: &str) -> Observed {
        let machines = machines.split_whitespace().map(member).collect();
        Observed { set: "s".to_owned(), replicas, wanted, machines }
    }

    #[rstest]
    #[case::begin(2, "old1+ old2+", "scaling `s` to 3")]
    #[case::not_there_yet(3, "old1+ old2+", "waiting: `s` has 2 machines, and 3 are wanted")]
    #[case::not_ready_yet(3, "old1+ old2+ new1", "waiting: for `new1` to become ready (provisioning)")]
    #[case::one_less(
        3,
        "old1+ old2+ new1+",
        "deleting the machine `old1+` of the old spec, scaling `s` back to 2"
    )]
    #[case::marked_goes(
        3,
        "old1+ old2+* new1+",
        "deleting the machine `old2+*` of the old spec, scaling `s` back to 2"
    )]
    #[case::broken_goes_first(
        3,
        "old1+ old2# new1+",
        "deleting the machine `old2#` of the old spec, scaling `s` back to 2"
    )]
    #[case::not_seen_yet(2, "old1+ old2+ new1+", "waiting: `s` has 3 machines, and 2 are wanted")]
    #[case::goes(2, "old1! old2+ new1+", "waiting: for `old1!` to go (deleting)")]
    #[case::the_next(2, "old2+ new1+", "scaling `s` to 3")]
    #[case::the_last_is_gone(2, "new1+ new2+", "all machines of `s` are as wanted")]
    #[case::one_too_many(3, "new1+ new2+ new3+", "scaling `s` to 2")]
    #[case::another_fell_ill(2, "new1+ new2", "waiting: for `new2` to become ready (provisioning)")]
    fn one_more_then_one_less(#[case] replicas: u32, #[case] machines: &str, #[case] expected: &str) {
        assert_eq!(next(&observed(replicas, 2, machines)).unwrap().sentence("s"), expected);
    }

    #[rstest]
    #[case::scaled(
        5,
        "old1+ old2+",
        "the MachineSet `s` has `replicas: 5` now, and 2 when the rollout began"
    )]
    #[case::failed(3, "old1+ old2+ new1#", "the new Machine `new1#` failed: it gives no reason")]
    fn it_stops_where_something_else_happened(
        #[case] replicas: u32,
        #[case] machines: &str,
        #[case] expected: &str,
    ) {
        let error = next(&observed(replicas, 2, machines)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }

    /// A cluster that does as it is told: never fewer that run than wanted, and at the end all are new.
    #[test]
    fn it_comes_to_an_end_and_never_has_fewer() {
        let mut seen = observed(3, 3, "old1+ old2+ old3+");
        for round in 0..100 {
            let running = seen.machines.iter().filter(|machine| machine.state == State::Running).count();
            assert!(running >= 3, "{seen:?}");
            match next(&seen).unwrap() {
                Step::Done => {
                    assert!(seen.machines.iter().all(|machine| !machine.is_old) && seen.replicas == 3);
                    return;
                }
                Step::Scale { to } => seen.replicas = to,
                Step::GiveUp { machine, to } => {
                    seen.replicas = to;
                    seen.machines.retain(|one| one.name != machine);
                }
                Step::Wait { .. } => {
                    let there = u32::try_from(seen.machines.len()).unwrap();
                    if there < seen.replicas {
                        seen.machines.push(member(&format!("new{round}")));
                    } else {
                        seen.machines.iter_mut().for_each(|machine| machine.state = State::Running);
                    }
                }
            }
        }
        panic!("it continues: {seen:?}");
    }
}
