//! What runs inside of a cluster, and on its bootstrap machine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`args`] | what can be typed |
//! | [`run`] | the one place that puts everything together |
//! | [`manager`] | the controllers of a cluster, under one lease |
//! | [`controllers`] | what they do: connections, drivers, checks, certificates of nodes and of the control plane |
//! | [`agents`] | what runs on a machine: the bootstrap machine's, and every node's |
//! | [`server`] | the machine-config server |
//! | [`runtime`] | what all of them stand on: watches, events, conditions, lease, metrics, files, connections |

pub mod agents;
pub mod args;
pub mod controllers;
pub mod manager;
pub mod run;
pub mod runtime;
pub mod server;
