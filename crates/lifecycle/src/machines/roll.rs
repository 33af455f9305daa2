//! Every machine of a set, or one of them, replaced by a new one: one more first, then one less.
//!
//! What is left to do is kept on the set, so that a rollout that was cut off goes on where it was. The work itself is the
//! controllers': here the number of machines goes up by one, and down again when the new one is there.

mod decide;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde::Serialize;
use serde_json::{Value, json};
use slipway_api::openshift::{Machine, MachineSet};
use slipway_assess::machines::disruption::BlockedEviction;
use slipway_assess::machines::names::{DELETE_MACHINE, ROLLOUT, annotation};
use slipway_providers::cluster::{call, merge};
use tokio::time::{Instant, sleep};

use self::decide::{Begun, Member, Observed, Step, next};
use super::blocked_evictions::blocked_evictions;
use super::list::{State, overview};
use super::{MachinesError, all_machines, machines_of, members, node_of, owner, set_named, sets_of};

/// What is left of a rollout, on the set.
const ROLLOUT_STATE: &str = "slipway.dev/rollout-state";
/// Health checks leave the machines of the set alone for so long, unless it is said again.
const PAUSE: SignedDuration = SignedDuration::from_mins(15);
/// It is said again when less than this is left.
const RENEW: SignedDuration = SignedDuration::from_mins(10);
/// Between two looks.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// What a rollout would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub set: String,
    pub replicas: u32,
    /// Which machines are replaced, by name, in this order.
    pub replace: Vec<String>,
    /// A rollout that was cut off goes on.
    pub goes_on: bool,
    /// Pods that would hold a drain up now.
    pub blocked: Vec<BlockedEviction>,
    #[serde(skip)]
    begun: Begun,
}

/// Which machines are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which<'w> {
    /// All of a set.
    Set(&'w str),
    /// One.
    Machine(&'w str),
}

/// Looks, and changes nothing.
pub async fn plan(client: &Client, which: Which<'_>) -> Result<Plan, MachinesError> {
    let machines = all_machines(client).await?;
    let (set, only) = match which {
        Which::Set(name) => (set_named(client, name).await?, None),
        Which::Machine(name) => {
            let machine = machines.iter().find(|machine| machine.name_any() == name);
            let machine = machine.ok_or_else(|| MachinesError::NoMachine { name: name.to_owned() })?;
            let (set, _) = owner(machine).ok_or_else(|| MachinesError::NoOwner(name.to_owned()))?;
            (set_named(client, set).await?, machine.uid())
        }
    };
    let before = begun(&set)?;
    let goes_on = before.is_some();
    let begun = before.unwrap_or_else(|| {
        let own = members(&set, &machines);
        let chosen = own.iter().filter(|machine| {
            let is_meant = only.is_none() || machine.uid() == only;
            is_meant && machine.metadata.deletion_timestamp.is_none()
        });
        Begun { replicas: set.spec.replicas, machines: chosen.filter_map(|machine| machine.uid()).collect() }
    });
    let left: Vec<&Machine> =
        machines.iter().filter(|one| one.uid().is_some_and(|uid| begun.machines.contains(&uid))).collect();
    let nodes: Vec<&str> = left.iter().filter_map(|machine| node_of(machine)).collect();
    Ok(Plan {
        set: set.name_any(),
        replicas: begun.replicas,
        replace: left.iter().map(|machine| machine.name_any()).collect(),
        goes_on,
        blocked: blocked_evictions(client, &nodes).await?,
        begun,
    })
}

fn begun(set: &MachineSet) -> Result<Option<Begun>, MachinesError> {
    let Some(text) = annotation(&set.metadata, ROLLOUT_STATE) else { return Ok(None) };
    serde_json::from_str(text).map(Some).map_err(|_| MachinesError::State(set.name_any()))
}

/// Carries it out, and tells of every step. Run again it goes on.
pub async fn apply(
    client: &Client,
    plan: &Plan,
    timeout: Duration,
    mut told: impl FnMut(&str),
) -> Result<(), MachinesError> {
    let deadline = Instant::now() + timeout;
    let mut last = String::new();
    write(client, &plan.set, &with_state(Some(&plan.begun))).await?;
    loop {
        let set = set_named(client, &plan.set).await?;
        let machines = all_machines(client).await?;
        let nodes: Api<Node> = Api::all(client.clone());
        let nodes = call("listing nodes", nodes.list(&ListParams::default())).await?.items;
        let observed = observe(&set, &plan.begun, &machines, &nodes);
        let step = next(&observed)?;
        let sentence = step.sentence(&plan.set);
        if sentence != last {
            told(&sentence);
            last = sentence;
        }
        match step {
            Step::Done => {
                write(client, &plan.set, &with_state(None)).await?;
                return Ok(());
            }
            Step::Scale { to } => write(client, &plan.set, &scaled(&set, to)).await?,
            Step::GiveUp { machine, to } => {
                let mark = json!({"metadata": {"annotations": {DELETE_MACHINE[0]: "true"}}});
                let doing = format!("marking the Machine `{machine}` to go first");
                merge(&machines_of(client), &machine, &doing, &mark).await?;
                write(client, &plan.set, &scaled(&set, to)).await?;
            }
            Step::Wait { .. } => {}
        }
        renew(client, &set).await?;
        if Instant::now() >= deadline {
            return Err(MachinesError::Late(timeout.as_secs()));
        }
        sleep(LOOK_INTERVAL).await;
    }
}

/// Health checks stay away as long as it goes on.
async fn renew(client: &Client, set: &MachineSet) -> Result<(), MachinesError> {
    let until = annotation(&set.metadata, ROLLOUT).and_then(|text| text.parse::<Timestamp>().ok());
    let soon = Timestamp::now() + RENEW;
    if until.is_none_or(|until| until < soon) {
        let change = json!({"metadata": {"annotations": {ROLLOUT: (Timestamp::now() + PAUSE).to_string()}}});
        write(client, &set.name_any(), &change).await?;
    }
    Ok(())
}

/// The set with what is left, or without.
fn with_state(begun: Option<&Begun>) -> Value {
    let state = begun.and_then(|begun| serde_json::to_string(begun).ok());
    let until = begun.map(|_| (Timestamp::now() + PAUSE).to_string());
    json!({"metadata": {"annotations": {ROLLOUT_STATE: state, ROLLOUT: until}}})
}

/// Another number, if the set is still what it was.
fn scaled(set: &MachineSet, to: u32) -> Value {
    json!({"metadata": {"resourceVersion": set.resource_version()}, "spec": {"replicas": to}})
}

/// A set that another writer changed meanwhile is looked at again.
async fn write(client: &Client, set: &str, change: &Value) -> Result<(), MachinesError> {
    match merge(&sets_of(client), set, &format!("changing the MachineSet `{set}`"), change).await {
        Err(error) if error.is_conflict() => Ok(()),
        written => Ok(written?),
    }
}

fn observe(set: &MachineSet, begun: &Begun, machines: &[Machine], nodes: &[Node]) -> Observed {
    let states = overview(machines, nodes).machines;
    let own = members(set, machines).into_iter().map(|machine| {
        let name = machine.name_any();
        let row = states.iter().find(|row| row.name == name);
        Member {
            is_old: machine.uid().is_some_and(|uid| begun.machines.contains(&uid)),
            is_marked: machine.annotations().contains_key(DELETE_MACHINE[0]),
            state: row.map_or(State::Pending, |row| row.state),
            reason: row.and_then(|row| row.reason.clone()),
            name,
        }
    });
    Observed {
        set: set.name_any(),
        replicas: set.spec.replicas,
        wanted: begun.replicas,
        machines: own.collect(),
    }
}
