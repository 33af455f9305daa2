//! Everything that helps to find out what went wrong, in one archive, and no secrets.
//!
//! | module | what it holds |
//! |---|---|
//! | [`redact`] | what must not be in it |
//! | [`bundle`] | the archive |
//! | `directory` | what the asset directory has |
//! | `cluster` | what the cluster and the bootstrap machine say |
//!
//! What cannot be had is named in the archive, with the reason: it is often the answer.

pub mod bundle;
mod cluster;
mod directory;
pub mod redact;
#[cfg(test)]
mod tests;

pub use self::bundle::Bundle;
pub use self::cluster::of_cluster;
pub use self::directory::{has_cluster, of_directory};
pub use self::redact::Redactor;
