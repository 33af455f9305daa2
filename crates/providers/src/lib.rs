//! Clients of the platforms clusters run on: sessions, batches, and faults as types.
//!
//! | module | what it holds |
//! |---|---|
//! | [`provider`] | what a platform offers to install and remove clusters |
//! | [`vsphere`] | vCenter, by SOAP and REST; needs the feature `client` |
//! | [`vim`] | its messages alone |
//! | [`transport`] | failures of connections, in plain words |

#[cfg(feature = "client")]
pub mod provider;
pub mod transport;
#[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only the client needs all of it"))]
pub mod vim;
#[cfg(feature = "client")]
pub mod vsphere;
