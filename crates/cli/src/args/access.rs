//! Which cluster is meant, as kubectl asks for it.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Which cluster.
#[derive(Debug, Clone, Args)]
pub struct Access {
    /// Access to the cluster; without it KUBECONFIG, or ~/.kube/config
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}
