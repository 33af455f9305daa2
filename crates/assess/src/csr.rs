//! Which certificates nodes may have: the rules, and what they are judged by.
//!
//! The holder of a node's certificate acts as that node. So a request is approved only if everything about it is as it
//! must be; everything else stays pending, for a person to judge, and says why.
//!
//! | module | what it holds |
//! |---|---|
//! | [`request`] | what a request asks for |
//! | [`pkcs10`] | what is inside of it |
//! | [`cluster`] | what is known about machines and nodes |
//! | [`roster`] | what is known about machines beside what they say themselves |
//! | [`mod@judge`] | the rules |
//! | [`refusal`] | every reason to say no |
//! | [`keys`] | the key of each machine's first certificate |
//! | [`approve`] | reading from a cluster and writing to it |
//! | [`host`] | requests of a host that has no machine |
//! | [`hosts`] | hosts that were confirmed once, for the renewals to come |

pub mod approve;
pub mod cluster;
pub mod host;
pub mod hosts;
pub mod judge;
pub mod keys;
pub mod pkcs10;
pub mod refusal;
pub mod request;
pub mod roster;

/// Who asks for the first certificate of a machine on OpenShift.
pub const OPENSHIFT_BOOTSTRAPPER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";

pub use cluster::{Bootstrapper, Cluster, Machine};
pub use judge::{Decision, Ground, judge};
pub use refusal::Refusal;
pub use request::{Csr, Signer};
pub use roster::Roster;
