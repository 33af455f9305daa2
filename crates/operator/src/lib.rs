//! What runs inside of a cluster, and on its bootstrap machine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`args`] | what can be typed |
//! | [`run`] | the one place that puts everything together |
//! | [`machine_config`] | hands machines their Ignition configurations, to those that know the word |
//! | [`manager`] | the controllers of a cluster, under one lease |
//! | [`checks`] | health checks of vCenters and nodes, again and again |
//! | [`connections`] | whether vCenters can be used, and if not, why |
//! | [`drivers`] | the cloud provider and the storage driver: installed, healthy, upgraded |
//! | [`csr`] | which certificates nodes may have, and the controller that approves them |
//! | [`certificates`] | the certificates of a machine's control plane, renewed in time |
//! | [`bootstrap`] | starts a cluster from its bootstrap machine, and leaves it |
//! | [`onprem`] | virtual addresses and names on a machine, kept up to date |
//! | [`host`] | files and programs of the machine below |
//! | [`net`] | connections with bounds: how many, from where, how long |
//! | [`nodes`] | the nodes of a cluster in short, for all controllers |
//! | [`lease`] | one operator at a time |
//! | [`conditions`] | what is written to objects, and what of it is new |
//! | [`metrics`] | what the controllers count |
//! | [`log`] | what is said while running |

pub mod args;
pub mod bootstrap;
pub mod certificates;
pub mod checks;
pub mod conditions;
pub mod connections;
pub mod csr;
pub mod drivers;
mod fingerprint;
pub mod host;
pub mod lease;
pub mod log;
pub mod machine_config;
pub mod manager;
pub mod metrics;
pub mod net;
pub mod nodes;
pub mod onprem;
pub mod run;
mod tell;
