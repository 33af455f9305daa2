//! KubeVirt: virtual machines of an infrastructure cluster, as an ordinary user of one of its namespaces.
//!
//! | module | what it holds |
//! |---|---|
//! | [`infra`] | the infrastructure cluster and the namespace |
//! | [`inventory`] | what a user sees of it: versions, storage, networks, limits |
//! | [`kinds`] | the kinds of resources it offers the engine |
//! | `look` | reading all of them by a few lists |
//! | `follow` | watches that tell what has changed |
//! | `provider` | what installing and removing whole clusters needs |
//! | [`rules`] | the Role that is needed, and which of its rules are missing |
//! | [`trial`] | whether an object would be taken, by a dry run |
//! | `error` | why a step did not succeed |

mod error;
mod follow;
pub mod infra;
pub mod inventory;
pub mod kinds;
mod look;
mod provider;
pub mod rules;
pub mod trial;

pub use self::error::KindError;
pub use self::infra::Infra;
pub use self::kinds::KubeVirt;
