//! Commands that touch the machines of a cluster.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{Timeouts, time};

/// Where the cluster is, and how long to wait for whom.
#[derive(Debug, Clone, Args)]
pub struct Reach {
    /// The directory of the cluster, with its install-config.yaml
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub dir: PathBuf,

    /// The longest one call to a vCenter may take
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = time::positive, help_heading = "Timeouts")]
    pub call_timeout: Duration,

    /// The longest a machine may take from power-on to an address
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = time::positive, help_heading = "Timeouts")]
    pub address_timeout: Duration,

    /// How long a vCenter may be silent before what is left to do there is given up
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time::positive, help_heading = "Timeouts")]
    pub silence_timeout: Duration,
}

#[derive(Debug, Args)]
pub struct CreateCluster {
    #[command(flatten)]
    pub reach: Reach,

    /// Do exactly what this plan says, and nothing if the world has changed since it was saved
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub plan: Option<PathBuf>,

    /// Do not look for problems first
    #[arg(long)]
    pub skip_preflight: bool,

    /// Do not wait for the cluster: end when the machines run and have addresses
    #[arg(long)]
    pub no_wait: bool,

    #[command(flatten)]
    pub timeouts: Timeouts,

    /// Make this again though it was made before and is not there now; can be given several times
    ///
    /// What was made and cannot be seen may only be out of sight. Nothing is made twice unless it is named here.
    #[arg(long, value_name = "NAME")]
    pub recreate: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum Destroy {
    /// Remove a cluster from all of its vCenters
    ///
    /// Shows what will go and asks. What carries the cluster's tag or mark goes, in a safe order: machines are powered off,
    /// volumes detached, machines and templates removed, then folders if nothing of others is in them, rules, and the tag
    /// last. The directory is not needed if `--infra-id` is given. What the journal knows and no vCenter shows is named.
    #[command(
        after_help = "Examples:\n  slipway destroy cluster --dir harbour\n  slipway destroy cluster --dir elsewhere --infra-id harbour-x7k2p --yes\n\nExit codes: 0 all is gone, 4 something is left or not seen, 8 interrupted."
    )]
    Cluster(DestroyCluster),

    /// Remove the bootstrap machine, and nothing else
    Bootstrap(DestroyBootstrap),
}

#[derive(Debug, Args)]
pub struct DestroyCluster {
    #[command(flatten)]
    pub reach: Reach,

    /// The cluster by its infrastructure's name, where the directory is lost; its install-config is still needed
    #[arg(long, value_name = "ID")]
    pub infra_id: Option<String>,

    /// Take this for gone, though it was made and is not seen; can be given several times
    ///
    /// The name of a machine, template, folder or tag, or of a vCenter with all that is not seen there. What was made and
    /// is not seen may only be out of sight: `destroy` does not call it gone unless it is named here.
    #[arg(long, value_name = "NAME")]
    pub forget: Vec<String>,

    /// Keep the volumes of the cluster's storage driver, and their storage policy
    #[arg(long)]
    pub keep_volumes: bool,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct DestroyBootstrap {
    #[command(flatten)]
    pub reach: Reach,

    /// Take this for gone, though it was made and is not seen: the machine's name, or its vCenter's
    #[arg(long, value_name = "NAME")]
    pub forget: Vec<String>,

    /// Remove it even if the cluster may still need it
    ///
    /// Whether bootstrapping is complete is asked of the cluster, with `auth/kubeconfig`. If it is not, or cannot be asked,
    /// `--yes` alone is refused.
    #[arg(long)]
    pub force: bool,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct Plan {
    /// What is planned
    #[arg(value_enum, default_value_t = Planned::Create)]
    pub what: Planned,

    #[command(flatten)]
    pub reach: Reach,

    /// What `destroy cluster --keep-volumes` would do
    #[arg(long)]
    pub keep_volumes: bool,

    /// Save the plan for `slipway create cluster --plan`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub save: Option<PathBuf>,
}

/// What can be planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Planned {
    /// What `create cluster` would do
    Create,
    /// What `destroy cluster` would do
    Destroy,
}
