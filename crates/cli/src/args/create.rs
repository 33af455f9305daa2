//! `slipway create`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::cluster::CreateCluster;

#[derive(Debug, Subcommand)]
pub enum Create {
    /// Write an install-config.yaml from answers to questions, from flags, or from a file
    ///
    /// On a terminal, what the flags leave open is asked: lists come from the vCenters, credentials are tested, and
    /// the result is shown before it is written. Esc goes back, Ctrl-C stops with exit code 8 and writes nothing.
    /// Elsewhere, and with --from or --output json, nothing is asked.
    ///
    /// The result is judged before it is written, and an existing install-config.yaml is never overwritten. No
    /// secret is given on the command line: flags name the files and variables that hold them. A password that is
    /// named so stays where it is; one that was typed and the pull secret are copied, so the file is for your eyes
    /// only (mode 0600).
    #[command(
        after_help = "Examples:\n  slipway create install-config --dir harbour\n\n  slipway create install-config --from ../pontoon/install-config.yaml --name harbour\n\n  slipway create install-config --dir harbour --platform vsphere \\\n    --name harbour --base-domain example.com --pull-secret-file pull-secret.json \\\n    --vcenter vcenter.example.com --vcenter-user slipway@vsphere.local \\\n    --vcenter-password-file vcenter.password --datacenter north \\\n    --compute-cluster compute --datastore vsan --network cluster-net \\\n    --machine-network 10.20.0.0/16 --api-vip 10.20.0.10 --ingress-vip 10.20.0.11"
    )]
    InstallConfig(Box<InstallConfig>),

    /// Write the Kubernetes manifests: manifests/, openshift/ and cluster-api/
    ///
    /// Nothing is asked over the network. Edit, delete and add files afterwards as you like: your changes are kept
    /// and used by the next step. Names, keys and passwords are drawn in the first run and stay the same in later
    /// ones, so running it again changes nothing unless the install-config did. If it did, and a file that would
    /// change was edited or deleted by you, nothing is written and the files are named.
    #[command(after_help = "Example:\n  slipway create manifests --dir harbour")]
    Manifests(Assets),

    /// Write the Ignition configurations: bootstrap.ign, master.ign, worker.ign, auth/ and metadata.json
    ///
    /// Uses manifests/ and openshift/ as they are on disk, with your edits, deletions and additions (*.yaml, *.yml
    /// and *.json, not in sub-directories). Manifests that were never written are written first; those that an
    /// edited install-config changes are written again.
    #[command(after_help = "Example:\n  slipway create ignition-configs --dir harbour")]
    IgnitionConfigs(Assets),

    /// Make a cluster: its machines, with tags, folders and rules, and wait until it is complete
    ///
    /// Files that are not there yet are made first, and the vCenters are looked at before anything is changed. Bootstrap
    /// and control-plane machines are made as cluster-api/ says, with your edits, on all vCenters at the same time. When they
    /// run, the cluster in them is waited for, and the bootstrap machine is removed; `--no-wait` ends before that. If it is
    /// interrupted or fails, run it again: it goes on from there.
    #[command(
        after_help = "Examples:\n  slipway create cluster --dir harbour\n  slipway create cluster --dir harbour --plan harbour.plan\n\nExit codes: 0 the cluster is complete, or with --no-wait its machines run; 3 the install-config is not usable; 4 something failed or is in the way; 5 the bootstrap did not end; 6 the cluster did not become complete; 7 its operators did not come to rest; 8 interrupted."
    )]
    Cluster(Box<CreateCluster>),
}

#[derive(Debug, Args)]
pub struct Assets {
    /// The directory of the cluster, with its install-config.yaml
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub dir: PathBuf,

    /// Overwrite edited files whose generated contents changed, and start over where names or certificates demand it
    ///
    /// What is overwritten or removed is kept below .slipway/backup, and manifests that were deleted are written again.
    /// Without it, such files are named and nothing is written.
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
    /// Virtual machines of another Kubernetes cluster
    KubeVirt,
    /// Machines of your own
    None,
}

#[derive(Debug, Args)]
pub struct InstallConfig {
    /// The directory of the cluster; it is made if it does not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub dir: PathBuf,

    /// Start from this install-config, or `-` for standard input; flags change it
    ///
    /// Without flags that change it, it is copied as it is. With them its comments are lost.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub from: Option<PathBuf>,

    /// Where the machines run
    #[arg(long, help_heading = "The cluster", value_enum)]
    pub platform: Option<Platform>,

    /// The name of the cluster
    #[arg(long, help_heading = "The cluster")]
    pub name: Option<String>,

    /// The DNS domain the cluster belongs to
    #[arg(long, help_heading = "The cluster", value_name = "DOMAIN")]
    pub base_domain: Option<String>,

    /// A file with public SSH keys for access to the machines
    #[arg(long, help_heading = "The cluster", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ssh_key_file: Option<PathBuf>,

    /// A file with the pull secret, a JSON document
    #[arg(long, help_heading = "The cluster", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub pull_secret_file: Option<PathBuf>,

    /// The OpenShift release to install
    #[arg(long, help_heading = "The cluster", value_name = "IMAGE")]
    pub release_image: Option<String>,

    /// The URL of the image machines of vSphere are made from, an OVA: a template is imported from it
    ///
    /// Templates that are there already are named in the file: `topology.template` of each failure domain.
    #[arg(long, help_heading = "The cluster", value_name = "URL")]
    pub os_image: Option<String>,

    /// How many control-plane machines
    #[arg(long, help_heading = "The cluster", value_name = "COUNT")]
    pub control_plane_replicas: Option<u32>,

    /// How many compute machines
    #[arg(long, help_heading = "The cluster", value_name = "COUNT")]
    pub compute_replicas: Option<u32>,

    /// The network machines have their addresses in, such as 10.20.0.0/16; twice for dual stack
    #[arg(long, help_heading = "The cluster", value_name = "CIDR")]
    pub machine_network: Vec<String>,

    /// The virtual address of the API; twice for dual stack
    #[arg(long, help_heading = "The cluster", value_name = "ADDRESS")]
    pub api_vip: Vec<String>,

    /// The virtual address of the ingress; twice for dual stack
    #[arg(long, help_heading = "The cluster", value_name = "ADDRESS")]
    pub ingress_vip: Vec<String>,

    /// The network machines are attached to: of vSphere, of oVirt, or a network attachment of KubeVirt
    #[arg(long, help_heading = "The cluster")]
    pub network: Option<String>,

    /// The vCenter, with `:port` if that is not 443; up to three
    #[arg(long, value_name = "SERVER", help_heading = "vSphere")]
    pub vcenter: Vec<String>,

    /// The user of the vCenter, as name@domain; of several, one for all or one for each
    #[arg(long, value_name = "USER", help_heading = "vSphere")]
    pub vcenter_user: Vec<String>,

    /// The file that holds the user's password; it is named in the install-config, not copied
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "vSphere")]
    pub vcenter_password_file: Vec<PathBuf>,

    /// The environment variable that holds the user's password
    #[arg(long, value_name = "VARIABLE", conflicts_with = "vcenter_password_file", help_heading = "vSphere")]
    pub vcenter_password_env: Vec<String>,

    /// The fingerprint (SHA-256 or SHA-1) of the vCenter's certificate, if the system does not trust it
    ///
    /// Of several vCenters one for each, in their order; `-` for one that the system trusts.
    #[arg(long, value_name = "HEX", help_heading = "vSphere")]
    pub vcenter_thumbprint: Vec<String>,

    /// A failure domain, in place of --datacenter, --compute-cluster, --datastore and --network; several spread machines
    ///
    /// Keys: name, region, zone, server, datacenter, cluster, datastore, network, as
    /// `name=a,region=north,zone=a,server=vcenter.example.com,datacenter=north,cluster=a,datastore=vsan,network=net`.
    /// The only one needs no name, region and zone; on the only vCenter they need no server.
    #[arg(
        long,
        value_name = "KEY=VALUE,…",
        help_heading = "vSphere",
        conflicts_with_all = ["datacenter", "compute_cluster", "datastore", "network", "from"]
    )]
    pub failure_domain: Vec<String>,

    /// The datacenter
    #[arg(long, help_heading = "vSphere")]
    pub datacenter: Option<String>,

    /// The compute cluster, by name or inventory path
    #[arg(long, value_name = "CLUSTER", help_heading = "vSphere")]
    pub compute_cluster: Option<String>,

    /// The datastore, by name or inventory path
    #[arg(long, help_heading = "vSphere")]
    pub datastore: Option<String>,

    /// The oVirt cluster
    #[arg(long, value_name = "UUID", help_heading = "oVirt")]
    pub ovirt_cluster_id: Option<String>,

    /// The storage domain
    #[arg(long, value_name = "UUID", help_heading = "oVirt")]
    pub ovirt_storage_domain_id: Option<String>,

    /// The vNIC profile
    #[arg(long, value_name = "UUID", help_heading = "oVirt")]
    pub vnic_profile_id: Option<String>,

    /// The namespace of the infrastructure cluster
    #[arg(long, help_heading = "KubeVirt")]
    pub namespace: Option<String>,

    /// The storage class of the machines' disks
    #[arg(long, value_name = "CLASS", help_heading = "KubeVirt")]
    pub storage_class: Option<String>,
}
