//! vCenter, by SOAP and REST: one session each per vCenter and user.
//!
//! | module | what it holds |
//! |---|---|
//! | [`authorization`], [`sso`] | what users may do; tokens and the directory |
//! | [`certificate`] | what a server shows before anything is sent to it |
//! | [`client`] | a logged-in client: calls, retries, deadlines |
//! | [`endpoint`] | where a vCenter is and how its certificate is verified |
//! | [`fault`], [`error`] | what went wrong, as types |
//! | [`machine_spec`] | what a Machine says about itself, as resources of the engine |
//! | [`machine_place`] | region and zone of a compute cluster |
//! | [`machine_feed`] | one stream of changes for all machines of a vCenter |
//! | [`machines`] | virtual machines: clone, change, power, remove; their folders |
//! | [`kinds`] | what vSphere offers the engine: machines, folders, templates, rules |
//! | [`import`], [`ova`] | appliances: reading them, and uploading their disks |
//! | [`moref`] | references to managed objects, with their vCenter |
//! | [`performance`] | what a vCenter measured |
//! | [`placement`] | DRS groups and rules |
//! | `provider` | what installing and removing clusters needs beside the kinds |
//! | [`properties`], [`watch`] | reading many objects at once, and following their changes |
//! | [`tasks`] | what a vCenter does in the background |
//! | [`inventory`], [`paths`] | finding objects; names and inventory paths |
//! | [`storage`] | volumes of the storage driver, storage policies |
//! | [`tags`] | tags, by REST |
//! | [`soap`], [`rest`] | messages |

pub mod authorization;
pub mod certificate;
pub mod client;
pub mod endpoint;
pub mod error;
pub mod import;
pub mod inventory;
pub mod kinds;
pub mod machine_feed;
pub mod machine_place;
pub mod machine_spec;
pub mod machines;
pub mod ova;
pub mod performance;
pub mod placement;
pub mod properties;
mod provider;
pub mod rest;
pub mod sso;
pub mod storage;
pub mod tags;
pub mod tasks;
pub mod watch;

pub use self::client::Client;
pub use self::endpoint::{Endpoint, Login};
pub use self::error::Error;
pub use self::provider::Places;
pub use crate::connector::{Proxy, Trust};
pub use crate::trust_error;
pub use crate::vim::fault::{Fault, FaultKind};
pub use crate::vim::moref::{MoRef, Reference};
pub use crate::vim::{fault, moref, paths, soap};
