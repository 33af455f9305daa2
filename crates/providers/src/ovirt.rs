//! oVirt: virtual machines of an engine, in one of its clusters.
//!
//! | module | what it holds |
//! |---|---|
//! | [`client`] | the engine's REST API in JSON: login, searches with pages, faults as types |
//! | [`error`] | why a call did not succeed |
//! | [`read`] | what answers hold, slim |
//! | [`scope`] | the engine and the cluster in it that machines are in |
//! | [`kinds`] | the kinds of resources it offers the slipway engine |
//! | [`machine_spec`] | from a Machine's providerSpec to the machine that is wanted |
//! | `look` | reading all of them by a few lists |
//! | `follow` | the engine's events tell what has changed |
//! | `provider` | what installing and removing whole clusters needs |

pub mod client;
pub mod error;
mod follow;
pub mod kinds;
mod look;
pub mod machine_spec;
mod provider;
pub mod read;
pub mod scope;

pub use self::client::{Client, Server};
pub use self::error::{Cause, Error};
pub use self::kinds::Ovirt;
pub use self::scope::Scope;
