//! What the storage driver of a cluster leaves behind.

use std::time::Duration;

use slipway_engine::{Cost, Goal, Id, Observed, Step};

use super::{Action, KindError, State, VCenter, absent, need, step};
use crate::vsphere::Error;
use crate::vsphere::error::Cause;
use crate::vsphere::storage::Volume;

/// For all of them.
const TASK_TIMEOUT: Duration = Duration::from_mins(30);
const VOLUME_TIMEOUT: Duration = Duration::from_mins(5);

/// Names in a sentence; all are in the state.
const MAX_NAMES: usize = 10;

/// Volumes that carry a cluster's id. They are only ever removed here.
#[derive(Debug, Clone)]
pub struct Volumes {
    pub cluster_id: String,
    /// Whether all of them stay.
    pub keep: bool,
}

/// A storage policy by name. It is only ever removed here.
#[derive(Debug, Clone)]
pub struct Policy {
    pub name: String,
    /// The cluster whose volumes use it.
    pub cluster_id: String,
    /// Whether it stays, with the volumes that use it.
    pub keep: bool,
}

impl Volumes {
    pub(super) fn next(&self, id: &Id, goal: Goal, own: Option<&State>) -> Option<Step<Action>> {
        let (Goal::Absent, Some(State::Volumes { ids, names, shared })) = (goal, own) else { return None };
        if self.keep || ids.is_empty() {
            return None;
        }
        let cluster = &self.cluster_id;
        let mut sentence = match &names[..] {
            [one] => format!("delete the volume `{one}` of the cluster `{cluster}`, with what is on it"),
            _ => format!(
                "delete the {} volumes of the cluster `{cluster}`, with what is on them: {}",
                ids.len(),
                some_of(names)
            ),
        };
        if !shared.is_empty() {
            sentence
                .push_str(&format!("; other clusters use these too, so they are kept: {}", some_of(shared)));
        }
        let mut step = step(id, Action::DeleteVolumes, "delete volumes", sentence);
        step.privileges = vec![need("/", "Cns.Searchable")];
        step.costs = vec![Cost { budget: "tasks".into(), units: 1 }];
        step.limit = TASK_TIMEOUT;
        Some(step)
    }

    pub(super) async fn look(&self, vcenter: &VCenter) -> Result<Option<State>, KindError> {
        let volumes = match vcenter.client.volumes(&self.cluster_id).await {
            Err(error) if is_absent(&error) => return Ok(None),
            found => found?,
        };
        let (own, shared) = self.sorted(&volumes);
        let (ids, names) = own.into_iter().map(|volume| (volume.id.clone(), volume.name.clone())).unzip();
        Ok((!volumes.is_empty()).then_some(State::Volumes { ids, names, shared }))
    }

    /// Those that no other cluster has, and the names of the others.
    fn sorted<'a>(&self, volumes: &'a [Volume]) -> (Vec<&'a Volume>, Vec<String>) {
        let (mut own, mut shared) = (Vec::new(), Vec::new());
        for volume in volumes {
            match &volume.clusters_besides(&self.cluster_id)[..] {
                [] => own.push(volume),
                others => shared.push(format!("{} ({})", volume.name, others.join(", "))),
            }
        }
        (own, shared)
    }

    /// Deletes what was seen, unless another cluster has got it since.
    pub(super) async fn delete(
        &self,
        vcenter: &VCenter,
        observed: &Observed<State>,
    ) -> Result<Option<State>, KindError> {
        let Some(State::Volumes { ids, .. }) = &observed.own else { return Err(absent("list of volumes")) };
        let now = vcenter.client.volumes(&self.cluster_id).await?;
        let (own, shared) = self.sorted(&now);
        let taken = now.iter().find(|volume| ids.contains(&volume.id) && !own.contains(volume));
        if let Some(Volume { name, .. }) = taken {
            return Err(KindError::Refused(format!(
                "another cluster has got the volume `{name}` in the meantime. Run again: it will stay"
            )));
        }
        for volume in own.into_iter().filter(|volume| ids.contains(&volume.id)) {
            match vcenter.client.delete_volume(&volume.id, VOLUME_TIMEOUT).await {
                Err(error) if !error.is_not_found() => return Err(error.into()),
                Ok(()) | Err(_) => {}
            }
        }
        let (ids, names) = (Vec::new(), Vec::new());
        Ok((!shared.is_empty()).then_some(State::Volumes { ids, names, shared }))
    }

    /// Names of volumes that stay when the rest of the cluster goes.
    pub fn kept<'a>(&self, state: &'a State) -> impl Iterator<Item = &'a str> {
        let (own, shared): (&[String], &[String]) = match state {
            State::Volumes { names, shared, .. } if self.keep => (names, shared),
            State::Volumes { shared, .. } => (&[], shared),
            _ => (&[], &[]),
        };
        own.iter().chain(shared).map(String::as_str)
    }
}

impl Policy {
    pub(super) fn next(&self, id: &Id, goal: Goal, own: Option<&State>) -> Option<Step<Action>> {
        if goal == Goal::Present || self.stays(own?) {
            return None;
        }
        let sentence = format!("delete the storage policy `{}`", self.name);
        let mut step = step(id, Action::DeletePolicy, "delete policy", sentence);
        step.privileges = vec![need("/", "StorageProfile.Update")];
        Some(step)
    }

    pub(super) async fn look(&self, vcenter: &VCenter) -> Result<Option<State>, KindError> {
        let policy = match vcenter.client.policy_named(&self.name).await {
            Err(error) if is_absent(&error) => return Ok(None),
            found => found?,
        };
        let Some(policy) = policy else { return Ok(None) };
        let volumes = Volumes { cluster_id: self.cluster_id.clone(), keep: self.keep };
        let shared = match volumes.look(vcenter).await? {
            Some(State::Volumes { shared, .. }) => shared,
            _ => Vec::new(),
        };
        Ok(Some(State::Policy { id: policy.id, shared }))
    }

    /// Whether it stays: a volume that stays was made by it.
    pub fn stays(&self, state: &State) -> bool {
        self.keep || matches!(state, State::Policy { shared, .. } if !shared.is_empty())
    }
}

/// A vCenter without the service has nothing of it either.
fn is_absent(error: &Error) -> bool {
    matches!(error.source, Cause::Status { status: 404, .. })
}

/// The first names of a list, and how many more there are.
fn some_of(names: &[String]) -> String {
    let shown = names[..names.len().min(MAX_NAMES)].join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

pub(super) async fn delete_policy(
    vcenter: &VCenter,
    observed: &Observed<State>,
) -> Result<Option<State>, KindError> {
    let Some(State::Policy { id, .. }) = &observed.own else { return Err(absent("storage policy")) };
    vcenter.client.delete_policy(id).await?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use slipway_engine::Goal;

    use super::{MAX_NAMES, Policy, Volumes};
    use crate::vsphere::kinds::{Kind, State};
    use crate::vsphere::storage::Volume;

    fn volume(name: &str, clusters: &[&str]) -> Volume {
        Volume {
            id: format!("id-{name}"),
            name: name.to_owned(),
            kind: "BLOCK".to_owned(),
            datastore_url: String::new(),
            clusters: clusters.iter().map(|id| (*id).to_owned()).collect(),
        }
    }

    fn sentence(volumes: &Volumes, names: &[&str], shared: &[&str]) -> Option<String> {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let state = State::Volumes { ids: own(names), names: own(names), shared: own(shared) };
        let id = Kind::Volumes.id(&"vc".into(), "ours");
        volumes.next(&id, Goal::Absent, Some(&state)).map(|step| step.sentence)
    }

    #[test]
    fn volumes_of_other_clusters_stay_and_all_are_named() {
        let desired = Volumes { cluster_id: "ours".to_owned(), keep: false };
        let volumes = [volume("a", &["ours"]), volume("b", &["ours", "theirs"]), volume("c", &[])];
        let (own, shared) = desired.sorted(&volumes);
        assert_eq!(own, [&volumes[0], &volumes[2]]);
        assert_eq!(shared, ["b (theirs)"]);
        assert_eq!(
            sentence(&desired, &["a"], &["b (theirs)"]).unwrap(),
            "delete the volume `a` of the cluster `ours`, with what is on it; other clusters use these too, so they are \
             kept: b (theirs)"
        );
        let many = vec!["v"; MAX_NAMES + 2];
        let told = sentence(&desired, &many, &[]).unwrap();
        assert!(told.starts_with("delete the 12 volumes") && told.ends_with("v and 2 more"), "{told}");
        assert_eq!(sentence(&desired, &[], &["b (theirs)"]), None, "nothing goes");
        assert_eq!(sentence(&Volumes { keep: true, ..desired }, &["a"], &[]), None, "all are kept");
    }

    #[test]
    fn a_policy_stays_with_the_volumes_that_were_made_by_it() {
        let id = Kind::Policy.id(&"vc".into(), "gold");
        let goes = |keep: bool, shared: &[&str]| {
            let policy = Policy { name: "gold".to_owned(), cluster_id: "ours".to_owned(), keep };
            let shared = shared.iter().map(|name| (*name).to_owned()).collect();
            policy.next(&id, Goal::Absent, Some(&State::Policy { id: "p-1".to_owned(), shared })).is_some()
        };
        assert!(goes(false, &[]));
        assert!(!goes(true, &[]), "with `--keep-volumes`");
        assert!(!goes(false, &["b (theirs)"]), "another cluster's volume uses it");
    }
}
