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

    /// Take vCenters, failure domains and logins from the install-config in this directory; without a kubeconfig only
    /// the vCenters are looked at
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// The longest a round may take, such as 90s or 5m; a single call never takes more than a minute
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time::positive)]
    pub timeout: Duration,

    /// Check again and again until Ctrl-C, and print what is found whenever it changes
    #[arg(long)]
    pub watch: bool,

    /// The pause between two rounds of --watch
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = time::positive, requires = "watch")]
    pub every: Duration,

    /// Also write what was found as one HTML file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,

    /// Show what was checked and is fine, too
    #[arg(long)]
    pub verbose: bool,
}
