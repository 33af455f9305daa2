//! What comes next when a machine of the control plane is replaced. Pure.

use serde::Serialize;

use crate::machines::MachinesError;

/// Which goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The new machine joins, then the old one leaves: etcd never has fewer members that work.
    NewFirst,
    /// The old one does not work. A member that does not work would count against the majority beside a new one.
    OldFirst,
}

/// A machine of the control plane, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    pub machine: String,
    /// None if it has its part in the control plane.
    pub lacks: Option<String>,
}

/// A replacement on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Observed {
    pub(super) machine: String,
    pub(super) replacement: String,
    pub(super) order: Order,
    /// Whether the old machine is being deleted; `None` if it is gone.
    pub(super) is_leaving: Option<bool>,
    /// What it waits for.
    pub(super) why_leaving: Option<String>,
    pub(super) new: Option<New>,
}

/// The machine that takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct New {
    /// It is not to be made before the old one has left.
    pub(super) waits: bool,
    pub(super) has_failed: bool,
    /// What it lacks to have its part in the control plane.
    pub(super) lacks: Option<String>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Create {
        waits: bool,
    },
    /// The new machine may be made.
    Begin,
    /// The old one leaves etcd, is drained and removed.
    Delete,
    Wait {
        reason: String,
    },
    Done,
}

impl Step {
    /// For people.
    pub(super) fn sentence(&self, old: &str, new: &str) -> String {
        match self {
            Step::Create { waits: false } => format!("creating the machine `{new}`"),
            Step::Create { waits: true } => {
                format!("creating the Machine `{new}`, which waits until `{old}` has left")
            }
            Step::Begin => format!("`{old}` has left: the virtual machine of `{new}` may be created"),
            Step::Delete => format!("deleting the machine `{old}`: it leaves etcd, then its node is drained"),
            Step::Wait { reason } => format!("waiting: {reason}"),
            Step::Done => format!("`{new}` has taken the place of `{old}`"),
        }
    }
}

/// One step further.
pub(super) fn next(observed: &Observed) -> Result<Step, MachinesError> {
    let Observed { machine, replacement, order, is_leaving, why_leaving, new } = observed;
    let Some(New { waits, has_failed, lacks }) = new else {
        return Ok(Step::Create { waits: *order == Order::OldFirst });
    };
    if *has_failed {
        let message = lacks.clone().unwrap_or_else(|| "it gives no reason".to_owned());
        return Err(MachinesError::NewFailed { machine: replacement.clone(), message });
    }
    let leaving = || {
        let why = why_leaving.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        Step::Wait { reason: format!("for `{machine}` to go{why}") }
    };
    let joining = |lacks: &String| Step::Wait { reason: format!("for `{replacement}` to join ({lacks})") };
    Ok(match (order, is_leaving, lacks) {
        (Order::OldFirst, Some(false), _) | (Order::NewFirst, Some(false), None) => Step::Delete,
        (_, Some(true), _) => leaving(),
        (Order::OldFirst, None, _) if *waits => Step::Begin,
        (_, _, Some(lacks)) => joining(lacks),
        (_, None, None) => Step::Done,
    })
}

/// Why a machine must not be replaced now. Half of the members and one more have to work without it.
pub(super) fn refusal(is_healthy: bool, others: &[Health]) -> Option<String> {
    let ill: Vec<String> = others
        .iter()
        .filter_map(|one| Some(format!("`{}` ({})", one.machine, one.lacks.as_ref()?)))
        .collect();
    let healthy = others.len() - ill.len();
    if is_healthy {
        return (!ill.is_empty())
            .then(|| format!("it works, and {} does not: replace what does not work first", ill.join(", ")));
    }
    let most = others.len() / 2 + 1;
    (healthy < most).then(|| {
        let beside = if ill.is_empty() { String::new() } else { format!("; {} does not work either", ill.join(", ")) };
        format!(
            "it does not work, and without it {healthy} of {} machines of the control plane would: etcd has no majority{beside}. \
             Bring one of them back first, or restore etcd from a backup",
            others.len()
        )
    })
}

/// The first number that no machine has.
pub(super) fn fresh_name(old: &str, names: &[String]) -> String {
    let stem = old.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
    let number = |name: &String| name.strip_prefix(stem)?.strip_prefix('-')?.parse::<u32>().ok();
    let next = names.iter().filter_map(number).max().map_or(0, |last| last.saturating_add(1));
    format!("{stem}-{next}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Health, New, Observed, Order, Step, fresh_name, next, refusal};

    fn new(text: &str) -> Option<New> {
        let lacks = if text.contains("in") { None } else { Some("provisioning".to_owned()) };
        (text != "none").then(|| New {
            waits: text.contains("waits"),
            has_failed: text.contains("failed"),
            lacks,
        })
    }

    #[rstest]
    #[case::begin(Order::NewFirst, Some(false), "none", "creating the machine `m-3`")]
    #[case::joins(Order::NewFirst, Some(false), "made", "waiting: for `m-3` to join (provisioning)")]
    #[case::joined(
        Order::NewFirst,
        Some(false),
        "in",
        "deleting the machine `m-1`: it leaves etcd, then its node is drained"
    )]
    #[case::leaves(Order::NewFirst, Some(true), "in", "waiting: for `m-1` to go: a hook")]
    #[case::deleted_by_hand(Order::NewFirst, Some(true), "made", "waiting: for `m-1` to go: a hook")]
    #[case::done(Order::NewFirst, None, "in", "`m-3` has taken the place of `m-1`")]
    #[case::dead(
        Order::OldFirst,
        Some(false),
        "none",
        "creating the Machine `m-3`, which waits until `m-1` has left"
    )]
    #[case::dead_goes(
        Order::OldFirst,
        Some(false),
        "waits",
        "deleting the machine `m-1`: it leaves etcd, then its node is drained"
    )]
    #[case::dead_leaves(Order::OldFirst, Some(true), "waits", "waiting: for `m-1` to go: a hook")]
    #[case::dead_is_gone(
        Order::OldFirst,
        None,
        "waits",
        "`m-1` has left: the virtual machine of `m-3` may be created"
    )]
    #[case::new_joins(Order::OldFirst, None, "made", "waiting: for `m-3` to join (provisioning)")]
    #[case::cut_off_there(Order::NewFirst, None, "made", "waiting: for `m-3` to join (provisioning)")]
    #[case::new_is_in(Order::OldFirst, None, "in", "`m-3` has taken the place of `m-1`")]
    fn one_after_the_other(
        #[case] order: Order,
        #[case] is_leaving: Option<bool>,
        #[case] text: &str,
        #[case] expected: &str,
    ) {
        let observed = Observed {
            machine: "m-1".to_owned(),
            replacement: "m-3".to_owned(),
            order,
            is_leaving,
            why_leaving: Some("a hook".to_owned()),
            new: new(text),
        };
        assert_eq!(next(&observed).unwrap().sentence("m-1", "m-3"), expected);
        let failed = Observed { new: new("failed"), ..observed };
        assert!(next(&failed).is_err(), "a machine that failed takes nothing's place");
        assert_ne!(next(&Observed { new: None, ..failed }).unwrap(), Step::Done);
    }

    /// `a+` works, `a` does not.
    fn others(text: &str) -> Vec<Health> {
        let one = |text: &str| {
            let lacks = (!text.ends_with('+')).then(|| "not ready".to_owned());
            Health { machine: text.trim_end_matches('+').to_owned(), lacks }
        };
        text.split_whitespace().map(one).collect()
    }

    #[rstest]
    #[case::all_work(true, "b+ c+", None)]
    #[case::only_one(true, "", None)]
    #[case::another_is_ill(true, "b+ c", Some("it works, and `c` (not ready) does not"))]
    #[case::dead(false, "b+ c+", None)]
    #[case::dead_of_two(false, "b+", None)]
    #[case::dead_of_five(false, "b+ c+ d+ e", None)]
    #[case::two_of_three(false, "b+ c", Some("it does not work, and without it 1 of 2 machines"))]
    #[case::the_only_one_is_dead(false, "", Some("it does not work, and without it 0 of 0 machines"))]
    fn a_majority_has_to_work_without_it(
        #[case] is_healthy: bool,
        #[case] text: &str,
        #[case] expected: Option<&str>,
    ) {
        let why = refusal(is_healthy, &others(text));
        assert_eq!(why.is_some(), expected.is_some(), "{why:?}");
        assert!(why.unwrap_or_default().starts_with(expected.unwrap_or_default()));
    }

    #[test]
    fn names_are_not_given_twice() {
        let names = ["a-x7k2p-master-0", "a-x7k2p-master-2", "a-x7k2p-worker-9"].map(str::to_owned);
        assert_eq!(fresh_name("a-x7k2p-master-0", &names), "a-x7k2p-master-3");
        assert_eq!(fresh_name("odd", &names), "odd-0");
    }
}
