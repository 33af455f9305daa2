//! vCenter, by SOAP and REST: one session each per vCenter and user.
//!
//! | module | what it holds |
//! |---|---|
//! | [`authorization`], [`sso`] | what users may do; tokens and the directory |
//! | [`client`] | a logged-in client: calls, retries, deadlines |
//! | [`endpoint`] | where a vCenter is and how its certificate is verified |
//! | [`fault`], [`error`] | what went wrong, as types |
//! | [`machines`] | virtual machines: clone, change, power, remove; their folders |
//! | [`kinds`] | what vSphere offers the engine: machines, folders, templates, rules |
//! | [`import`], [`ova`] | appliances: reading them, and uploading their disks |
//! | [`moref`] | references to managed objects, with their vCenter |
//! | [`placement`] | DRS groups and rules |
//! | [`properties`], [`watch`] | reading many objects at once, and following their changes |
//! | [`tasks`] | what a vCenter does in the background |
//! | [`inventory`], [`paths`] | finding objects; names and inventory paths |
//! | [`storage`] | volumes of the storage driver, storage policies |
//! | [`tags`] | tags, by REST |
//! | [`soap`], [`rest`] | messages |

pub mod authorization;
pub mod client;
pub mod endpoint;
pub mod error;
pub mod fault;
pub mod import;
pub mod inventory;
pub mod kinds;
pub mod machines;
pub mod moref;
pub mod ova;
pub mod paths;
pub mod placement;
pub mod properties;
pub mod rest;
pub mod soap;
pub mod sso;
pub mod storage;
pub mod tags;
pub mod tasks;
mod tls;
pub mod watch;

pub use client::Client;
pub use endpoint::{Endpoint, Login, Proxy, Trust};
pub use error::Error;
pub use fault::{Fault, FaultKind};
pub use moref::{MoRef, Reference};
