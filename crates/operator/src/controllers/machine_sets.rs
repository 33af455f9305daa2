//! Keeps as many machines of a set as it says.
//!
//! | module | what it holds |
//! |---|---|
//! | `decide` | which machines a set adopts, makes and gives up. Pure |
//! | `failures` | the budget of machines that fail one after the other. Pure |
//! | `intent` | names of machines that are being made, written before they are. Pure |
//! | `naming` | names of new machines: the same one for the same gap, whoever fills it. Pure |
//! | `capacity` | what a new node would have, for scaling up from zero. Pure |
//! | `status` | how many there are, ready and available. Pure |
//! | `retain` | how a machine leaves its set and stays |
//! | `controller` | the loop |
//!
//! Copies of objects only tell that there is something to do. What is done follows from a second look: the set and its machines as
//! the API server has them at that moment, so that a copy that lags makes and deletes nothing.
//!
//! A set that is not seen is no reason to delete anything: machines of a set that is gone go by the garbage collector.

mod capacity;
mod controller;
mod decide;
mod failures;
mod intent;
mod naming;
pub(crate) mod retain;
#[cfg(test)]
mod simulation;
mod status;

pub use controller::{Settings, run};
