//! What machines are cloned from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use slipway_config::ids::{CLUSTER_MARK, OBJECT_MARK};
use slipway_engine::{Cause, Context, Cost, Goal, Id, Observed, Step};
use uuid::Uuid;

use super::disks::{Made, files};
use super::machine::{CLONE_UNITS, change, destroy_step, tag_step};
use super::{Action, Kind, KindError, MachineState, State, VCenter, absent, need, reason, step};
use crate::vsphere::MoRef;
use crate::vsphere::import::ImportSpec;
use crate::vsphere::machines::{CloneSpec, ConfigSpec, DiskMove, Provisioning};
use crate::vsphere::ova::Ova;

/// A gigabyte over a slow line, or a full copy of it.
const IMPORT_TIMEOUT: Duration = Duration::from_hours(1);

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
    /// Ours, from an appliance.
    Import { image: Arc<Image>, place: TemplateLocation, networks: Vec<String> },
    /// Ours, copied from another one of this vCenter, which it needs.
    Copy { place: TemplateLocation },
}

/// An appliance on this machine.
#[derive(Debug)]
pub struct Image {
    pub path: PathBuf,
    pub provisioning: Provisioning,
}

/// Where a template of ours is.
#[derive(Debug, Clone)]
pub struct TemplateLocation {
    pub uuid: Uuid,
    pub infra_id: String,
    pub folder: String,
    pub pool: String,
    pub datastore: String,
    pub compute_cluster: String,
}

impl Source {
    /// `None` for what is not ours.
    pub(super) fn place(&self) -> Option<&TemplateLocation> {
        match self {
            Source::Existing { .. } => None,
            Source::Import { place, .. } | Source::Copy { place } => Some(place),
        }
    }
}

impl TemplateLocation {
    fn marks(&self) -> BTreeMap<String, String> {
        let marks = [(CLUSTER_MARK, self.infra_id.clone()), (OBJECT_MARK, self.uuid.to_string())];
        marks.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

impl Template {
    pub(super) fn made(&self, moref: String) -> State {
        let uuid = self.source.place().map_or_else(String::new, |place| place.uuid.to_string());
        let (template, finished) = (true, true);
        State::Machine(MachineState { moref, uuid, template, finished, ..MachineState::default() })
    }

    pub(super) fn next(
        &self,
        id: &Id,
        goal: Goal,
        own: Option<&State>,
    ) -> Result<Option<Step<Action>>, Cause> {
        let name = &self.name;
        let Some(place) = self.source.place() else {
            return match (&self.source, goal, own) {
                (Source::Existing { datacenter }, Goal::Present, None) => {
                    let message = format!(
                        "there is no template `{name}` in {datacenter}, or the user may not see it. Check `template` of \
                         the failure domain, or give `clusterOSImage` to have one imported"
                    );
                    Err(Cause::new(reason::TEMPLATE_MISSING, message))
                }
                _ => Ok(None),
            };
        };
        let path = format!("{}/{name}", place.folder);
        let Some(State::Machine(MachineState {
            uuid: found, tagged, template, finished, foreign_disks, ..
        })) = own
        else {
            return Ok((goal == Goal::Present).then(|| self.make_step(id, place)));
        };
        if *found != place.uuid.to_string() {
            return match goal {
                Goal::Present => {
                    let message = format!("there is a machine {path} already, and it is not of this cluster");
                    Err(Cause::new(reason::NAME_TAKEN, message))
                }
                Goal::Absent => Ok(None),
            };
        }
        Ok(match goal {
            // It was whole once: somebody works on it.
            Goal::Present if !template && *finished => {
                let message = format!(
                    "the template {path} was converted to a machine. Convert it back to a template when that work is done, \
                     and run again"
                );
                return Err(Cause::new(reason::TEMPLATE_CONVERTED, message));
            }
            // An import that was cut off: its disks are not whole, and cannot be made so.
            Goal::Present if !template => {
                Some(destroy_step(id, &path, &format!("unfinished import of the template `{name}`")))
            }
            Goal::Present if !tagged => Some(tag_step(id, &path, name)),
            Goal::Present => None,
            Goal::Absent if !foreign_disks.is_empty() => {
                let message = format!(
                    "the template {path} has disks that do not lie with it, and might be used by others: {}. Remove the \
                     template in vCenter",
                    files(foreign_disks)
                );
                return Err(Cause::new(reason::FOREIGN_DISKS, message));
            }
            Goal::Absent => Some(destroy_step(id, &path, &format!("template `{name}`"))),
        })
    }

    fn make_step(&self, id: &Id, place: &TemplateLocation) -> Step<Action> {
        let TemplateLocation { folder, pool, datastore, compute_cluster, .. } = place;
        let name = &self.name;
        let on_folder = |privilege: &str| need(folder, &format!("VirtualMachine.{privilege}"));
        let mut step = if let Source::Import { image, networks, .. } = &self.source {
            let file =
                image.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let sentence =
                format!("import {file} as the template `{name}` into {folder}, datastore {datastore}");
            let mut step = step(id, Action::Import, "import template", sentence);
            step.privileges = vec![
                need(pool, "VApp.Import"),
                need(folder, "VApp.Import"),
                on_folder("Config.AddNewDisk"),
                on_folder("Config.AdvancedConfig"),
                on_folder("Provisioning.MarkAsTemplate"),
                on_folder("Inventory.Delete"),
            ];
            step.privileges.extend(networks.iter().map(|network| need(network, "Network.Assign")));
            step
        } else {
            let sentence = format!("copy the template to `{name}` in {folder}, datastore {datastore}");
            let mut step = step(id, Action::CopyTemplate, "copy template", sentence);
            step.privileges = vec![
                on_folder("Inventory.CreateFromExisting"),
                on_folder("Provisioning.CloneTemplate"),
                on_folder("Config.AdvancedConfig"),
            ];
            step
        };
        step.privileges.push(need(datastore, "Datastore.AllocateSpace"));
        step.privileges.push(need(pool, "Resource.AssignVMToPool"));
        step.costs = vec![
            Cost { budget: "tasks".into(), units: 1 },
            Cost { budget: compute_cluster.as_str().into(), units: CLONE_UNITS },
        ];
        step.mark = Some(place.uuid);
        step.undo = Some("`slipway destroy cluster` removes it".to_owned());
        step.limit = IMPORT_TIMEOUT;
        step
    }

    pub(super) async fn perform(
        &self,
        vcenter: &VCenter,
        observed: &Observed<State>,
        action: Action,
        context: &Context,
    ) -> Result<Option<State>, KindError> {
        let made = match (action, &self.source, &observed.own) {
            (Action::Import, Source::Import { image, place, networks }, _) => {
                self.import(vcenter, observed, image, place, networks, context).await?
            }
            (Action::CopyTemplate, Source::Copy { place }, _) => {
                self.copy(vcenter, observed, place, context).await?
            }
            (_, _, Some(own)) => {
                return change(vcenter, observed, own, Made::Template, (action, &[]), context).await;
            }
            _ => return Err(absent("template")),
        };
        Ok(Some(self.made(made.reference.to_string())))
    }

    async fn import(
        &self,
        vcenter: &VCenter,
        observed: &Observed<State>,
        image: &Image,
        place: &TemplateLocation,
        networks: &[String],
        context: &Context,
    ) -> Result<MoRef, KindError> {
        let ova = Ova::open(&image.path)?;
        let Some(State::Folder { moref: folder, .. }) = observed.dependency(Kind::Folder.as_str()) else {
            return Err(absent("folder"));
        };
        let network = networks.first().ok_or_else(|| absent("network"))?;
        let network = vcenter.places.network_object(network).await?;
        let spec = ImportSpec {
            name: self.name.clone(),
            folder: vcenter.moref(folder),
            pool: vcenter.places.object("resource pool", &place.pool).await?,
            datastore: vcenter.places.object("datastore", &place.datastore).await?,
            host: None,
            // Machines get cards of their own: any network will do for the template.
            networks: ova.networks().iter().map(|name| (name.clone(), network.clone())).collect(),
            provisioning: image.provisioning,
            instance_uuid: Some(place.uuid.to_string()),
            extra_config: place.marks(),
        };
        let machine =
            vcenter.client.import(&ova, &spec, IMPORT_TIMEOUT, |percent| context.percent(percent)).await?;
        vcenter.client.mark_as_template(&machine).await?;
        Ok(machine)
    }

    async fn copy(
        &self,
        vcenter: &VCenter,
        observed: &Observed<State>,
        place: &TemplateLocation,
        context: &Context,
    ) -> Result<MoRef, KindError> {
        let Some(State::Machine(MachineState { moref: original, .. })) =
            observed.dependency(Kind::Template.as_str())
        else {
            return Err(absent("template"));
        };
        let Some(State::Folder { moref: folder, .. }) = observed.dependency(Kind::Folder.as_str()) else {
            return Err(absent("folder"));
        };
        let spec = CloneSpec {
            name: self.name.clone(),
            folder: vcenter.moref(folder),
            pool: Some(vcenter.places.object("resource pool", &place.pool).await?),
            datastore: Some(vcenter.places.object("datastore", &place.datastore).await?),
            host: None,
            disks: DiskMove::Full,
            template: true,
            config: ConfigSpec {
                instance_uuid: Some(place.uuid.to_string()),
                extra_config: place.marks(),
                ..ConfigSpec::default()
            },
        };
        let task = vcenter.client.clone_machine(&vcenter.moref(original), &spec).await?;
        vcenter.finish(context, &task, IMPORT_TIMEOUT).await?.ok_or_else(|| absent("copy"))
    }
}
