//! The configuration files of the vSphere drivers: the cloud provider's, in YAML and INI, and the storage
//! driver's, in INI.

pub mod cloud;
pub mod csi;
mod ini;
mod keys;
mod port;
mod yaml;

pub use port::ServerPort;
