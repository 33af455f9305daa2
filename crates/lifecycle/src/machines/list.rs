//! Machines, their nodes, and how they are.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde::Serialize;
use serde_json::Value;
use slipway_api::openshift::{Machine, MachineCondition, MachineStatus};
use slipway_assess::machines::domain::FailureDomain;
use slipway_assess::machines::names::{DRAINABLE, DRAINED, FAILED, RETAINED, annotation};
use slipway_assets::names::MACHINE_ROLE;
use slipway_providers::cluster::call;

use super::{MachinesError, all_machines, node_of, owner};

const INSTANCE_STATE: &str = "machine.openshift.io/instance-state";

/// All machines of a cluster, and the nodes that are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    pub machines: Vec<Row>,
    /// Nodes without a Machine, such as hosts of bare metal.
    pub other_nodes: Vec<String>,
}

/// One machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub name: String,
    pub role: Option<String>,
    pub set: Option<String>,
    pub state: State,
    pub node: Option<String>,
    pub failure_domain: Option<String>,
    pub provider_id: Option<String>,
    /// What the virtual machine does, as its provider says.
    pub instance_state: Option<String>,
    /// The host it runs on, where its provider says so.
    pub host: Option<String>,
    pub created: Option<Timestamp>,
    /// What is wrong, or what is waited for.
    pub reason: Option<String>,
}

/// How a machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing was done about it yet.
    Pending,
    Provisioning,
    /// Its virtual machine is there, and no node yet.
    Provisioned,
    Running,
    /// Its node cannot run pods.
    NotReady,
    /// It had a node.
    NodeGone,
    Deleting,
    Failed,
}

impl State {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Provisioning => "provisioning",
            State::Provisioned => "provisioned",
            State::Running => "running",
            State::NotReady => "not ready",
            State::NodeGone => "node gone",
            State::Deleting => "deleting",
            State::Failed => "failed",
        }
    }

    /// Whether it is what it is to be.
    pub fn is_good(self) -> bool {
        self == State::Running
    }
}

/// Reads them.
pub async fn list(client: &Client) -> Result<Overview, MachinesError> {
    let nodes: Api<Node> = Api::all(client.clone());
    let nodes = call("listing nodes", nodes.list(&ListParams::default())).await?.items;
    Ok(overview(&all_machines(client).await?, &nodes))
}

/// What they are.
pub fn overview(machines: &[Machine], nodes: &[Node]) -> Overview {
    let by_name: BTreeMap<String, &Node> = nodes.iter().map(|node| (node.name_any(), node)).collect();
    let rows: Vec<Row> = machines.iter().map(|machine| row(machine, &by_name)).collect();
    let linked: Vec<&String> = rows.iter().filter_map(|row| row.node.as_ref()).collect();
    let other_nodes = by_name.keys().filter(|name| !linked.contains(name)).cloned().collect();
    Overview { machines: rows, other_nodes }
}

fn row(machine: &Machine, nodes: &BTreeMap<String, &Node>) -> Row {
    let status = machine.status.clone().unwrap_or_default();
    let text = |path: &str| {
        let provider = status.provider_status.as_ref()?;
        provider.pointer(path).and_then(Value::as_str).map(str::to_owned)
    };
    let (state, reason) = state(machine, &status, nodes);
    let domain = FailureDomain::of(machine);
    let retained = annotation(&machine.metadata, RETAINED).map(|from| format!("left set {from}"));
    Row {
        name: machine.name_any(),
        role: machine.labels().get(MACHINE_ROLE).cloned(),
        set: owner(machine).map(|(name, _)| name.to_owned()),
        state,
        node: node_of(machine).map(str::to_owned),
        failure_domain: (!domain.is_unknown()).then(|| domain.to_string()),
        provider_id: machine.spec.provider_id.clone(),
        instance_state: annotation(&machine.metadata, INSTANCE_STATE)
            .map(str::to_owned)
            .or_else(|| text("/instanceState")),
        host: text("/host"),
        created: machine.metadata.creation_timestamp.as_ref().map(|time| time.0),
        reason: reason.or(retained),
    }
}

fn state(
    machine: &Machine,
    status: &MachineStatus,
    nodes: &BTreeMap<String, &Node>,
) -> (State, Option<String>) {
    let complaint = status.error_message.clone().or_else(|| complaint(status));
    if machine.metadata.deletion_timestamp.is_some() {
        let waits = [DRAINABLE, DRAINED].iter().find_map(|about| failing(&status.conditions, about));
        return (State::Deleting, waits.or(complaint));
    }
    if status.phase.as_deref() == Some(FAILED) {
        return (State::Failed, complaint);
    }
    if let Some(name) = node_of(machine) {
        let Some(node) = nodes.get(name) else { return (State::NodeGone, complaint) };
        let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready");
        return match ready {
            Some(ready) if ready.status == "True" => (State::Running, complaint),
            Some(ready) => (State::NotReady, complaint.or_else(|| ready.message.clone())),
            None => (State::NotReady, complaint),
        };
    }
    let state = match status.phase.as_deref() {
        Some("Provisioning") => State::Provisioning,
        // A machine cannot run without a node; its link may be on its way.
        Some("Provisioned" | "Running") => State::Provisioned,
        _ => State::Pending,
    };
    (state, complaint)
}

fn failing(conditions: &[MachineCondition], about: &str) -> Option<String> {
    let found =
        conditions.iter().find(|condition| condition.type_ == about && condition.status == "False")?;
    found.message.clone().or_else(|| found.reason.clone())
}

/// The worst that its conditions say, beside those of its end.
fn complaint(status: &MachineStatus) -> Option<String> {
    let is_own = |condition: &&MachineCondition| {
        ![DRAINABLE, DRAINED, "Terminable"].contains(&condition.type_.as_str())
    };
    let failing = status.conditions.iter().filter(|condition| condition.status == "False").filter(is_own);
    let rank = |condition: &&MachineCondition| match condition.severity.as_deref() {
        Some("Error") => 2,
        Some("Warning") => 1,
        _ => 0,
    };
    let worst = failing.max_by_key(rank).filter(|condition| rank(condition) > 0)?;
    worst.message.clone().or_else(|| worst.reason.clone())
}

#[cfg(test)]
mod tests;
