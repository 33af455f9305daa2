//! `slipway preflight`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::time;

#[derive(Debug, Args)]
pub struct Preflight {
    /// The directory of the cluster, with its install-config.yaml
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub dir: PathBuf,

    /// The longest it may take, such as 90s or 5m; a single call never takes more than a minute
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = time::positive)]
    pub timeout: Duration,

    /// Show what passed, too
    #[arg(long)]
    pub verbose: bool,
}
