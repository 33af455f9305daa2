//! What can be typed. No logic here.

mod access;
mod check;
mod cluster;
mod create;
mod drivers;
mod help;
mod machine;
mod node;
mod preflight;
mod time;
mod topics;
mod wait;

use std::path::PathBuf;

use clap::{ArgAction, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

pub use access::Access;
pub use check::Check;
pub use cluster::{CreateCluster, Destroy, DestroyBootstrap, DestroyCluster, Plan, PlanKind, Reach};
pub use create::{Assets, Create, InstallConfig, Platform};
pub use drivers::{
    BundleDrivers, Certificate, ConfigureDrivers, CreateUsers, DeployDrivers, Driver, Drivers, ImportVdo,
    Matrix, PinMatrix, Policy, RemoveDrivers, ShowMatrix, UpgradeDrivers, Users, VCenterUsers, Waiting,
};
pub use help::{GLOBAL_OPTIONS, command};
pub use machine::{
    CreateMachine, Intent, ListMachines, Machine, ReplaceMachine, RollMachines, Rollout, ScaleMachines,
};
pub use node::{Add, Approve, CertificateRules, Node};
pub use preflight::Preflight;
pub use topics::topic;
pub use wait::{Gather, Timeouts, Wait, WaitFor};

/// Installs Kubernetes and OpenShift on vSphere, oVirt and KubeVirt, and keeps the clusters running.
// The options below are hidden because `help` prints them as one group; completions know them all the same.
#[derive(Debug, Parser)]
#[command(
    name = "slipway",
    version,
    max_term_width = 80,
    disable_help_flag = true,
    disable_help_subcommand = true
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,

    /// Output format: text, or json and yaml for programs
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Text, value_name = "FORMAT", hide = true)]
    pub output: Format,

    /// Print only results, questions, warnings and errors
    #[arg(short, long, global = true, hide = true)]
    pub quiet: bool,

    /// Print more: what passed, too, and what changed; -vv every call, -vvv everything
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet", hide = true)]
    pub verbose: u8,

    /// Log on stderr: error, warn, info, debug or trace
    #[arg(long, global = true, value_enum, value_name = "LEVEL", hide = true)]
    pub log_level: Option<LogLevel>,

    /// Colours: auto, always or never; NO_COLOR is respected
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", hide = true)]
    pub color: Color,

    /// Print a summary with -h, all details with --help
    #[arg(short, long, global = true, action = ArgAction::Help, hide = true)]
    help: Option<bool>,
}

impl Args {
    /// The level asked for by name, or by how often `-v` was given.
    pub fn log_level(&self) -> LogLevel {
        self.log_level.unwrap_or(match self.verbose {
            0 => LogLevel::Warn,
            1 => LogLevel::Info,
            2 => LogLevel::Debug,
            _ => LogLevel::Trace,
        })
    }
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
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// As json, written as YAML; progress and events stay JSON lines
    Yaml,
}

/// Who reads what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// People.
    Text,
    /// Programs, whatever the format.
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Validate an install-config: all errors at once, with fixes
    ///
    /// Uses no network. Errors make the file unusable; warnings and notes do not.
    #[command(
        after_long_help = "Examples:\n  slipway validate install-config.yaml\n  slipway validate --dir harbour\n  slipway validate -o json - < install-config.yaml"
    )]
    Validate {
        /// Install-config, or `-` for stdin
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "install-config.yaml")]
        file: PathBuf,

        /// Asset directory with the install-config.yaml
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "file")]
        dir: Option<PathBuf>,

        /// Treat warnings as errors
        #[arg(long)]
        strict: bool,
    },

    /// Create a cluster, or its files step by step
    ///
    /// The steps are install-config, manifests, ignition-configs and cluster. You can read and edit the files of each step
    /// before the next one; a later step writes what is missing from the earlier ones.
    #[command(
        subcommand,
        after_long_help = "Examples:\n  slipway create install-config --dir harbour\n  slipway create cluster --dir harbour"
    )]
    Create(Create),

    /// Check vCenters, DNS and virtual IPs before an installation
    ///
    /// Asks all vCenters in parallel whether they have what the cluster needs, and changes nothing: inventory objects,
    /// names, versions, templates, tags, privileges, capacity, clocks and certificates; then DNS and virtual IPs. All findings are in one report, each with what to do.
    /// A vCenter that does not answer does not hide the findings about the others. `-v` also lists what passed.
    #[command(
        after_long_help = "Examples:\n  slipway preflight --dir harbour\n  slipway preflight --dir harbour -o json \\\n    | jq '.findings[] | select(.outcome == \"failure\")'"
    )]
    Preflight(Preflight),

    /// Print what create cluster or destroy cluster would do
    ///
    /// Reads every endpoint (vCenter, oVirt engine or KubeVirt infrastructure cluster) and changes nothing there. Files of the cluster that are missing in the asset directory are
    /// written first, since the plan is made from them.
    ///
    /// A saved plan can be applied later with `create cluster --saved-plan`; it is refused if anything it depends on has
    /// changed.
    #[command(
        after_long_help = "Examples:\n  slipway plan --dir harbour\n  slipway plan destroy --dir harbour -o json\n  slipway plan --save harbour.plan\n  slipway create cluster --saved-plan harbour.plan"
    )]
    Plan(Plan),

    /// Compare the cluster's machines and objects with its files
    ///
    /// Lists every object of the cluster in the vCenters with its state, and what differs from the asset directory: what is
    /// missing, what is there and in no file, machines whose addresses are wrong. Changes nothing.
    #[command(
        after_long_help = "Examples:\n  slipway status --dir harbour\n  slipway status --dir harbour -o json | jq .inSync"
    )]
    Status(Reach),

    /// Check a running cluster and its vCenters
    ///
    /// Reads Kubernetes once and each vCenter with a few calls, and changes nothing: versions, certificates, clocks,
    /// privileges, tags, storage policies, and the machine, hardware and host of every node. Nodes without a vSphere VM are
    /// skipped and listed. If a vCenter does not answer, its nodes are unknown; the findings about the others are complete.
    /// `-v` also lists what passed.
    #[command(
        after_long_help = "Examples:\n  slipway check\n  slipway check --kubeconfig harbour/auth/kubeconfig --report harbour.html\n  slipway check --dir harbour\n  slipway check -o json | jq '.findings[] | select(.outcome == \"failure\")'\n  slipway check --watch --interval 5m"
    )]
    Check(Check),

    /// Wait until the bootstrap or the installation is complete
    ///
    /// `create cluster` waits by itself. Use this to continue after an interruption, or for machines that you created.
    #[command(
        subcommand,
        after_long_help = "Examples:\n  slipway wait-for bootstrap-complete --dir harbour\n  slipway wait-for install-complete --dir harbour"
    )]
    WaitFor(WaitFor),

    /// Collect logs and state for troubleshooting, without secrets
    ///
    /// Writes one archive: journal, plan, state of the machines, progress of the bootstrap machine, and from the cluster its
    /// nodes, CSRs, Events, pods and logs. The cluster is read with DIR/auth/kubeconfig. If it does not answer, the archive
    /// has everything else, and the reason.
    #[command(after_long_help = "Example:\n  slipway gather --dir harbour --file harbour.tar.gz")]
    Gather(Gather),

    /// Delete a cluster, or its bootstrap machine
    #[command(
        subcommand,
        after_long_help = "Examples:\n  slipway destroy cluster --dir harbour\n  slipway destroy bootstrap --dir harbour"
    )]
    Destroy(Destroy),

    /// Approve node certificates, and add bare metal hosts
    #[command(
        subcommand,
        after_long_help = "Examples:\n  slipway node approve\n  slipway node add --bare-metal metal-0 --address 10.0.0.40 --dir harbour"
    )]
    Node(Node),

    /// Create, scale, roll and replace machines, and list them
    #[command(
        subcommand,
        after_long_help = "Examples:\n  slipway machine list\n  slipway machine scale harbour-x7k2p-worker-0 --replicas 5"
    )]
    Machine(Machine),

    /// Validate and convert vSphere cloud provider configurations
    #[command(
        subcommand,
        after_long_help = "Examples:\n  slipway cloud-config validate vsphere.conf\n  slipway cloud-config convert vsphere.conf > vsphere.yaml"
    )]
    CloudConfig(CloudConfig),

    /// Install, configure and upgrade the vSphere drivers
    ///
    /// The drivers are the cloud provider (CPI) and the storage driver (CSI). Slipway's operator runs them.
    #[command(
        subcommand,
        after_long_help = "Examples:\n  slipway drivers deploy\n  slipway drivers configure\n  slipway drivers status"
    )]
    Drivers(Box<Drivers>),

    /// Explain a field of the install-config, and the fields below it
    #[command(
        after_long_help = "Examples:\n  slipway explain\n  slipway explain platform.vsphere.failureDomains\n  slipway explain controlPlane.replicas"
    )]
    Explain {
        /// Path of the field [default: the whole install-config]
        #[arg(value_name = "PATH")]
        path: Option<String>,
    },

    /// Print the JSON Schema of the install-config, for editors
    ///
    /// Editors with the YAML language server read it if the install-config starts with the comment
    /// `# yaml-language-server: $schema=install-config.schema.json`.
    #[command(after_long_help = "Example:\n  slipway schema > install-config.schema.json")]
    Schema,

    /// Print a completion script for your shell
    ///
    /// `cargo xtask install` installs them for bash, zsh and fish.
    #[command(
        after_long_help = "Examples:\n  source <(slipway completion bash)\n  slipway completion zsh > ~/.zfunc/_slipway"
    )]
    Completion {
        /// Shell
        #[arg(value_enum)]
        shell: Shell,
    },

    /// Print the version
    #[command(after_long_help = "Example:\n  slipway version -o json")]
    Version,

    /// Print the help of a command, or `help exit-codes`
    ///
    /// Topics: `exit-codes`, `environment`.
    #[command(
        after_long_help = "Examples:\n  slipway help create cluster\n  slipway help exit-codes\n  slipway help environment"
    )]
    Help {
        /// Command, exit-codes or environment
        #[arg(value_name = "COMMAND|TOPIC")]
        words: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum CloudConfig {
    /// Validate a cloud config, YAML or INI, as the cloud provider reads it
    ///
    /// Reports what the cloud provider would reject, and what it would silently ignore.
    #[command(
        after_long_help = "Examples:\n  slipway cloud-config validate vsphere.conf\n  oc -n openshift-config get cm cloud-provider-config \\\n    -o jsonpath='{.data.config}' | slipway cloud-config validate -"
    )]
    Validate {
        /// Cloud config, or `-` for stdin
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },

    /// Convert a cloud config from INI to YAML
    ///
    /// Prints the YAML on stdout. Settings that YAML cannot hold are listed on stderr, with their lines; nothing else is
    /// lost. With `--output json` one document has both, and the findings.
    #[command(after_long_help = "Example:\n  slipway cloud-config convert vsphere.conf > vsphere.yaml")]
    Convert {
        /// Cloud config, or `-` for stdin
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}
