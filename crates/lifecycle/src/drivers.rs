//! What `slipway drivers` does on a cluster.
//!
//! | module | what it holds |
//! |---|---|
//! | [`deploy`] | the operator: its definitions, rights and Deployment |
//! | [`configure`] | connections, their Secrets, and the VDOConfig |
//! | [`status`] | how everything is |
//! | [`login`] | logins to a vCenter, the administrator's and the drivers' |
//! | [`users`] | users of a vCenter with the least privileges |
//! | [`upgrade`] | versions that are asked for |
//! | [`remove`] | everything away, in the safe order |
//! | [`import_vdo`] | the objects of VDO as ours |
//! | [`bundle`] | everything a site without the internet needs, in one file |
//! | [`pin`](mod@pin) | a matrix with digests for tags |

pub mod bundle;
pub mod configure;
pub mod deploy;
pub mod import_vdo;
pub mod login;
pub mod pin;
pub mod remove;
pub mod status;
pub mod upgrade;
pub mod users;

/// Where the operator, its connections and their Secrets are.
pub use slipway_assets::drivers::operator::NAMESPACE;

/// Owns the fields of what the command applies.
pub const FIELD_MANAGER: &str = "slipway-cli";
