//! Drains the nodes of machines that are being deleted. The machine itself goes when its condition `Drained` holds.
//!
//! | module | what it holds |
//! |---|---|
//! | `decide` | what comes next for a machine, and what is said about it. Pure |
//! | `evict` | asking the API server to evict a pod, and what it answers |
//! | `controller` | the loop |

mod controller;
mod decide;
mod evict;

pub use controller::{Settings, run};
