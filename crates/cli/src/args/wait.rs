//! `slipway wait-for` and `slipway gather`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use super::{Reach, time};

#[derive(Debug, Subcommand)]
pub enum WaitFor {
    /// Wait until the cluster does without its bootstrap machine
    ///
    /// The API answers, the completion is written, and the bootstrap machine has left etcd: it can be removed. Says what is
    /// waited for and which machine is behind. Nothing is changed.
    #[command(after_help = "Exit codes: 0 it does, 5 nothing moved any more, 8 interrupted.")]
    BootstrapComplete(Wait),

    /// Wait until the cluster is complete
    ///
    /// Kubernetes: nodes are Ready and system pods run. OpenShift: the version is installed and its operators have come to
    /// rest. Nothing is changed.
    #[command(
        after_help = "Exit codes: 0 it is, 6 nothing moved any more, 7 the same with only operators at work, 8 interrupted."
    )]
    InstallComplete(Wait),
}

#[derive(Debug, Clone, Args)]
pub struct Wait {
    /// The directory of the cluster, with its install-config.yaml
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub dir: PathBuf,

    #[command(flatten)]
    pub timeouts: Timeouts,
}

/// How long nothing may move.
#[derive(Debug, Clone, Args)]
pub struct Timeouts {
    /// How long nothing may move until the cluster does without its bootstrap machine
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = time::positive, help_heading = "Timeouts")]
    pub bootstrap_timeout: Duration,

    /// How long nothing may move until the cluster is complete
    #[arg(long, value_name = "TIME", default_value = "40m", value_parser = time::positive, help_heading = "Timeouts")]
    pub install_timeout: Duration,
}

#[derive(Debug, Args)]
pub struct Gather {
    #[command(flatten)]
    pub reach: Reach,

    /// The archive; without it `slipway-gather-<cluster>-<time>.tar.gz` in the directory
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}
