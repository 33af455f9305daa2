//! What runs inside of a cluster, and on its bootstrap machine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`args`] | what can be typed |
//! | [`run`] | the one place that puts everything together |
//! | [`machine_config`] | hands machines their Ignition configurations, to those that know the word |
//! | [`csr`] | which certificates nodes may have, and the controller that approves them |
//! | [`net`] | connections with bounds: how many, from where, how long |
//! | [`log`] | what is said while running |

pub mod args;
pub mod csr;
pub mod log;
pub mod machine_config;
pub mod net;
pub mod run;
