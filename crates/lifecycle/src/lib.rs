//! What the commands of Slipway mean.
//!
//! | module | what it holds |
//! |---|---|
//! | [`bare_metal`] | hosts that are no machines of the platform |
//! | [`cluster`] | machines on vCenters: plan, create, destroy |
//! | [`create`] | `create manifests` and `create ignition-configs` |
//! | [`csr`] | which certificates nodes may have |
//! | [`gather`] | everything that helps to find out what went wrong |
//! | [`install_config`] | `create install-config` from answers |
//! | [`preflight`] | whether the vCenters have what a cluster needs |
//! | [`wait`] | until the machines have become a cluster |
//! | [`store`] | the asset directory: lock, state, edits, writing |
//! | [`credentials`] | how to log in to the platform |
//! | [`drivers`] | the vSphere drivers of a cluster, by their operator |
//! | [`environment`] | the variables of the process |
//! | [`survey`] | what the survey asks vCenters |
//! | [`random`] | randomness from the operating system |

pub mod bare_metal;
pub mod cluster;
pub mod create;
pub mod credentials;
pub mod csr;
pub mod drivers;
pub mod environment;
pub mod gather;
pub mod install_config;
pub mod preflight;
pub mod random;
mod regular;
pub mod store;
pub mod survey;
pub mod wait;

pub(crate) use slipway_providers::text;
