//! Commands that touch the machines of a cluster.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{Timeouts, time};

const DEFAULT_ADDRESS_TIMEOUT: &str = "15m";

/// Where the cluster is, and how long its endpoints may take.
#[derive(Debug, Clone, Args)]
pub struct Reach {
    /// Asset directory of the cluster, with its install-config.yaml
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub dir: PathBuf,

    /// Longest time for one call to an endpoint (vCenter, engine, cluster)
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = time::positive, help_heading = "Timeouts")]
    pub call_timeout: Duration,

    /// Give up on an endpoint that has not answered for this long
    #[arg(long, alias = "silence-timeout", value_name = "TIME", default_value = "10m", value_parser = time::positive, help_heading = "Timeouts")]
    pub unreachable_timeout: Duration,
}

#[derive(Debug, Args)]
pub struct CreateCluster {
    #[command(flatten)]
    pub reach: Reach,

    /// Apply the plan that `slipway plan --save` wrote; refused if anything changed since
    #[arg(long, alias = "plan", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub saved_plan: Option<PathBuf>,

    /// Do not run the preflight checks first
    #[arg(long)]
    pub skip_preflight: bool,

    /// Stop when the machines run and have addresses, before bootstrap is complete
    #[arg(long)]
    pub no_wait: bool,

    /// Do not wait for the compute machines
    #[arg(long)]
    pub no_compute: bool,

    /// Longest time from power-on until a machine has an address
    #[arg(long, value_name = "TIME", default_value = DEFAULT_ADDRESS_TIMEOUT, value_parser = time::positive, help_heading = "Timeouts")]
    pub address_timeout: Duration,

    #[command(flatten)]
    pub timeouts: Timeouts,

    /// Create this object again although it was created before; repeatable
    ///
    /// Name a machine, template, folder or tag, or an endpoint for everything that is missing there. An object that was
    /// created and is not visible now may still exist: a lost permission looks the same. Slipway creates it a second time
    /// only if you name it here.
    #[arg(long, value_name = "NAME")]
    pub recreate: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum Destroy {
    /// Delete a cluster: its machines, volumes and everything else it owns
    ///
    /// Deletes everything with the cluster's tag or id, in this order: powers the machines off, detaches disks that are
    /// not the cluster's, deletes machines, volumes and templates, then rules, empty folders and the tag.
    ///
    /// The volumes of the cluster's storage driver are deleted with their data, unless `--keep-volumes` is given. The
    /// command lists them and everything else, and asks before it begins.
    ///
    /// Objects that Slipway created and cannot find now are listed as left over, and the exit code is 4. If the asset
    /// directory is lost, give an install-config that names the endpoints, and `--infra-id`.
    #[command(
        after_long_help = "Examples:\n  slipway destroy cluster --dir harbour\n  slipway destroy cluster --dir elsewhere --infra-id harbour-x7k2p -y"
    )]
    Cluster(DestroyCluster),

    /// Delete the bootstrap machine, and nothing else
    ///
    /// Asks the cluster first whether bootstrap is complete. `create cluster` does this by itself; you need it after
    /// `create cluster --no-wait`.
    #[command(
        after_long_help = "Examples:\n  slipway destroy bootstrap --dir harbour\n  slipway destroy bootstrap --dir harbour --force -y"
    )]
    Bootstrap(DestroyBootstrap),
}

#[derive(Debug, Args)]
pub struct DestroyCluster {
    #[command(flatten)]
    pub reach: Reach,

    /// Infra ID of the cluster, if its asset directory is lost
    ///
    /// An install-config that names the endpoints is still needed in DIR.
    #[arg(long, value_name = "ID")]
    pub infra_id: Option<String>,

    /// Treat this object as deleted, although it may still exist; repeatable
    ///
    /// Name a machine, template, folder or tag, or an endpoint for everything that is missing there. An object that was
    /// created and is not visible may still exist, so it is reported as left over, with exit code 4, unless you name it
    /// here.
    #[arg(long, value_name = "NAME")]
    pub forget: Vec<String>,

    /// Keep the volumes of the cluster's storage driver, and their storage policy
    #[arg(long)]
    pub keep_volumes: bool,

    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct DestroyBootstrap {
    #[command(flatten)]
    pub reach: Reach,

    /// Treat the machine as deleted, although it may still exist
    ///
    /// Name the machine or its vCenter.
    #[arg(long, value_name = "NAME")]
    pub forget: Vec<String>,

    /// Delete it even if the cluster may still need it
    ///
    /// The cluster is asked with `auth/kubeconfig` whether bootstrap is complete. If it is not, or if the cluster does
    /// not answer, `--yes` alone is refused.
    #[arg(long)]
    pub force: bool,

    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct Plan {
    /// What to plan
    #[arg(value_enum, default_value_t = PlanKind::Create)]
    pub what: PlanKind,

    #[command(flatten)]
    pub reach: Reach,

    /// With `destroy`: keep the volumes of the cluster's storage driver
    #[arg(long)]
    pub keep_volumes: bool,

    /// Save the plan for `slipway create cluster --saved-plan`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub save: Option<PathBuf>,
}

/// What can be planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanKind {
    /// What `create cluster` would do
    Create,
    /// What `destroy cluster` would do
    Destroy,
}
