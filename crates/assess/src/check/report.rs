//! What a round found out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::catalog::{Check, Reason};
use super::counts::Counts;
pub use crate::finding::Outcome;
use crate::finding::{self, Judgement};

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

/// What a finding does, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Meaning {
    pub reason: Reason,
    pub action: Action,
}

impl Default for Meaning {
    fn default() -> Self {
        Meaning { reason: Reason::Other, action: Action::Nothing }
    }
}

/// One thing that is not as it should be, or not known.
pub type Finding = finding::Finding<Check, Meaning>;

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Shown<'a> {
            outcome: Outcome,
            check: Check,
            #[serde(skip_serializing_if = "Option::is_none")]
            endpoint: &'a Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            node: &'a Option<String>,
            object: &'a str,
            reason: Reason,
            action: Action,
            message: &'a str,
            #[serde(skip_serializing_if = "<[String]>::is_empty")]
            details: &'a [String],
            #[serde(skip_serializing_if = "Option::is_none")]
            remedy: &'a Option<String>,
        }
        let Finding {
            outcome,
            check,
            endpoint,
            node,
            object,
            meaning: Meaning { reason, action },
            message,
            details,
            remedy,
            failure_domains: _,
        } = self;
        let (outcome, check, reason, action) = (*outcome, *check, *reason, *action);
        Shown { outcome, check, endpoint, node, object, reason, action, message, details, remedy }
            .serialize(serializer)
    }
}

impl Finding {
    #[must_use]
    pub(super) fn means(mut self, action: Action, reason: Reason) -> Self {
        self.meaning = Meaning { reason, action };
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

    /// A check that was made, and what a rule said: nothing more to say where all is well.
    pub(super) fn judge(&mut self, check: Check, object: &str, judgement: Judgement) {
        let found = judgement.outcome != Outcome::Pass;
        self.add(check, found.then(|| Finding::judged(check, object, judgement)));
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
    /// It is no vSphere node, so that no check applies to it.
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
    pub facts: Counts,
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
        finding::count(&self.findings, outcome)
    }

    /// Whether nothing is wrong, as far as is known.
    pub fn is_clear(&self) -> bool {
        finding::is_clear(&self.findings)
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
