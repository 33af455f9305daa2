//! `slipway check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::time;

use super::access::Access;

#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    pub access: Access,

    /// Take vCenters and credentials from this asset directory
    ///
    /// vCenters, failure domains, credentials and trust come from its install-config. The cluster is the one of its
    /// auth/kubeconfig unless `--kubeconfig` names another; without one, only the vCenters are checked.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// Longest time for one round, such as 90s or 5m; one call takes a minute at most
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time::positive)]
    pub timeout: Duration,

    /// Repeat until Ctrl-C, and print the findings when they change
    #[arg(long)]
    pub watch: bool,

    /// Time between two rounds of --watch
    #[arg(long, alias = "every", value_name = "TIME", default_value = "1m", value_parser = time::positive, requires = "watch")]
    pub interval: Duration,

    /// Also write the findings to an HTML file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
}
