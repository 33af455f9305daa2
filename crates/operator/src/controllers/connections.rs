//! Validates VSphereConnections: at the start, when one or something it names changes, and again from time to time.
//!
//! | module | what it holds |
//! |---|---|
//! | [`demands`] | what the drivers need of a connection |
//! | [`observe`] | asking a vCenter |
//! | [`read`](mod@read) | a connection with the objects it names |
//! | [`problem`] | everything that can be wrong with a connection |
//! | [`judge`](mod@judge) | conditions and status |
//! | [`intervals`] | when a connection is validated again |
//! | [`controller`] | the loop |

pub mod controller;
pub mod demands;
pub mod intervals;
pub mod judge;
pub mod observe;
pub mod problem;
pub mod read;

pub use controller::run;
pub use intervals::ConnectionIntervals;
pub use read::Insecure;
