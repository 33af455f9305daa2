//! `slipway machine`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::access::Access;
use super::time;

#[derive(Debug, Subcommand)]
pub enum Machine {
    /// List Machines with their nodes, states, places and failures
    ///
    /// Nodes without a Machine, such as bare metal hosts, are listed below the table.
    #[command(
        after_long_help = "Examples:\n  slipway machine list\n  slipway machine list -o json \\\n    | jq '.machines[] | select(.state != \"running\")'"
    )]
    List(ListMachines),

    /// Create one machine from the template of a set, outside of the set
    #[command(
        after_long_help = "Examples:\n  slipway machine create harbour-extra --like harbour-x7k2p-worker-0 --plan\n  slipway machine create harbour-extra --like harbour-x7k2p-worker-0 --yes"
    )]
    Create(CreateMachine),

    /// Change the number of machines of a set
    ///
    /// Prints first how many will be created, or which ones will be deleted and which pods block that. The operator does the
    /// rest.
    #[command(
        after_long_help = "Examples:\n  slipway machine scale harbour-x7k2p-worker-0 --replicas 5\n  slipway machine scale harbour-x7k2p-worker-0 --replicas 1 --plan -o json"
    )]
    Scale(ScaleMachines),

    /// Replace every machine of a set, one at a time
    ///
    /// Adds one machine; when its node is Ready, drains and deletes an old one, and so on until all are new. Prints first
    /// which pods block the drain because of a PodDisruptionBudget. The set's MachineHealthChecks pause. If it is
    /// interrupted or times out, run it again: it continues.
    #[command(
        after_long_help = "Examples:\n  slipway machine roll harbour-x7k2p-worker-0 --plan\n  slipway machine roll harbour-x7k2p-worker-0 --yes"
    )]
    Roll(RollMachines),

    /// Replace one machine of a set, or of the control plane
    ///
    /// Creates a new machine in the same set; when its node is Ready, drains and deletes the old one. If it is interrupted
    /// or times out, run it again: it continues.
    ///
    /// Of the control plane, the new machine joins etcd before the old one leaves. A machine that does not work leaves first.
    /// It is refused where etcd would lose its majority.
    #[command(
        after_long_help = "Examples:\n  slipway machine replace harbour-x7k2p-worker-0-b9nqz --plan\n  slipway machine replace harbour-x7k2p-master-1 --yes"
    )]
    Replace(ReplaceMachine),
}

#[derive(Debug, Args)]
pub struct ListMachines {
    #[command(flatten)]
    pub access: Access,
}

#[derive(Debug, Args)]
pub struct CreateMachine {
    /// Name of the machine
    #[arg(value_name = "NAME")]
    pub name: String,

    /// MachineSet with the template
    #[arg(long, value_name = "SET")]
    pub like: String,

    #[command(flatten)]
    pub intent: Intent,

    #[command(flatten)]
    pub access: Access,
}

#[derive(Debug, Args)]
pub struct ScaleMachines {
    /// MachineSet, in the namespace openshift-machine-api
    #[arg(value_name = "SET")]
    pub set: String,

    /// New number of machines
    #[arg(long, value_name = "COUNT")]
    pub replicas: u32,

    #[command(flatten)]
    pub intent: Intent,

    #[command(flatten)]
    pub access: Access,
}

#[derive(Debug, Args)]
pub struct RollMachines {
    /// MachineSet, in the namespace openshift-machine-api
    #[arg(value_name = "SET")]
    pub set: String,

    #[command(flatten)]
    pub rollout: Rollout,
}

#[derive(Debug, Args)]
pub struct ReplaceMachine {
    /// Machine, in the namespace openshift-machine-api
    #[arg(value_name = "NAME")]
    pub name: String,

    #[command(flatten)]
    pub rollout: Rollout,
}

/// How machines are replaced.
#[derive(Debug, Args)]
pub struct Rollout {
    /// Longest time for everything; pods that block a drain can need most of it
    #[arg(long, value_name = "TIME", default_value = "4h", value_parser = time::positive)]
    pub timeout: Duration,

    #[command(flatten)]
    pub intent: Intent,

    #[command(flatten)]
    pub access: Access,
}

/// Whether to look, to ask, or to act.
#[derive(Debug, Clone, Copy, Args)]
pub struct Intent {
    /// Only print what would be done
    #[arg(long, conflicts_with = "yes")]
    pub plan: bool,

    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}
