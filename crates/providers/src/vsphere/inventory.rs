//! What a vCenter has: read in one pass, or found by path or name.
//!
//! | module | what it holds |
//! |---|---|
//! | [`facts`] | what is known of an object: clusters, hosts, datastores, networks, machines |
//! | [`items`] | the objects that were read, by id and by path |
//! | [`scope`] | what is to be read |
//! | `read` | reading it: one pass, and more about single objects |
//! | `parse` | from what a vCenter sends to facts |
//! | [`find`] | single objects by path, name or id. Nothing ambiguous is guessed |
//! | [`paths`] | where objects are |

pub mod facts;
pub mod find;
pub mod items;
mod parse;
pub mod paths;
mod read;
pub mod scope;

pub use self::facts::{Cluster, Datastore, Facts, Host, Machine, Network};
pub use self::find::LookupError;
pub use self::items::{Inventory, Item};
pub use self::paths::{Paths, ancestry};
pub use self::read::read;
pub use self::scope::{Facet, Scope};

/// Objects that have a place: what they are called, and what they are in.
const PLACED: [&str; 2] = ["name", "parent"];
