//! Observe, plan, apply: the one mechanism behind everything that touches the world. No hypervisor in it.
//!
//! A platform offers kinds of resources. For each it says how to read many of them at once, and which step comes
//! next, given what is wanted and what is there. That function is pure. A *plan* folds it over a simulated world until
//! nothing is left to do; *applying* folds it over the real one.
//!
//! | module | what it holds |
//! |---|---|
//! | [`resource`] | what is wanted: resources, what they need, whether they should be there |
//! | [`world`] | what is known: there, not there, or unknown |
//! | [`step`] | what can be done about it, what it costs and which privileges it needs |
//! | [`platform`] | what a platform offers |
//! | [`mod@plan`] | all steps, before the first is made |
//! | [`mod@apply`] | the executor |
//! | [`journal`] | what was intended and what became of it, on disk before it happens |
//! | [`reason`] | why: a constant beside every sentence |
//! | [`lanes`], [`budget`] | how much at once at an endpoint, and when to leave it alone; shared between runs |
//! | [`context`] | what a step has around it: the journal for its tasks, listeners for its progress |
//! | [`feed`] | endpoints that say what has changed |
//! | [`observer`], [`batch`] | one look for several runs, one call for several requests |
//! | [`compose`] | two platforms as one |
//! | [`undo`] | the way back to how it was |
//! | [`retry`] | how long to wait before trying again |
//! | [`progress`] | what listeners are told |

pub mod apply;
pub mod batch;
mod breaker;
pub mod budget;
pub mod compose;
pub mod context;
pub mod feed;
pub mod journal;
pub mod lanes;
pub mod observer;
pub mod plan;
pub mod platform;
pub mod progress;
pub mod reason;
pub mod resource;
pub mod retry;
mod seconds;
pub mod step;
pub mod undo;
pub mod world;

pub use apply::{Clock, End, Options, Outcome, apply, observe};
pub use context::Context;
pub use journal::{FileJournal, Journal};
pub use lanes::Lanes;
pub use plan::{Plan, plan};
pub use platform::{Failure, Platform, Resumed, Severity};
pub use reason::{Cause, Reason};
pub use resource::{Endpoint, Goal, Graph, Id, Resource};
pub use step::{Cost, Next, RequiredPrivilege, Step, Wait};
pub use world::{Observation, Observed, World};
