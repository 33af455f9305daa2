//! What can be typed. No logic here.

mod access;
mod check;
mod cluster;
mod create;
mod drivers;
mod node;
mod preflight;
mod time;
mod wait;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

pub use access::Access;
pub use check::Check;
pub use cluster::{CreateCluster, Destroy, DestroyBootstrap, DestroyCluster, Plan, Planned, Reach};
pub use create::{Assets, Create, InstallConfig, Platform};
pub use drivers::{
    BundleDrivers, Certificate, ConfigureDrivers, CreateUsers, DeployDrivers, Driver, Drivers, ImportVdo,
    Matrix, PinMatrix, Policy, RemoveDrivers, ShowMatrix, UpgradeDrivers, Users, VCenterUsers, Waiting,
};
pub use node::{Add, Approve, Known, Node};
pub use preflight::Preflight;
pub use wait::{Gather, Timeouts, Wait, WaitFor};

/// Launches Kubernetes and OpenShift clusters on vSphere, oVirt and KubeVirt, and keeps them afloat.
#[derive(Debug, Parser)]
#[command(name = "slipway", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 fine, 1 other failure, 2 wrong usage, 3 the install-config is not usable, 4 the infrastructure is not ready or a step on it failed, 5 the bootstrap did not end, 6 the cluster did not become complete, 7 its operators did not come to rest, 8 interrupted."
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,

    /// When to use colours; NO_COLOR is respected
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub color: Color,

    /// How results are printed
    #[arg(short, long, global = true, value_enum, default_value_t = Output::Text)]
    pub output: Output,

    /// Say nothing but results, questions, warnings and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// What is logged on standard error
    #[arg(long, global = true, value_enum, default_value_t = LogLevel::Warn, value_name = "LEVEL")]
    pub log_level: LogLevel,
}

/// What is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    Error,
    Warn,
    /// What changed
    Info,
    /// Every call
    Debug,
    Trace,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Judge an install-config: every mistake at once, with its line and its cure
    ///
    /// Nothing is asked over the network. Errors make the file unusable and end with exit code 3;
    /// warnings and notes do not.
    #[command(
        after_help = "Examples:\n  slipway validate install-config.yaml\n  slipway validate --output json - < install-config.yaml"
    )]
    Validate {
        /// The install-config, or `-` for standard input
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "install-config.yaml")]
        file: PathBuf,

        /// Treat warnings like errors
        #[arg(long)]
        strict: bool,
    },

    /// Make a cluster, or its files step by step
    ///
    /// First the install-config, then the manifests, then the Ignition configurations machines boot with, then the
    /// machines. Each step can be looked at and edited before the next one; a later step makes what is missing of the
    /// earlier ones.
    #[command(subcommand)]
    Create(Create),

    /// Ask the vCenters whether everything a cluster needs is there, before anything is made
    ///
    /// All vCenters are asked at once and nothing is changed on them: objects and their names, versions, templates, tags,
    /// privileges, capacity, clocks and certificates; then DNS and virtual addresses. Everything that is found is in one
    /// report, with what to do about it. A vCenter that does not answer leaves the findings about the others as they are.
    #[command(
        after_help = "Exit codes: 0 ready, warnings or not; 1 other failure; 2 wrong usage; 3 the install-config is not usable, or lacks what machines need; 4 something failed or could not be found out; 9 nothing failed, but the platform was not asked.\n\nExamples:\n  slipway preflight --dir harbour\n  slipway preflight --dir harbour --output json | jq '.findings[] | select(.outcome == \"failure\")'"
    )]
    Preflight(Preflight),

    /// Print what `create cluster` or `destroy cluster` would do, step by step
    ///
    /// Looks at every vCenter and changes nothing there. Files of the cluster that are not there yet are made first, as by
    /// `create ignition-configs`: the plan is about what they say. A saved plan can be applied later, by `create cluster
    /// --plan`: it is refused if anything it relies on has changed.
    #[command(
        after_help = "Examples:\n  slipway plan --dir harbour\n  slipway plan destroy --output json\n  slipway plan --save harbour.plan && slipway create cluster --plan harbour.plan\n\nExit codes: 0 it can be done, 4 something is in the way."
    )]
    Plan(Plan),

    /// Show what there is of a cluster, where, and what is missing
    #[command(after_help = "Exit codes: 0 all is as wanted, 4 it is not.")]
    Status(Reach),

    /// See whether a running cluster and its vCenters get along
    ///
    /// Asks Kubernetes once and every vCenter in a few calls, and changes nothing: versions, certificates, clocks,
    /// privileges, tags, storage policies, and for each node its machine, its hardware and its host. Nodes that are no
    /// machines of a vCenter are skipped and named. A vCenter that does not answer leaves what is known about the others
    /// as it is; what lives there is unknown.
    #[command(
        after_help = "Exit codes: 0 healthy, warnings or not; 1 other failure; 2 wrong usage; 3 the install-config is not usable; 4 something failed or could not be found out.\n\nExamples:\n  slipway check\n  slipway check --kubeconfig harbour/auth/kubeconfig --report harbour.html\n  slipway check --dir harbour\n  slipway check --output json | jq '.findings[] | select(.outcome == \"failure\")'\n  slipway check --watch --every 5m"
    )]
    Check(Check),

    /// Wait until the machines have become a cluster
    ///
    /// `create cluster` waits itself; this is for going on after it was ended, and for machines that you made.
    #[command(subcommand)]
    WaitFor(WaitFor),

    /// Gather everything that helps to find out what went wrong, without secrets, in one archive
    ///
    /// The journal, the plan, how the machines are, what the bootstrap machine says, and the nodes, certificate requests,
    /// events, pods and logs of the cluster. Works without an API, too: then the archive says why there is none.
    #[command(after_help = "Example:\n  slipway gather --dir harbour --file harbour.tar.gz")]
    Gather(Gather),

    /// Remove a cluster, or its bootstrap machine
    #[command(subcommand)]
    Destroy(Destroy),

    /// Look after the nodes of a running cluster
    #[command(subcommand)]
    Node(Node),

    /// Judge and convert the configuration of the vSphere cloud provider
    #[command(subcommand)]
    CloudConfig(CloudConfig),

    /// The vSphere drivers of a cluster: cloud provider and storage
    #[command(subcommand)]
    Drivers(Box<Drivers>),

    /// Explain a field of the install-config, and the fields below it
    #[command(
        after_help = "Examples:\n  slipway explain\n  slipway explain platform.vsphere.failureDomains\n  slipway explain controlPlane.replicas"
    )]
    Explain {
        /// The path of the field; without it, the whole install-config
        #[arg(value_name = "PATH")]
        path: Option<String>,
    },

    /// Print a JSON Schema of the install-config, for editors
    ///
    /// Editors that use the YAML language server take it from a comment in the first line of a file:
    /// `# yaml-language-server: $schema=install-config.schema.json`.
    #[command(after_help = "Example:\n  slipway schema > install-config.schema.json")]
    Schema,

    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  slipway completion bash > /etc/bash_completion.d/slipway")]
    Completion {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },

    /// Print the version
    Version,
}

#[derive(Debug, Subcommand)]
pub enum CloudConfig {
    /// Judge a cloud config, in YAML or INI, as the driver would read it
    ///
    /// Says what the driver would refuse, and what it would silently ignore. Exit code 1 if it cannot be used.
    #[command(
        after_help = "Example:\n  oc -n openshift-config get cm cloud-provider-config -o jsonpath='{.data.config}' | slipway cloud-config validate -"
    )]
    Validate {
        /// The cloud config, or `-` for standard input
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },

    /// Convert a cloud config from INI to YAML
    ///
    /// The YAML goes to standard output. What YAML has no place for is listed on standard error, with its
    /// lines; nothing else is lost. With `--output json` both are in one document, together with what was found.
    #[command(after_help = "Example:\n  slipway cloud-config convert vsphere.conf > vsphere.yaml")]
    Convert {
        /// The cloud config, or `-` for standard input
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}
