//! What is done about one Machine: it is read anew, the next thing is done, and what came of it is written.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::events::Recorder;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use slipway_api::openshift::Machine;
use slipway_providers::cluster::{AccessError, call, merged};
use slipway_providers::text::chain;
use slipway_providers::vsphere::machine_place::MachinePlace;
use tokio::sync::watch;

use super::FINALIZER;
use super::decide::{Known, Next, next};
use super::journal::Kept;
use super::make::{Site, make};
use super::pace::Pace;
use super::problem::{CONFLICT, Problem};
use super::remove::remove;
use super::report::{Changes, changes};
use super::subject::Subject;
use super::vcenters::VCenters;
use crate::runtime::events::publish_event;

/// What workers share.
pub(super) struct Worker {
    pub(super) client: Client,
    pub(super) machines: Api<Machine>,
    pub(super) vcenters: Arc<VCenters>,
    pub(super) pace: Pace,
    pub(super) stop: watch::Receiver<bool>,
    recorder: Recorder,
    vips: Vec<IpAddr>,
    /// Tasks that the journals of Machines know.
    tasks: Mutex<Vec<String>>,
}

/// How it ended.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) name: String,
    /// The Machine is gone.
    pub(super) gone: bool,
    pub(super) problem: Option<Problem>,
    /// The stream said that it left, and it is there.
    pub(super) is_back: bool,
    /// Where it was made.
    pub(super) place: MachinePlace,
}

impl Done {
    fn new(name: String, gone: bool, problem: Option<Problem>) -> Self {
        Done { name, gone, problem, is_back: false, place: MachinePlace::default() }
    }
}

impl Worker {
    pub(super) fn new(
        client: Client,
        namespace: &str,
        vcenters: Arc<VCenters>,
        pace: Pace,
        vips: Vec<IpAddr>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let machines = Api::namespaced(client.clone(), namespace);
        let recorder = Recorder::new(client.clone(), "slipway-operator".into());
        Worker { client, machines, vcenters, pace, stop, recorder, vips, tasks: Mutex::default() }
    }

    /// The tasks that the journals of all Machines know.
    pub(super) fn tasks(&self) -> Vec<String> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn note_tasks(&self, tasks: Vec<String>) {
        *self.tasks.lock().unwrap_or_else(PoisonError::into_inner) = tasks;
    }

    /// What a Machine should say, by what is known of it.
    pub(super) fn changes(&self, machine: &Machine, kept: &Kept, known: &Known, next: &Next) -> Changes {
        changes(machine, kept, known, next, &self.vips, Timestamp::now())
    }

    /// Does the next thing about a Machine.
    pub(super) async fn work(&self, name: String, mut known: Known) -> Done {
        let before = known.problem.take();
        let read = call(&format!("reading the machine `{name}`"), self.machines.get_opt(&name)).await;
        let machine = match read {
            Ok(Some(machine)) => machine,
            Ok(None) => return Done::new(name, true, None),
            Err(error) => return Done::new(name, false, Some(error.into())),
        };
        let mut done = Done::new(name, false, None);
        match Box::pin(self.act(machine, &known)).await {
            Ok(Acted::Gone) => done.gone = true,
            Ok(Acted::Back) => {
                known.left = false;
                done.is_back = true;
            }
            Ok(Acted::Made(place)) => {
                known.place = place.clone();
                done.place = place;
            }
            Ok(Acted::Reported) => {}
            Err(problem) => known.problem = Some(problem),
        }
        let is_conflict = known.problem.as_ref().is_some_and(|problem| problem.reason == CONFLICT);
        if !done.gone
            && !is_conflict
            && let Err(error) = self.report(&done.name, &known, before.as_ref()).await
        {
            // The next pass sees that it is not written.
            tracing::debug!(machine = done.name, error = chain(&error), "the status was not written");
        }
        done.problem = known.problem;
        done
    }

    /// Logs in to the vCenter of a Machine, so that its change stream is opened.
    pub(super) async fn link(&self, name: &str) -> Result<(), Problem> {
        let read = call(&format!("reading the machine `{name}`"), self.machines.get_opt(name)).await?;
        let Some(machine) = read else { return Ok(()) };
        let defaults = self.vcenters.logins().cloud().defaults().await?;
        let subject = Subject::of(&machine, &defaults)?;
        self.vcenters.of(&subject).await.map(drop)
    }

    async fn act(&self, machine: Machine, known: &Known) -> Result<Acted, Problem> {
        let kept = Kept::of(&machine)?;
        let mut machine = machine;
        let mut what = next(&machine, &kept, known);
        if what == Next::Finalize {
            machine = self.finalize(&machine).await?;
            what = next(&machine, &kept, known);
        }
        let defaults = match what {
            Next::Make | Next::Confirm | Next::Remove => self.vcenters.logins().cloud().defaults().await?,
            _ => return Ok(Acted::Reported),
        };
        let subject = Subject::of(&machine, &defaults);
        match what {
            Next::Remove => {
                Box::pin(remove(self, &machine, subject.as_ref())).await?;
                tracing::info!(machine = machine.name_any(), "gone");
                publish_event(
                    &self.recorder,
                    &machine,
                    true,
                    "Deleted",
                    "the virtual machine is gone",
                    "Delete",
                )
                .await;
                Ok(Acted::Gone)
            }
            Next::Confirm => {
                let subject = subject?;
                let mut site = Site::open(self, &machine, &subject).await?;
                let Some(state) = site.look_twice(self).await? else { return Err(site.missing()) };
                let id = slipway_providers::vsphere::kinds::Kind::Machine
                    .id(site.vcenter.endpoint(), &subject.name);
                site.journal.settle(&id, state, Timestamp::now()).await?;
                Ok(Acted::Back)
            }
            _ => {
                let subject = subject?;
                // The name has to be known before the guest asks for a certificate.
                let said = self.changes(&machine, &kept, known, &what);
                let machine = self.write(&machine, said).await?;
                Box::pin(make(self, &machine, &subject)).await?;
                // Without it the machine only lacks two labels.
                let place = self.place(&subject).await.unwrap_or_default();
                publish_event(
                    &self.recorder,
                    &machine,
                    true,
                    "Created",
                    "the virtual machine was created",
                    "Create",
                )
                .await;
                Ok(Acted::Made(place))
            }
        }
    }

    async fn place(&self, subject: &Subject) -> Result<MachinePlace, Problem> {
        let [region, zone] = self.vcenters.logins().cloud().categories().await?;
        self.vcenters.of(subject).await?.place(subject.spec.compute_cluster(), &region, &zone).await
    }

    async fn finalize(&self, machine: &Machine) -> Result<Machine, AccessError> {
        let mut finalizers = machine.finalizers().to_vec();
        finalizers.push(FINALIZER.to_owned());
        let change = json!({"metadata": {"finalizers": finalizers}});
        self.patch(machine, &change, false).await
    }

    /// Writes what is new about a Machine, and tells people.
    async fn report(&self, name: &str, known: &Known, before: Option<&Problem>) -> Result<(), Problem> {
        let read = call(&format!("reading the machine `{name}`"), self.machines.get_opt(name)).await?;
        let Some(machine) = read else { return Ok(()) };
        let kept = Kept::of(&machine)?;
        let what = next(&machine, &kept, known);
        let said = self.changes(&machine, &kept, known, &what);
        self.write(&machine, said).await?;
        if let Some(problem) = &known.problem
            && before.map(|before| &before.reason) != Some(&problem.reason)
        {
            let deleted = machine.metadata.deletion_timestamp.is_some();
            let action = if deleted { "Delete" } else { "Create" };
            tracing::warn!(machine = name, reason = %problem.reason, "{problem}");
            publish_event(&self.recorder, &machine, false, problem.reason.as_str(), &problem.message, action)
                .await;
        }
        Ok(())
    }

    async fn write(&self, machine: &Machine, changes: Changes) -> Result<Machine, AccessError> {
        let mut machine = machine.clone();
        if let Some(change) = changes.object {
            machine = self.patch(&machine, &change, false).await?;
        }
        if let Some(change) = changes.status {
            machine = self.patch(&machine, &change, true).await?;
        }
        Ok(machine)
    }

    /// Changes a Machine as it was read: others may have changed it meanwhile, and lists cannot be merged.
    async fn patch(&self, machine: &Machine, change: &Value, status: bool) -> Result<Machine, AccessError> {
        let ObjectMeta { name, uid, resource_version, .. } = &machine.metadata;
        let name = name.as_deref().unwrap_or_default();
        let mut change = change.clone();
        change["metadata"]["resourceVersion"] = json!(resource_version);
        change["metadata"]["uid"] = json!(uid);
        let (part, doing) = (status.then_some("status"), format!("writing the machine `{name}`"));
        merged(&self.machines, part, name, &doing, &change).await
    }
}

/// What came of it.
enum Acted {
    Reported,
    Made(MachinePlace),
    /// It had been said to be gone.
    Back,
    Gone,
}
