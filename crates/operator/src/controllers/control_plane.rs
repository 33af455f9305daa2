//! Machines of the control plane come and go one by one: `slipway-operator control-plane`, on each of them.
//!
//! A new machine joins with what lasts a few hours only: the token in its pointer, and the signers' keys. It is paused until both
//! are there again. A machine that is to go leaves etcd first; as long as it is a member, a hook keeps it, so that etcd never loses
//! its majority, however the Machine is deleted.
//!
//! | module | what it holds |
//! |---|---|
//! | `decide` | what is to be done about which machine. Pure |
//! | `members` | the members of etcd, and whether they are healthy |
//! | `prepare` | what a new machine joins with |
//! | `controller` | the loop, under a lease |

mod controller;
mod decide;
mod members;
mod prepare;

pub use controller::run;
pub use decide::Member;
pub use members::{Etcd, LocalEtcd};
