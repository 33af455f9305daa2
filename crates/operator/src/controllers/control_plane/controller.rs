//! The loop: the machine that holds the lease looks after all machines of the control plane.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::ListParams;
use kube::runtime::events::Recorder;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use slipway_api::openshift::{LifecycleHook, Machine};
use slipway_assess::machines::names::{ETCD_HOOK, PAUSED};
use slipway_assets::kubernetes::CONTROL_PLANE;
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_assets::names::{MACHINE_ROLE, MACHINES_NAMESPACE, Role};
use slipway_providers::cluster::{AccessError, call, merge};
use slipway_providers::text::chain;
use tokio::sync::watch;
use tokio::time::Instant;

use super::decide::{Step, hooks, is_own, needs_members, steps};
use super::members::Etcd;
use super::prepare::{PrepareError, prepare};
use crate::agents::bootstrap::etcd::EtcdError;
use crate::controllers::machine_objects::GuardedMachine;
use crate::runtime::events::publish_event;
use crate::runtime::host::{Files, Programs};
use crate::runtime::lease::{LeaseTimeouts, Lock};
use crate::runtime::stop::stopped;
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::{Mirror, Watches, short};

/// Changes within this time lead to one pass.
const DEBOUNCE: Duration = Duration::from_millis(500);
/// While a machine leaves, or something failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// The watch tells of every change.
const RESYNC_INTERVAL: Duration = Duration::from_mins(10);

/// Runs on a machine of the control plane, until it is told to end.
pub async fn run<P: Programs, E: Etcd>(
    client: Client,
    node: &str,
    files: Files,
    programs: P,
    etcd: E,
    mut stop: watch::Receiver<bool>,
) {
    let watches = Watches::new(client.clone());
    let trigger = Trigger::new(DEBOUNCE);
    let api: Api<Machine> = Api::namespaced(client.clone(), MACHINES_NAMESPACE);
    let all: Api<GuardedMachine> = Api::namespaced(client.clone(), MACHINES_NAMESPACE);
    let machines = watches.keep_some(all, short().labels(&masters()), &trigger);
    let recorder = Recorder::new(client.clone(), CONTROL_PLANE.into());
    let mut members = Members {
        client: client.clone(),
        api,
        machines,
        files,
        programs,
        etcd,
        recorder,
        told: BTreeMap::new(),
    };
    let mut lock = Lock::new(client, SYSTEM, CONTROL_PLANE, node, LeaseTimeouts::default());
    loop {
        tokio::select! {
            () = lock.acquire() => {}
            () = stopped(&mut stop) => return,
        }
        tracing::info!("this machine looks after the machines of the control plane");
        tokio::select! {
            () = lock.hold() => tracing::warn!("the lease was lost: another machine goes on"),
            () = trigger.run(stop.clone(), &mut members) => break,
        }
    }
    lock.release().await;
}

/// The label of the Machines of the control plane.
fn masters() -> String {
    format!("{MACHINE_ROLE}={}", Role::Master.as_str())
}

struct Members<P, E> {
    client: Client,
    api: Api<Machine>,
    /// Only tells that there is something to do: what is done follows from a second look.
    machines: Mirror<GuardedMachine>,
    files: Files,
    programs: P,
    etcd: E,
    recorder: Recorder,
    /// What was last told about each machine.
    told: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Etcd(#[from] EtcdError),
    #[error(transparent)]
    Prepare(#[from] PrepareError),
}

impl<P: Programs, E: Etcd> Controller for Members<P, E> {
    async fn pass(&mut self) -> Instant {
        // The writer lives as long as the watch does.
        let _ = self.machines.wait_until_ready().await;
        let again = match Box::pin(self.round()).await {
            Ok(is_settled) => !is_settled,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "the machines of the control plane are looked after later");
                true
            }
        };
        Instant::now() + if again { RETRY_INTERVAL } else { RESYNC_INTERVAL }
    }
}

impl<P: Programs, E: Etcd> Members<P, E> {
    /// One look, and what follows from it. Whether nothing is left to do.
    async fn round(&mut self) -> Result<bool, StepError> {
        let here = ListParams::default().labels(&masters());
        let machines = call("listing the Machines of the control plane", self.api.list(&here)).await?.items;
        self.told.retain(|name, _| machines.iter().any(|machine| machine.name_any() == *name));
        let members = if needs_members(&machines) { self.etcd.members().await? } else { Vec::new() };
        let steps = steps(&machines, &members);
        let is_settled = steps.is_empty();
        for (name, step) in steps {
            let Some(machine) = machines.iter().find(|machine| machine.name_any() == name) else { continue };
            match step {
                Step::Protect => self.protect(machine).await?,
                Step::Prepare => self.prepare(machine).await?,
                Step::Hold { why } => self.tell(machine, false, "EtcdMajority", why).await,
                Step::Remove { id } => {
                    self.etcd.remove(&members, &id).await?;
                    let message = format!("its member of etcd ({id}) is removed");
                    self.tell(machine, true, "LeftEtcd", message).await;
                }
                Step::LetGo => {
                    let left: Vec<LifecycleHook> =
                        hooks(machine).into_iter().filter(|hook| !is_own(hook)).collect();
                    self.change(
                        machine,
                        "letting go",
                        json!({"spec": {"lifecycleHooks": {"preDrain": left}}}),
                    )
                    .await?;
                }
            }
        }
        Ok(is_settled)
    }

    async fn protect(&self, machine: &Machine) -> Result<(), StepError> {
        let mut hooks = hooks(machine);
        let (name, owner) = ETCD_HOOK;
        hooks.push(LifecycleHook { name: name.to_owned(), owner: owner.to_owned() });
        let change = json!({"spec": {"lifecycleHooks": {"preDrain": hooks}}});
        Ok(self.change(machine, "protecting", change).await?)
    }

    async fn prepare(&mut self, machine: &Machine) -> Result<(), StepError> {
        if let Err(error) = prepare(&self.client, &self.files, &self.programs, Timestamp::now()).await {
            self.tell(machine, false, "NotPrepared", chain(&error)).await;
            return Err(error.into());
        }
        let message = "the token and the signers' keys that it joins with are new".to_owned();
        self.tell(machine, true, "Prepared", message).await;
        let change = json!({"metadata": {"annotations": {PAUSED: null}}});
        Ok(self.change(machine, "releasing", change).await?)
    }

    /// Changes a Machine as it was seen: hooks of others must not get lost.
    async fn change(&self, machine: &Machine, doing: &str, mut change: Value) -> Result<(), AccessError> {
        let name = machine.name_any();
        change["metadata"]["uid"] = json!(machine.uid());
        change["metadata"]["resourceVersion"] = json!(machine.resource_version());
        match merge(&self.api, &name, &format!("{doing} the Machine `{name}`"), &change).await {
            // It is looked at again.
            Err(error) if error.is_conflict() || error.is_absent() => Ok(()),
            done => done,
        }
    }

    /// Tells something once.
    async fn tell(&mut self, machine: &Machine, is_good: bool, reason: &str, message: String) {
        if self.told.get(&machine.name_any()) == Some(&message) {
            return;
        }
        tracing::info!(machine = machine.name_any(), reason, message, "control plane");
        publish_event(&self.recorder, machine, is_good, reason, &message, "ControlPlane").await;
        self.told.insert(machine.name_any(), message);
    }
}
