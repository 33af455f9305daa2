//! Tells Kubernetes that a node is dead, where the hypervisor says so: its volumes and pods then move in seconds.
//!
//! A kubelet that is not heard of proves nothing: its machine may go on writing. The taint `node.kubernetes.io/out-of-service` therefore
//! needs the word of the hypervisor, twice, some time apart, from a vCenter that can be asked; and it goes when the node is back.
//!
//! | module | what it holds |
//! |---|---|
//! | `decide` | whether a node is dead, and whether it is back. Pure |
//! | `controller` | the loop |

mod controller;
mod decide;

pub use controller::{Settings, run};
