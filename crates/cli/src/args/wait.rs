//! `slipway wait-for` and `slipway gather`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use super::{Reach, time};

#[derive(Debug, Subcommand)]
pub enum WaitFor {
    /// Wait until the bootstrap machine is no longer needed
    ///
    /// Bootstrap is complete when the API answers, the cluster reports the completion, and the bootstrap machine has
    /// left etcd. Prints what it waits for and which machine is late. Changes nothing.
    #[command(
        after_long_help = "Examples:\n  slipway wait-for bootstrap-complete --dir harbour\n  slipway wait-for bootstrap-complete --dir harbour --bootstrap-timeout 1h"
    )]
    BootstrapComplete(Wait),

    /// Wait until the cluster is installed
    ///
    /// Kubernetes: all machines of the install-config are nodes that are Ready, and the system pods run. OpenShift: the
    /// version is installed and all cluster operators are stable. Changes nothing.
    #[command(
        after_long_help = "Examples:\n  slipway wait-for install-complete --dir harbour\n  slipway wait-for install-complete --dir harbour --install-timeout 2h"
    )]
    InstallComplete(Wait),
}

#[derive(Debug, Clone, Args)]
pub struct Wait {
    /// Asset directory of the cluster, with its install-config.yaml
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub dir: PathBuf,

    /// Do not wait for the compute machines
    #[arg(long)]
    pub no_compute: bool,

    #[command(flatten)]
    pub timeouts: Timeouts,
}

/// How long there may be no progress.
#[derive(Debug, Clone, Args)]
pub struct Timeouts {
    /// Give up on the bootstrap after this long without progress
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = time::positive, help_heading = "Timeouts")]
    pub bootstrap_timeout: Duration,

    /// Give up on the installation after this long without progress
    #[arg(long, value_name = "TIME", default_value = "40m", value_parser = time::positive, help_heading = "Timeouts")]
    pub install_timeout: Duration,
}

#[derive(Debug, Args)]
pub struct Gather {
    #[command(flatten)]
    pub reach: Reach,

    /// Archive to write [default: slipway-gather-CLUSTER-TIME.tar.gz in DIR]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}
