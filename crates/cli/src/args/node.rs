//! `slipway node`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use super::time;

use super::access::Access;

#[derive(Debug, Subcommand)]
pub enum Node {
    /// Show the certificates that nodes wait for, and approve them
    ///
    /// Lists every pending request of a kubelet: what it asks for, who asks, and what the operator's rules say about it.
    /// Those that the rules would approve are approved after a question. A request that they refuse is approved only if
    /// it is named: whoever gets a node's certificate is that node.
    #[command(
        after_help = "Examples:\n  slipway node approve\n  slipway node approve csr-8xk2p --kubeconfig auth/kubeconfig\n  slipway node approve --output json < /dev/null | jq '.requests[] | select(.verdict == \"refuse\")'\n\nExit codes: 0 nothing is left to approve, 1 something was not approved, 8 interrupted."
    )]
    Approve(Approve),

    /// Add a host that is no machine of the platform
    ///
    /// Writes the Ignition configuration it is installed with: that of the workers, with its name, and with a kubelet that
    /// waits for no cloud provider (`platform: none`), so that the node comes up without being initialised by one. Prints
    /// how to install it, then waits until the host asks for its certificates, shows what it asks for, and approves it after
    /// a question: only the name and the addresses that were given here.
    #[command(
        after_help = "Examples:\n  slipway node add --bare-metal metal-0 --address 10.0.0.40 --device /dev/nvme0n1 --dir harbour\n  slipway node add --bare-metal metal-0 --address 10.0.0.40 --device /dev/sda --ignition-url https://files.example.com/metal-0.ign\n  slipway node add --bare-metal metal-0 --address 10.0.0.40 --no-wait\n\nExit codes: 0 the node is there, or --no-wait; 1 it is not; 2 wrong usage; 8 interrupted."
    )]
    Add(Box<Add>),
}

#[derive(Debug, Args)]
pub struct Add {
    /// The host: the name its node will have
    #[arg(long, value_name = "NAME", required = true)]
    pub bare_metal: String,

    /// An address of the host; can be given several times. Its certificate may have these and no others
    #[arg(long, value_name = "ADDRESS", required = true)]
    pub address: Vec<IpAddr>,

    /// A further DNS name of the host; can be given several times
    #[arg(long, value_name = "NAME")]
    pub dns_name: Vec<String>,

    /// The disk it is installed on
    #[arg(long, value_name = "DEVICE", default_value = "/dev/sda")]
    pub device: String,

    /// Where the host will find its Ignition configuration; without it, the file is taken along
    #[arg(long, value_name = "URL")]
    pub ignition_url: Option<String>,

    /// The directory of the cluster, with its worker.ign; without it, the cluster is asked for it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// Where the configuration is written; without it, to NAME.ign here
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub write: Option<PathBuf>,

    #[command(flatten)]
    pub access: Access,

    #[command(flatten)]
    pub known: Known,

    /// Only write the file and print the steps
    #[arg(long)]
    pub no_wait: bool,

    /// How long to wait for the host
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = time::positive)]
    pub timeout: Duration,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct Approve {
    /// The requests to approve, whatever the rules say; without a name those that the rules approve
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    #[command(flatten)]
    pub access: Access,

    #[command(flatten)]
    pub known: Known,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// What the rules for certificates cannot read from the cluster.
#[derive(Debug, Args)]
pub struct Known {
    /// Who asks for machines' first certificates: a service account, or `system:bootstrap:<id>`, perhaps after the role it is
    /// for, such as `worker=`; can be given several times. Without it whom Slipway's approver in the cluster knows, or OpenShift's own
    #[arg(long, value_name = "[ROLE=]USER")]
    pub bootstrapper: Vec<String>,

    /// A virtual address beside those that the cluster publishes; can be given several times
    #[arg(long, value_name = "ADDRESS")]
    pub vip: Vec<IpAddr>,
}
