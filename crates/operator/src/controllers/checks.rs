//! Health checks of vCenters and nodes: every hour, after a failure sooner, and when something they depend on changes.
//!
//! What is looked at and what it means is in `slipway_assess::check`, which `slipway check` uses as well.
//!
//! | module | what it holds |
//! |---|---|
//! | [`controller`] | the loop |
//! | [`input`] | what a round depends on |
//! | [`status`] | a round in the status of the VDOConfig |
//! | [`board`] | a round as metrics |

pub mod board;
pub mod controller;
pub mod input;
pub mod status;

pub use board::Board;
pub use controller::{CheckIntervals, Settings, run};

/// Who writes the status.
pub const MANAGER: &str = "slipway-checks";
