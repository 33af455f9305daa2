//! Machines: each becomes a virtual machine through the engine, and goes with it.
//!
//! ```text
//! Machine ──subject──▶ desired ─┐                      ┌──▶ status
//! its status ──journal──────────┼──▶ engine run ───────┤
//! vCenter ──look────────────────┘                      └──▶ virtual machine
//! vCenter ──one change stream──▶ facts ──report──▶ status
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`controller`] | the loop: which machine needs something, one worker each |
//! | `subject` | a Machine as it can be worked with, or what is wrong with it |
//! | `decide` | what comes next for a Machine. Pure |
//! | [`journal`] | the engine's journal in the Machine's status |
//! | `worker`, `make`, `remove` | what is done about one Machine |
//! | `report` | what is written to a Machine. Pure |
//! | `vcenters`, `access`, `cloud` | vCenters: session, budgets, change stream, what machines share |
//! | `boot` | what a machine boots from, and its addresses |

mod access;
mod boot;
mod cloud;
pub mod controller;
mod decide;
pub mod journal;
mod make;
pub mod metrics;
pub mod pace;
pub mod problem;
mod remove;
mod report;
mod subject;
mod vcenters;
mod worker;

pub use controller::{Settings, run};
pub use metrics::Metrics;
pub use pace::Pace;

/// Keeps a Machine until its virtual machine is gone.
pub const FINALIZER: &str = "machine.machine.openshift.io";
/// The drain of the node is left out.
pub const EXCLUDE_DRAIN: &str = "machine.openshift.io/exclude-node-draining";
/// The cluster a Machine belongs to.
pub const CLUSTER_LABEL: &str = "machine.openshift.io/cluster-api-cluster";
