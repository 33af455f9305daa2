//! `slipway create`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::cluster::CreateCluster;

#[derive(Debug, Subcommand)]
pub enum Create {
    /// Write an install-config.yaml from questions, flags or a file
    ///
    /// On a terminal the command asks for what the flags leave open: it lists what the vCenters have, tests the
    /// credentials, and shows the result before it writes it. Esc goes back; Ctrl-C stops with exit code 8 and writes
    /// nothing. Without a terminal, and with --from or --output json, it asks nothing.
    ///
    /// The result is validated before it is written, and an existing install-config.yaml is never overwritten. Secrets
    /// are never given on the command line: flags name the files and variables that hold them. The install-config then
    /// names the same file or variable. A password that you typed and the pull secret are copied into the install-config,
    /// which only its owner can read (mode 0600).
    #[command(
        after_long_help = "Examples:\n  slipway create install-config --dir harbour\n\n  slipway create install-config --from ../pontoon/install-config.yaml \\\n    --name harbour\n\n  slipway create install-config --dir harbour --platform vsphere \\\n    --name harbour --base-domain example.com \\\n    --pull-secret-file pull-secret.json \\\n    --vcenter vcenter.example.com --vcenter-user slipway@vsphere.local \\\n    --vcenter-password-file vcenter.password --datacenter north \\\n    --compute-cluster compute --datastore vsan --network cluster-net \\\n    --machine-network 10.20.0.0/16 --api-vip 10.20.0.10 --ingress-vip 10.20.0.11"
    )]
    InstallConfig(Box<InstallConfig>),

    /// Write the manifests: manifests/, openshift/ and cluster-api/
    ///
    /// Uses no network. Edit, delete and add files afterwards: the next step uses them as they are. Names, keys and
    /// passwords are generated in the first run and stay the same, so a second run changes nothing unless the
    /// install-config changed. If it did, and you edited or deleted a file that would change, nothing is written and the
    /// files are listed.
    #[command(after_long_help = "Example:\n  slipway create manifests --dir harbour")]
    Manifests(Assets),

    /// Write the Ignition configurations, auth/ and metadata.json
    ///
    /// Writes bootstrap.ign, master.ign and worker.ign from manifests/ and openshift/ as they are on disk, with your
    /// edits, deletions and additions (*.yaml, *.yml and *.json, not in sub-directories). Missing manifests are written
    /// first; manifests that an edited install-config changes are written again.
    #[command(after_long_help = "Example:\n  slipway create ignition-configs --dir harbour")]
    IgnitionConfigs(Assets),

    /// Create the machines of a cluster, and wait until it is installed
    ///
    /// Writes missing files, runs the preflight checks, and prints the plan; it does not ask. Creates the bootstrap and
    /// control-plane machines on all endpoints in parallel, as the manifests in cluster-api/ describe them, with your edits.
    /// `--no-wait` ends here. Then it waits until bootstrap is complete, deletes the bootstrap machine, and waits until the
    /// cluster is installed. If it is interrupted or fails, run it again: it continues from there.
    #[command(
        after_long_help = "Examples:\n  slipway create cluster --dir harbour\n  slipway create cluster --dir harbour --no-wait\n  slipway create cluster --dir harbour \\\n    --saved-plan harbour.plan"
    )]
    Cluster(Box<CreateCluster>),
}

#[derive(Debug, Args)]
pub struct Assets {
    /// Asset directory of the cluster, with its install-config.yaml
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub dir: PathBuf,

    /// Overwrite edited files whose generated contents changed
    ///
    /// Also starts over if the name of the cluster or its certificates must change, and writes deleted manifests again.
    /// The old versions are kept in .slipway/backup. Without `--force` the files are listed and nothing is written.
    #[arg(long)]
    pub force: bool,
}

/// A platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub enum Platform {
    /// vSphere
    VSphere,
    /// oVirt
    Ovirt,
    /// KubeVirt, virtual machines in another Kubernetes cluster
    KubeVirt,
    /// Your own machines (UPI)
    None,
}

#[derive(Debug, Args)]
pub struct InstallConfig {
    /// Asset directory of the cluster; created if it does not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub dir: PathBuf,

    /// Start from this install-config, or `-` for stdin; flags change it
    ///
    /// Without other flags the file is copied as it is. With them its comments are lost.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub from: Option<PathBuf>,

    /// Platform that runs the machines
    #[arg(long, help_heading = "Cluster", value_enum)]
    pub platform: Option<Platform>,

    /// Name of the cluster
    #[arg(long, help_heading = "Cluster")]
    pub name: Option<String>,

    /// DNS domain of the cluster
    #[arg(long, help_heading = "Cluster", value_name = "DOMAIN")]
    pub base_domain: Option<String>,

    /// File with public SSH keys for the machines
    #[arg(long, help_heading = "Cluster", value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub ssh_key_file: Option<PathBuf>,

    /// File with the pull secret, a JSON document
    #[arg(long, help_heading = "Cluster", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub pull_secret_file: Option<PathBuf>,

    /// OpenShift release image to install
    #[arg(long, help_heading = "Cluster", value_name = "IMAGE", hide_short_help = true)]
    pub release_image: Option<String>,

    /// URL of an OVA; on vSphere the machines' template is imported from it
    ///
    /// To use a template that exists, name it in the file: `topology.template` of each failure domain.
    #[arg(long, help_heading = "Cluster", value_name = "URL", hide_short_help = true)]
    pub os_image: Option<String>,

    /// Number of control-plane machines
    #[arg(long, help_heading = "Cluster", value_name = "COUNT", hide_short_help = true)]
    pub control_plane_replicas: Option<u32>,

    /// Number of compute machines
    #[arg(long, help_heading = "Cluster", value_name = "COUNT", hide_short_help = true)]
    pub compute_replicas: Option<u32>,

    /// Network of the machines, such as 10.20.0.0/16; twice for dual stack
    #[arg(long, help_heading = "Cluster", value_name = "CIDR")]
    pub machine_network: Vec<String>,

    /// Virtual IP of the API; twice for dual stack
    #[arg(long, help_heading = "Cluster", value_name = "ADDRESS")]
    pub api_vip: Vec<String>,

    /// Virtual IP of the ingress; twice for dual stack
    #[arg(long, help_heading = "Cluster", value_name = "ADDRESS")]
    pub ingress_vip: Vec<String>,

    /// Network to attach machines to (KubeVirt: a network attachment)
    #[arg(long, help_heading = "Cluster")]
    pub network: Option<String>,

    /// vCenter, with `:port` unless it is 443; up to three
    #[arg(long, value_name = "SERVER", help_heading = "vSphere")]
    pub vcenter: Vec<String>,

    /// User as name@domain; one for all vCenters or one each
    #[arg(long, value_name = "USER", help_heading = "vSphere")]
    pub vcenter_user: Vec<String>,

    /// File with the password; the install-config names it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "vSphere")]
    pub vcenter_password_file: Vec<PathBuf>,

    /// Environment variable with the password
    #[arg(
        long,
        value_name = "VARIABLE",
        conflicts_with = "vcenter_password_file",
        help_heading = "vSphere",
        hide_short_help = true
    )]
    pub vcenter_password_env: Vec<String>,

    /// Thumbprint of a certificate that the system does not trust
    ///
    /// SHA-256 or SHA-1, one for each vCenter, in their order; `-` for a vCenter that the system trusts.
    #[arg(long, value_name = "HEX", help_heading = "vSphere", hide_short_help = true)]
    pub vcenter_thumbprint: Vec<String>,

    /// Failure domain; repeat it to spread the machines
    ///
    /// Instead of --datacenter, --compute-cluster, --datastore and --network. Keys: name, region, zone, server,
    /// datacenter, cluster, datastore and network, as in `name=a,region=eu,zone=a,…,network=net`. A single failure domain needs no name, region and zone; with a single vCenter no server is needed.
    #[arg(
        long,
        value_name = "KEY=VALUE,…",
        help_heading = "vSphere",
        conflicts_with_all = ["datacenter", "compute_cluster", "datastore", "network", "from"], hide_short_help = true)]
    pub failure_domain: Vec<String>,

    /// Datacenter
    #[arg(long, help_heading = "vSphere")]
    pub datacenter: Option<String>,

    /// Compute cluster, by name or inventory path
    #[arg(long, value_name = "CLUSTER", help_heading = "vSphere")]
    pub compute_cluster: Option<String>,

    /// Datastore, by name or inventory path
    #[arg(long, help_heading = "vSphere")]
    pub datastore: Option<String>,

    /// oVirt cluster
    #[arg(long, value_name = "UUID", help_heading = "oVirt", hide_short_help = true)]
    pub ovirt_cluster_id: Option<String>,

    /// Storage domain
    #[arg(long, value_name = "UUID", help_heading = "oVirt", hide_short_help = true)]
    pub ovirt_storage_domain_id: Option<String>,

    /// vNIC profile
    #[arg(long, value_name = "UUID", help_heading = "oVirt", hide_short_help = true)]
    pub vnic_profile_id: Option<String>,

    /// Namespace in the infrastructure cluster
    #[arg(long, help_heading = "KubeVirt", hide_short_help = true)]
    pub namespace: Option<String>,

    /// Storage class of the machines' disks
    #[arg(long, value_name = "CLASS", help_heading = "KubeVirt", hide_short_help = true)]
    pub storage_class: Option<String>,
}
