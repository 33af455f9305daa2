//! When the next round is due, and what changed since the last one. Pure: the caller keeps the state that is returned.

use std::collections::BTreeSet;
use std::time::Duration;

use super::catalog::Check;
use super::report::{Outcome, Round};

/// The pause after a first bad round.
pub const MIN_INTERVAL: Duration = Duration::from_mins(1);
const MAX_INTERVAL: Duration = Duration::from_hours(1);

/// The pause after a round: an hour when all is well, and else a minute that doubles up to an hour with each bad round
/// in a row. `bad` counts those before this one.
pub fn pause(round: &Round, bad: u32) -> Duration {
    if round.is_clear() {
        return MAX_INTERVAL;
    }
    pause_after_failure(bad)
}

/// The same for a round that could not be made at all.
pub fn pause_after_failure(bad: u32) -> Duration {
    MIN_INTERVAL.saturating_mul(2_u32.saturating_pow(bad)).min(MAX_INTERVAL)
}

/// A check that fails now and did not, or the other way round.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    pub check: Check,
    pub node: Option<String>,
    pub failed: bool,
}

impl Change {
    /// The reason of an event, as OpenShift's problem detector has it.
    pub fn reason(&self) -> String {
        let word = if self.failed { "Failed" } else { "Succeeded" };
        format!("{word}VSphere{}", self.check.metric())
    }
}

fn failing(round: &Round) -> BTreeSet<(Check, Option<&str>)> {
    let failed = round.findings.iter().filter(|finding| finding.outcome == Outcome::Failure);
    failed.map(|finding| (finding.check, finding.node.as_deref())).collect()
}

/// What is worth an event: transitions, and what fails in the first round. What is unknown now is neither.
pub fn changes(before: Option<&Round>, after: &Round) -> Vec<Change> {
    let (was, is) = (before.map(failing).unwrap_or_default(), failing(after));
    let unknown: BTreeSet<&str> =
        after.nodes.iter().filter(|node| node.checks.is_empty()).map(|node| node.name.as_str()).collect();
    let known = |node: Option<&str>| node.is_none_or(|node| !unknown.contains(node));
    let change = |&(check, node): &(Check, Option<&str>), failed| Change {
        check,
        node: node.map(str::to_owned),
        failed,
    };
    let mut changes: Vec<Change> = is.difference(&was).map(|one| change(one, true)).collect();
    let over = was.difference(&is).filter(|(_, node)| {
        known(*node) && node.is_none_or(|node| after.nodes.iter().any(|still| still.name == node))
    });
    changes.extend(over.map(|one| change(one, false)));
    changes.sort();
    changes
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    use super::{changes, pause};
    use crate::check::catalog::Check;
    use crate::check::counts::Counts;
    use crate::check::report::{Finding, NodeResult, NodeState, Round};

    /// Nodes with what fails on them; nothing was looked at where there is no list.
    fn round(nodes: &[(&str, Option<&[Check]>)]) -> Round {
        let findings = nodes.iter().flat_map(|(name, failed)| {
            let failed = failed.unwrap_or_default().iter();
            failed.map(|check| Finding::failure(*check, *name, "broken").of_node(name))
        });
        let result = |(name, failed): &(&str, Option<&[Check]>)| NodeResult {
            name: (*name).to_owned(),
            state: NodeState::Missing,
            checks: failed.map(|_| BTreeSet::from([Check::NodeMachine])).unwrap_or_default(),
            failed: BTreeSet::new(),
        };
        Round {
            cluster: String::new(),
            started: jiff::Timestamp::UNIX_EPOCH,
            vcenters: Vec::new(),
            findings: findings.collect(),
            nodes: nodes.iter().map(result).collect(),
            looked: BTreeMap::new(),
            facts: Counts::default(),
        }
    }

    #[test]
    fn pauses_double_up_to_an_hour() {
        let (good, bad) = (round(&[]), round(&[("a", Some(&[Check::NodeHardware]))]));
        let minutes = Duration::from_mins;
        assert_eq!(pause(&good, 7), minutes(60));
        let pauses: Vec<Duration> = [0, 1, 2, 5, 6, 40].map(|before| pause(&bad, before)).into();
        assert_eq!(pauses, [1, 2, 4, 32, 60, 60].map(minutes));
    }

    #[test]
    fn only_what_changes_is_told() {
        let before = round(&[
            ("a", Some(&[Check::NodeHardware])),
            ("b", Some(&[Check::NodeDiskUuid])),
            ("c", Some(&[Check::NodeHost])),
            ("d", Some(&[Check::NodeHost])),
        ]);
        // The first stays as it is, the second is repaired, the third cannot be seen, the fourth is gone.
        let after =
            round(&[("a", Some(&[Check::NodeHardware, Check::NodeHost])), ("b", Some(&[])), ("c", None)]);
        let told: Vec<String> = changes(Some(&before), &after)
            .iter()
            .map(|change| format!("{} {}", change.reason(), change.node.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(told, ["SucceededVSphereCheckNodeDiskUUID b", "FailedVSphereCollectNodeESXiVersion a"]);
        assert_eq!(changes(Some(&after), &after), []);
        assert_eq!(changes(None, &before).len(), 4);
    }
}
