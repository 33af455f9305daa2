//! The next step of a resource, from what is wanted and what is there.

use std::time::Duration;

use slipway_engine::{Cause, Goal, Id, Next, RequiredPrivilege, Resource, Step, Wait};

use super::{Action, Desired, Kind, ObjectState, PowerState, State, reason};

/// Between two looks at something that happens by itself, where no watch tells of it.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// For the import of an image.
const IMPORT_TIMEOUT: Duration = Duration::from_hours(1);
/// For a machine to shut down: its grace period, and some time for KubeVirt.
const STOP_TIMEOUT: Duration = Duration::from_mins(15);
/// For what holds an object that was deleted.
const LEAVE_TIMEOUT: Duration = Duration::from_mins(10);

pub(super) fn next(resource: &Resource<Desired>, own: Option<&State>, start_limit: Duration) -> Next<Action> {
    let Resource { id, goal, desired, .. } = resource;
    match own {
        Some(State::Power(power)) => next_power(id, *goal, power, start_limit),
        None if desired.kind == Kind::Power => match goal {
            Goal::Present => start(id),
            Goal::Absent => Next::Done,
        },
        Some(State::Object(object)) => next_object(id, *goal, desired, object),
        None => match (goal, &desired.manifest) {
            (Goal::Absent, _) => Next::Done,
            (Goal::Present, Some(_)) => create(id, desired),
            (Goal::Present, None) => {
                let message = format!("the {} is not there, and nothing says how it should look", id.kind);
                Next::Stop(Cause::new(reason::NOT_DESCRIBED, message))
            }
        },
    }
}

fn next_object(id: &Id, goal: Goal, desired: &Desired, object: &ObjectState) -> Next<Action> {
    let Id { kind, name, .. } = id;
    if object.leaving {
        return wait(Wait {
            reason: reason::LEAVING,
            sentence: format!("until the {kind} `{name}` is gone"),
            look_again: LOOK_INTERVAL,
            limit: LEAVE_TIMEOUT,
            overdue: format!("the {kind} `{name}` was deleted and is still there"),
            remedy: Some(format!("see what holds it: its finalizers, and the events of `{name}`")),
        });
    }
    if goal == Goal::Absent {
        let sentence = format!("delete the {kind} `{name}`");
        return step(id, Action::Delete, "delete", sentence, &[(desired.kind, "delete")]);
    }
    match desired.kind {
        Kind::Image => next_image(id, object),
        Kind::Secret if desired.content().is_some() && desired.content() != object.content.as_deref() => {
            let sentence = format!("change the Secret `{name}` to what the files say now");
            step(id, Action::Change, "change", sentence, &[(Kind::Secret, "patch")])
        }
        _ => Next::Done,
    }
}

fn next_image(id: &Id, image: &ObjectState) -> Next<Action> {
    let Id { name, .. } = id;
    let phase = image.phase.as_deref().unwrap_or_default();
    match phase {
        "Succeeded" => Next::Done,
        "Failed" => {
            let message = format!(
                "the import of `{name}` failed; see the events of the DataVolume, correct `clusterOSImage`, delete the \
                 DataVolume, and run with `--recreate {name}`"
            );
            Next::Stop(Cause::new(reason::IMPORT_FAILED, message))
        }
        _ => {
            let so_far = image.progress.as_ref().map_or_else(String::new, |far| format!(" ({far})"));
            let because = image.problem.as_ref().map_or_else(String::new, |problem| format!(": {problem}"));
            let phase = if phase.is_empty() { "not begun" } else { phase };
            wait(Wait {
                reason: reason::IMPORTING,
                sentence: format!("until the image `{name}` is imported{so_far}{because}"),
                look_again: LOOK_INTERVAL,
                limit: IMPORT_TIMEOUT,
                overdue: format!("the image `{name}` is not imported: {phase}{so_far}{because}"),
                remedy: Some("see the events of the DataVolume and of its importer pod".to_owned()),
            })
        }
    }
}

fn next_power(id: &Id, goal: Goal, power: &PowerState, start_limit: Duration) -> Next<Action> {
    let Id { name, .. } = id;
    let because = power.problem.as_ref().map_or_else(String::new, |problem| format!(": {problem}"));
    match (goal, power.on) {
        (Goal::Present, false) => start(id),
        (Goal::Present, true) if power.is_running() => Next::Done,
        (Goal::Present, true) => wait(Wait {
            reason: reason::NOT_RUNNING,
            sentence: format!("until `{name}` runs{because}"),
            look_again: LOOK_INTERVAL,
            limit: start_limit,
            overdue: format!("`{name}` was started and does not run{because}"),
            remedy: Some("see the conditions of the VirtualMachine and the events of its pod".to_owned()),
        }),
        (Goal::Absent, true) => {
            let sentence = format!("stop the machine `{name}`");
            step(id, Action::Stop, "stop", sentence, &[(Kind::Machine, "patch")])
        }
        (Goal::Absent, false) if power.phase.is_none() => Next::Done,
        (Goal::Absent, false) => wait(Wait {
            reason: reason::STOPPING,
            sentence: format!("until `{name}` has stopped"),
            look_again: LOOK_INTERVAL,
            limit: STOP_TIMEOUT,
            overdue: format!("`{name}` was stopped and still runs"),
            remedy: Some("see the events of the VirtualMachineInstance, and its finalizers".to_owned()),
        }),
    }
}

fn create(id: &Id, desired: &Desired) -> Next<Action> {
    let Id { name, .. } = id;
    let (sentence, undo) = match desired.kind {
        Kind::Image => (format!("import the image of the operating system as `{name}`"), "the volume"),
        Kind::Secret => (format!("create the Secret `{name}` that a machine boots from"), "the Secret"),
        _ => (format!("create the machine `{name}`"), "the machine and its disk"),
    };
    let needs = [(desired.kind, "create")];
    match step(id, Action::Create, "create", sentence, &needs) {
        Next::Step(mut step) => {
            step.mark = Some(desired.mark);
            step.undo = Some(format!("delete {undo}"));
            Next::Step(step)
        }
        other => other,
    }
}

fn start(id: &Id) -> Next<Action> {
    let sentence = format!("start the machine `{}`", id.name);
    step(id, Action::Start, "start", sentence, &[(Kind::Machine, "patch")])
}

fn step(id: &Id, action: Action, verb: &str, sentence: String, needs: &[(Kind, &str)]) -> Next<Action> {
    let need = |(kind, verb): &(Kind, &str)| RequiredPrivilege {
        object: kind.plural().into(),
        privilege: (*verb).into(),
    };
    Next::Step(Box::new(Step {
        resource: id.clone(),
        action,
        verb: verb.into(),
        sentence,
        undo: None,
        costs: Vec::new(),
        privileges: needs.iter().map(need).collect(),
        mark: None,
        limit: Duration::from_mins(2),
    }))
}

fn wait(wait: Wait) -> Next<Action> {
    Next::Wait(Box::new(wait))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;
    use serde_json::json;
    use slipway_config::ids::InfraId;
    use slipway_engine::{Endpoint, Goal, Next, Resource};
    use uuid::Uuid;

    use super::super::{CONTENT, Desired, Kind, Manifest, ObjectState, PowerState, State, id_of};
    use super::next;

    fn resource(kind: Kind, goal: Goal) -> Resource<Desired> {
        let manifest = json!({"metadata": {"annotations": {CONTENT: "new"}}});
        let desired = Desired {
            kind,
            name: "tenant-x7k2p-master-0".to_owned(),
            infra_id: InfraId::try_from("tenant-x7k2p".to_owned()).unwrap(),
            mark: Uuid::nil(),
            manifest: Some(Manifest(manifest)),
        };
        let id = id_of(&Endpoint::from("infra/tenant"), &desired);
        Resource { id, goal, desired, depends_on: Vec::new(), rank: 1, hold: None }
    }

    fn phase(phase: &str) -> State {
        State::Object(ObjectState { phase: Some(phase.to_owned()), ..ObjectState::default() })
    }

    fn content(content: &str) -> State {
        State::Object(ObjectState { content: Some(content.to_owned()), ..ObjectState::default() })
    }

    fn leaving() -> State {
        State::Object(ObjectState { leaving: true, ..ObjectState::default() })
    }

    fn power(on: bool, phase: Option<&str>) -> State {
        let phase = phase.map(ToOwned::to_owned);
        State::Power(PowerState { on, phase, ..PowerState::default() })
    }

    #[rstest]
    #[case::image_absent(Kind::Image, Goal::Present, None, "create")]
    #[case::image_importing(Kind::Image, Goal::Present, Some(phase("ImportInProgress")), "wait Importing")]
    #[case::image_failed(Kind::Image, Goal::Present, Some(phase("Failed")), "stop ImportFailed")]
    #[case::image_ready(Kind::Image, Goal::Present, Some(phase("Succeeded")), "done")]
    #[case::image_goes(Kind::Image, Goal::Absent, Some(phase("Succeeded")), "delete")]
    #[case::secret_same(Kind::Secret, Goal::Present, Some(content("new")), "done")]
    #[case::secret_edited(Kind::Secret, Goal::Present, Some(content("old")), "change")]
    #[case::machine_there(Kind::Machine, Goal::Present, Some(content("old")), "done")]
    #[case::machine_leaving(Kind::Machine, Goal::Absent, Some(leaving()), "wait Leaving")]
    #[case::machine_made_again(Kind::Machine, Goal::Present, Some(leaving()), "wait Leaving")]
    #[case::machine_gone(Kind::Machine, Goal::Absent, None, "done")]
    #[case::power_unknown(Kind::Power, Goal::Present, None, "start")]
    #[case::power_off(Kind::Power, Goal::Present, Some(power(false, None)), "start")]
    #[case::power_scheduling(
        Kind::Power,
        Goal::Present,
        Some(power(true, Some("Scheduling"))),
        "wait NotRunning"
    )]
    #[case::power_on(Kind::Power, Goal::Present, Some(power(true, Some("Running"))), "done")]
    #[case::power_to_stop(Kind::Power, Goal::Absent, Some(power(true, Some("Running"))), "stop")]
    #[case::power_stopping(Kind::Power, Goal::Absent, Some(power(false, Some("Running"))), "wait Stopping")]
    #[case::power_stopped(Kind::Power, Goal::Absent, Some(power(false, None)), "done")]
    fn steps(#[case] kind: Kind, #[case] goal: Goal, #[case] own: Option<State>, #[case] expected: &str) {
        let next = next(&resource(kind, goal), own.as_ref(), Duration::from_mins(1));
        let told = match next {
            Next::Done => "done".to_owned(),
            Next::Step(step) => step.verb.to_string(),
            Next::Wait(wait) => format!("wait {}", wait.reason),
            Next::Stop(cause) => format!("stop {}", cause.reason),
        };
        assert_eq!(told, expected);
    }
}
