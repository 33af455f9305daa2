//! Installs the cloud provider and the storage driver, keeps them as they should be, and upgrades them.
//!
//! A pass over everything is: fetch, choose, decide, build, apply, prune, status. Only the first and the last two talk
//! to the cluster; the others are pure.
//!
//! | module | what it holds |
//! |---|---|
//! | [`controller`] | the loop, and the pass |
//! | [`fetch`](mod@fetch) | everything a pass needs to know |
//! | [`choose`] | which version, with which connections |
//! | [`checked`](mod@checked) | what the health checks mean for it |
//! | [`upgrade`] | what comes next: install, hold, upgrade, roll back |
//! | [`build`](mod@build) | objects |
//! | [`apply`] | applying and deleting |
//! | [`health`], [`census`] | how pods and nodes are |
//! | [`marks`] | which nodes are of a vCenter, where no cloud provider says so |
//! | [`status`] | conditions |
//! | [`matrix`] | where the compatibility matrix comes from |
//! | [`keys`](mod@keys) | what the operator draws once |

pub mod apply;
pub mod build;
pub mod census;
pub mod checked;
pub mod choose;
pub mod controller;
pub mod fetch;
pub mod health;
pub mod keys;
pub mod marks;
pub mod matrix;
pub mod status;
pub mod upgrade;

pub use controller::{DriverTimeouts, Settings, run};

/// Who applies the objects and writes the status.
pub use slipway_assets::drivers::object::MANAGER;

/// On a VDOConfig: drivers that somebody else installed may be taken over.
pub const ADOPT: &str = "slipway.dev/adopt";
