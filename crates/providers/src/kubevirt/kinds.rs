//! The kinds of resources KubeVirt offers the engine. Each is one object of the namespace, and carries the marks of its
//! cluster as labels from the call that makes it.
//!
//! | kind | what it is |
//! |---|---|
//! | `image` | the volume with the image of the operating system, which boot disks are cloned from |
//! | `secret` | the Secret a machine boots from |
//! | `machine` | a VirtualMachine, halted |
//! | `power` | a VirtualMachine that runs |
//! | `disk` | a volume of a machine, to go |
//! | `instance` | a running machine whose VirtualMachine is gone, to go |

mod kind;
mod next;
pub mod reason;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{DeleteParams, DynamicObject, PostParams, Preconditions};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slipway_config::ids::{CLUSTER_MARK, InfraId, OBJECT_MARK};
use slipway_engine::feed::{Changes, Followed};
use slipway_engine::platform::Query;
use slipway_engine::{Context, Endpoint, Id, Next, Observation, Observed, Platform, Resource};
use uuid::Uuid;

pub use self::kind::Kind;
use super::error::KindError;
use super::infra::Infra;
use crate::cluster::{AccessError, Manager, apply, call, merge};

/// The name under which fields are owned.
pub(super) const MANAGER: &str = "slipway";

/// The annotation that says what a Secret was made from.
pub const CONTENT: &str = "slipway.dev/content";

/// An object as it is sent. What it holds may be secret.
#[derive(Clone, PartialEq)]
pub struct Manifest(pub Value);

impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Manifest")
    }
}

/// What is wanted of a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    pub kind: Kind,
    pub name: String,
    pub infra_id: InfraId,
    pub mark: Uuid,
    /// The object; none where it is there, or is to go.
    pub manifest: Option<Manifest>,
}

impl Desired {
    /// What the object that is wanted is made from, where that may change.
    fn content(&self) -> Option<&str> {
        let manifest = self.manifest.as_ref().filter(|_| self.kind == Kind::Secret)?;
        manifest.0["metadata"]["annotations"][CONTENT].as_str()
    }

    /// Whether an object carries the marks of this one.
    pub(super) fn is(&self, labels: &BTreeMap<String, String>) -> bool {
        labels.get(CLUSTER_MARK).is_some_and(|cluster| cluster == self.infra_id.as_str())
            && labels.get(OBJECT_MARK).is_some_and(|mark| *mark == self.mark.to_string())
    }
}

/// How a resource is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum State {
    Object(ObjectState),
    Power(PowerState),
}

/// An object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectState {
    /// The id of the namespace.
    pub namespace: String,
    pub uid: String,
    /// Its removal was begun, and something holds it.
    #[serde(default)]
    pub leaving: bool,
    /// What a Secret was made from.
    #[serde(default)]
    pub content: Option<String>,
    /// How far a volume is.
    #[serde(default)]
    pub phase: Option<String>,
    /// In percent, where CDI says it.
    #[serde(default)]
    pub progress: Option<String>,
    /// Why a volume does not get on: CDI tries for ever, and calls that "in progress".
    #[serde(default)]
    pub problem: Option<String>,
}

/// Whether a machine runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerState {
    /// The id of the VirtualMachine.
    pub machine: String,
    /// It is meant to run.
    pub on: bool,
    /// Where its instance is on its way; none without one.
    pub phase: Option<String>,
    pub addresses: Vec<IpAddr>,
    /// What KubeVirt says it waits for.
    #[serde(default)]
    pub problem: Option<String>,
}

impl PowerState {
    pub fn is_running(&self) -> bool {
        self.phase.as_deref() == Some("Running")
    }
}

/// What a step does. How, the resource says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Create,
    Change,
    Delete,
    Start,
    Stop,
}

/// Namespaces of infrastructure clusters, as a platform of the engine.
#[derive(Debug)]
pub struct KubeVirt {
    pub(super) infra: BTreeMap<Endpoint, Infra>,
    /// How long a machine may take to run.
    pub start_limit: Duration,
}

impl KubeVirt {
    pub fn new(infra: impl IntoIterator<Item = (Endpoint, Infra)>) -> Self {
        KubeVirt { infra: infra.into_iter().collect(), start_limit: Duration::from_mins(15) }
    }

    pub(super) fn infra(&self, endpoint: &Endpoint) -> Result<&Infra, KindError> {
        self.infra.get(endpoint).ok_or_else(|| KindError::NotConfigured(endpoint.to_string()))
    }
}

/// An object as it is, from its metadata and whatever else was read.
pub(super) fn object_state(namespace: &str, object: &DynamicObject) -> ObjectState {
    let text = |path: &str| object.data.pointer(path).and_then(Value::as_str).map(ToOwned::to_owned);
    ObjectState {
        namespace: namespace.to_owned(),
        uid: object.uid().unwrap_or_default(),
        leaving: object.metadata.deletion_timestamp.is_some(),
        content: object.annotations().get(CONTENT).cloned(),
        phase: text("/status/phase"),
        progress: text("/status/progress").filter(|progress| progress != "N/A"),
        problem: volume_problem(object),
    }
}

/// What CDI says is wrong with a volume that is not filled.
fn volume_problem(volume: &DynamicObject) -> Option<String> {
    let conditions = volume.data.pointer("/status/conditions")?.as_array()?;
    let of = |kind: &str| {
        let condition = conditions.iter().find(|condition| condition["type"] == kind)?;
        let reason = condition["reason"].as_str().unwrap_or_default();
        let is_bad = condition["status"] == "False" && !matches!(reason, "" | "Completed" | "Pending");
        condition["message"].as_str().filter(|message| is_bad && !message.is_empty()).map(ToOwned::to_owned)
    };
    of("Running").or_else(|| of("Bound"))
}

impl Infra {
    /// The creating call, or the same call as a rehearsal.
    pub(super) async fn post(
        &self,
        desired: &Desired,
        Manifest(manifest): &Manifest,
        dry_run: bool,
    ) -> Result<DynamicObject, AccessError> {
        let Desired { kind, name, .. } = desired;
        let api = self.objects(&kind.resource()).await?;
        let object: DynamicObject =
            serde_json::from_value(manifest.clone()).map_err(|_| AccessError::NoObject(name.clone()))?;
        let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), dry_run };
        call(&format!("creating {kind} {name}"), api.create(&parameters, &object)).await
    }

    async fn create(&self, desired: &Desired) -> Result<Option<State>, KindError> {
        let Desired { kind, name, manifest, .. } = desired;
        let Some(manifest) = manifest else {
            return Err(KindError::NotDescribed(kind.as_str()));
        };
        let namespace = self.instance().await?.to_owned();
        let made = match self.post(desired, manifest, false).await {
            // Made before, and its answer was lost; or it is another's.
            Err(error) if error.is_conflict() => {
                let api = self.objects(&kind.resource()).await?;
                let there = call(&format!("reading {kind} {name}"), api.get(name)).await?;
                if !desired.is(there.labels()) {
                    return Err(KindError::NameTaken { kind: kind.as_str(), name: name.clone() });
                }
                there
            }
            made => made?,
        };
        Ok(Some(State::Object(object_state(&namespace, &made))))
    }

    /// The id of the object that was seen goes along: another one of its name is not changed.
    async fn change(&self, desired: &Desired, seen: &ObjectState) -> Result<Option<State>, KindError> {
        let Desired { kind, name, manifest, .. } = desired;
        let Some(Manifest(manifest)) = manifest else {
            return Err(KindError::NotDescribed(kind.as_str()));
        };
        let mut manifest = manifest.clone();
        manifest["metadata"]["uid"] = json!(seen.uid);
        let api = self.objects(&kind.resource()).await?;
        let doing = format!("changing {kind} {name}");
        let made = apply(&api, Manager::forcing(MANAGER), name, &doing, &manifest).await?;
        Ok(Some(State::Object(object_state(&seen.namespace, &made))))
    }

    /// In the foreground: it is seen until its disks and the claims below them are gone, so that what is not seen any more
    /// takes up no room.
    async fn delete(&self, desired: &Desired, seen: &ObjectState) -> Result<Option<State>, KindError> {
        let Desired { kind, name, .. } = desired;
        let api = self.objects(&kind.resource()).await?;
        let preconditions = Preconditions { uid: Some(seen.uid.clone()), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::foreground() };
        match call(&format!("deleting {kind} {name}"), api.delete(name, &parameters)).await {
            Err(error) if error.is_absent() => return Ok(None),
            deleted => drop(deleted?),
        }
        match call(&format!("reading {kind} {name}"), api.get_metadata(name)).await {
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error.into()),
            Ok(there) if there.metadata.uid.as_ref() != Some(&seen.uid) => Ok(None),
            Ok(_) => Ok(Some(State::Object(ObjectState { leaving: true, ..seen.clone() }))),
        }
    }

    async fn switch(&self, desired: &Desired, on: bool) -> Result<Option<State>, KindError> {
        let api = self.objects(&Kind::Machine.resource()).await?;
        let Desired { name, .. } = desired;
        let doing = format!("{} the machine {name}", if on { "starting" } else { "stopping" });
        let machine = call(&doing, api.get(name)).await?;
        if !desired.is(machine.labels()) {
            return Err(KindError::NameTaken { kind: Kind::Machine.as_str(), name: name.clone() });
        }
        // The id goes along: one that was made again meanwhile is not meant.
        let machine = machine.uid().unwrap_or_default();
        let strategy = if on { "Always" } else { "Halted" };
        // `running` is the older way to say it, and cannot be beside the strategy.
        let change =
            json!({"metadata": {"uid": machine}, "spec": {"runStrategy": strategy, "running": null}});
        merge(&api, name, &doing, &change).await?;
        let phase = (!on).then(|| "Running".to_owned());
        Ok(Some(State::Power(PowerState { machine, on, phase, ..PowerState::default() })))
    }
}

impl Platform for KubeVirt {
    type Desired = Desired;
    type State = State;
    type Action = Action;
    type Error = KindError;

    fn next(&self, resource: &Resource<Desired>, observed: &Observed<State>) -> Next<Action> {
        next::next(resource, observed.own.as_ref(), self.start_limit)
    }

    fn predict(
        &self,
        resource: &Resource<Desired>,
        observed: &Observed<State>,
        action: &Action,
    ) -> Option<State> {
        let desired = &resource.desired;
        match (action, &observed.own) {
            (Action::Create, _) => Some(State::Object(ObjectState {
                content: desired.content().map(ToOwned::to_owned),
                ..ObjectState::default()
            })),
            (Action::Change, Some(State::Object(seen))) => Some(State::Object(ObjectState {
                content: desired.content().map(ToOwned::to_owned),
                ..seen.clone()
            })),
            (Action::Start, _) => Some(State::Power(PowerState { on: true, ..PowerState::default() })),
            (Action::Stop, _) => Some(State::Power(PowerState::default())),
            (Action::Change | Action::Delete, _) => None,
        }
    }

    /// A machine has other addresses after a restart, and an import gets on: that they are there matters.
    fn steady(&self, state: &State) -> State {
        match state {
            State::Object(object) => {
                State::Object(ObjectState { progress: None, problem: None, ..object.clone() })
            }
            State::Power(power) => {
                let any = power.addresses.first().map(|_| IpAddr::V4(Ipv4Addr::UNSPECIFIED));
                State::Power(PowerState {
                    addresses: any.into_iter().collect(),
                    problem: None,
                    ..power.clone()
                })
            }
        }
    }

    async fn observe(
        &self,
        endpoint: &Endpoint,
        queries: &[Query<'_, Desired, State>],
    ) -> Result<Vec<Observation<State>>, KindError> {
        self.infra(endpoint)?.observe(queries).await
    }

    async fn perform(
        &self,
        resource: &Resource<Desired>,
        observed: &Observed<State>,
        action: &Action,
        _: &Context,
    ) -> Result<Option<State>, KindError> {
        let (infra, desired) = (self.infra(&resource.id.endpoint)?, &resource.desired);
        match (action, &observed.own) {
            (Action::Create, _) => infra.create(desired).await,
            (Action::Change, Some(State::Object(seen))) => infra.change(desired, seen).await,
            (Action::Delete, Some(State::Object(seen))) => infra.delete(desired, seen).await,
            (Action::Start, _) => infra.switch(desired, true).await,
            (Action::Stop, _) => infra.switch(desired, false).await,
            (Action::Change | Action::Delete, _) => Err(KindError::NotDescribed(desired.kind.as_str())),
        }
    }

    async fn follow(
        &self,
        endpoint: &Endpoint,
        resources: &[Followed<Desired, State>],
        changes: &Changes,
    ) -> Result<(), KindError> {
        self.infra(endpoint)?.follow(resources, changes).await
    }
}

/// The id of a resource.
pub fn id_of(endpoint: &Endpoint, desired: &Desired) -> Id {
    desired.kind.id(endpoint, &desired.name)
}
