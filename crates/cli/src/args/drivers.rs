//! `slipway drivers`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::time;
use slipway_assets::drivers::signature::PublicKey;

use super::access::Access;

#[derive(Debug, Subcommand)]
pub enum Drivers {
    /// Show the state of the operator, the drivers, the connections and the nodes
    ///
    /// Lists every failure, with what to do about it.
    #[command(
        after_long_help = "Examples:\n  slipway drivers status\n  slipway drivers status -o json | jq '.failures'"
    )]
    Status(Access),

    /// Install or update the operator, and wait until the drivers are healthy
    ///
    /// Applies the CRDs, the operator's RBAC and its Deployment. If a VDOConfig exists, it waits for the drivers and the
    /// nodes as well. Ctrl-C stops the waiting, not the installation.
    #[command(
        after_long_help = "Examples:\n  slipway drivers deploy\n  slipway drivers deploy --image mirror.example.com/slipway-operator:v0.1.0 \\\n    --pull-secret mirror\n  slipway drivers deploy --bundle drivers.json"
    )]
    Deploy(DeployDrivers),

    /// Add a vCenter, and choose the drivers
    ///
    /// Logs in to the vCenter, then creates the Secret, the VSphereConnection and, if there is none, the VDOConfig. On a
    /// terminal it asks for what the flags leave open, shows an untrusted certificate, and shows the objects before it
    /// applies them. The password comes from a prompt, a variable or a file, never from the command line. Run it once for
    /// each vCenter, or give a file with all objects.
    #[command(
        after_long_help = "Examples:\n  slipway drivers configure\n  slipway drivers configure --server vc1.example.com \\\n    --user csi@vsphere.local --ca-file vc1.pem\n  VC_PASSWORD=… slipway drivers configure --server vc2.example.com \\\n    --user csi@vsphere.local --password-env VC_PASSWORD --datacenter DC0 \\\n    --topology-category k8s-region --topology-category k8s-zone\n  slipway drivers configure --file drivers.yaml"
    )]
    Configure(ConfigureDrivers),

    /// Pin versions of the drivers, or upgrade or downgrade the operator
    ///
    /// A version that you name is pinned; `--unpin` chooses the newest compatible version again. `--operator` installs the
    /// operator of this slipway's version, newer or older.
    #[command(
        after_long_help = "Examples:\n  slipway drivers upgrade --storage-provider 3.7.0\n  slipway drivers upgrade --unpin\n  slipway drivers upgrade --operator"
    )]
    Upgrade(UpgradeDrivers),

    /// Remove the drivers and the operator
    ///
    /// Removes the operator first, the drivers next, and the operator's service account and RBAC last. Refused while volumes
    /// are attached. Connections, their Secrets, namespaces and CRDs stay.
    #[command(
        after_long_help = "Examples:\n  slipway drivers remove\n  slipway drivers remove --yes --force"
    )]
    Remove(RemoveDrivers),

    /// Create and verify vCenter users with least privileges
    #[command(
        subcommand,
        after_long_help = "Examples:\n  slipway drivers users create --server vc1.example.com --ca-file vc1.pem --plan\n  slipway drivers users verify --server vc1.example.com --ca-file vc1.pem"
    )]
    Users(Users),

    /// Convert the objects of VDO, the vSphere Kubernetes Drivers Operator
    ///
    /// Reads `vdo.vmware.com` objects from the cluster and prints the `slipway.dev` objects. `--apply` applies them and copies
    /// the credentials; the operator then adopts the drivers that VDO installed, in place.
    #[command(
        after_long_help = "Examples:\n  slipway drivers import-vdo\n  slipway drivers import-vdo --apply"
    )]
    ImportVdo(ImportVdo),

    /// Write one file for an air-gapped site
    ///
    /// Contains the operator's objects, the compatibility matrix, and the list of images to copy. After `drivers deploy
    /// --bundle` all images of the operator and the drivers come from the site's registry.
    #[command(
        after_long_help = "Examples:\n  slipway drivers bundle --registry mirror.example.com/vsphere > drivers.json\n  jq -r '.images[] | \"docker://\\(.from) docker://\\(.to)\"' drivers.json \\\n    | xargs -L1 skopeo copy --all\n  slipway drivers deploy --bundle drivers.json"
    )]
    Bundle(BundleDrivers),

    /// Show, validate, pin and sign compatibility matrices
    #[command(
        subcommand,
        after_long_help = "Examples:\n  slipway drivers matrix show\n  slipway drivers matrix validate matrix.yaml"
    )]
    Matrix(Matrix),
}

#[derive(Debug, Subcommand)]
pub enum Users {
    /// Create the drivers' users, roles and permissions in a vCenter
    ///
    /// Logs in once as an administrator of the vCenter; those credentials are not stored. Each driver gets its own user in
    /// the vCenter's SSO domain, with a generated password. The password is stored in a Secret in the cluster, together
    /// with a VSphereConnection through which the driver uses it.
    ///
    /// A user that exists gets a new password, and a cluster that used the old one can no longer log in: give each
    /// cluster on this vCenter its own `--prefix`.
    #[command(
        after_long_help = "Examples:\n  slipway drivers users create --server vc1.example.com --ca-file vc1.pem --plan\n  slipway drivers users create --server vc1.example.com --ca-file vc1.pem \\\n    --datacenter /DC0 --datastore /DC0/datastore/fast"
    )]
    Create(CreateUsers),

    /// Show missing and excess privileges of the drivers' users
    ///
    /// Changes nothing.
    #[command(
        after_long_help = "Example:\n  slipway drivers users verify --server vc1.example.com --ca-file vc1.pem"
    )]
    Verify(VCenterUsers),
}

#[derive(Debug, Args)]
pub struct CreateUsers {
    #[command(flatten)]
    pub access: Access,

    #[command(flatten)]
    pub users: VCenterUsers,

    /// Prefix of the VSphereConnections' names [default: from the server]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Only show what would be created
    #[arg(long)]
    pub plan: bool,

    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct VCenterUsers {
    /// Name or address of the vCenter
    #[arg(long, value_name = "NAME")]
    pub server: String,

    /// Port of the vCenter
    #[arg(long, value_name = "PORT", default_value_t = 443, hide_short_help = true)]
    pub port: u16,

    #[command(flatten)]
    pub certificate: Certificate,

    /// Administrator of the vCenter
    #[arg(long, value_name = "USER", default_value = "administrator@vsphere.local")]
    pub admin_user: String,

    /// Environment variable with the administrator's password
    #[arg(long, value_name = "VARIABLE", conflicts_with = "admin_password_file", hide_short_help = true)]
    pub admin_password_env: Option<String>,

    /// File with the administrator's password [default: you are asked]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub admin_password_file: Option<PathBuf>,

    /// Only for this driver; repeatable
    #[arg(long, value_enum)]
    pub driver: Vec<Driver>,

    /// A user for the operator, which creates and removes the VMs of Machines; drivers only with `--driver`
    #[arg(long)]
    pub machines: bool,

    /// SSO domain of the users, such as vsphere.local [default: asked of the vCenter]
    #[arg(long, value_name = "DOMAIN", hide_short_help = true)]
    pub domain: Option<String>,

    /// Prefix of user and role names; a different one for each cluster
    #[arg(long, value_name = "PREFIX", default_value = "slipway")]
    pub prefix: String,

    /// Inventory path of a datacenter; repeatable [default: all]
    #[arg(long, value_name = "PATH")]
    pub datacenter: Vec<String>,

    /// Inventory path of a datastore for volumes and VMs; repeatable [default: all]
    #[arg(long, value_name = "PATH")]
    pub datastore: Vec<String>,

    /// Inventory path of a folder with nodes' VMs; repeatable [default: all]
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub folder: Vec<String>,

    /// Inventory path of a vSAN cluster for file volumes; repeatable
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub file_cluster: Vec<String>,
}

/// How long to wait.
#[derive(Debug, Clone, Args)]
pub struct Waiting {
    /// Do not wait
    #[arg(long)]
    pub no_wait: bool,

    /// Longest time to wait
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = time::positive)]
    pub timeout: Duration,
}

#[derive(Debug, Args)]
pub struct DeployDrivers {
    #[command(flatten)]
    pub access: Access,

    #[command(flatten)]
    pub waiting: Waiting,

    /// Image of the operator [default: the one of this version]
    #[arg(long, value_name = "IMAGE", conflicts_with = "bundle")]
    pub image: Option<String>,

    /// Secret in the operator's namespace for pulling its image; repeatable
    #[arg(long, value_name = "NAME", conflicts_with = "bundle")]
    pub pull_secret: Vec<String>,

    /// Compatibility matrix of the operator: `configmap:NAME` or an https URL
    #[arg(long, value_name = "PLACE", requires = "matrix_key", conflicts_with = "bundle")]
    pub matrix: Option<String>,

    /// Public key that verifies the matrix; repeatable
    #[arg(long, value_name = "KEY", conflicts_with = "bundle")]
    pub matrix_key: Vec<String>,

    /// CA bundle (PEM) for the matrix's server [default: that of the operator's image]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "matrix", conflicts_with = "bundle")]
    pub matrix_ca_file: Option<PathBuf>,

    /// Proxy for fetching the matrix; a URL without credentials
    #[arg(long, value_name = "URL", requires = "matrix", conflicts_with = "bundle")]
    pub matrix_proxy: Option<String>,

    /// Allow connections with `tls.insecure`: a man in the middle can read their passwords
    #[arg(long, conflicts_with = "bundle")]
    pub allow_insecure: bool,

    /// Bundle of an air-gapped site, from `drivers bundle`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub bundle: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ConfigureDrivers {
    #[command(flatten)]
    pub access: Access,

    /// Apply the objects in this file, or `-` for stdin
    ///
    /// VSphereConnections, their Secrets and ConfigMaps, and the VDOConfig.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = [
        "server", "name", "port", "user", "password_env", "password_file", "skip_login", "datacenter", "ca_file", "thumbprint",
        "insecure",
        "without_cloud_provider", "without_storage_provider", "topology_category", "update_policy", "registry", "pull_secret",
    ])]
    pub file: Option<PathBuf>,

    /// Name or address of the vCenter
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,

    /// Name of the connection [default: from the server]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub name: Option<String>,

    /// Port of the vCenter
    #[arg(long, value_name = "PORT", default_value_t = 443, hide_short_help = true)]
    pub port: u16,

    /// User, as name@domain
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,

    /// Environment variable with the password
    #[arg(long, value_name = "VARIABLE", conflicts_with = "password_file")]
    pub password_env: Option<String>,

    /// File with the password
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub password_file: Option<PathBuf>,

    /// Do not log in first, for machines that cannot reach the vCenter
    #[arg(long, alias = "untried", requires = "server", hide_short_help = true)]
    pub skip_login: bool,

    /// Datacenter with nodes or volumes; repeatable [default: all that the user sees]
    #[arg(long, value_name = "NAME")]
    pub datacenter: Vec<String>,

    #[command(flatten)]
    pub certificate: Certificate,

    /// Do not install the cloud provider
    #[arg(long, hide_short_help = true)]
    pub without_cloud_provider: bool,

    /// Do not install the storage driver
    #[arg(long, hide_short_help = true)]
    pub without_storage_provider: bool,

    /// Tag category for topology, widest first; required with several vCenters
    ///
    /// Repeatable. The first two are the cloud provider's region and zone.
    #[arg(long, value_name = "NAME")]
    pub topology_category: Vec<String>,

    /// When to upgrade the drivers
    #[arg(long, value_enum, hide_short_help = true)]
    pub update_policy: Option<Policy>,

    /// Registry to use instead of the one in every image name
    #[arg(long, value_parser = registry, value_name = "REGISTRY", hide_short_help = true)]
    pub registry: Option<String>,

    /// Secret in the operator's namespace for pulling the drivers' images; repeatable
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub pull_secret: Vec<String>,
}

#[derive(Debug, Args)]
pub struct UpgradeDrivers {
    #[command(flatten)]
    pub access: Access,

    #[command(flatten)]
    pub waiting: Waiting,

    /// Pin the cloud provider to this version
    #[arg(long, value_name = "VERSION", conflicts_with = "unpin")]
    pub cloud_provider: Option<String>,

    /// Pin the storage driver to this version
    #[arg(long, value_name = "VERSION", conflicts_with = "unpin")]
    pub storage_provider: Option<String>,

    /// Use the newest compatible versions again
    #[arg(long)]
    pub unpin: bool,

    /// Install the operator of this slipway's version
    #[arg(long)]
    pub operator: bool,

    /// Image of the operator [default: the one of this version]
    #[arg(long, value_name = "IMAGE", requires = "operator")]
    pub image: Option<String>,
}

#[derive(Debug, Args)]
pub struct RemoveDrivers {
    #[command(flatten)]
    pub access: Access,

    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,

    /// Remove the drivers although volumes are attached
    ///
    /// Pods that use the volumes can then not be moved or terminated cleanly.
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
    /// Registry of the site, with an optional path
    #[arg(long, value_parser = registry, value_name = "REGISTRY")]
    pub registry: Option<String>,

    /// Secret in the operator's namespace for pulling images; repeatable
    #[arg(long, value_name = "NAME")]
    pub pull_secret: Vec<String>,

    /// Matrix to use instead of the built-in one, signed by `drivers matrix sign`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "matrix_key")]
    pub matrix: Option<PathBuf>,

    /// Public key that verifies the matrix; repeatable
    #[arg(long, value_name = "KEY", requires = "matrix")]
    pub matrix_key: Vec<PublicKey>,
}

#[derive(Debug, Args)]
pub struct PinMatrix {
    /// Matrix in YAML or JSON, or `-` for stdin [default: the built-in one]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// Mirror registry to look the images up in
    #[arg(long, value_parser = registry, value_name = "REGISTRY")]
    pub registry: Option<String>,

    /// CA bundle (PEM) for the registries [default: that of the system]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca_file: Option<PathBuf>,

    /// Use HTTP instead of HTTPS
    #[arg(long, conflicts_with = "ca_file")]
    pub plain_http: bool,

    /// Registry credentials [default: $REGISTRY_AUTH_FILE, or those of podman or docker]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub auth_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Matrix {
    /// Show the matrix, or the versions it chooses for a cluster
    ///
    /// Without `--file` it shows the built-in matrix. `--explain` lists every version with the reason why it is chosen or
    /// not.
    #[command(
        after_long_help = "Examples:\n  slipway drivers matrix show\n  slipway drivers matrix show --explain --kubernetes 1.34.4 \\\n    --vcenter 8.0.3 --vcenter 7.0.3"
    )]
    Show(ShowMatrix),

    /// Validate a matrix: all errors at once, each with its line and a fix
    #[command(after_long_help = "Example:\n  slipway drivers matrix validate matrix.yaml")]
    Validate {
        /// Matrix in YAML or JSON, or `-` for stdin
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },

    /// Print the matrix with image digests behind the tags
    ///
    /// Asks the registries for the digest of every image, so that a changed tag has no effect. Comments and order stay. A
    /// matrix other than the built-in one must be signed: do that afterwards. The proxy variables are used.
    #[command(
        after_long_help = "Examples:\n  slipway drivers matrix pin > matrix.yaml\n  slipway drivers matrix pin matrix.yaml \\\n    --registry mirror.example.com/vsphere --ca-file mirror.pem"
    )]
    Pin(PinMatrix),

    /// Sign a matrix for operators that have the public key
    ///
    /// Writes the signature to FILE.sig and prints the public key. An invalid matrix is not signed. If the key file does not
    /// exist, a key is created (mode 0600).
    #[command(after_long_help = "Example:\n  slipway drivers matrix sign matrix.yaml --key matrix.key")]
    Sign {
        /// Matrix in YAML or JSON
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,

        /// Private key
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        key: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct ShowMatrix {
    /// Matrix in YAML or JSON, or `-` for stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// Only this driver
    #[arg(long, value_enum)]
    pub driver: Option<Driver>,

    /// Explain which version is chosen, and why the others are not
    #[arg(long, requires = "kubernetes")]
    pub explain: bool,

    /// Version of Kubernetes
    #[arg(long, value_name = "VERSION", requires = "explain")]
    pub kubernetes: Option<String>,

    /// API version of a vCenter; repeat it for each vCenter
    #[arg(long = "vcenter", value_name = "VERSION", requires = "explain")]
    pub vcenters: Vec<String>,

    /// When to upgrade the drivers
    #[arg(long, value_enum, default_value_t = Policy::Latest)]
    pub policy: Policy,

    /// Version that is installed
    #[arg(long, value_name = "VERSION", requires_all = ["explain", "driver"])]
    pub deployed: Option<String>,

    /// Version that is pinned
    #[arg(long, value_name = "VERSION", requires_all = ["explain", "driver"])]
    pub pinned: Option<String>,
}

/// A driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Driver {
    /// Labels nodes and gives them their addresses
    CloudProvider,
    /// Creates and attaches volumes
    StorageProvider,
}

/// When drivers are upgraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// Always use the newest compatible version
    Latest,
    /// Use newer patches of the installed minor version while it is compatible
    Lts,
    /// Never upgrade
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
    /// CA bundle (PEM) that verifies the vCenter's certificate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["thumbprint", "insecure"])]
    pub ca_file: Option<PathBuf>,

    /// Thumbprint of the vCenter's certificate, SHA-256 or SHA-1
    #[arg(long, value_name = "HEX", conflicts_with = "insecure")]
    pub thumbprint: Option<String>,

    /// Do not verify the certificate: a man in the middle can read the password
    #[arg(long)]
    pub insecure: bool,
}
