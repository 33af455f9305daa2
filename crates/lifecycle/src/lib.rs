//! What the commands of Slipway mean.
//!
//! | module | what it holds |
//! |---|---|
//! | [`bare_metal`] | hosts that are no machines of the platform |
//! | [`create`] | `create manifests` and `create ignition-configs` |
//! | [`gather`] | everything that helps to find out what went wrong |
//! | [`install`] | clusters on any platform: plan, apply, destroy |
//! | [`install_config`] | `create install-config` from answers |
//! | [`machines`] | the machines of a running cluster: list, scale, create, roll |
//! | [`platform`] | what each platform makes of a cluster's files; the only place that opens clients |
//! | [`preflight`] | whether the platform has what a cluster needs |
//! | [`registry`] | images in registries |
//! | [`release`] | what a release image says machines boot from |
//! | [`wait`] | until the machines have become a cluster |
//! | [`store`] | the asset directory: lock, state, edits, writing |
//! | [`credentials`] | how to log in to the platform |
//! | [`workspace`] | the asset directory of a command: lock, install-config, credentials and state, opened once |
//! | [`drivers`] | the vSphere drivers of a cluster, by their operator |
//! | [`environment`] | the variables of the process |

pub mod bare_metal;
pub mod create;
pub mod credentials;
pub mod drivers;
pub mod environment;
pub mod gather;
pub mod install;
pub mod install_config;
pub mod machines;
pub mod platform;
pub mod preflight;
pub mod registry;
mod regular;
pub mod release;
pub mod store;
pub mod wait;
pub mod workspace;

/// A running cluster: connect, call, apply.
pub use slipway_providers::cluster as access;
/// Errors as text.
pub use slipway_providers::text;
