//! Whether vCenters and clusters are as they must be: read, then judged by pure rules.
//!
//! | module | what it holds |
//! |---|---|
//! | [`finding`] | what a rule says, and a finding with its outcome, place and remedy |
//! | [`runner`] | asking all endpoints at once: deadlines, cancellation, logging out |
//! | [`kubevirt`] | its preflight: the rules of a Role, and what cannot work |
//! | [`ovirt`] | its preflight: what of the engine the machines need |
//! | [`vsphere`] | its preflight, and what both front ends read and judge alike: clock, certificate, version, tags, datastores, privileges |
//! | [`preflight`] | before anything is made |
//! | [`check`] | a running cluster |
//! | [`csr`] | which certificates nodes may have |
//! | [`machines`] | rules about machines: which go first, what keeps a node from being drained |

pub mod check;
pub mod csr;
pub mod finding;
pub mod kubevirt;
pub mod machines;
pub mod ovirt;
pub mod preflight;
pub mod runner;
mod text;
pub mod vsphere;
