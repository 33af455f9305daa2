//! `slipway drivers`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

#[derive(Debug, Subcommand)]
pub enum Drivers {
    /// The compatibility matrix: which drivers go with which Kubernetes and which vCenters
    #[command(subcommand)]
    Matrix(Matrix),
}

#[derive(Debug, Subcommand)]
pub enum Matrix {
    /// Show the matrix, or which versions it yields for a cluster
    ///
    /// Without `--file` it is the one built into this program. With `--explain` every version is listed with the
    /// reason why it is taken or not; exit code 1 if a driver has none that fits.
    #[command(
        after_help = "Examples:\n  slipway drivers matrix show\n  slipway drivers matrix show --explain --kubernetes 1.34.4 --vcenter 8.0.3 --vcenter 7.0.3"
    )]
    Show(ShowMatrix),

    /// Judge a matrix: every mistake at once, with its line and its cure
    ///
    /// Exit code 1 if it cannot be used.
    #[command(after_help = "Example:\n  slipway drivers matrix validate matrix.yaml")]
    Validate {
        /// The matrix, in YAML or JSON, or `-` for standard input
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct ShowMatrix {
    /// A matrix, in YAML or JSON, or `-` for standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// Only this driver
    #[arg(long, value_enum)]
    pub driver: Option<Driver>,

    /// Say which version is chosen, and why the others are not
    #[arg(long, requires = "kubernetes")]
    pub explain: bool,

    /// The version of Kubernetes
    #[arg(long, value_name = "VERSION", requires = "explain")]
    pub kubernetes: Option<String>,

    /// The version of a vCenter's API; repeat it for each vCenter
    #[arg(long = "vcenter", value_name = "VERSION", requires = "explain")]
    pub vcenters: Vec<String>,

    /// When drivers are upgraded
    #[arg(long, value_enum, default_value_t = Policy::Latest)]
    pub policy: Policy,

    /// The version that is installed
    #[arg(long, value_name = "VERSION", requires_all = ["explain", "driver"])]
    pub deployed: Option<String>,

    /// The version that is asked for, and no other
    #[arg(long, value_name = "VERSION", requires_all = ["explain", "driver"])]
    pub pinned: Option<String>,
}

/// A driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Driver {
    /// Labels nodes and gives them their addresses
    CloudProvider,
    /// Makes and attaches volumes
    StorageProvider,
}

/// When drivers are upgraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// To the newest version that fits
    Latest,
    /// To newer patches of the installed line, as long as that fits
    Lts,
    /// Never
    Disabled,
}
