//! Approves the certificates that nodes may have. The rules are `slipway_assess::csr`, which `slipway node` uses as well.
//!
//! | module | what it holds |
//! |---|---|
//! | [`controller`] | the loop |
//! | [`hosts`] | hosts that were confirmed once, followed |
//! | [`completion`] | whether the bootstrap machine has done its part |
//! | [`bindings`] | rights that others have, and must not |
//! | [`metrics`] | how often each verdict was given |

pub mod bindings;
pub mod completion;
pub mod controller;
pub mod hosts;
pub mod metrics;
