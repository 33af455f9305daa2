//! What machines are cloned from.

use std::time::Duration;

use slipway_engine::{Cost, Goal, Id, Seen, Step};
use uuid::Uuid;

use super::machine::{CLONE_UNITS, CLUSTER_MARK, OBJECT_MARK, change, destroy_step, tag_step};
use super::{Action, KindError, State, VCenter, absent, need, step};
use crate::vsphere::machines::{CloneSpec, ConfigSpec, DiskMove};

const COPY_LIMIT: Duration = Duration::from_hours(1);

/// A template.
#[derive(Debug, Clone)]
pub struct Template {
    pub name: String,
    pub source: Source,
}

/// Where a template comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// The user's: it has to be there, and stays. By path, or by name in a datacenter.
    Existing { datacenter: String },
    /// Ours: copied from another one of this vCenter, which it needs.
    Copy {
        uuid: Uuid,
        infra_id: String,
        folder: String,
        pool: String,
        datastore: String,
        compute_cluster: String,
    },
}

impl Template {
    pub(super) fn made(&self, moref: String) -> State {
        let uuid = match &self.source {
            Source::Copy { uuid, .. } => uuid.to_string(),
            Source::Existing { .. } => String::new(),
        };
        State::Machine { moref, uuid, tagged: false, template: true, grouped: false, volumes: Vec::new() }
    }

    pub(super) fn next(
        &self,
        id: &Id,
        goal: Goal,
        own: Option<&State>,
    ) -> Result<Option<Step<Action>>, String> {
        let name = &self.name;
        let (uuid, folder, pool, datastore, compute_cluster) = match (&self.source, goal, own) {
            (Source::Existing { datacenter }, Goal::Present, None) => {
                return Err(format!(
                    "there is no template `{name}` in {datacenter}, or the user may not see it. Check `template` of the \
                     failure domain, or give `clusterOSImage` to have one imported"
                ));
            }
            (Source::Existing { .. }, ..) => return Ok(None),
            (Source::Copy { uuid, folder, pool, datastore, compute_cluster, .. }, ..) => {
                (uuid, folder, pool, datastore, compute_cluster)
            }
        };
        let path = format!("{folder}/{name}");
        let Some(State::Machine { uuid: found, tagged, .. }) = own else {
            if goal == Goal::Absent {
                return Ok(None);
            }
            let sentence = format!("copy the template to `{name}` in {folder}, datastore {datastore}");
            let mut step = step(id, Action::CopyTemplate, "copy template", sentence);
            step.needs = vec![
                need(folder, "VirtualMachine.Inventory.CreateFromExisting"),
                need(folder, "VirtualMachine.Provisioning.CloneTemplate"),
                need(folder, "VirtualMachine.Config.AdvancedConfig"),
                need(datastore, "Datastore.AllocateSpace"),
                need(pool, "Resource.AssignVMToPool"),
            ];
            step.costs = vec![
                Cost { budget: "tasks".into(), units: 1 },
                Cost { budget: compute_cluster.as_str().into(), units: CLONE_UNITS },
            ];
            step.mark = Some(*uuid);
            step.undo = Some("`slipway destroy cluster` removes it".to_owned());
            step.limit = COPY_LIMIT;
            return Ok(Some(step));
        };
        if *found != uuid.to_string() {
            return match goal {
                Goal::Present => {
                    Err(format!("there is a machine {path} already, and it is not of this cluster"))
                }
                Goal::Absent => Ok(None),
            };
        }
        Ok(match goal {
            Goal::Present if !tagged => Some(tag_step(id, &path, name)),
            Goal::Present => None,
            Goal::Absent => Some(destroy_step(id, &path, &format!("template `{name}`"))),
        })
    }

    pub(super) async fn perform(
        &self,
        vcenter: &VCenter,
        seen: &Seen<State>,
        action: Action,
    ) -> Result<Option<State>, KindError> {
        match (action, &seen.own, &self.source) {
            (Action::CopyTemplate, _, Source::Copy { uuid, infra_id, pool, datastore, .. }) => {
                let Some(State::Machine { moref: original, .. }) = seen.need("template") else {
                    return Err(absent("template"));
                };
                let Some(State::Folder { moref: folder, .. }) = seen.need("folder") else {
                    return Err(absent("folder"));
                };
                let marks = [(CLUSTER_MARK, infra_id.clone()), (OBJECT_MARK, uuid.to_string())];
                let spec = CloneSpec {
                    name: self.name.clone(),
                    folder: vcenter.moref(folder),
                    pool: Some(vcenter.places.object("resource pool", pool).await?),
                    datastore: Some(vcenter.places.object("datastore", datastore).await?),
                    host: None,
                    disks: DiskMove::Full,
                    template: true,
                    config: ConfigSpec {
                        instance_uuid: Some(uuid.to_string()),
                        extra_config: marks.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                        ..ConfigSpec::default()
                    },
                };
                let task = vcenter.client.clone_machine(&vcenter.moref(original), &spec).await?;
                let made = vcenter.client.finish(&task, COPY_LIMIT).await?.ok_or_else(|| absent("copy"))?;
                Ok(Some(self.made(made.reference.to_string())))
            }
            (_, Some(own), _) => change(vcenter, seen, own, action, &[]).await,
            _ => Err(absent("template")),
        }
    }
}
