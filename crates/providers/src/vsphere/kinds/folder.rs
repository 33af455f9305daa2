//! Folders for machines. Ours are those that carry the cluster's tag.

use slipway_engine::{Cause, Context, Goal, Id, Observed, Step};

use super::{Action, Kind, KindError, State, VCenter, absent, need, reason, step};
use crate::vsphere::MoRef;
use crate::vsphere::fault::FaultKind;
use crate::vsphere::paths::unescape;
use crate::vsphere::properties::PropertySpec;

/// A folder of machines. One that was there before and does not carry the cluster's tag is used, and left alone.
#[derive(Debug, Clone)]
pub struct Folder {
    /// As vCenter stores it: `/dc1/vm/prod/cluster`.
    pub path: String,
    /// Whether its name says whose it is. Then it is the cluster's even if a crash kept the tag off it.
    pub named_after_cluster: bool,
}

impl Folder {
    fn parent(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(parent, _)| parent)
    }

    /// As people know it.
    fn name(&self) -> String {
        unescape(self.path.rsplit('/').next().unwrap_or_default()).into_owned()
    }

    pub(super) fn next(
        &self,
        id: &Id,
        goal: Goal,
        own: Option<&State>,
    ) -> Result<Option<Step<Action>>, Cause> {
        let path = &self.path;
        let mut step = match (goal, own) {
            (Goal::Present, None) => {
                let mut step =
                    step(id, Action::CreateFolder, "create folder", format!("create the folder {path}"));
                step.privileges = vec![need(self.parent(), "Folder.Create")];
                step.undo = Some("`slipway destroy cluster` removes it when it is empty".to_owned());
                step
            }
            (Goal::Present, Some(State::Folder { tagged: false, .. })) if self.named_after_cluster => {
                step(id, Action::AttachTag, "tag", format!("attach the cluster's tag to the folder {path}"))
            }
            (Goal::Absent, Some(State::Folder { tagged, strangers, .. }))
                if *tagged || self.named_after_cluster =>
            {
                if !strangers.is_empty() {
                    let message = format!(
                        "the folder {path} holds what is not of this cluster: {}. Move it away and run again",
                        strangers.join(", ")
                    );
                    return Err(Cause::new(reason::FOLDER_IN_USE, message));
                }
                let mut step =
                    step(id, Action::RemoveFolder, "remove folder", format!("remove the folder {path}"));
                step.privileges = vec![need(path, "Folder.Delete")];
                step
            }
            _ => return Ok(None),
        };
        if goal == Goal::Present {
            step.privileges.push(need("/", "InventoryService.Tagging.AttachTag"));
            step.privileges.push(need(path, "InventoryService.Tagging.ObjectAttachable"));
        }
        Ok(Some(step))
    }

    pub(super) async fn perform(
        &self,
        vcenter: &VCenter,
        observed: &Observed<State>,
        action: Action,
        context: &Context,
    ) -> Result<Option<State>, KindError> {
        match (action, &observed.own) {
            (Action::CreateFolder, _) => self.create(vcenter, observed, context).await.map(Some),
            (Action::AttachTag, Some(State::Folder { moref, strangers, .. })) => {
                vcenter.attach_tag(observed, &vcenter.moref(moref)).await?;
                Ok(Some(State::Folder { moref: moref.clone(), tagged: true, strangers: strangers.clone() }))
            }
            (Action::RemoveFolder, Some(State::Folder { moref, .. })) => {
                self.remove(vcenter, &vcenter.moref(moref), context).await?;
                Ok(None)
            }
            _ => Err(absent("folder")),
        }
    }

    /// Makes the folder and tags it. If the second fails the folder is removed again: without its tag it would be
    /// taken for the user's.
    async fn create(
        &self,
        vcenter: &VCenter,
        observed: &Observed<State>,
        context: &Context,
    ) -> Result<State, KindError> {
        let client = &vcenter.client;
        let parent = match observed.dependency(Kind::Folder.as_str()) {
            Some(State::Folder { moref, .. }) => vcenter.moref(moref),
            _ => vcenter.places.object("folder", self.parent()).await?,
        };
        let folder = client.create_folder(&parent, &self.name()).await?;
        if let Err(error) = vcenter.attach_tag(observed, &folder).await {
            let _ = self.remove(vcenter, &folder, context).await;
            return Err(error);
        }
        Ok(State::Folder { moref: folder.reference.to_string(), tagged: true, strangers: Vec::new() })
    }

    /// vCenter removes a folder with all that is in it: look first. What comes into it since, or cannot be seen, leaves the
    /// inventory and keeps its files.
    async fn remove(&self, vcenter: &VCenter, folder: &MoRef, context: &Context) -> Result<(), KindError> {
        let client = &vcenter.client;
        let desired = [PropertySpec { kind: "Folder", properties: &["childEntity"] }];
        let objects = client.retrieve(std::slice::from_ref(folder), &desired).await?;
        let Some(found) = objects.first() else { return Ok(()) };
        let children = found.references("childEntity");
        if !children.is_empty() || found.missing.contains_key("childEntity") {
            let mut paths = client.paths(&children[..children.len().min(5)]).await?;
            paths.sort();
            return Err(KindError::Refused(format!(
                "the folder {} is not empty: {}",
                self.path,
                paths.join(", ")
            )));
        }
        let task = client.remove_folder(folder).await?;
        match vcenter.finish(context, &task, std::time::Duration::from_mins(2)).await {
            Err(error)
                if matches!(error.fault().map(|fault| &fault.kind), Some(FaultKind::NotFound { .. })) =>
            {
                Ok(())
            }
            done => done.map(drop).map_err(KindError::from),
        }
    }
}
