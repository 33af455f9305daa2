//! `slipway preflight`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::time;

#[derive(Debug, Args)]
pub struct Preflight {
    /// Asset directory of the cluster, with its install-config.yaml
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub dir: PathBuf,

    /// Longest time for everything, such as 90s or 5m; one call takes a minute at most
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = time::positive)]
    pub timeout: Duration,
}
