//! Rules about where machines may run.

use std::time::Duration;

use slipway_engine::{Context, Goal, Id, Observed, Step};

use super::{Action, Kind, KindError, MachineState, State, VCenter, absent, need, step};
use crate::vsphere::placement::{Edit, Group, Members, Rule, RuleKind};

const TASK_TIMEOUT: Duration = Duration::from_mins(2);

/// Machines that should be on different hosts. It needs the machines.
#[derive(Debug, Clone)]
pub struct AntiAffinityRule {
    pub name: String,
    pub compute_cluster: String,
    /// Names of machines, in order.
    pub machines: Vec<String>,
}

/// A group of machines on a group of hosts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VmGroup {
    /// Of the group of machines and of the rule.
    pub name: String,
    pub compute_cluster: String,
    /// The user's.
    pub host_group: String,
}

pub(super) fn rule_step(
    id: &Id,
    action: Action,
    verb: &str,
    sentence: String,
    compute_cluster: &str,
) -> Step<Action> {
    let mut step = step(id, action, verb, sentence);
    step.privileges = vec![need(compute_cluster, "Host.Inventory.EditCluster")];
    // vCenter replaces lists as a whole: one writer for each cluster.
    step.costs =
        vec![slipway_engine::Cost { budget: format!("rules of {compute_cluster}").into(), units: 1 }];
    step
}

/// The machines a rule is about, as the vCenter knows them: their names are anybody's to change.
fn members(observed: &Observed<State>) -> Vec<String> {
    let machine = |(id, state): (&Id, &State)| match state {
        State::Machine(MachineState { moref, .. }) if Kind::Machine.is(id) => Some(moref.clone()),
        _ => None,
    };
    let mut members: Vec<String> = observed.dependencies.iter().filter_map(machine).collect();
    members.sort();
    members
}

impl AntiAffinityRule {
    pub(super) fn made(observed: &Observed<State>) -> State {
        State::Rule { members: members(observed), whole: true }
    }

    pub(super) fn next(&self, id: &Id, goal: Goal, observed: &Observed<State>) -> Option<Step<Action>> {
        let AntiAffinityRule { name, compute_cluster, machines } = self;
        let (action, verb, sentence) = match (goal, &observed.own) {
            (Goal::Present, None) => (
                Action::AddRule,
                "add rule",
                format!(
                    "add the anti-affinity rule `{name}` to {compute_cluster}: {} on different hosts",
                    machines.join(", ")
                ),
            ),
            // A rule may be about more machines than the files know: those stay in it.
            (Goal::Present, Some(State::Rule { members, .. }))
                if self::members(observed).iter().any(|member| !members.contains(member)) =>
            {
                (
                    Action::EditRule,
                    "edit rule",
                    format!(
                        "add {} to the anti-affinity rule `{name}` of {compute_cluster}",
                        machines.join(", ")
                    ),
                )
            }
            (Goal::Absent, Some(_)) => (
                Action::RemoveRule,
                "remove rule",
                format!("remove the rule `{name}` from {compute_cluster}"),
            ),
            _ => return None,
        };
        let mut step = rule_step(id, action, verb, sentence, compute_cluster);
        step.undo = (goal == Goal::Present).then(|| "`slipway destroy cluster` removes it".to_owned());
        Some(step)
    }

    pub(super) async fn perform(
        &self,
        vcenter: &VCenter,
        observed: &Observed<State>,
        action: Action,
        context: &Context,
    ) -> Result<Option<State>, KindError> {
        let cluster = vcenter.places.object("compute cluster", &self.compute_cluster).await?;
        let placement = vcenter.client.placement(&cluster).await?;
        let found = placement.rules.into_iter().find(|rule| rule.name == self.name);
        let edit = match (action, found) {
            (Action::RemoveRule, None) => return Ok(None),
            (Action::RemoveRule, Some(rule)) => Edit::RemoveRule { key: rule.key },
            (_, found) => {
                let mut machines = match found.as_ref().map(|rule| &rule.kind) {
                    Some(RuleKind::AntiAffinity(machines)) => machines.clone(),
                    _ => Vec::new(),
                };
                machines.extend(members(observed).iter().map(|moref| vcenter.moref(moref)));
                machines.sort();
                machines.dedup();
                let rule = Rule {
                    key: found.as_ref().map_or(0, |rule| rule.key),
                    name: self.name.clone(),
                    enabled: true,
                    // A host that is down for repair is no reason to keep a machine off.
                    mandatory: false,
                    kind: RuleKind::AntiAffinity(machines),
                };
                if found.is_some() { Edit::EditRule(rule) } else { Edit::AddRule(rule) }
            }
        };
        let task = vcenter.client.change_placement(&cluster, &[edit]).await?;
        vcenter.finish(context, &task, TASK_TIMEOUT).await?;
        Ok((action != Action::RemoveRule).then(|| Self::made(observed)))
    }
}

impl VmGroup {
    pub(super) fn made(&self) -> State {
        State::Rule { members: vec![self.host_group.clone()], whole: true }
    }

    pub(super) fn next(&self, id: &Id, goal: Goal, own: Option<&State>) -> Option<Step<Action>> {
        let VmGroup { name, compute_cluster, host_group } = self;
        let (action, verb, sentence) = match (goal, own) {
            (Goal::Present, Some(State::Rule { whole: true, .. })) | (Goal::Absent, None) => return None,
            (Goal::Present, _) => (
                Action::AddRule,
                "add group",
                format!(
                    "add the machine group `{name}` to {compute_cluster} and bind it to the hosts of `{host_group}`"
                ),
            ),
            (Goal::Absent, Some(_)) => (
                Action::RemoveRule,
                "remove group",
                format!("remove the machine group `{name}` and its rule from {compute_cluster}"),
            ),
        };
        let mut step = rule_step(id, action, verb, sentence, compute_cluster);
        step.undo = (goal == Goal::Present).then(|| "`slipway destroy cluster` removes it".to_owned());
        Some(step)
    }

    pub(super) async fn perform(
        &self,
        vcenter: &VCenter,
        action: Action,
        context: &Context,
    ) -> Result<Option<State>, KindError> {
        let cluster = vcenter.places.object("compute cluster", &self.compute_cluster).await?;
        let placement = vcenter.client.placement(&cluster).await?;
        let rule = placement.rules.iter().find(|rule| rule.name == self.name);
        let group = placement.groups.iter().find(|group| group.name == self.name);
        let mut edits = Vec::new();
        match action {
            Action::RemoveRule => {
                edits.extend(rule.map(|rule| Edit::RemoveRule { key: rule.key }));
                edits.extend(group.map(|group| Edit::RemoveGroup { name: group.name.clone() }));
            }
            Action::AddRule => {
                let hosts = placement
                    .groups
                    .iter()
                    .any(|group| group.name == self.host_group && matches!(group.members, Members::Hosts(_)));
                if !hosts {
                    let path = format!("{}: group `{}`", self.compute_cluster, self.host_group);
                    return Err(KindError::Missing { kind: "host group", path });
                }
                if group.is_none() {
                    let members = Members::Machines(Vec::new());
                    edits.push(Edit::AddGroup(Group { name: self.name.clone(), members }));
                }
                if rule.is_none() {
                    let (machines, hosts) = (self.name.clone(), self.host_group.clone());
                    edits.push(Edit::AddRule(Rule {
                        key: 0,
                        name: self.name.clone(),
                        enabled: true,
                        mandatory: true,
                        kind: RuleKind::VmHost { machines, hosts },
                    }));
                }
            }
            _ => return Err(absent("rule")),
        }
        if !edits.is_empty() {
            let task = vcenter.client.change_placement(&cluster, &edits).await?;
            vcenter.finish(context, &task, TASK_TIMEOUT).await?;
        }
        Ok((action == Action::AddRule).then(|| self.made()))
    }
}
