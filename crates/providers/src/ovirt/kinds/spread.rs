//! The tag and the affinity groups: what machines share.

use serde_json::{Value, json};

use super::{Desired, GroupState, Kind, KindError, MachineState, ObjectState, State};
use crate::ovirt::client::Query;
use crate::ovirt::error::Error;
use crate::ovirt::read::{id, items, name, text, truth};
use crate::ovirt::scope::Scope;

/// An affinity group as it is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSpec {
    pub priority: u32,
    /// Machines are rather not started than together, if there are hosts for all members.
    pub enforcing: bool,
    pub description: String,
    /// How many machines join it.
    pub members: usize,
}

impl Scope {
    pub(crate) async fn tags(&self) -> Result<Vec<Value>, Error> {
        self.client.list("listing tags", &Query::all("tags", "tag")).await
    }

    /// Affinity groups of the cluster, with the ids of their machines.
    pub(crate) async fn groups(&self) -> Result<Vec<Value>, Error> {
        let path = format!("clusters/{}/affinitygroups", self.cluster().await?.id);
        self.client.list("listing affinity groups", &Query::all(&path, "affinity_group")).await
    }

    pub(super) async fn create_tag(&self, desired: &Desired) -> Result<Option<State>, KindError> {
        let Desired { name, mark, .. } = desired;
        let cluster = self.cluster().await?.id.clone();
        let body = json!({"name": name, "description": desired.marks()});
        let made = self.client.post(&format!("creating the tag {name}"), "tags", &body, *mark).await;
        let made = match made {
            // Made before, and its answer was lost; or it is another's.
            Err(error) if error.is_refusal() => {
                taken(desired, self.tags().await?)?.ok_or(KindError::Call(error))?
            }
            made => made?,
        };
        Ok(Some(State::Tag(ObjectState { cluster, id: id(&made) })))
    }

    /// A group that enforces on fewer hosts than machines would keep the last ones from ever starting. A user who does not
    /// see the hosts gets a preference.
    pub(super) async fn create_group(&self, desired: &Desired) -> Result<Option<State>, KindError> {
        let Desired { name, mark, .. } = desired;
        let Some(spec) = desired.group() else { return Err(KindError::NotDescribed(desired.kind.as_str())) };
        let cluster = self.cluster().await?.clone();
        let enforcing = spec.enforcing && self.hosts_up().await? >= spec.members;
        let body = json!({
            "name": name,
            "description": format!("{} {}", spec.description, desired.marks()).trim(),
            "priority": spec.priority,
            "vms_rule": {"enabled": true, "enforcing": enforcing, "positive": false},
            "hosts_rule": {"enabled": false},
        });
        let doing = format!("creating the affinity group {name}");
        let path = format!("clusters/{}/affinitygroups", cluster.id);
        let made = match self.client.post(&doing, &path, &body, *mark).await {
            Err(error) if error.is_refusal() => {
                taken(desired, self.groups().await?)?.ok_or(KindError::Call(error))?
            }
            made => made?,
        };
        Ok(Some(State::Group(group_state(&cluster.id, &made))))
    }

    /// Hosts of the cluster that machines can be started on.
    pub async fn hosts_up(&self) -> Result<usize, Error> {
        let cluster = self.cluster().await?;
        let hosts = self.client.list("listing hosts", &Query::all("hosts", "host")).await?;
        let is_up = |host: &&Value| text(host, "/cluster/id") == cluster.id && text(host, "/status") == "up";
        Ok(hosts.iter().filter(is_up).count())
    }

    /// Adds a machine to the groups it is to be in and is not.
    pub(super) async fn join(&self, desired: &Desired, seen: &MachineState) -> Result<(), KindError> {
        let wanted = desired.machine().map(|spec| spec.groups.as_slice()).unwrap_or_default();
        let lacking: Vec<&String> = wanted.iter().filter(|group| !seen.groups.contains(*group)).collect();
        if lacking.is_empty() {
            return Ok(());
        }
        let groups = self.groups().await?;
        for wanted in lacking {
            let doing = format!("adding {} to the affinity group {wanted}", desired.name);
            let Some(group) = groups.iter().find(|group| name(group) == *wanted) else {
                let source = crate::ovirt::error::Cause::NotFound;
                return Err(Error { server: self.client.name().into(), doing: doing.into(), source }.into());
            };
            if members(group).any(|member| member == seen.object.id) {
                continue;
            }
            let path = format!("clusters/{}/affinitygroups/{}/vms", seen.object.cluster, id(group));
            let body = json!({"id": seen.object.id});
            match self.client.post(&doing, &path, &body, desired.mark).await {
                // In it already, which an answer that was lost did not say.
                Err(error) if error.is_refusal() => {
                    let groups = self.groups().await?;
                    let again = groups.iter().find(|group| name(group) == *wanted);
                    if !again.is_some_and(|group| members(group).any(|member| member == seen.object.id)) {
                        return Err(error.into());
                    }
                }
                answer => drop(answer?),
            }
        }
        Ok(())
    }
}

/// The ids of the machines in a group.
pub(crate) fn members(group: &Value) -> impl Iterator<Item = String> {
    items(group, "/vms/vm").iter().map(id)
}

pub(crate) fn group_state(cluster: &str, group: &Value) -> GroupState {
    GroupState {
        object: ObjectState { cluster: cluster.to_owned(), id: id(group) },
        enforcing: truth(group, "/vms_rule/enforcing"),
    }
}

/// What has the name of something that could not be made: the very thing, nothing, or another's.
pub(super) fn taken(desired: &Desired, there: Vec<Value>) -> Result<Option<Value>, KindError> {
    let Some(other) = there.into_iter().find(|object| name(object) == desired.name) else { return Ok(None) };
    if desired.is(&other) {
        return Ok(Some(other));
    }
    let kind = match desired.kind {
        Kind::AffinityGroup => "affinity group",
        kind => kind.as_str(),
    };
    Err(KindError::NameTaken { kind, name: desired.name.clone() })
}
