//! What a round found out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use serde::Serialize;

use super::catalog::{Check, Reason};
use super::facts::Facts;

/// How a check ended, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Something does not work, or will not.
    Failure,
    /// It could not be found out.
    Unknown,
    /// It works, but somebody should know.
    Warning,
    /// It is too early to say.
    Pending,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Failure => "failure",
            Outcome::Unknown => "unknown",
            Outcome::Warning => "warning",
            Outcome::Pending => "pending",
        }
    }
}

/// What a finding means for the drivers of the cluster, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    Nothing,
    BlockUpgrade,
    /// Neither upgrade nor first installation.
    BlockInstall,
    /// Degraded where the driver is installed, and else no upgrade.
    BlockUpgradeOrDegrade,
    Degrade,
}

/// One thing that is not as it should be, or not known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub outcome: Outcome,
    pub check: Check,
    /// The vCenter; none for what is about the cluster itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The node it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What was looked at: an inventory path, a name.
    pub object: String,
    pub reason: Reason,
    pub action: Action,
    pub message: String,
    /// More about it, line by line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// What to do about it, in one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

impl Finding {
    fn new(outcome: Outcome, check: Check, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding {
            outcome,
            check,
            endpoint: None,
            node: None,
            object: object.into(),
            reason: Reason::Other,
            action: Action::Nothing,
            message: message.into(),
            details: Vec::new(),
            remedy: String::new(),
        }
    }

    pub(super) fn failure(check: Check, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding::new(Outcome::Failure, check, object, message)
    }

    pub(super) fn warning(check: Check, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding::new(Outcome::Warning, check, object, message)
    }

    pub(super) fn pending(check: Check, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding::new(Outcome::Pending, check, object, message)
    }

    pub(super) fn unknown(check: Check, object: impl Into<String>, message: impl Into<String>) -> Self {
        let finding = Finding::new(Outcome::Unknown, check, object, message);
        finding.remedy("run it again; if it stays, look after the vCenter, or find it out by hand")
    }

    #[must_use]
    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    #[must_use]
    pub(super) fn means(mut self, action: Action, reason: Reason) -> Self {
        (self.action, self.reason) = (action, reason);
        self
    }

    #[must_use]
    pub(super) fn details(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }

    #[must_use]
    pub(super) fn at(mut self, server: &str) -> Self {
        self.endpoint = Some(server.to_owned());
        self
    }

    #[cfg(test)]
    #[must_use]
    pub(super) fn of_node(mut self, node: &str) -> Self {
        self.node = Some(node.to_owned());
        self
    }
}

/// What is to be said about an object, as the rules say it: findings, and what was looked at without one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Verdicts {
    pub(super) findings: Vec<Finding>,
    /// How often each check was made.
    pub(super) looked: BTreeMap<Check, usize>,
}

impl Verdicts {
    /// A check that was made, and what it found.
    pub(super) fn add(&mut self, check: Check, found: impl IntoIterator<Item = Finding>) {
        *self.looked.entry(check).or_default() += 1;
        self.findings.extend(found);
    }

    pub(super) fn merge(&mut self, other: Verdicts) {
        self.findings.extend(other.findings);
        for (check, times) in other.looked {
            *self.looked.entry(check).or_default() += times;
        }
    }

    #[must_use]
    pub(super) fn at(mut self, server: &str) -> Self {
        for finding in &mut self.findings {
            finding.endpoint = Some(server.to_owned());
        }
        self
    }
}

/// What became of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum NodeState {
    /// Its machine was found and looked at.
    #[serde(rename_all = "camelCase")]
    Checked {
        vcenter: String,
        /// The managed object, which means something on this vCenter only.
        machine: String,
        path: String,
    },
    /// It is new, and the cloud provider has not been there yet.
    Pending,
    /// It is no vSphere node, and nobody's business here.
    #[serde(rename_all = "camelCase")]
    Skipped { why: String },
    /// It may live on these vCenters, which could not be asked.
    #[serde(rename_all = "camelCase")]
    Unknown { vcenters: Vec<String> },
    /// No vCenter has its machine, and all were asked.
    Missing,
}

/// A node and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeResult {
    pub name: String,
    #[serde(flatten)]
    pub state: NodeState,
    /// The checks that were made.
    pub checks: BTreeSet<Check>,
    /// Those of them that failed.
    pub failed: BTreeSet<Check>,
}

/// A vCenter in a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VCenterResult {
    pub server: String,
    pub reached: bool,
    pub version: String,
    pub nodes: usize,
}

/// Everything one look at a cluster and its vCenters found out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    pub cluster: String,
    pub started: Timestamp,
    pub vcenters: Vec<VCenterResult>,
    pub nodes: Vec<NodeResult>,
    /// Those of one vCenter together, and of everything the worst first.
    pub findings: Vec<Finding>,
    /// How often each check was made.
    pub looked: BTreeMap<Check, usize>,
    /// What is counted, whether good or bad.
    pub facts: Facts,
}

/// Puts findings in order.
pub(super) fn in_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort();
    findings.dedup();
    let mut worst: BTreeMap<Option<String>, Outcome> = BTreeMap::new();
    for finding in &findings {
        let outcome = worst.entry(finding.endpoint.clone()).or_insert(finding.outcome);
        *outcome = (*outcome).min(finding.outcome);
    }
    findings.sort_by_cached_key(|finding| (worst.get(&finding.endpoint).copied(), finding.endpoint.clone()));
    findings
}

/// A finding, and all nodes it is said about in the same words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'a> {
    pub finding: &'a Finding,
    pub nodes: Vec<&'a str>,
}

impl Round {
    /// What people read: the same said about many nodes is said once.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut known: HashMap<(&Option<String>, Outcome, Check, &str), usize> = HashMap::new();
        for finding in &self.findings {
            let Some(node) = finding.node.as_deref() else {
                groups.push(Group { finding, nodes: Vec::new() });
                continue;
            };
            let key = (&finding.endpoint, finding.outcome, finding.check, finding.message.as_str());
            let at = *known.entry(key).or_insert_with(|| {
                groups.push(Group { finding, nodes: Vec::new() });
                groups.len() - 1
            });
            groups[at].nodes.push(node);
        }
        groups
    }

    /// The same as if these checks were never made.
    #[must_use]
    pub fn without(mut self, silenced: &BTreeSet<Check>) -> Self {
        self.findings.retain(|finding| !silenced.contains(&finding.check));
        self.looked.retain(|check, _| !silenced.contains(check));
        for node in &mut self.nodes {
            node.checks.retain(|check| !silenced.contains(check));
            node.failed.retain(|check| !silenced.contains(check));
        }
        self
    }

    pub fn count(&self, outcome: Outcome) -> usize {
        self.findings.iter().filter(|finding| finding.outcome == outcome).count()
    }

    /// Whether nothing is wrong, as far as is known.
    pub fn is_clear(&self) -> bool {
        self.count(Outcome::Failure) == 0 && self.count(Outcome::Unknown) == 0
    }

    /// Checks without a finding.
    pub fn passed(&self) -> usize {
        let with: BTreeSet<_> =
            self.findings.iter().map(|f| (f.check, &f.endpoint, &f.node, &f.object)).collect();
        self.looked.values().sum::<usize>().saturating_sub(with.len())
    }

    /// Nodes that are in a state.
    pub fn nodes_that(&self, is: impl Fn(&NodeState) -> bool) -> Vec<&str> {
        self.nodes.iter().filter(|node| is(&node.state)).map(|node| node.name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Check, Finding, Outcome, in_order};

    #[test]
    fn the_worst_comes_first_and_vcenters_stay_together() {
        let ordered = in_order(vec![
            Finding::warning(Check::Sessions, "s", "many").at("a"),
            Finding::warning(Check::Clock, "clock", "off").at("b"),
            Finding::failure(Check::Connection, "b", "gone").at("b"),
            Finding::failure(Check::Connection, "b", "gone").at("b"),
        ]);
        let order: Vec<_> =
            ordered.iter().map(|f| (f.endpoint.as_deref().unwrap_or(""), f.outcome)).collect();
        assert_eq!(order, [("b", Outcome::Failure), ("b", Outcome::Warning), ("a", Outcome::Warning)]);
    }
}
