//! The next step of a resource, from what is wanted and what is there.

use std::time::Duration;

use slipway_engine::{Cause, Goal, Id, Next, Resource, Step, Wait};

use super::{
    Action, BootDisk, Desired, GroupState, Kind, MachineState, ObjectState, PowerState, State, reason,
};

/// Between two looks at something that happens by itself; events tell earlier.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// For the disks of a machine to be copied, grown or removed.
const LOCK_TIMEOUT: Duration = Duration::from_mins(30);
/// For a machine to power off.
const STOP_TIMEOUT: Duration = Duration::from_mins(10);
const GIB: u64 = 1 << 30;

pub(super) fn next(resource: &Resource<Desired>, own: Option<&State>, start_limit: Duration) -> Next<Action> {
    let Resource { id, goal, desired, .. } = resource;
    match (own, goal) {
        (Some(State::Machine(machine)), Goal::Present) => next_machine(id, desired, machine),
        (Some(State::Machine(machine)), Goal::Absent) => leaving_machine(id, machine),
        (Some(State::Power(power)), goal) => next_power(id, *goal, power, start_limit),
        (Some(_), Goal::Present) | (None, Goal::Absent) => Next::Done,
        (Some(_), Goal::Absent) => {
            step(id, Action::Delete, format!("delete the {} `{}`", desired.kind, id.name))
        }
        (None, Goal::Present) if desired.kind == Kind::Power => start(id),
        (None, Goal::Present) => create(id, desired),
    }
}

/// How a resource is after a step.
pub(super) fn predict(desired: &Desired, own: Option<&State>, action: Action) -> Option<State> {
    match (action, own) {
        (Action::Create, _) => Some(match desired.kind {
            Kind::Tag => State::Tag(ObjectState::default()),
            Kind::AffinityGroup => State::Group(GroupState {
                enforcing: desired.group().is_some_and(|group| group.enforcing),
                ..GroupState::default()
            }),
            _ => State::Machine(MachineState {
                status: "down".to_owned(),
                disk: Some(BootDisk::default()),
                ..MachineState::default()
            }),
        }),
        (Action::Configure, Some(State::Machine(machine))) => {
            let spec = desired.machine()?;
            let disk = machine.disk.clone().map(|disk| BootDisk { bytes: disk.bytes.max(spec.disk), ..disk });
            Some(State::Machine(MachineState {
                tagged: true,
                connected: true,
                disk,
                groups: machine.groups.iter().chain(&spec.groups).cloned().collect(),
                ..machine.clone()
            }))
        }
        (Action::Detach, Some(State::Machine(machine))) => {
            Some(State::Machine(MachineState { guests: Vec::new(), ..machine.clone() }))
        }
        (Action::Start, _) => Some(power("up")),
        (Action::Stop, _) => Some(power("down")),
        (Action::Configure | Action::Detach | Action::Delete, _) => None,
    }
}

fn power(status: &str) -> State {
    State::Power(PowerState { status: status.to_owned(), ..PowerState::default() })
}

fn create(id: &Id, desired: &Desired) -> Next<Action> {
    let Id { name, .. } = id;
    let (sentence, undo) = match (desired.kind, &desired.spec) {
        (Kind::Tag, _) => (format!("create the tag `{name}`"), "the tag".to_owned()),
        (Kind::AffinityGroup, Some(_)) => {
            let group = desired.group();
            let sentence = match group.filter(|group| group.enforcing) {
                Some(group) => format!(
                    "create the affinity group `{name}`; it enforces if the cluster has {} hosts",
                    group.members
                ),
                None => format!("create the affinity group `{name}`"),
            };
            (sentence, "the affinity group".to_owned())
        }
        (Kind::Machine, Some(_)) => {
            let template = desired.machine().map(|spec| spec.template.to_string()).unwrap_or_default();
            let sentence = format!("create the machine `{name}` from the template `{template}`");
            (sentence, "the machine and its disks".to_owned())
        }
        _ => {
            let message = format!("the {} is not there, and nothing says how it should look", desired.kind);
            return Next::Stop(Cause::new(reason::NOT_DESCRIBED, message));
        }
    };
    match step(id, Action::Create, sentence) {
        Next::Step(mut step) => {
            step.mark = Some(desired.mark);
            step.undo = Some(format!("delete {undo}"));
            Next::Step(step)
        }
        other => other,
    }
}

/// What a machine lacks before it may start. What runs keeps its cards and disks.
fn next_machine(id: &Id, desired: &Desired, machine: &MachineState) -> Next<Action> {
    let Id { name, .. } = id;
    if machine.is_locked() {
        return locked(id, "its disks are being copied or grown");
    }
    let Some(spec) = desired.machine() else { return Next::Done };
    let is_down = machine.status == "down";
    let mut lacks = Vec::new();
    if !machine.tagged {
        lacks.push(format!("the tag `{}`", desired.infra_id));
    }
    for group in spec.groups.iter().filter(|group| !machine.groups.contains(*group)) {
        lacks.push(format!("the affinity group `{group}`"));
    }
    if is_down && !machine.connected {
        lacks.push("its network card".to_owned());
    }
    match &machine.disk {
        None if is_down => {
            let message = format!(
                "the machine `{name}` has no disk to boot from; the template `{}` has none",
                spec.template
            );
            return Next::Stop(Cause::new(reason::NO_BOOT_DISK, message));
        }
        Some(disk) if is_down && disk.bytes < spec.disk => {
            lacks.push(format!("a disk of {} GiB", spec.disk / GIB));
        }
        _ => {}
    }
    if lacks.is_empty() {
        return Next::Done;
    }
    step(id, Action::Configure, format!("give the machine `{name}` {}", lacks.join(", ")))
}

fn leaving_machine(id: &Id, machine: &MachineState) -> Next<Action> {
    let Id { name, .. } = id;
    if machine.is_locked() {
        return locked(id, "its disks are being copied or removed");
    }
    if machine.protected {
        let message = format!(
            "the machine `{name}` is protected from being deleted; switch `Delete Protection` off on the engine, and run again"
        );
        return Next::Stop(Cause::new(reason::PROTECTED, message));
    }
    if !machine.guests.is_empty() {
        let disks: Vec<String> = machine.guests.iter().map(|disk| format!("`{}`", disk.name)).collect();
        let sentence = format!(
            "detach {} from the machine `{name}`, and keep {}",
            disks.join(", "),
            if disks.len() == 1 { "it" } else { "them" }
        );
        return step(id, Action::Detach, sentence);
    }
    step(id, Action::Delete, format!("delete the machine `{name}` and its own disks"))
}

fn locked(id: &Id, why: &str) -> Next<Action> {
    let Id { name, .. } = id;
    wait(Wait {
        reason: reason::LOCKED,
        sentence: format!("until `{name}` is not locked any more: {why}"),
        look_again: LOOK_INTERVAL,
        limit: LOCK_TIMEOUT,
        overdue: format!("`{name}` is locked: {why}"),
        remedy: Some("see the tasks and events of the engine; the storage may be slow or full".to_owned()),
    })
}

fn next_power(id: &Id, goal: Goal, power: &PowerState, start_limit: Duration) -> Next<Action> {
    let Id { name, .. } = id;
    let PowerState { status, .. } = power;
    match (goal, &**status) {
        (Goal::Present, "up") | (Goal::Absent, "down") => Next::Done,
        (Goal::Present, "down") => start(id),
        (_, "image_locked") => locked(id, "its disks are being copied, grown or removed"),
        (Goal::Present, _) => wait(Wait {
            reason: reason::NOT_RUNNING,
            sentence: format!("until `{name}` is up: it is {status}"),
            look_again: LOOK_INTERVAL,
            limit: start_limit,
            overdue: format!("`{name}` was started and is {status}"),
            remedy: Some("see the events of the machine on the engine".to_owned()),
        }),
        (Goal::Absent, "powering_down") => wait(Wait {
            reason: reason::STOPPING,
            sentence: format!("until `{name}` is down"),
            look_again: LOOK_INTERVAL,
            limit: STOP_TIMEOUT,
            overdue: format!("`{name}` was stopped and is {status}"),
            remedy: Some("see the events of the machine on the engine".to_owned()),
        }),
        (Goal::Absent, "migrating") => wait(Wait {
            reason: reason::MIGRATING,
            sentence: format!("until `{name}` has moved to another host"),
            look_again: LOOK_INTERVAL,
            limit: STOP_TIMEOUT,
            overdue: format!("`{name}` moves to another host and does not arrive"),
            remedy: Some("cancel the migration on the engine, and run again".to_owned()),
        }),
        (Goal::Absent, _) => step(id, Action::Stop, format!("power the machine `{name}` off")),
    }
}

fn start(id: &Id) -> Next<Action> {
    step(id, Action::Start, format!("start the machine `{}`", id.name))
}

fn step(id: &Id, action: Action, sentence: String) -> Next<Action> {
    let verb = match action {
        Action::Create => "create",
        Action::Configure => "configure",
        Action::Start => "start",
        Action::Stop => "stop",
        Action::Detach => "detach",
        Action::Delete => "delete",
    };
    Next::Step(Box::new(Step {
        resource: id.clone(),
        action,
        verb: verb.into(),
        sentence,
        undo: None,
        costs: Vec::new(),
        privileges: Vec::new(),
        mark: None,
        limit: Duration::from_mins(5),
    }))
}

fn wait(wait: Wait) -> Next<Action> {
    Next::Wait(Box::new(wait))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;
    use slipway_config::ids::InfraId;
    use slipway_engine::{Endpoint, Goal, Next, Resource};
    use uuid::Uuid;

    use super::super::{
        BootDisk, Desired, GroupSpec, GuestDisk, Kind, MachineState, ObjectState, PowerState, Spec, State,
        id_of,
    };
    use super::next;
    use crate::ovirt::machine_spec::{Card, MachineSpec, Size};

    fn resource(kind: Kind, goal: Goal) -> Resource<Desired> {
        let spec = match kind {
            Kind::AffinityGroup => Spec::Group(GroupSpec {
                priority: 5,
                enforcing: true,
                description: String::new(),
                members: 3,
            }),
            _ => Spec::Machine(Box::new(MachineSpec {
                template: "rhcos".parse().unwrap(),
                vm_type: "server".to_owned(),
                size: Size::InstanceType("x".to_owned()),
                disk: 100,
                cards: vec![Card { network: None, profile: "lan".parse().unwrap() }],
                groups: vec!["barge-x7k2p-controlplane".to_owned()],
                auto_pinning: false,
                hugepages: None,
                clone: true,
                sparse: None,
                format: None,
                storage_domain: None,
                ignition: None,
                description: String::new(),
            })),
        };
        let desired = Desired {
            kind,
            name: "barge-x7k2p-master-0".to_owned(),
            infra_id: InfraId::try_from("barge-x7k2p".to_owned()).unwrap(),
            mark: Uuid::nil(),
            spec: Some(spec),
            found: None,
        };
        let id = id_of(&Endpoint::from("engine"), &desired);
        Resource { id, goal, desired, depends_on: Vec::new(), rank: 1, hold: None }
    }

    fn machine(change: impl Fn(&mut MachineState)) -> State {
        let mut machine = MachineState {
            status: "down".to_owned(),
            tagged: true,
            connected: true,
            disk: Some(BootDisk { bytes: 100, ..BootDisk::default() }),
            groups: ["barge-x7k2p-controlplane".to_owned()].into(),
            ..MachineState::default()
        };
        change(&mut machine);
        State::Machine(machine)
    }

    fn power(status: &str) -> State {
        State::Power(PowerState { status: status.to_owned(), ..PowerState::default() })
    }

    #[rstest]
    #[case::tag(Kind::Tag, Goal::Present, None, "create")]
    #[case::tag_there(Kind::Tag, Goal::Present, Some(State::Tag(ObjectState::default())), "done")]
    #[case::tag_goes(Kind::Tag, Goal::Absent, Some(State::Tag(ObjectState::default())), "delete")]
    #[case::group(Kind::AffinityGroup, Goal::Present, None, "create")]
    #[case::machine(Kind::Machine, Goal::Present, None, "create")]
    #[case::copied(Kind::Machine, Goal::Present, Some(machine(|m| m.status = "image_locked".into())), "wait Locked")]
    #[case::untagged(Kind::Machine, Goal::Present, Some(machine(|m| m.tagged = false)), "configure")]
    #[case::unconnected(Kind::Machine, Goal::Present, Some(machine(|m| m.connected = false)), "configure")]
    #[case::small(Kind::Machine, Goal::Present, Some(machine(|m| m.disk = Some(BootDisk { bytes: 9, ..BootDisk::default() }))), "configure")]
    #[case::grown(Kind::Machine, Goal::Present, Some(machine(|m| m.disk = Some(BootDisk { bytes: 100, locked: true, ..BootDisk::default() }))), "wait Locked")]
    #[case::alone(Kind::Machine, Goal::Present, Some(machine(|m| m.groups.clear())), "configure")]
    #[case::empty(Kind::Machine, Goal::Present, Some(machine(|m| m.disk = None)), "stop NoBootDisk")]
    #[case::ready(Kind::Machine, Goal::Present, Some(machine(|_| {})), "done")]
    #[case::running(Kind::Machine, Goal::Present, Some(machine(|m| { m.status = "up".into(); m.connected = false; })), "done")]
    #[case::goes(Kind::Machine, Goal::Absent, Some(machine(|_| {})), "delete")]
    #[case::goes_locked(Kind::Machine, Goal::Absent, Some(machine(|m| m.status = "image_locked".into())), "wait Locked")]
    #[case::guests(Kind::Machine, Goal::Absent, Some(machine(|m| m.guests = vec![GuestDisk::default()])), "detach")]
    #[case::protected(Kind::Machine, Goal::Absent, Some(machine(|m| m.protected = true)), "stop DeleteProtected")]
    #[case::gone(Kind::Machine, Goal::Absent, None, "done")]
    #[case::off(Kind::Power, Goal::Present, Some(power("down")), "start")]
    #[case::not_seen(Kind::Power, Goal::Present, None, "start")]
    #[case::boots(Kind::Power, Goal::Present, Some(power("wait_for_launch")), "wait NotRunning")]
    #[case::paused(Kind::Power, Goal::Present, Some(power("paused")), "wait NotRunning")]
    #[case::up(Kind::Power, Goal::Present, Some(power("up")), "done")]
    #[case::to_stop(Kind::Power, Goal::Absent, Some(power("up")), "stop")]
    #[case::moves(Kind::Power, Goal::Absent, Some(power("migrating")), "wait Migrating")]
    #[case::stops(Kind::Power, Goal::Absent, Some(power("powering_down")), "wait Stopping")]
    #[case::stopped(Kind::Power, Goal::Absent, Some(power("down")), "done")]
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
