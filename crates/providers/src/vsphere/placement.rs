//! DRS groups and rules of a cluster: which machines stay apart, and on which hosts they are.

use std::time::Duration;

use super::client::Client;
use super::error::{Cause, Error};
use super::moref::{MoRef, Reference};
use super::soap::{Body, Element, Malformed};
use super::tasks::Task;

/// The groups and rules of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    pub groups: Vec<Group>,
    pub rules: Vec<Rule>,
}

/// A named set of machines or hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    pub members: Members,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Members {
    Machines(Vec<MoRef>),
    Hosts(Vec<MoRef>),
}

/// A rule of DRS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// vCenter's number for it; ignored for a new rule.
    pub key: i32,
    pub name: String,
    pub enabled: bool,
    /// Whether a machine rather stays off than breaks the rule.
    pub mandatory: bool,
    pub kind: RuleKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleKind {
    /// On one host.
    Together(Vec<MoRef>),
    /// On different hosts.
    AntiAffinity(Vec<MoRef>),
    /// A group of machines on a group of hosts.
    VmHost { machines: String, hosts: String },
    /// A group of machines on none of a group of hosts.
    NotOn { machines: String, hosts: String },
    /// Of another type, which is not touched.
    Other(String),
}

/// A change of groups and rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    AddGroup(Group),
    /// Replaces the members; see [`Client::change_members`] where others may change them too.
    EditGroup(Group),
    RemoveGroup {
        name: String,
    },
    AddRule(Rule),
    EditRule(Rule),
    RemoveRule {
        key: i32,
    },
}

impl Client {
    /// The groups and rules of a cluster.
    pub async fn placement(&self, cluster: &MoRef) -> Result<Placement, Error> {
        // The two lists cannot be asked for alone: the type of this property is known only when it is read.
        let config = self.property(cluster, "configurationEx").await?;
        let config = config.ok_or_else(|| self.error("placement", Malformed::Missing("configurationEx")))?;
        let rules: Result<_, Malformed> = config.all("rule").map(|rule| self.rule(rule)).collect();
        let rules = rules.map_err(|cause| self.error("placement", cause))?;
        Ok(Placement { groups: config.all("group").map(|group| self.group(group)).collect(), rules })
    }

    /// Changes groups and rules in one task.
    pub async fn change_placement(&self, cluster: &MoRef, edits: &[Edit]) -> Result<Task, Error> {
        let groups = edits.iter().filter_map(group_spec);
        let rules = edits.iter().filter_map(rule_spec);
        let spec = Body::new()
            .each(rules, |body, rule| body.object("rulesSpec", &rule))
            .each(groups, |body, group| body.object("groupSpec", &group));
        let body = Body::new().typed("spec", "ClusterConfigSpecEx", &spec).text("modify", true);
        self.start(cluster, "ReconfigureComputeResource_Task", &body).await
    }

    /// Puts machines into a group and takes others out. vCenter only knows how to replace the whole list, so this
    /// client does it for one caller at a time and looks afterwards whether somebody else has undone it.
    pub async fn change_members(
        &self,
        cluster: &MoRef,
        group: &str,
        add: &[MoRef],
        remove: &[MoRef],
        limit: Duration,
    ) -> Result<(), Error> {
        let _turn = self.placement_turn().await;
        let method = "ReconfigureComputeResource_Task";
        for _ in 0..3 {
            let placement = self.placement(cluster).await?;
            let found = placement.groups.into_iter().find_map(|known| match known.members {
                Members::Machines(machines) if known.name == group => Some(machines),
                _ => None,
            });
            let Some(mut machines) = found else {
                return Err(self.error(method, Cause::Setup(format!("there is no machine group `{group}`"))));
            };
            let before = machines.clone();
            machines.retain(|machine| !remove.contains(machine));
            machines.extend(add.iter().filter(|machine| !before.contains(machine)).cloned());
            if machines == before {
                return Ok(());
            }
            let members = Members::Machines(machines);
            let edit = Edit::EditGroup(Group { name: group.to_owned(), members });
            let task = self.change_placement(cluster, &[edit]).await?;
            self.finish(&task, limit).await?;
        }
        Err(self.error(method, Cause::Setup(format!("another client keeps changing the group `{group}`"))))
    }

    fn group(&self, element: &Element) -> Group {
        let list = |name| element.all(name).map(|member| self.moref(Reference::of(member))).collect();
        let members = match element.kind() {
            "ClusterHostGroup" => Members::Hosts(list("host")),
            _ => Members::Machines(list("vm")),
        };
        Group { name: element.text_of("name").to_owned(), members }
    }

    fn rule(&self, element: &Element) -> Result<Rule, Malformed> {
        let flag = |name| element.child(name).map_or(Ok(false), |value| value.boolean(name));
        let machines = || element.all("vm").map(|machine| self.moref(Reference::of(machine))).collect();
        let text = |name: &str| element.text_of(name).to_owned();
        let kind = match element.kind() {
            "ClusterAffinityRuleSpec" => RuleKind::Together(machines()),
            "ClusterAntiAffinityRuleSpec" => RuleKind::AntiAffinity(machines()),
            "ClusterVmHostRuleInfo" if element.child("affineHostGroupName").is_some() => {
                RuleKind::VmHost { machines: text("vmGroupName"), hosts: text("affineHostGroupName") }
            }
            "ClusterVmHostRuleInfo" => {
                RuleKind::NotOn { machines: text("vmGroupName"), hosts: text("antiAffineHostGroupName") }
            }
            other => RuleKind::Other(other.to_owned()),
        };
        let key = element.need("key")?.integer("key")?;
        Ok(Rule {
            key: key.try_into().unwrap_or_default(),
            name: text("name"),
            enabled: flag("enabled")?,
            mandatory: flag("mandatory")?,
            kind,
        })
    }
}

fn group_spec(edit: &Edit) -> Option<Body> {
    let (operation, group) = match edit {
        Edit::AddGroup(group) => ("add", group),
        Edit::EditGroup(group) => ("edit", group),
        Edit::RemoveGroup { name } => {
            return Some(Body::new().text("operation", "remove").any("removeKey", "string", name));
        }
        Edit::AddRule(_) | Edit::EditRule(_) | Edit::RemoveRule { .. } => return None,
    };
    let (kind, member, members) = match &group.members {
        Members::Machines(machines) => ("ClusterVmGroup", "vm", machines),
        Members::Hosts(hosts) => ("ClusterHostGroup", "host", hosts),
    };
    let info = Body::new()
        .text("name", &group.name)
        .each(members, |body, moref| body.reference(member, &moref.reference));
    Some(Body::new().text("operation", operation).typed("info", kind, &info))
}

fn rule_spec(edit: &Edit) -> Option<Body> {
    let (operation, rule, key) = match edit {
        Edit::AddRule(rule) => ("add", rule, None),
        Edit::EditRule(rule) => ("edit", rule, Some(rule.key)),
        Edit::RemoveRule { key } => {
            return Some(Body::new().text("operation", "remove").any("removeKey", "int", key));
        }
        Edit::AddGroup(_) | Edit::EditGroup(_) | Edit::RemoveGroup { .. } => return None,
    };
    let info = Body::new()
        .maybe("key", key)
        .text("enabled", rule.enabled)
        .text("name", &rule.name)
        .text("mandatory", rule.mandatory);
    let machines = |body: Body, machines: &[MoRef]| {
        body.each(machines, |body, machine| body.reference("vm", &machine.reference))
    };
    let (kind, info) = match &rule.kind {
        RuleKind::Together(list) => ("ClusterAffinityRuleSpec", machines(info, list)),
        RuleKind::AntiAffinity(list) => ("ClusterAntiAffinityRuleSpec", machines(info, list)),
        RuleKind::VmHost { machines, hosts } => {
            ("ClusterVmHostRuleInfo", info.text("vmGroupName", machines).text("affineHostGroupName", hosts))
        }
        RuleKind::NotOn { machines, hosts } => (
            "ClusterVmHostRuleInfo",
            info.text("vmGroupName", machines).text("antiAffineHostGroupName", hosts),
        ),
        RuleKind::Other(_) => return None,
    };
    Some(Body::new().text("operation", operation).typed("info", kind, &info))
}
