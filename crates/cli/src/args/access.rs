//! Which cluster is meant, as kubectl asks for it.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Which cluster.
#[derive(Debug, Clone, Args)]
pub struct Access {
    /// Kubeconfig of the cluster [default: $KUBECONFIG or ~/.kube/config]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}
