//! The machines of a running cluster: what there is, and sets that grow, shrink and are replaced machine by machine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`list`] | machines, their nodes, and how they are |
//! | [`scale`] | another number of machines of a set, and what that does |
//! | [`create`] | one machine, made like those of a set |
//! | [`roll`] | every machine of a set, or one, replaced by a new one |
//! | [`replace`] | a machine of the control plane, replaced by a new one |
//! | [`blocked_evictions`] | which pods disruption budgets would keep |
//! | [`owners`] | which virtual machines are those of Machines, and of which set |

pub mod blocked_evictions;
pub mod create;
pub mod list;
pub mod owners;
pub mod replace;
pub mod roll;
pub mod scale;

use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use slipway_api::openshift::{Machine, MachineSet};
use slipway_assets::names::{MACHINE_ROLE, MACHINES_NAMESPACE, Role};
use slipway_providers::cluster::{AccessError, call};
use thiserror::Error;

/// Why something about machines was not done.
#[derive(Debug, Error)]
pub enum MachinesError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("this cluster has no Machines: the kind is not known to its API server")]
    NoMachines,
    #[error("there is no MachineSet `{name}` in `{MACHINES_NAMESPACE}`; there are {}", list(.there))]
    NoSet { name: String, there: Vec<String> },
    #[error(
        "there is no Machine `{name}` in `{MACHINES_NAMESPACE}`; `slipway machine list` shows those that are there"
    )]
    NoMachine { name: String },
    #[error("the MachineSet `{0}` is being deleted")]
    SetGoing(String),
    #[error("a Machine `{0}` made of its template would be adopted by the set; scale the set instead")]
    WouldBeAdopted(String),
    #[error(
        "no MachineSet owns the Machine `{0}`, so nothing would replace it; create another with `slipway machine create`, then delete it"
    )]
    NoOwner(String),
    #[error(
        "the DaemonSet `kube-system/slipway-control-plane` is not there, so nothing would take the Machine `{0}` out of etcd. Clusters of \
         the Kubernetes payload have it; on OpenShift the ControlPlaneMachineSet replaces machines of the control plane"
    )]
    ControlPlaneUnmanaged(String),
    #[error("the Machine `{machine}` cannot be replaced now: {why}")]
    QuorumAtRisk { machine: String, why: String },
    #[error(
        "the Machine `{0}` is being replaced; run `slipway machine replace {0}` again first, and see it through"
    )]
    OtherReplacement(String),
    #[error(
        "the MachineSet `{set}` has `replicas: {found}` now, and {wanted} when the rollout began; it was stopped before more is changed"
    )]
    ReplicasChanged { set: String, found: u32, wanted: u32 },
    #[error("the new Machine `{machine}` failed: {message}")]
    NewFailed { machine: String, message: String },
    #[error(
        "what is kept about a rollout of the MachineSet `{0}` cannot be read; remove its annotation `slipway.dev/rollout-state`"
    )]
    State(String),
    #[error("the rollout was not over after {0} seconds; run the command again to continue")]
    Late(u64),
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }
}

pub(crate) fn machines_of(client: &Client) -> Api<Machine> {
    Api::namespaced(client.clone(), MACHINES_NAMESPACE)
}

pub(crate) fn sets_of(client: &Client) -> Api<MachineSet> {
    Api::namespaced(client.clone(), MACHINES_NAMESPACE)
}

/// All machines, by name.
pub(crate) async fn all_machines(client: &Client) -> Result<Vec<Machine>, MachinesError> {
    let listed = call("listing Machines", machines_of(client).list(&ListParams::default())).await;
    let mut all = match listed {
        Err(error) if error.is_absent() => return Err(MachinesError::NoMachines),
        listed => listed?.items,
    };
    all.sort_by_key(ResourceExt::name_any);
    Ok(all)
}

/// A set by its name.
pub(crate) async fn set_named(client: &Client, name: &str) -> Result<MachineSet, MachinesError> {
    let sets = sets_of(client);
    if let Some(set) = call(&format!("reading the MachineSet `{name}`"), sets.get_opt(name)).await? {
        if set.metadata.deletion_timestamp.is_some() {
            return Err(MachinesError::SetGoing(name.to_owned()));
        }
        return Ok(set);
    }
    let listed = call("listing MachineSets", sets.list(&ListParams::default())).await;
    let there = match listed {
        Err(error) if error.is_absent() => return Err(MachinesError::NoMachines),
        listed => listed?.items.iter().map(ResourceExt::name_any).collect(),
    };
    Err(MachinesError::NoSet { name: name.to_owned(), there })
}

/// The machines that a set controls.
pub(crate) fn members<'m>(set: &MachineSet, machines: &'m [Machine]) -> Vec<&'m Machine> {
    machines
        .iter()
        .filter(|machine| owner(machine).is_some_and(|(_, uid)| Some(uid) == set.metadata.uid.as_deref()))
        .collect()
}

/// Name and id of the set that controls a machine.
pub(crate) fn owner(machine: &Machine) -> Option<(&str, &str)> {
    let mut owners = machine.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true) && owner.kind == "MachineSet")?;
    Some((&owner.name, &owner.uid))
}

/// The node of a machine.
pub(crate) fn node_of(machine: &Machine) -> Option<&str> {
    machine.status.as_ref()?.node_ref.as_ref()?.name.as_deref()
}

/// Whether a machine is one of the control plane.
pub(crate) fn is_control_plane(machine: &Machine) -> bool {
    machine.labels().get(MACHINE_ROLE).is_some_and(|role| role == Role::Master.as_str())
}

/// How old something is, in the words of kubectl.
pub fn age(created: Option<Timestamp>, now: Timestamp) -> String {
    let Some(created) = created else { return "?".to_owned() };
    let seconds = now.duration_since(created).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}
