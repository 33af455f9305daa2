//! The kinds of resources an oVirt engine offers. The marks of their cluster stand in the comment of machines
//! and in the description of tags and affinity groups, from the call that makes them.
//!
//! | kind | what it is |
//! |---|---|
//! | `tag` | the cluster's tag, named after it |
//! | `affinity-group` | keeps machines on different hosts |
//! | `machine` | a virtual machine, down, with its tag, card, disk and groups |
//! | `power` | a virtual machine that is up |

mod error;
mod kind;
mod machine;
mod next;
pub mod reason;
mod spread;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use slipway_config::ids::InfraId;
use slipway_engine::feed::{Changes, Followed};
use slipway_engine::platform::Query;
use slipway_engine::{Context, Endpoint, Id, Next, Observation, Observed, Platform, Resource};
use uuid::Uuid;

pub use self::error::KindError;
pub use self::kind::Kind;
pub(super) use self::machine::{boot_disk, disk_name, disk_size};
pub use self::spread::GroupSpec;
pub(super) use self::spread::{group_state, members};
use super::machine_spec::MachineSpec;
use super::read::{id, marks, marks_in, name, text};
use super::scope::Scope;

/// What is wanted of a resource.
#[derive(Debug, Clone)]
pub struct Desired {
    pub kind: Kind,
    pub name: String,
    pub infra_id: InfraId,
    pub mark: Uuid,
    /// How it is to be made; none where it is there, or is to go.
    pub spec: Option<Spec>,
    /// The engine's id of a machine that was found, and made by the cluster itself: it may carry no marks.
    pub found: Option<String>,
}

/// How something is to be made.
#[derive(Debug, Clone)]
pub enum Spec {
    Group(GroupSpec),
    Machine(Box<MachineSpec>),
}

impl Desired {
    /// The marks of this one.
    pub(super) fn marks(&self) -> String {
        marks(&self.infra_id, self.mark)
    }

    /// Whether a text with marks has those of this one.
    fn is_marked(&self, text: &str) -> bool {
        marks_in(text) == Some((self.infra_id.clone(), self.mark))
    }

    /// Whether an object is this one: by its id where it was found, else by its name and marks.
    pub(super) fn is(&self, object: &Value) -> bool {
        match &self.found {
            Some(found) => id(object) == *found,
            None => name(object) == self.name && self.is_marked(&text(object, self.marked_field())),
        }
    }

    fn marked_field(&self) -> &'static str {
        match self.kind {
            Kind::Tag | Kind::AffinityGroup => "/description",
            Kind::Machine | Kind::Power => "/comment",
        }
    }

    pub(super) fn machine(&self) -> Option<&MachineSpec> {
        match &self.spec {
            Some(Spec::Machine(spec)) => Some(spec),
            _ => None,
        }
    }

    fn group(&self) -> Option<&GroupSpec> {
        match &self.spec {
            Some(Spec::Group(spec)) => Some(spec),
            _ => None,
        }
    }
}

/// How a resource is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum State {
    Tag(ObjectState),
    Group(GroupState),
    Machine(MachineState),
    Power(PowerState),
}

impl State {
    /// The object behind it: the engine's id, and that of the cluster it was made in.
    pub fn object(&self) -> Option<&ObjectState> {
        match self {
            State::Tag(object) => Some(object),
            State::Group(group) => Some(&group.object),
            State::Machine(machine) => Some(&machine.object),
            State::Power(_) => None,
        }
    }
}

/// An object of the engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectState {
    /// The id of the cluster it was made in.
    pub cluster: String,
    pub id: String,
}

/// An affinity group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupState {
    #[serde(flatten)]
    pub object: ObjectState,
    /// Machines are rather not started than together.
    pub enforcing: bool,
}

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineState {
    #[serde(flatten)]
    pub object: ObjectState,
    /// In the engine's words: `down`, `up`, `image_locked`.
    pub status: String,
    pub tagged: bool,
    /// Its cards are on the networks that were asked for.
    pub connected: bool,
    /// The disk it boots from.
    #[serde(default)]
    pub disk: Option<BootDisk>,
    /// Other disks, which were attached by others and are not its own.
    #[serde(default)]
    pub guests: Vec<GuestDisk>,
    /// The affinity groups it is in.
    #[serde(default)]
    pub groups: BTreeSet<String>,
    /// It cannot be removed before its protection is switched off.
    #[serde(default)]
    pub protected: bool,
}

impl MachineState {
    fn is_locked(&self) -> bool {
        self.status == "image_locked" || self.disk.as_ref().is_some_and(|disk| disk.locked)
    }
}

/// The disk a machine boots from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootDisk {
    pub id: String,
    pub bytes: u64,
    pub locked: bool,
}

/// A disk that stays when its machine goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestDisk {
    pub id: String,
    pub name: String,
}

/// Whether a machine runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerState {
    /// The id of the machine.
    pub machine: String,
    /// In the engine's words.
    pub status: String,
    pub addresses: Vec<IpAddr>,
    /// The host it runs on.
    #[serde(default)]
    pub host: Option<String>,
}

impl PowerState {
    pub fn is_up(&self) -> bool {
        self.status == "up"
    }

    pub fn is_down(&self) -> bool {
        self.status == "down"
    }
}

/// What a step does. How, the resource says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Create,
    /// Tag, cards, disk and groups of a machine.
    Configure,
    Start,
    Stop,
    /// Disks that are not the machine's own.
    Detach,
    Delete,
}

/// Engines, as a platform of slipway's engine.
#[derive(Debug)]
pub struct Ovirt {
    pub(super) scopes: BTreeMap<Endpoint, Scope>,
    /// The cluster whose machines are looked for where nothing else says so.
    pub(super) infra_id: InfraId,
    /// How long a machine may take to be up.
    pub start_limit: Duration,
}

impl Ovirt {
    pub fn new(infra_id: InfraId, scopes: impl IntoIterator<Item = (Endpoint, Scope)>) -> Self {
        Ovirt { scopes: scopes.into_iter().collect(), infra_id, start_limit: Duration::from_mins(15) }
    }

    pub(super) fn scope(&self, endpoint: &Endpoint) -> Result<&Scope, KindError> {
        self.scopes.get(endpoint).ok_or_else(|| KindError::NotConfigured(endpoint.to_string()))
    }
}

impl Platform for Ovirt {
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
        next::predict(&resource.desired, observed.own.as_ref(), *action)
    }

    /// A machine has other addresses after a restart, and what is locked is not for long.
    fn steady(&self, state: &State) -> State {
        match state {
            State::Tag(_) | State::Group(_) => state.clone(),
            State::Machine(machine) => {
                let disk = machine.disk.clone().map(|disk| BootDisk { locked: false, ..disk });
                State::Machine(MachineState { status: String::new(), disk, ..machine.clone() })
            }
            State::Power(power) => {
                let any = power.addresses.first().map(|_| IpAddr::V4(Ipv4Addr::UNSPECIFIED));
                State::Power(PowerState { addresses: any.into_iter().collect(), host: None, ..power.clone() })
            }
        }
    }

    async fn observe(
        &self,
        endpoint: &Endpoint,
        queries: &[Query<'_, Desired, State>],
    ) -> Result<Vec<Observation<State>>, KindError> {
        self.scope(endpoint)?.observe(queries).await
    }

    async fn perform(
        &self,
        resource: &Resource<Desired>,
        observed: &Observed<State>,
        action: &Action,
        _: &Context,
    ) -> Result<Option<State>, KindError> {
        let (scope, desired) = (self.scope(&resource.id.endpoint)?, &resource.desired);
        match (action, &observed.own) {
            (Action::Create, _) => match desired.kind {
                Kind::Tag => scope.create_tag(desired).await,
                Kind::AffinityGroup => scope.create_group(desired).await,
                _ => scope.create_machine(desired).await,
            },
            (Action::Configure, Some(State::Machine(seen))) => scope.configure(desired, seen).await,
            (Action::Detach, Some(State::Machine(seen))) => scope.detach(desired, seen).await,
            (Action::Start | Action::Stop, _) => scope.switch(desired, *action == Action::Start).await,
            (Action::Delete, Some(seen)) => scope.delete(desired, seen).await,
            _ => Err(KindError::NotDescribed(desired.kind.as_str())),
        }
    }

    async fn follow(
        &self,
        endpoint: &Endpoint,
        resources: &[Followed<Desired, State>],
        changes: &Changes,
    ) -> Result<(), KindError> {
        self.scope(endpoint)?.follow(resources, changes).await
    }
}

/// The id of a resource.
pub fn id_of(endpoint: &Endpoint, desired: &Desired) -> Id {
    desired.kind.id(endpoint, &desired.name)
}
