//! The agent of the bootstrap machine: `slipway-operator bootstrap`.
//!
//! It is a list of stages ([`Stage`]). Each can be run again, and is recorded when it is done, so that after a power cut the
//! agent goes on with the stage it was in.
//!
//! | module | what it holds |
//! |---|---|
//! | [`ledger`] | the record on the disk, and who is publish about it |
//! | [`mod@drive`] | one stage after the other |
//! | [`agent`] | what each stage does |
//! | [`kubeadm`] | the first control plane |
//! | [`access`] | the API of this machine, and that of the cluster |
//! | [`mod@apply`] | manifests |
//! | [`admission`] | which control-plane machine comes in next |
//! | [`observe`] | how far the control-plane machines are |
//! | [`etcd`] | members of etcd |
//! | [`pivot`] | how this machine leaves the cluster |
//! | [`publish`] | the record, for those outside |

pub mod access;
pub mod admission;
pub mod agent;
pub mod apply;
pub mod drive;
pub mod etcd;
pub mod kubeadm;
pub mod ledger;
pub mod observe;
pub mod pivot;
pub mod publish;

pub use agent::Agent;
pub use drive::{Steps, drive};
pub use ledger::Ledger;
pub use slipway_assets::kubernetes::record::{Record, Stage};

use slipway_providers::cluster::AccessError;

use crate::agents::node::OnpremError;
use crate::runtime::host::ProgramError;
use crate::server::machine_config::joining::JoinError;

/// Owns the fields of what the agent applies.
pub(crate) const MANAGER: &str = "slipway-bootstrap";

/// Why a stage did not succeed. It is tried again.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    #[error(transparent)]
    Files(#[from] std::io::Error),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Onprem(#[from] OnpremError),
    #[error(transparent)]
    Etcd(#[from] etcd::EtcdError),
    #[error(transparent)]
    Apply(#[from] apply::ApplyError),
    #[error(transparent)]
    Joining(#[from] JoinError),
    #[error("{0}")]
    Other(String),
}
