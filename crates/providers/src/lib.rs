//! Clients of the platforms clusters run on: sessions, batches, and faults as types.
//!
//! | module | what it holds |
//! |---|---|
//! | [`provider`] | what a platform offers to install and remove clusters |
//! | [`vsphere`] | vCenter, by SOAP and REST; needs the feature `client` |
//! | [`kubevirt`] | a namespace of an infrastructure cluster with KubeVirt; needs `client` |
//! | [`ovirt`] | an oVirt engine; needs `client` |
//! | [`connector`] | proxies and certificates of HTTP clients; needs `client` |
//! | [`vim`] | its messages alone |
//! | [`cluster`] | a Kubernetes cluster: connect, call, apply, typed errors; needs `client` |
//! | [`trust_error`] | why a server's certificate is not trusted; needs `client` |
//! | [`text`] | errors as text; needs `client` |
//! | [`transport`] | failures of connections, in plain words |

#[cfg(feature = "client")]
pub mod cluster;
#[cfg(feature = "client")]
pub mod connector;
#[cfg(feature = "client")]
pub mod kubevirt;
#[cfg(feature = "client")]
pub mod ovirt;
#[cfg(feature = "client")]
pub mod provider;
#[cfg(feature = "client")]
pub mod text;
pub mod transport;
#[cfg(feature = "client")]
pub mod trust_error;
#[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only the client needs all of it"))]
pub mod vim;
#[cfg(feature = "client")]
pub mod vsphere;
