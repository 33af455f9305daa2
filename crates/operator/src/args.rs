//! What can be typed. No logic here.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use ipnet::IpNet;
use jiff::SignedDuration;
use tracing::Level;

use crate::server::machine_config::role::Role;

/// Runs inside of a cluster that Slipway launched, and on its bootstrap machine.
#[derive(Debug, Parser)]
#[command(name = "slipway-operator", version, propagate_version = true, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,

    /// How log lines look
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Which log lines there are: error, warn, info, debug or trace
    #[arg(long, global = true, default_value_t = Level::INFO)]
    pub log_level: Level,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the controllers of a cluster: connections to vCenters, drivers, health checks, machines, certificates of nodes
    ///
    /// Copies wait for each other: the one that holds the lease acts.
    Run(Run),

    /// Hand machines their Ignition configurations
    MachineConfigServer(MachineConfigServer),

    /// Make a token for a role, whose pointer configurations are to send it
    ///
    /// The token goes to standard output and is kept nowhere; its hash goes to the role's file of tokens, or to its Secret. The
    /// tokens before it stay good for a while, for machines that are on their way.
    MachineConfigToken(MachineConfigToken),

    /// Approve the certificates that nodes ask for, by the rules
    CsrApprover(CsrApprover),

    /// Start a cluster from its bootstrap machine, and leave it when it can do without
    ///
    /// Runs under slipway-bootstrap.service. What was done is kept in /var/lib/slipway/bootstrap.json: run again after whatever
    /// cut it off, it goes on from there.
    Bootstrap(Bootstrap),

    /// Keep virtual addresses, balancer and names of a machine up to date with the machines of the cluster
    Node(Node),

    /// Renew the certificates of a machine's control plane in time, one machine after the other
    ///
    /// Runs `kubeadm certs renew all` of the machine when less than 90 days are left, and has the kubelet start the control
    /// plane's pods anew.
    Certificates(OnControlPlane),

    /// Let machines of the control plane in and out: a new one finds what it joins with, one that is deleted leaves etcd first
    ///
    /// A Machine of the control plane has the hook `EtcdMember` as long as it is a member of etcd. The member is removed when the
    /// Machine is deleted, unless etcd would lose its majority.
    ControlPlane(OnControlPlane),
}

/// Of what runs on a machine of the control plane.
#[derive(Debug, clap::Args)]
pub struct OnControlPlane {
    /// The name of this machine's node
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    pub name: String,

    /// Where the machine's own files are
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "/")]
    pub root: PathBuf,

    /// Access to the cluster; without it KUBECONFIG, or the pod's own access
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,

    /// Where to listen for /healthz and /metrics, without TLS
    #[arg(long, value_name = "ADDRESS")]
    pub health_listen: Option<SocketAddr>,
}

#[derive(Debug, clap::Args)]
pub struct Bootstrap {
    /// Where the files of the cluster are
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = slipway_assets::kubernetes::FOLDER)]
    pub dir: PathBuf,

    /// Where to listen for machines that fetch their configurations
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:22623")]
    pub listen: SocketAddr,

    /// Where to listen for /healthz and /metrics, without TLS
    #[arg(long, value_name = "ADDRESS")]
    pub health_listen: Option<SocketAddr>,
}

#[derive(Debug, clap::Args)]
pub struct Node {
    /// The name of this machine's node
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    pub name: String,

    /// Facts about the cluster
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = slipway_assets::kubernetes::FACTS_FILE)]
    pub facts: PathBuf,

    /// Access to the cluster; without it KUBECONFIG, or the pod's own access
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct MachineConfigServer {
    /// Where the configurations are: `<role>.ign`, with hashes of tokens in `<role>.tokens`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "from_cluster")]
    pub dir: Option<PathBuf>,

    /// Take configurations, tokens and certificate from Secrets of the cluster this runs in
    #[arg(long, conflicts_with_all = ["dir", "tls_cert", "tls_key"])]
    pub from_cluster: bool,

    /// A role of the cluster, whose Secret is `machine-config-<role>`; can be repeated. Others are answered with 404
    #[arg(long, value_name = "NAME", conflicts_with = "dir", default_values = ["master", "worker"])]
    pub role: Vec<Role>,

    /// Where to listen for machines
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:22623")]
    pub listen: SocketAddr,

    /// The server's certificate and those above it, in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "from_cluster")]
    pub tls_cert: Option<PathBuf>,

    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "from_cluster")]
    pub tls_key: Option<PathBuf>,

    /// Where to listen for /healthz and /metrics, without TLS
    #[arg(long, value_name = "ADDRESS")]
    pub health_listen: Option<SocketAddr>,

    /// Only serve addresses of this network; can be repeated
    #[arg(long, value_name = "CIDR")]
    pub allow_network: Vec<IpNet>,

    /// Demand no token: whoever reaches the port reads everything, secrets among it
    #[arg(long)]
    pub without_token: bool,

    /// Connections at the same time; others wait
    #[arg(long, value_name = "COUNT", default_value_t = 1024, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub max_connections: usize,

    /// Connections at the same time from one address; others are closed
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub max_connections_per_address: usize,
}

#[derive(Debug, clap::Args)]
pub struct MachineConfigToken {
    /// Where the configurations are
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "from_cluster")]
    pub dir: Option<PathBuf>,

    /// Rotate in a running cluster: the Secret of the role, and the pointer in `<role>-user-data` that new machines get
    #[arg(long, conflicts_with = "dir")]
    pub from_cluster: bool,

    /// Access to the cluster; without it KUBECONFIG, or the pod's own access
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "from_cluster")]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME", requires = "from_cluster")]
    pub context: Option<String>,

    /// The role
    #[arg(long)]
    pub role: Role,

    /// How long the tokens before it stay good, such as 2h; 0s withdraws them at once
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub keep: SignedDuration,

    /// How long the new one is good. Default: 24h for `master`, which new machines rarely need; until it is replaced for others
    #[arg(long, value_name = "TIME", requires = "from_cluster", value_parser = positive)]
    pub expires_after: Option<SignedDuration>,
}

/// A time that is more than none.
fn positive(text: &str) -> Result<SignedDuration, String> {
    let time: SignedDuration = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    if time.is_positive() {
        Ok(time)
    } else {
        Err("the token would have ended before it is handed out".to_owned())
    }
}

#[derive(Debug, clap::Args)]
pub struct CsrApprover {
    /// Access to the cluster; without it KUBECONFIG, or the pod's own access
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// Who asks for machines' first certificates, such as `worker=system:bootstrap:abcdef`; without a role for all machines.
    /// Can be repeated
    #[arg(long, value_name = "[ROLE=]USER", default_value = slipway_assess::csr::OPENSHIFT_BOOTSTRAPPER)]
    pub bootstrapper: Vec<String>,

    /// Where confirmed hosts and the keys of machines are written down
    #[arg(long, value_name = "NAME", default_value = slipway_assets::kubernetes::NAMESPACE)]
    pub namespace: String,

    /// A ClusterRoleBinding that is removed whenever it is there; can be repeated
    #[arg(long, value_name = "NAME")]
    pub remove_binding: Vec<String>,

    /// Machines were given their own names, so that a Machine without a status becomes the node of its name
    #[arg(long)]
    pub named_alike: bool,

    /// Hold first certificates of control-plane machines back until the ConfigMap kube-system/bootstrap says `complete`: the
    /// bootstrap machine lets them in one by one
    #[arg(long)]
    pub after_bootstrap: bool,

    /// A virtual address, which no certificate may have; can be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub vip: Vec<std::net::IpAddr>,

    /// Where to listen for /healthz and /metrics, without TLS
    #[arg(long, value_name = "ADDRESS")]
    pub health_listen: Option<SocketAddr>,
}

#[derive(Debug, clap::Args)]
pub struct Run {
    /// Access to the cluster; without it KUBECONFIG, or the pod's own access
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// Where the operator runs, and where connections and their Secrets are
    #[arg(long, value_name = "NAME", env = "POD_NAMESPACE", default_value = slipway_assets::drivers::operator::NAMESPACE)]
    pub namespace: String,

    /// Tells copies of the operator apart
    #[arg(long, value_name = "NAME", env = "POD_NAME")]
    pub identity: Option<String>,

    /// Which controllers run
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Controller::Connections, Controller::Drivers, Controller::Checks])]
    pub controllers: Vec<Controller>,

    /// Let connections say `tls.insecure`: anybody on the way to such a vCenter can read its password
    #[arg(long)]
    pub allow_insecure: bool,

    /// Where the compatibility matrix comes from: `embedded`, a file, `configmap:NAME`, or an https URL
    #[arg(long, value_name = "PLACE", default_value = "embedded")]
    pub matrix: crate::controllers::drivers::matrix::MatrixSource,

    /// A public key that a matrix from outside may be signed with; can be repeated
    #[arg(long, value_name = "KEY")]
    pub matrix_key: Vec<slipway_assets::drivers::signature::PublicKey>,

    /// A ConfigMap whose `ca.crt` has the authorities that the matrix's server is trusted by
    #[arg(long, value_name = "NAME")]
    pub matrix_ca: Option<String>,

    /// A proxy on the way to the matrix's server; without it that of the environment
    #[arg(long, value_name = "URL")]
    pub matrix_proxy: Option<String>,

    /// A registry that takes the place of the one in every image of the drivers, unless the VDOConfig names one
    #[arg(long, value_name = "REGISTRY")]
    pub registry: Option<String>,

    /// A Secret for pulling the drivers' images, unless the VDOConfig names some; can be repeated
    #[arg(long, value_name = "NAME")]
    pub pull_secret: Vec<String>,

    /// How long a step of an upgrade may take before it is taken back, such as 10m
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub upgrade_patience: SignedDuration,

    /// Who asks for machines' first certificates, such as `worker=system:bootstrap:abcdef`; without a role for all machines.
    /// Can be repeated
    #[arg(long, value_name = "[ROLE=]USER", default_value = slipway_assess::csr::OPENSHIFT_BOOTSTRAPPER)]
    pub bootstrapper: Vec<String>,

    /// A virtual address, which is no machine's own and which no certificate may have; can be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub vip: Vec<std::net::IpAddr>,

    /// Where to listen for /healthz, /readyz and /metrics, without TLS
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8081")]
    pub health_listen: SocketAddr,
}

/// A controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Controller {
    /// Validates connections to vCenters
    Connections,
    /// Installs and upgrades the drivers
    Drivers,
    /// Looks after the health of vCenters and nodes
    Checks,
    /// Makes and removes the virtual machines of Machines
    Machines,
    /// Approves certificates of nodes
    Csr,
    /// Keeps as many machines of a MachineSet as it says
    MachineSets,
    /// Has unhealthy machines replaced
    MachineHealthChecks,
    /// Finds out which node is which machine
    NodeLinks,
    /// Drains the nodes of machines that are being deleted
    Drain,
    /// Frees the volumes and pods of nodes whose virtual machine is off
    OutOfService,
    /// Gives machines static addresses from AddressPools
    AddressPools,
}

#[cfg(test)]
mod tests {
    use super::positive;

    #[test]
    fn a_token_has_a_life() {
        assert_eq!(positive("24h").unwrap().as_hours(), 24);
        for text in ["0s", "-1h", "soon"] {
            positive(text).unwrap_err();
        }
    }
}
