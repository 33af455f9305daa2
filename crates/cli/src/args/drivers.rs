//! `slipway drivers`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::time;
use slipway_assets::drivers::signature::PublicKey;

use super::access::Access;

#[derive(Debug, Subcommand)]
pub enum Drivers {
    /// Show how the operator, the drivers, the connections and the nodes are
    ///
    /// Everything that is wrong is listed, with what to do about it.
    #[command(
        after_help = "Examples:\n  slipway drivers status\n  slipway drivers status --output json | jq '.failures'\n\nExit codes: 0 healthy, 1 the cluster could not be asked, 4 something is wrong, not installed, or still on its way."
    )]
    Status(Access),

    /// Install the operator, and wait until it and the drivers are healthy
    ///
    /// Applies the definitions of our kinds, the operator's rights and its Deployment. If there is a VDOConfig, the drivers
    /// and the nodes are waited for as well. Ctrl-C ends the waiting and not the installation.
    #[command(
        after_help = "Examples:\n  slipway drivers deploy\n  slipway drivers deploy --image mirror.example.com/slipway-operator:v0.1.0 --pull-secret mirror\n  slipway drivers deploy --bundle drivers.json\n\nExit codes: 0 healthy, 1 other failure, 4 not healthy in time, 8 interrupted."
    )]
    Deploy(DeployDrivers),

    /// Add a vCenter, and choose the drivers
    ///
    /// Makes the Secret, the VSphereConnection and, if there is none, the VDOConfig; the login is tried before. On a terminal
    /// whatever is not given as a flag is asked for: a certificate that is not trusted is shown, and the result before it is applied.
    /// The password comes from a prompt, a variable or a file, and never from the command line. Run it again for each vCenter,
    /// or give a file with all objects.
    #[command(
        after_help = "Examples:\n  slipway drivers configure --server vc1.example.com --user csi@vsphere.local --ca-file vc1.pem\n  VC_PASSWORD=… slipway drivers configure --server vc2.example.com --user csi@vsphere.local --password-env VC_PASSWORD --datacenter DC0 --topology-category k8s-region --topology-category k8s-zone\n  slipway drivers configure\n  slipway drivers configure --file drivers.yaml\n\nExit codes: 0 applied, 1 other failure, 4 the vCenter refuses the login or cannot be reached, and nothing was applied, 8 interrupted."
    )]
    Configure(ConfigureDrivers),

    /// Ask for versions of the drivers, or bring the operator to this program's version
    ///
    /// A version that is asked for is kept: `--unpin` lets the newest that fits be chosen again. The operator goes up or down
    /// to the version of this program.
    #[command(
        after_help = "Examples:\n  slipway drivers upgrade --storage-provider 3.7.0\n  slipway drivers upgrade --unpin\n  slipway drivers upgrade --operator\n\nExit codes: 0 healthy, 1 other failure, 4 not healthy in time or taken back, 8 interrupted."
    )]
    Upgrade(UpgradeDrivers),

    /// Remove the drivers and the operator, in the safe order
    ///
    /// The operator's account and rights go last. Refused while volumes are attached. Connections, their Secrets, namespaces and
    /// the definitions of our kinds stay.
    #[command(after_help = "Examples:\n  slipway drivers remove\n  slipway drivers remove --yes --force")]
    Remove(RemoveDrivers),

    /// Users of a vCenter that may do what the drivers need, and nothing else
    #[command(subcommand)]
    Users(Users),

    /// Turn the objects of VDO, the vSphere Kubernetes Drivers Operator, into ours
    ///
    /// Reads `vdo.vmware.com` objects from the cluster and prints ours. With `--apply` they are applied, and credentials are
    /// copied; the drivers that VDO installed are then taken over where they are.
    #[command(after_help = "Examples:\n  slipway drivers import-vdo\n  slipway drivers import-vdo --apply")]
    ImportVdo(ImportVdo),

    /// Write everything a site without the internet needs into one file
    ///
    /// The operator's objects, the compatibility matrix, and which images have to be copied where. `drivers deploy --bundle`
    /// takes it, and every image of the operator and of the drivers then comes from the site's registry.
    #[command(
        after_help = "Example:\n  slipway drivers bundle --registry mirror.example.com/vsphere > drivers.json\n  jq -r '.images[] | \"skopeo copy --all docker://\\(.from) docker://\\(.to)\"' drivers.json | sh\n  slipway drivers deploy --bundle drivers.json"
    )]
    Bundle(BundleDrivers),

    /// The compatibility matrix: which drivers go with which Kubernetes and which vCenters
    #[command(subcommand)]
    Matrix(Matrix),
}

#[derive(Debug, Subcommand)]
pub enum Users {
    /// Make users, roles and permissions in a vCenter, and the connections that use them
    ///
    /// An administrator of the vCenter logs in once; nothing of that is kept. Each driver gets a user of its own in the
    /// vCenter's own domain with a password that is drawn, and that only the Secret in the cluster holds. A user that is there
    /// already gets a new password.
    #[command(
        after_help = "Examples:\n  slipway drivers users create --server vc1.example.com --ca-file vc1.pem --plan\n  slipway drivers users create --server vc1.example.com --ca-file vc1.pem --datacenter /DC0 --datastore /DC0/datastore/fast"
    )]
    Create(CreateUsers),

    /// Say what users lack, and what they have too much
    ///
    /// Exit code 4 if anything is not as it should be.
    #[command(
        after_help = "Example:\n  slipway drivers users verify --server vc1.example.com --ca-file vc1.pem"
    )]
    Verify(VCenterUsers),
}

#[derive(Debug, Args)]
pub struct CreateUsers {
    #[command(flatten)]
    pub access: Access,

    #[command(flatten)]
    pub users: VCenterUsers,

    /// What the connections are called; without it, after the server
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Only show what would be done
    #[arg(long)]
    pub plan: bool,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct VCenterUsers {
    /// Name or address of the vCenter
    #[arg(long, value_name = "NAME")]
    pub server: String,

    /// Port of the vCenter
    #[arg(long, value_name = "PORT", default_value_t = 443)]
    pub port: u16,

    #[command(flatten)]
    pub certificate: Certificate,

    /// An administrator of the vCenter
    #[arg(long, value_name = "USER", default_value = "administrator@vsphere.local")]
    pub admin_user: String,

    /// The variable with the administrator's password
    #[arg(long, value_name = "VARIABLE", conflicts_with = "admin_password_file")]
    pub admin_password_env: Option<String>,

    /// The file with the administrator's password; /dev/fd/3 is a file descriptor
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub admin_password_file: Option<PathBuf>,

    /// Only for this driver; can be repeated
    #[arg(long, value_enum)]
    pub driver: Vec<Driver>,

    /// The domain of the users, such as vsphere.local, for a vCenter that does not tell; without it the vCenter is asked.
    /// Users are made in its own domain alone
    #[arg(long, value_name = "DOMAIN")]
    pub domain: Option<String>,

    /// Users and roles are called after it; two clusters need two
    #[arg(long, value_name = "PREFIX", default_value = "slipway")]
    pub prefix: String,

    /// A datacenter, by its inventory path; can be repeated. Without it all
    #[arg(long, value_name = "PATH")]
    pub datacenter: Vec<String>,

    /// A datastore of volumes, by its inventory path; can be repeated. Without it all of the datacenters
    #[arg(long, value_name = "PATH")]
    pub datastore: Vec<String>,

    /// A folder with the machines of nodes, by its inventory path; can be repeated. Without it those of the datacenters
    #[arg(long, value_name = "PATH")]
    pub folder: Vec<String>,

    /// A vSAN cluster for file volumes, by its inventory path; can be repeated
    #[arg(long, value_name = "PATH")]
    pub file_cluster: Vec<String>,
}

/// How long to wait.
#[derive(Debug, Clone, Args)]
pub struct Waiting {
    /// Do not wait
    #[arg(long)]
    pub no_wait: bool,

    /// How long to wait, such as 15m
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = time::positive)]
    pub timeout: Duration,
}

#[derive(Debug, Args)]
pub struct DeployDrivers {
    #[command(flatten)]
    pub access: Access,

    #[command(flatten)]
    pub waiting: Waiting,

    /// The operator's image; without it the one of this version
    #[arg(long, value_name = "IMAGE", conflicts_with = "bundle")]
    pub image: Option<String>,

    /// A Secret in the operator's namespace for pulling its image; can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "bundle")]
    pub pull_secret: Vec<String>,

    /// Where the operator takes its compatibility matrix from: `configmap:NAME` or an https URL
    #[arg(long, value_name = "PLACE", requires = "matrix_key", conflicts_with = "bundle")]
    pub matrix: Option<String>,

    /// A public key that the matrix may be signed with; can be repeated
    #[arg(long, value_name = "KEY", conflicts_with = "bundle")]
    pub matrix_key: Vec<String>,

    /// Authorities, in PEM, that the matrix's server is trusted by; without them those of the operator's image
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "matrix", conflicts_with = "bundle")]
    pub matrix_ca_file: Option<PathBuf>,

    /// A proxy on the operator's way to the matrix's server, without a login
    #[arg(long, value_name = "URL", requires = "matrix", conflicts_with = "bundle")]
    pub matrix_proxy: Option<String>,

    /// Let connections say that a vCenter's certificate is not verified: anybody on the way can then read its password
    #[arg(long, conflicts_with = "bundle")]
    pub allow_insecure: bool,

    /// A file of `drivers bundle`, for a site without the internet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub bundle: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ConfigureDrivers {
    #[command(flatten)]
    pub access: Access,

    /// Apply these objects: VSphereConnections, their Secrets and ConfigMaps, the VDOConfig; `-` is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = [
        "server", "name", "port", "user", "password_env", "password_file", "untried", "datacenter", "ca_file", "thumbprint",
        "insecure",
        "without_cloud_provider", "without_storage_provider", "topology_category", "update_policy", "registry", "pull_secret",
    ])]
    pub file: Option<PathBuf>,

    /// Name or address of the vCenter
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,

    /// What the connection is called; without it, after the server
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Port of the vCenter
    #[arg(long, value_name = "PORT", default_value_t = 443)]
    pub port: u16,

    /// Who logs in, as name@domain
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,

    /// The variable with the password
    #[arg(long, value_name = "VARIABLE", conflicts_with = "password_file")]
    pub password_env: Option<String>,

    /// The file with the password
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub password_file: Option<PathBuf>,

    /// Apply without trying the login first, where this machine does not reach the vCenter
    #[arg(long, requires = "server")]
    pub untried: bool,

    /// A datacenter with nodes or volumes; can be repeated. Without it all that the user sees
    #[arg(long, value_name = "NAME")]
    pub datacenter: Vec<String>,

    #[command(flatten)]
    pub certificate: Certificate,

    /// Install no cloud provider
    #[arg(long)]
    pub without_cloud_provider: bool,

    /// Install no storage driver
    #[arg(long)]
    pub without_storage_provider: bool,

    /// A tag category that says where a node is, from the widest to the narrowest; needed with several vCenters. The first
    /// two are the cloud provider's region and zone
    #[arg(long, value_name = "NAME")]
    pub topology_category: Vec<String>,

    /// When drivers are upgraded
    #[arg(long, value_enum)]
    pub update_policy: Option<Policy>,

    /// A registry that takes the place of the one in every image
    #[arg(long, value_parser = registry, value_name = "REGISTRY")]
    pub registry: Option<String>,

    /// A Secret in the operator's namespace for pulling the drivers' images; can be repeated
    #[arg(long, value_name = "NAME")]
    pub pull_secret: Vec<String>,
}

#[derive(Debug, Args)]
pub struct UpgradeDrivers {
    #[command(flatten)]
    pub access: Access,

    #[command(flatten)]
    pub waiting: Waiting,

    /// The version of the cloud provider to have
    #[arg(long, value_name = "VERSION", conflicts_with = "unpin")]
    pub cloud_provider: Option<String>,

    /// The version of the storage driver to have
    #[arg(long, value_name = "VERSION", conflicts_with = "unpin")]
    pub storage_provider: Option<String>,

    /// Let the newest versions that fit be chosen again
    #[arg(long)]
    pub unpin: bool,

    /// Bring the operator to the version of this program
    #[arg(long)]
    pub operator: bool,

    /// The operator's image; without it the one of this version
    #[arg(long, value_name = "IMAGE", requires = "operator")]
    pub image: Option<String>,
}

#[derive(Debug, Args)]
pub struct RemoveDrivers {
    #[command(flatten)]
    pub access: Access,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,

    /// Even while volumes are attached: pods that use them cannot be moved or ended cleanly
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct ImportVdo {
    #[command(flatten)]
    pub access: Access,

    /// Apply the objects, and copy the credentials
    #[arg(long)]
    pub apply: bool,
}

#[derive(Debug, Args)]
pub struct BundleDrivers {
    /// The registry of the site, with a path if need be
    #[arg(long, value_parser = registry, value_name = "REGISTRY")]
    pub registry: Option<String>,

    /// A Secret in the operator's namespace for pulling images; can be repeated
    #[arg(long, value_name = "NAME")]
    pub pull_secret: Vec<String>,

    /// Another matrix than the built-in one, signed by `drivers matrix sign`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "matrix_key")]
    pub matrix: Option<PathBuf>,

    /// A public key that the matrix may be signed with; can be repeated
    #[arg(long, value_name = "KEY", requires = "matrix")]
    pub matrix_key: Vec<PublicKey>,
}

#[derive(Debug, Args)]
pub struct PinMatrix {
    /// A matrix, in YAML or JSON, or `-` for standard input; without it the one built into this program
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// A registry that has copies of all images: they are looked up there
    #[arg(long, value_parser = registry, value_name = "REGISTRY")]
    pub registry: Option<String>,

    /// Authorities, in PEM, that registries are trusted by; without them those of the system
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca_file: Option<PathBuf>,

    /// Ask without TLS
    #[arg(long, conflicts_with = "ca_file")]
    pub plain_http: bool,

    /// Logins as podman and docker keep them; without it `REGISTRY_AUTH_FILE`, or where they keep them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub auth_file: Option<PathBuf>,
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

    /// Look up which images the tags of a matrix stand for, and print it with their digests
    ///
    /// Comments and order stay. Nobody can then put another image behind a tag. A matrix that is not the built-in one has to be
    /// signed; do it afterwards. Proxies are those of the environment.
    #[command(
        after_help = "Examples:\n  slipway drivers matrix pin > matrix.yaml\n  slipway drivers matrix pin matrix.yaml --registry mirror.example.com/vsphere --ca-file mirror.pem\n\nExit codes: 0 all digests are known, 1 other failure, 4 a registry did not tell."
    )]
    Pin(PinMatrix),

    /// Sign a matrix, so that an operator with the public key takes it
    ///
    /// The signature goes to the file beside it, with `.sig` at the end. A matrix that is not valid is not signed. Without a
    /// key file one is made, for its owner alone; the public key is printed.
    #[command(after_help = "Example:\n  slipway drivers matrix sign matrix.yaml --key matrix.key")]
    Sign {
        /// The matrix, in YAML or JSON
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,

        /// The private key
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        key: PathBuf,
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

/// A registry, with a path in it or without.
fn registry(text: &str) -> Result<String, String> {
    if text.contains("://") {
        return Err("leave out the scheme: mirror.example.com/vsphere".to_owned());
    }
    let text = text.trim_end_matches('/');
    let fine = |c: char| c.is_ascii_alphanumeric() || ".-_:[]/".contains(c);
    if text.is_empty() || text.starts_with('/') || !text.chars().all(fine) {
        return Err("write name and path, as in mirror.example.com:5000/vsphere".to_owned());
    }
    Ok(text.to_owned())
}

/// How a vCenter's certificate is verified.
#[derive(Debug, Args)]
pub struct Certificate {
    /// Authorities that the vCenter's certificate is verified by, in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["thumbprint", "insecure"])]
    pub ca_file: Option<PathBuf>,

    /// Fingerprint of the vCenter's certificate
    #[arg(long, value_name = "BYTES", conflicts_with = "insecure")]
    pub thumbprint: Option<String>,

    /// Do not verify the vCenter's certificate: whoever is on the way reads the password
    #[arg(long)]
    pub insecure: bool,
}
