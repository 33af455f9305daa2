//! What runs inside of a cluster, and on its bootstrap machine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`args`] | what can be typed |
//! | [`run`] | the one place that puts everything together |
//! | [`machine_config`] | hands machines their Ignition configurations, to those that know the word |
//! | [`csr`] | which certificates nodes may have, and the controller that approves them |
//! | [`bootstrap`] | starts a cluster from its bootstrap machine, and leaves it |
//! | [`onprem`] | virtual addresses and names on a machine, kept up to date |
//! | [`host`] | files and programs of the machine below |
//! | [`net`] | connections with bounds: how many, from where, how long |
//! | [`log`] | what is said while running |

pub mod args;
pub mod bootstrap;
pub mod csr;
pub mod host;
pub mod log;
pub mod machine_config;
pub mod net;
pub mod onprem;
pub mod run;
