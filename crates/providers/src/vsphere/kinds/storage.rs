//! What the storage driver of a cluster leaves behind.

use std::time::Duration;

use slipway_engine::{Cost, Goal, Id, Seen, Step};

use super::{Action, KindError, State, VCenter, absent, need, step};
use crate::vsphere::Error;
use crate::vsphere::error::Cause;

/// For all of them.
const LIMIT: Duration = Duration::from_mins(30);
const ONE: Duration = Duration::from_mins(5);

/// Volumes that carry a cluster's id. They are only ever removed here.
#[derive(Debug, Clone)]
pub struct Volumes {
    pub cluster_id: String,
}

/// A storage policy by name. It is only ever removed here.
#[derive(Debug, Clone)]
pub struct Policy {
    pub name: String,
}

impl Volumes {
    pub(super) fn next(&self, id: &Id, goal: Goal, own: Option<&State>) -> Option<Step<Action>> {
        let (Goal::Absent, Some(State::Volumes { ids })) = (goal, own) else { return None };
        let count =
            if ids.len() == 1 { "the volume".to_owned() } else { format!("the {} volumes", ids.len()) };
        let sentence = format!("delete {count} of the cluster `{}`, with what is on them", self.cluster_id);
        let mut step = step(id, Action::DeleteVolumes, "delete volumes", sentence);
        step.needs = vec![need("/", "Cns.Searchable")];
        step.costs = vec![Cost { budget: "tasks".into(), units: 1 }];
        step.limit = LIMIT;
        Some(step)
    }

    pub(super) async fn look(&self, vcenter: &VCenter) -> Result<Option<State>, KindError> {
        let volumes = match vcenter.client.volumes(&self.cluster_id).await {
            Err(error) if is_absent(&error) => return Ok(None),
            found => found?,
        };
        let ids: Vec<String> = volumes.into_iter().map(|volume| volume.id).collect();
        Ok((!ids.is_empty()).then_some(State::Volumes { ids }))
    }
}

impl Policy {
    pub(super) fn next(&self, id: &Id, goal: Goal, own: Option<&State>) -> Option<Step<Action>> {
        let (Goal::Absent, Some(State::Policy { .. })) = (goal, own) else { return None };
        let sentence = format!("delete the storage policy `{}`", self.name);
        let mut step = step(id, Action::DeletePolicy, "delete policy", sentence);
        step.needs = vec![need("/", "StorageProfile.Update")];
        Some(step)
    }

    pub(super) async fn look(&self, vcenter: &VCenter) -> Result<Option<State>, KindError> {
        let policy = match vcenter.client.policy_named(&self.name).await {
            Err(error) if is_absent(&error) => return Ok(None),
            found => found?,
        };
        Ok(policy.map(|policy| State::Policy { id: policy.id }))
    }
}

/// A vCenter without the service has nothing of it either.
fn is_absent(error: &Error) -> bool {
    matches!(error.source, Cause::Status { status: 404, .. })
}

pub(super) async fn delete_volumes(
    vcenter: &VCenter,
    seen: &Seen<State>,
) -> Result<Option<State>, KindError> {
    let Some(State::Volumes { ids }) = &seen.own else { return Err(absent("list of volumes")) };
    for id in ids {
        match vcenter.client.delete_volume(id, ONE).await {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(None)
}

pub(super) async fn delete_policy(vcenter: &VCenter, seen: &Seen<State>) -> Result<Option<State>, KindError> {
    let Some(State::Policy { id }) = &seen.own else { return Err(absent("storage policy")) };
    vcenter.client.delete_policy(id).await?;
    Ok(None)
}
