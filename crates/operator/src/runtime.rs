//! What controllers, agents and servers stand on.
//!
//! | module | what it holds |
//! |---|---|
//! | [`watches`] | copies of objects, each kind watched once for all controllers |
//! | [`trigger`] | the loop of every controller |
//! | [`stop`] | ending in time |
//! | [`nodes`] | the nodes of a cluster in short, for all controllers |
//! | `events` | Events, for people who look at an object |
//! | [`conditions`] | what is written to objects, and what of it is new |
//! | [`lease`] | one operator at a time |
//! | [`owner`] | whether another operator owns the machines |
//! | [`metrics`] | what the controllers count |
//! | [`host`] | files and programs of the machine below |
//! | [`sessions`] | one session per vCenter for all controllers |
//! | [`shared`] | what is got once for all that ask |
//! | [`net`] | connections with bounds: how many, from where, how long |
//! | [`log`] | what is logged while running |

pub mod conditions;
pub(crate) mod events;
pub mod host;
pub mod lease;
pub mod log;
pub mod metrics;
pub mod net;
pub mod nodes;
pub mod owner;
pub mod sessions;
pub mod shared;
pub mod stop;
pub mod trigger;
pub mod watches;
