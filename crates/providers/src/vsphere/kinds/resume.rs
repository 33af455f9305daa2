//! Tasks that an earlier run began: they are waited for, and not begun again.

use std::time::Duration;

use slipway_engine::{Cause as Why, Context, Failure, Resource, Resumed};

use super::{Desired, KindError, State, VCenter};
use crate::vsphere::MoRef;
use crate::vsphere::error::{Cause, Error};
use crate::vsphere::tasks::Task;

/// A full copy of a disk takes its time.
const RESUME_TIMEOUT: Duration = Duration::from_hours(1);

impl VCenter {
    /// Waits for a task, after it was written down: a crash does not lose it.
    pub(super) async fn finish(
        &self,
        context: &Context,
        task: &Task,
        limit: Duration,
    ) -> Result<Option<MoRef>, Error> {
        context.task(task.moref.reference.to_string()).await;
        self.client.finish(task, limit).await
    }

    /// What became of a task that an earlier run wrote down.
    pub(super) async fn resume(
        &self,
        resource: &Resource<Desired>,
        task: &slipway_engine::journal::Task,
    ) -> Result<Resumed<State>, KindError> {
        let begun = Task { moref: self.moref(&task.reference), method: task.verb.clone() };
        match self.client.finish(&begun, RESUME_TIMEOUT).await {
            Ok(Some(made)) => self.made_by(resource, &made).await,
            Ok(None) | Err(Error { source: Cause::Forgotten { .. }, .. }) => Ok(Resumed::Over),
            Err(error @ Error { source: Cause::Fault(_), .. }) => {
                let message = format!("{error}: {}", error.source);
                Ok(Resumed::Failed(Why::new(KindError::from(error).reason(), message)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What a task made, if it is what the resource should be.
    async fn made_by(&self, resource: &Resource<Desired>, made: &MoRef) -> Result<Resumed<State>, KindError> {
        let (uuid, moref) =
            (self.client.property(made, "config.instanceUuid").await?, made.reference.to_string());
        let is_it =
            |desired: uuid::Uuid| uuid.as_ref().is_some_and(|found| *found.text == *desired.to_string());
        match &resource.desired {
            Desired::Machine(machine) if is_it(machine.uuid) => {
                let disks = self.disks_of(made).await;
                Ok(Resumed::Done(Some(machine.made(moref, disks))))
            }
            Desired::Template(template) if template.source.place().is_some_and(|place| is_it(place.uuid)) => {
                Ok(Resumed::Done(Some(template.made(moref))))
            }
            _ => Ok(Resumed::Over),
        }
    }
}
