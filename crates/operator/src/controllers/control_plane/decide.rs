//! What is to be done about the machines of the control plane. Pure.

use kube::ResourceExt;
use slipway_api::openshift::{LifecycleHook, Machine};
use slipway_assess::machines::names::{ETCD_HOOK, PAUSED, UNTIL_PREPARED, annotation};

/// A member of etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: String,
    /// The name of its node; empty as long as it has never been up.
    pub name: String,
    pub addresses: Vec<String>,
    /// It has no vote yet.
    pub is_learner: bool,
    pub is_healthy: bool,
}

/// What comes next for a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// What it joins with is made anew, then it is made.
    Prepare,
    /// The hook that keeps it while it is a member.
    Protect,
    /// Its member leaves etcd.
    Remove { id: String },
    /// It is no member: the hook goes.
    LetGo,
    /// It has to stay, and why.
    Hold { why: String },
}

/// Whether anything is to be asked of etcd.
pub(super) fn needs_members(machines: &[Machine]) -> bool {
    machines.iter().any(|machine| is_leaving(machine) && has_hook(machine))
}

/// What comes next, for each machine that needs something. Of several that leave, one does at a time.
pub(super) fn steps(machines: &[Machine], members: &[Member]) -> Vec<(String, Step)> {
    let mut steps = Vec::new();
    let mut leaving: Vec<&Machine> = Vec::new();
    for machine in machines {
        let step = match (is_leaving(machine), has_hook(machine)) {
            (true, true) => {
                leaving.push(machine);
                continue;
            }
            (false, false) => Step::Protect,
            (false, true) if annotation(&machine.metadata, PAUSED) == Some(UNTIL_PREPARED) => Step::Prepare,
            (true, false) | (false, true) => continue,
        };
        steps.push((machine.name_any(), step));
    }
    leaving.sort_by_key(|machine| {
        (machine.metadata.deletion_timestamp.as_ref().map(|time| time.0), machine.name_any())
    });
    let mut is_another_leaving = false;
    for machine in leaving {
        let step = match member_of(machine, members) {
            None => Step::LetGo,
            Some(_) if is_another_leaving => {
                Step::Hold { why: "another machine of the control plane leaves etcd first".to_owned() }
            }
            Some(member) => {
                let refusal = refusal(member, members);
                is_another_leaving = refusal.is_none();
                refusal.map_or_else(|| Step::Remove { id: member.id.clone() }, |why| Step::Hold { why })
            }
        };
        steps.push((machine.name_any(), step));
    }
    steps
}

fn is_leaving(machine: &Machine) -> bool {
    machine.metadata.deletion_timestamp.is_some()
}

/// The hooks of a machine before its drain.
pub(super) fn hooks(machine: &Machine) -> Vec<LifecycleHook> {
    machine.spec.lifecycle_hooks.clone().unwrap_or_default().pre_drain
}

pub(super) fn is_own(hook: &LifecycleHook) -> bool {
    (hook.name.as_str(), hook.owner.as_str()) == ETCD_HOOK
}

fn has_hook(machine: &Machine) -> bool {
    hooks(machine).iter().any(is_own)
}

/// The member that a machine is: by the name of its node, or by its address where the member has never been up.
fn member_of<'m>(machine: &Machine, members: &'m [Member]) -> Option<&'m Member> {
    let status = machine.status.clone().unwrap_or_default();
    let node = status.node_ref.and_then(|node| node.name).unwrap_or_else(|| machine.name_any());
    let has_address =
        |member: &&Member| status.addresses.iter().any(|own| member.addresses.contains(&own.address));
    let named = members.iter().find(|member| member.name == node);
    named.or_else(|| members.iter().filter(|member| member.name.is_empty()).find(has_address))
}

/// Why a member must not be removed. One without a vote takes nothing away.
fn refusal(member: &Member, members: &[Member]) -> Option<String> {
    if member.is_learner {
        return None;
    }
    let others: Vec<&Member> =
        members.iter().filter(|other| other.id != member.id && !other.is_learner).collect();
    if others.is_empty() {
        return Some("it is the only member of etcd: the cluster would be lost with it".to_owned());
    }
    let ill: Vec<&str> =
        others.iter().filter(|other| !other.is_healthy).map(|other| other.name.as_str()).collect();
    let most = others.len() / 2 + 1;
    let healthy = others.len() - ill.len();
    if healthy < most {
        return Some(format!(
            "of the {} members of etcd that would be left {healthy} are healthy, and {most} are needed; not healthy: {}",
            others.len(),
            ill.join(", ")
        ));
    }
    // One that is healthy does not go while another one is ill: with the next that fails etcd would be lost.
    (member.is_healthy && !ill.is_empty()).then(|| {
        format!("it is a healthy member of etcd, and {} is not: replace that one first", ill.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use slipway_api::openshift::Machine;

    use super::{Member, Step, needs_members, steps};

    /// `a`, with `-` for one that is being deleted, `h` for one with the hook, `p` for one that is paused until it is prepared.
    fn machine(text: &str) -> Machine {
        let (name, flags) = text.split_at(1);
        let mut object = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "uid": name}, "spec": {},
            "status": {"addresses": [{"type": "InternalIP", "address": format!("10.0.0.{}", name.as_bytes()[0])}]},
        });
        if flags.contains('-') {
            object["metadata"]["deletionTimestamp"] = json!("2026-11-18T07:00:00Z");
        }
        if flags.contains('h') {
            object["spec"]["lifecycleHooks"] =
                json!({"preDrain": [{"name": "EtcdMember", "owner": "slipway-control-plane"}]});
        }
        if flags.contains('p') {
            object["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": "slipway-control-plane"});
        }
        serde_json::from_value::<Machine>(object).unwrap()
    }

    /// `a`, with `!` for one that is not healthy, `l` for a learner, `?` for one that has never been up.
    fn member(text: &str) -> Member {
        let (name, flags) = text.split_at(1);
        Member {
            id: format!("id-{name}"),
            name: if flags.contains('?') { String::new() } else { name.to_owned() },
            addresses: vec![format!("10.0.0.{}", name.as_bytes()[0])],
            is_learner: flags.contains('l'),
            is_healthy: !flags.contains('!'),
        }
    }

    fn told(machines: &str, members: &str) -> String {
        let machines: Vec<Machine> = machines.split_whitespace().map(machine).collect();
        let members: Vec<Member> = members.split_whitespace().map(member).collect();
        let words = steps(&machines, &members).into_iter().map(|(name, step)| match step {
            Step::Prepare => format!("prepare {name}"),
            Step::Protect => format!("protect {name}"),
            Step::Remove { id } => format!("remove {name} ({id})"),
            Step::LetGo => format!("let {name} go"),
            Step::Hold { why } => format!("hold {name}: {why}"),
        });
        words.collect::<Vec<_>>().join("; ")
    }

    #[rstest]
    #[case::settled("ah bh ch", "a b c", "")]
    #[case::new("a bh ch", "a b c", "protect a")]
    #[case::to_be_made("ah bh ch dhp", "a b c", "prepare d")]
    #[case::protected_before_it_is_prepared("ah bh ch dp", "a b c", "protect d")]
    #[case::replaced("ah- bh ch dh", "a b c d", "remove a (id-a)")]
    #[case::no_member_any_more("ah- bh ch dh", "b c d", "let a go")]
    #[case::let_go_already("a- bh ch dh", "a b c d", "")]
    #[case::never_came_up("ah bh ch dh-", "a b c dl?", "remove d (id-d)")]
    #[case::never_joined("ah bh ch dh-", "a b c", "let d go")]
    #[case::dead("ah- bh ch", "a! b c", "remove a (id-a)")]
    #[case::dead_of_two("ah- bh", "a! b", "remove a (id-a)")]
    #[case::the_only_one(
        "ah-",
        "a",
        "hold a: it is the only member of etcd: the cluster would be lost with it"
    )]
    #[case::only_one_with_a_vote(
        "ah- bh",
        "a bl",
        "hold a: it is the only member of etcd: the cluster would be lost with it"
    )]
    #[case::majority_lost(
        "ah- bh ch",
        "a b! c!",
        "hold a: of the 2 members of etcd that would be left 0 are healthy, and 2 are needed; not healthy: b, c"
    )]
    #[case::another_is_ill(
        "ah- bh ch dh",
        "a b! c d",
        "hold a: it is a healthy member of etcd, and b is not: replace that one first"
    )]
    #[case::one_at_a_time(
        "ah- bh- ch dh eh",
        "a b c d e",
        "remove a (id-a); hold b: another machine of the control plane leaves etcd first"
    )]
    fn etcd_keeps_its_majority(#[case] machines: &str, #[case] members: &str, #[case] expected: &str) {
        assert_eq!(told(machines, members), expected);
    }

    /// Machines are deleted, members fall ill and come back, as a seed has it: a majority that works is never given up.
    #[test]
    fn no_step_takes_the_majority_away() {
        for seed in 0_u64..300 {
            let mut number = seed;
            let mut one_in = |bound: u64| {
                number =
                    number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (number >> 33) % bound == 0
            };
            let mut machines: Vec<Machine> = ["ah", "bh", "ch", "dh", "eh"].map(machine).into();
            let mut members: Vec<Member> = ["a", "b", "c", "d", "e"].map(member).into();
            for _ in 0..60 {
                for machine in &mut machines {
                    if one_in(8) {
                        machine.metadata.deletion_timestamp =
                            serde_json::from_value(Value::from("2026-11-18T07:00:00Z")).unwrap();
                    }
                }
                for member in &mut members {
                    member.is_healthy ^= one_in(6);
                }
                let healthy = |members: &[Member]| members.iter().filter(|one| one.is_healthy).count();
                let had = healthy(&members) * 2 > members.len();
                let steps = steps(&machines, &members);
                let removed = steps.iter().filter(|(_, step)| matches!(step, Step::Remove { .. })).count();
                assert!(removed <= 1, "seed {seed}: {steps:?}");
                for (name, step) in steps {
                    match step {
                        Step::Remove { id } => {
                            members.retain(|member| member.id != id);
                            assert!(!members.is_empty(), "seed {seed}");
                            assert!(
                                !had || healthy(&members) * 2 > members.len(),
                                "seed {seed}: {members:?}"
                            );
                        }
                        Step::LetGo => {
                            assert!(members.iter().all(|member| member.name != name), "seed {seed}");
                            machines.retain(|machine| machine.metadata.name.as_ref() != Some(&name));
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    #[test]
    fn etcd_is_asked_only_when_a_machine_leaves() {
        assert!(!needs_members(&["ah", "b", "c-"].map(machine)));
        assert!(needs_members(&["ah-"].map(machine)));
    }
}
