//! What runs on a machine rather than for the whole cluster.
//!
//! | module | what it holds |
//! |---|---|
//! | [`bootstrap`] | starts a cluster from its bootstrap machine, and leaves it |
//! | [`node`] | virtual addresses and names on a machine, kept up to date |

pub mod bootstrap;
pub mod node;
