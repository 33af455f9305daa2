//! Validates VSphereConnections: at the start, when one or something it names changes, and again from time to time.
//!
//! | module | what it holds |
//! |---|---|
//! | [`demands`] | what the drivers need of a connection |
//! | [`look`] | asking a vCenter |
//! | [`read`](mod@read) | a connection with the objects it names |
//! | [`problem`] | everything that can be wrong with a connection |
//! | [`judge`](mod@judge) | conditions and status |
//! | [`pace`] | when a connection is validated again |
//! | [`controller`] | the loop |

pub mod controller;
pub mod demands;
pub mod judge;
pub mod look;
pub mod pace;
pub mod problem;
pub mod read;

pub use controller::run;
pub use pace::Pace;
pub use read::Insecure;
