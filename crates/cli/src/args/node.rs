//! `slipway node`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

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
}

#[derive(Debug, Args)]
pub struct Approve {
    /// The requests to approve, whatever the rules say; without a name those that the rules approve
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// Access to the cluster; without it KUBECONFIG, or ~/.kube/config
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// Who asks for a machine's first certificate: a service account, or `system:bootstrap:<id>`
    #[arg(long, value_name = "USER", default_value = slipway_operator::csr::OPENSHIFT_BOOTSTRAPPER)]
    pub bootstrapper: String,

    /// A virtual address beside those that the cluster publishes; can be given several times
    #[arg(long, value_name = "ADDRESS")]
    pub vip: Vec<IpAddr>,

    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}
