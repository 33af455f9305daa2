//! vCenter, by SOAP and REST: one session each per vCenter and user. Without the feature `client`, only its messages.
//!
//! | module | what it holds |
//! |---|---|
//! | [`authorization`], [`sso`] | what users may do; tokens and the directory |
//! | [`certificate`] | what a server shows before anything is sent to it |
//! | [`client`] | a logged-in client: calls, retries, deadlines |
//! | [`endpoint`] | where a vCenter is and how its certificate is verified |
//! | [`fault`], [`error`] | what went wrong, as types |
//! | [`machines`] | virtual machines: clone, change, power, remove; their folders |
//! | [`kinds`] | what vSphere offers the engine: machines, folders, templates, rules |
//! | [`import`], [`ova`] | appliances: reading them, and uploading their disks |
//! | [`moref`] | references to managed objects, with their vCenter |
//! | [`performance`] | what a vCenter measured |
//! | [`placement`] | DRS groups and rules |
//! | [`properties`], [`watch`] | reading many objects at once, and following their changes |
//! | [`tasks`] | what a vCenter does in the background |
//! | [`inventory`], [`paths`] | finding objects; names and inventory paths |
//! | [`storage`] | volumes of the storage driver, storage policies |
//! | [`tags`] | tags, by REST |
//! | [`soap`], [`rest`] | messages |

#[cfg(feature = "client")]
pub mod authorization;
#[cfg(feature = "client")]
pub mod certificate;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "client")]
pub mod endpoint;
#[cfg(feature = "client")]
pub mod error;
#[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only the client needs all of it"))]
pub mod fault;
#[cfg(feature = "client")]
pub mod import;
#[cfg(feature = "client")]
pub mod inventory;
#[cfg(feature = "client")]
pub mod kinds;
#[cfg(feature = "client")]
pub mod machines;
pub mod moref;
#[cfg(feature = "client")]
pub mod ova;
pub mod paths;
#[cfg(feature = "client")]
pub mod performance;
#[cfg(feature = "client")]
pub mod placement;
#[cfg(feature = "client")]
pub mod properties;
#[cfg(feature = "client")]
pub mod rest;
#[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only the client needs all of it"))]
pub mod soap;
#[cfg(feature = "client")]
pub mod sso;
#[cfg(feature = "client")]
pub mod storage;
#[cfg(feature = "client")]
pub mod tags;
#[cfg(feature = "client")]
pub mod tasks;
#[cfg(feature = "client")]
mod tls;
#[cfg(feature = "client")]
pub mod watch;

#[cfg(feature = "client")]
pub use client::Client;
#[cfg(feature = "client")]
pub use endpoint::{Endpoint, Login, Proxy, Trust};
#[cfg(feature = "client")]
pub use error::Error;
pub use fault::{Fault, FaultKind};
pub use moref::{MoRef, Reference};
