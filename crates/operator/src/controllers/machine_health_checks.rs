//! Finds machines that are unhealthy, and has them replaced: those that a set owns are deleted, within the budgets.
//!
//! | module | what it holds |
//! |---|---|
//! | `rules` | what a health check says, read once. Pure |
//! | `health` | whether a machine is healthy, and since when it is not. Pure |
//! | `decide` | which machines are replaced now, and why others are not. Pure |
//! | `controller` | the loop |

mod controller;
mod decide;
mod health;
mod rules;

pub use controller::{Settings, run};
