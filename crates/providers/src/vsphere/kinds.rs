//! The kinds of resources vSphere offers the engine.
//!
//! | kind | what it is | marked by |
//! |---|---|---|
//! | `tag` | the cluster's tag category and tag | its name |
//! | `folder` | a folder for machines | the cluster's tag |
//! | `template` | what machines are cloned from: there already, or a copy made here | instance UUID |
//! | `machine` | a virtual machine, powered off | instance UUID, the cluster's tag, extra configuration |
//! | `apart` | a rule that keeps machines on different hosts | its name |
//! | `zone` | a group of machines and the rule that binds it to a group of hosts | its name |
//! | `power` | a machine that runs and has an address | |
//! | `volumes` | volumes of the cluster's storage driver, to go | the cluster's id |
//! | `policy` | the storage policy its storage driver made, to go | its name |

mod budgets;
mod disks;
mod error;
mod folder;
mod follow;
mod kind;
mod locate;
mod look;
mod machine;
mod places;
mod power;
pub mod reason;
mod requirements;
mod resume;
mod rules;
mod storage;
mod tag;
mod template;
mod whoami;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use slipway_engine::batch::{Batch, Turn};
use slipway_engine::feed::{Changes, Followed};
use slipway_engine::journal::Task;
use slipway_engine::platform::Query;
use slipway_engine::{Context, Endpoint, Id, Next, Observation, Observed, Platform, Resource, Resumed, Step};
use tokio::sync::OnceCell;
use uuid::Uuid;

use self::places::Places;
use super::machines::Hardware;
use super::{Client, MoRef, Reference};

pub use self::error::KindError;
pub use self::folder::Folder;
pub use self::kind::Kind;
pub use self::locate::MachinePlacement;
pub use self::machine::{Ignition, Machine, Shape};
pub use self::power::Power;
pub(in crate::vsphere) use self::power::addresses as guest_addresses;
pub use self::requirements::Claim;
pub use self::rules::{AntiAffinityRule, VmGroup};
pub use self::storage::{Policy, Volumes};
pub use self::tag::Tag;
pub use self::template::{Image, Source, Template, TemplateLocation};

/// What is wanted of a resource.
#[derive(Debug, Clone)]
pub enum Desired {
    Tag(Tag),
    Folder(Folder),
    Template(Template),
    Machine(Box<Machine>),
    AntiAffinityRule(AntiAffinityRule),
    VmGroup(VmGroup),
    Power(Power),
    Volumes(Volumes),
    Policy(Policy),
}

/// How a resource is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum State {
    Tag {
        /// The vCenter's own id: another one at the same address is another world.
        vcenter: String,
        category: String,
        #[serde(default)]
        tag: Option<String>,
    },
    Folder {
        moref: String,
        tagged: bool,
        /// Names of what is in it and not of this cluster; a few of them.
        #[serde(default)]
        strangers: Vec<String>,
    },
    Machine(MachineState),
    Rule {
        /// The machines it keeps apart, or the group of hosts it binds to.
        members: Vec<String>,
        /// Whether everything that belongs to it is there.
        whole: bool,
    },
    Volumes {
        ids: Vec<String>,
        /// As the cluster knows them, in the order of the ids.
        #[serde(default)]
        names: Vec<String>,
        /// Those that other clusters use as well, with their names: they stay.
        #[serde(default)]
        shared: Vec<String>,
    },
    Policy {
        id: String,
        /// Volumes that other clusters use as well: they need it.
        #[serde(default)]
        shared: Vec<String>,
    },
    Power {
        moref: String,
        on: bool,
        addresses: Vec<IpAddr>,
    },
}

/// A machine or a template.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineState {
    pub moref: String,
    pub uuid: String,
    pub tagged: bool,
    pub template: bool,
    /// Whether it is in the group of machines of its zone.
    #[serde(default)]
    pub grouped: bool,
    /// Ids of the disks it was made with, as they were written down then.
    #[serde(default)]
    pub disks: Vec<String>,
    /// Disks that are attached to it and not its own. They are looked for where it is to go.
    #[serde(default)]
    pub foreign_disks: Vec<ForeignDisk>,
    /// Whether making it has come to its end at some time; otherwise its disks may be half a copy.
    #[serde(default)]
    pub finished: bool,
}

impl MachineState {
    /// A template that the user has: nothing of it is ours.
    pub fn existing_template(moref: String) -> Self {
        MachineState { moref, template: true, finished: true, ..MachineState::default() }
    }
}

/// A volume, or a disk that was attached by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignDisk {
    pub file: String,
    /// Its id, if it is a volume of a storage driver.
    #[serde(default)]
    pub volume: Option<String>,
}

/// What a step does. How, the resource says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    CreateCategory,
    CreateTag,
    DeleteTag,
    DeleteCategory,
    CreateFolder,
    RemoveFolder,
    Import,
    CopyTemplate,
    Clone,
    AttachTag,
    JoinGroup,
    DetachVolumes,
    Destroy,
    AddRule,
    EditRule,
    RemoveRule,
    PowerOn,
    PowerOff,
    DeleteVolumes,
    DeletePolicy,
}

/// How machines are looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Search {
    /// In their folders, by the cluster's tag, and where they were: all of a cluster at once.
    #[default]
    Folders,
    /// By their ids alone: a few among thousands that nothing is asked about.
    Ids,
}

/// A vCenter and what is remembered of it during a run.
#[derive(Debug)]
struct VCenter {
    client: Client,
    search: Search,
    places: Places,
    hardware: tokio::sync::Mutex<BTreeMap<String, Arc<OnceCell<Hardware>>>>,
    tagging: Batch<(String, MoRef), (), KindError>,
    /// Machines that were found by their ids.
    located: std::sync::Mutex<BTreeMap<Uuid, MoRef>>,
    /// The id of the cluster's tag, as it was last seen.
    tag: std::sync::Mutex<Option<String>>,
}

/// vCenters, as a platform of the engine.
#[derive(Debug)]
pub struct VSphere {
    vcenters: BTreeMap<Endpoint, Arc<VCenter>>,
    /// How long a machine may take to get an address.
    pub address_limit: Duration,
}

impl VSphere {
    pub fn new(clients: impl IntoIterator<Item = (Endpoint, Client)>) -> Self {
        Self::searching(Search::default(), clients)
    }

    /// One that looks for machines in another way.
    pub fn searching(search: Search, clients: impl IntoIterator<Item = (Endpoint, Client)>) -> Self {
        let vcenter = |(endpoint, client): (Endpoint, Client)| {
            let vcenter = VCenter {
                places: Places::new(client.clone()),
                search,
                client,
                hardware: tokio::sync::Mutex::default(),
                tagging: Batch::default(),
                located: std::sync::Mutex::default(),
                tag: std::sync::Mutex::default(),
            };
            (endpoint, Arc::new(vcenter))
        };
        VSphere {
            vcenters: clients.into_iter().map(vcenter).collect(),
            address_limit: Duration::from_mins(15),
        }
    }

    pub fn client(&self, endpoint: &Endpoint) -> Option<&Client> {
        self.vcenters.get(endpoint).map(|vcenter| &vcenter.client)
    }

    pub fn endpoints(&self) -> std::collections::BTreeSet<Endpoint> {
        self.vcenters.keys().cloned().collect()
    }

    /// Ends the sessions, of all vCenters at once.
    pub async fn logout(&self) {
        let mut ends = tokio::task::JoinSet::new();
        for vcenter in self.vcenters.values() {
            let client = vcenter.client.clone();
            // A vCenter that is gone ends the session itself, after a while.
            ends.spawn(async move { drop(client.logout().await) });
        }
        ends.join_all().await;
    }

    fn vcenter(&self, endpoint: &Endpoint) -> Result<&Arc<VCenter>, KindError> {
        self.vcenters.get(endpoint).ok_or_else(|| KindError::NoVCenter(endpoint.to_string()))
    }
}

impl VCenter {
    fn moref(&self, text: &str) -> MoRef {
        let (kind, id) = text.split_once(':').unwrap_or(("", text));
        self.client.moref(Reference::new(kind, id))
    }

    fn tag(&self) -> Option<String> {
        self.tag.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember_tag(&self, tag: Option<String>) {
        *self.tag.lock().unwrap_or_else(PoisonError::into_inner) = tag;
    }

    /// The devices of a template: read once, however many machines are cloned from it.
    async fn hardware_of(&self, template: &str) -> Result<Hardware, KindError> {
        let cell = self.hardware.lock().await.entry(template.to_owned()).or_default().clone();
        let read = || async {
            let moref = self.moref(template);
            let mut hardware = self.client.hardware(std::slice::from_ref(&moref)).await?;
            hardware.remove(&moref).ok_or_else(|| absent("template"))
        };
        cell.get_or_try_init(read).await.cloned()
    }

    /// Attaches the cluster's tag to an object, in one call with all others that ask at the same moment.
    async fn attach_tag(&self, observed: &Observed<State>, object: &MoRef) -> Result<(), KindError> {
        let Some(State::Tag { tag: Some(tag), .. }) = observed.dependency(Kind::Tag.as_str()) else {
            return Err(absent("tag"));
        };
        let client = self.client.clone();
        let attach = move |mut turn: Turn<(String, MoRef), (), KindError>| async move {
            let mut objects: BTreeMap<String, Vec<MoRef>> = BTreeMap::new();
            for (tag, object) in turn.requests() {
                objects.entry(tag.clone()).or_default().push(object.clone());
            }
            for (tag, objects) in objects {
                match client.attach(&tag, &objects).await {
                    Ok(()) => turn.answer(|(other, _)| *other == tag, || ()),
                    Err(error) => return turn.fail(error.into()),
                }
            }
        };
        let request = (tag.clone(), object.clone());
        Ok(self.tagging.ask(request, |work| self.client.spawn_detached(work), attach).await?)
    }
}

/// A step of a resource, with what most of them have in common.
fn step(id: &Id, action: Action, verb: &str, sentence: String) -> Step<Action> {
    Step {
        resource: id.clone(),
        action,
        verb: verb.into(),
        sentence,
        undo: None,
        costs: Vec::new(),
        privileges: Vec::new(),
        mark: None,
        limit: Duration::from_mins(2),
    }
}

fn need(object: &str, privilege: &str) -> slipway_engine::RequiredPrivilege {
    slipway_engine::RequiredPrivilege { object: object.into(), privilege: privilege.into() }
}

/// What is missing although the engine made sure of it.
fn absent(what: &str) -> KindError {
    KindError::Refused(format!("the {what} it needs is not known"))
}

impl Platform for VSphere {
    type Desired = Desired;
    type State = State;
    type Action = Action;
    type Error = KindError;

    fn next(&self, resource: &Resource<Desired>, observed: &Observed<State>) -> Next<Action> {
        let Resource { id, goal, desired, .. } = resource;
        let own = observed.own.as_ref();
        let next = match desired {
            Desired::Tag(tag) => Ok(tag.next(id, *goal, own)),
            Desired::Folder(folder) => folder.next(id, *goal, own),
            Desired::Template(template) => template.next(id, *goal, own),
            Desired::Machine(machine) => machine.next(id, *goal, own),
            Desired::AntiAffinityRule(apart) => Ok(apart.next(id, *goal, observed)),
            Desired::VmGroup(zone) => Ok(zone.next(id, *goal, own)),
            Desired::Power(power) => return power.next(id, *goal, own, self.address_limit),
            Desired::Volumes(volumes) => Ok(volumes.next(id, *goal, own)),
            Desired::Policy(policy) => Ok(policy.next(id, *goal, own)),
        };
        match next {
            Ok(Some(step)) => Next::Step(Box::new(step)),
            Ok(None) => Next::Done,
            Err(cause) => Next::Stop(cause),
        }
    }

    /// A guest has other addresses from one moment to the next: of pods, of services, by DHCP. That it has some matters.
    fn steady(&self, state: &State) -> State {
        match state {
            State::Power { moref, on, addresses } => {
                let any = addresses.first().map(|_| IpAddr::V4(Ipv4Addr::UNSPECIFIED));
                State::Power { moref: moref.clone(), on: *on, addresses: any.into_iter().collect() }
            }
            other => other.clone(),
        }
    }

    fn predict(
        &self,
        resource: &Resource<Desired>,
        observed: &Observed<State>,
        action: &Action,
    ) -> Option<State> {
        let own = observed.own.clone();
        match (action, &resource.desired, own) {
            (Action::CreateCategory | Action::DeleteTag, _, _) => {
                Some(State::Tag { vcenter: String::new(), category: String::new(), tag: None })
            }
            (Action::CreateTag, _, _) => {
                Some(State::Tag { vcenter: String::new(), category: String::new(), tag: Some(String::new()) })
            }
            (Action::CreateFolder, ..) => {
                Some(State::Folder { moref: String::new(), tagged: true, strangers: Vec::new() })
            }
            (Action::Import | Action::CopyTemplate, Desired::Template(template), _) => {
                Some(template.made(String::new()))
            }
            (Action::Clone, Desired::Machine(machine), _) => Some(machine.made(String::new(), Vec::new())),
            (Action::AttachTag, _, Some(State::Folder { moref, strangers, .. })) => {
                Some(State::Folder { moref, tagged: true, strangers })
            }
            (Action::AttachTag | Action::JoinGroup | Action::DetachVolumes, _, Some(mut own)) => {
                if let State::Machine(MachineState { tagged, grouped, foreign_disks, .. }) = &mut own {
                    match action {
                        Action::AttachTag => *tagged = true,
                        Action::JoinGroup => *grouped = true,
                        _ => foreign_disks.clear(),
                    }
                }
                Some(own)
            }
            (Action::AddRule | Action::EditRule, Desired::AntiAffinityRule(_), _) => {
                Some(AntiAffinityRule::made(observed))
            }
            (Action::AddRule | Action::EditRule, Desired::VmGroup(zone), _) => Some(zone.made()),
            (Action::PowerOn, ..) => {
                Some(State::Power { moref: String::new(), on: true, addresses: Vec::new() })
            }
            _ => None,
        }
    }

    async fn observe(
        &self,
        endpoint: &Endpoint,
        queries: &[Query<'_, Desired, State>],
    ) -> Result<Vec<Observation<State>>, KindError> {
        look::at(self.vcenter(endpoint)?, queries).await
    }

    async fn perform(
        &self,
        resource: &Resource<Desired>,
        observed: &Observed<State>,
        action: &Action,
        context: &Context,
    ) -> Result<Option<State>, KindError> {
        let vcenter = self.vcenter(&resource.id.endpoint)?;
        match &resource.desired {
            Desired::Tag(tag) => tag.perform(vcenter, observed, *action).await,
            Desired::Folder(folder) => folder.perform(vcenter, observed, *action, context).await,
            Desired::Template(template) => template.perform(vcenter, observed, *action, context).await,
            Desired::Machine(machine) => machine.perform(vcenter, observed, *action, context).await,
            Desired::AntiAffinityRule(apart) => apart.perform(vcenter, observed, *action, context).await,
            Desired::VmGroup(zone) => zone.perform(vcenter, *action, context).await,
            Desired::Power(power) => power.perform(vcenter, observed, *action, context).await,
            Desired::Volumes(volumes) => volumes.delete(vcenter, observed).await,
            Desired::Policy(_) => storage::delete_policy(vcenter, observed).await,
        }
    }

    async fn resume(
        &self,
        resource: &Resource<Desired>,
        task: &Task,
        _: &Context,
    ) -> Result<Resumed<State>, KindError> {
        self.vcenter(&resource.id.endpoint)?.resume(resource, task).await
    }

    async fn follow(
        &self,
        endpoint: &Endpoint,
        resources: &[Followed<Desired, State>],
        changes: &Changes,
    ) -> Result<(), KindError> {
        self.vcenter(endpoint)?.follow(resources, changes).await
    }
}
