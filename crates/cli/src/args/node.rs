//! `slipway node`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use super::time;

use super::access::Access;

#[derive(Debug, Subcommand)]
pub enum Node {
    /// List pending certificate requests (CSRs) of nodes, and approve them
    ///
    /// Lists every pending request of a kubelet: what it requests, which user sent it, and whether the operator's rules
    /// approve it. Asks, then approves those that pass the rules. A request that fails them is approved only if you name it:
    /// a kubelet with a node's certificate has all rights of that node.
    #[command(
        after_long_help = "Examples:\n  slipway node approve\n  slipway node approve csr-8xk2p --kubeconfig auth/kubeconfig\n  slipway node approve -o json < /dev/null \\\n    | jq '.requests[] | select(.verdict == \"refuse\")'"
    )]
    Approve(Approve),

    /// Add a bare metal host to a cluster on vSphere
    ///
    /// Writes the Ignition configuration that the host is installed with: that of the workers, with its name, and with a
    /// kubelet that does not wait for a cloud provider (`platform: none`). Prints how to install the host, waits for its
    /// certificate requests, shows them, and approves them after a question: only the name and the addresses given here.
    #[command(
        after_long_help = "Examples:\n  slipway node add --bare-metal metal-0 --address 10.0.0.40 \\\n    --device /dev/nvme0n1 --dir harbour\n  slipway node add --bare-metal metal-0 --address 10.0.0.40 \\\n    --ignition-url https://files.example.com/metal-0.ign\n  slipway node add --bare-metal metal-0 --address 10.0.0.40 --no-wait"
    )]
    Add(Box<Add>),
}

#[derive(Debug, Args)]
pub struct Add {
    /// Name of the host and of its node
    #[arg(long, value_name = "NAME", required = true)]
    pub bare_metal: String,

    /// Address of the host, and the only ones allowed in its certificate; repeatable
    #[arg(long, value_name = "ADDRESS", required = true)]
    pub address: Vec<IpAddr>,

    /// Another DNS name of the host; repeatable
    #[arg(long, value_name = "NAME")]
    pub dns_name: Vec<String>,

    /// Disk to install to
    #[arg(long, value_name = "DEVICE", default_value = "/dev/sda")]
    pub device: String,

    /// URL where the host will find its Ignition configuration
    ///
    /// Without it, the steps copy the file to the host.
    #[arg(long, value_name = "URL")]
    pub ignition_url: Option<String>,

    /// Asset directory with worker.ign [default: read it from the cluster]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// Write the Ignition configuration to this file [default: NAME.ign]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub write: Option<PathBuf>,

    #[command(flatten)]
    pub access: Access,

    #[command(flatten)]
    pub known: CertificateRules,

    /// Only write the file and print the steps
    #[arg(long)]
    pub no_wait: bool,

    /// Longest time to wait for the host
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = time::positive)]
    pub timeout: Duration,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct Approve {
    /// Requests to approve regardless of the rules [default: those that pass the rules]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    #[command(flatten)]
    pub access: Access,

    #[command(flatten)]
    pub known: CertificateRules,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// What the rules for certificates cannot read from the cluster.
#[derive(Debug, Args)]
pub struct CertificateRules {
    /// User that requests the first certificates of machines; repeatable
    ///
    /// A service account or `system:bootstrap:<id>`, with an optional role in front, such as `worker=`. The default is the
    /// users that Slipway's approver in the cluster knows, or OpenShift's own.
    #[arg(long, value_name = "[ROLE=]USER")]
    pub bootstrapper: Vec<String>,

    /// Virtual IP that the cluster does not publish itself; repeatable
    #[arg(long, value_name = "ADDRESS")]
    pub vip: Vec<IpAddr>,
}
