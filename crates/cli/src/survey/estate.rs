//! What is asked of a vCenter while its questions are answered.

pub(crate) mod certificate;
mod hush;
mod live;
mod read;

use secrecy::SecretString;
use slipway_config::install_config::vsphere::Tls;

pub(crate) use live::Live;
pub(crate) use slipway_providers::vsphere::certificate::Certificate;

/// Where a vCenter is, and which certificate it has if the system's trust is not enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) server: String,
    pub(crate) port: Option<u16>,
    pub(crate) thumbprint: Option<String>,
    /// How a flag wants its certificate to be verified, where there is no thumbprint.
    pub(crate) tls: Option<Tls>,
}

impl Target {
    /// As it is written in messages.
    pub(crate) fn label(&self) -> String {
        match self.port {
            Some(port) if self.server.contains(':') => format!("[{}]:{port}", self.server),
            Some(port) => format!("{}:{port}", self.server),
            None => self.server.clone(),
        }
    }

    /// How its certificate is verified.
    pub(crate) fn trust(&self) -> Tls {
        match &self.thumbprint {
            // One that is none matches nothing.
            Some(text) => Tls::by_thumbprint(text).unwrap_or(Tls::Thumbprint(Vec::new())),
            None => self.tls.clone().unwrap_or(Tls::System),
        }
    }
}

/// What came of the first contact. Nothing secret has been sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// Product and version.
    Trusted(String),
    Untrusted {
        reason: String,
        certificate: Box<Certificate>,
    },
}

/// Why a vCenter gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// User or password are wrong, in the vCenter's words.
    Login(String),
    Other {
        message: String,
        hint: Option<String>,
    },
    /// Ctrl-C while waiting.
    Interrupted,
}

/// Asks vCenters, or plays them in a test. Every call ends within a deadline.
pub(crate) trait Estate {
    fn greet(&mut self, target: &Target) -> Result<Greeting, Failure>;

    /// Logs in, reads everything the lists are made of, and logs out.
    fn read(&mut self, target: &Target, user: &str, password: &SecretString) -> Result<Inventory, Failure>;
}

/// What a cluster can be put on, as far as the user may see it. All lists are sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Inventory {
    pub(crate) datacenters: Vec<Datacenter>,
}

/// A datacenter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Datacenter {
    /// Its path without the leading slash, which is its name unless it is in a folder.
    pub(crate) name: String,
    /// The region its tag names.
    pub(crate) region: Option<String>,
    pub(crate) clusters: Vec<Cluster>,
}

/// A compute cluster, and what its hosts reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cluster {
    pub(crate) path: String,
    /// The zone its tag names.
    pub(crate) zone: Option<String>,
    pub(crate) datastores: Vec<Datastore>,
    /// By name, or by path where two have the same name.
    pub(crate) networks: Vec<String>,
}

/// A datastore.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Datastore {
    pub(crate) path: String,
    /// Free and all bytes, where the vCenter says so.
    pub(crate) space: Option<(u64, u64)>,
}

impl Inventory {
    pub(crate) fn datacenter(&self, name: &str) -> Option<&Datacenter> {
        self.datacenters.iter().find(|datacenter| datacenter.name == name)
    }

    /// All compute clusters by path.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.datacenters.iter().flat_map(|datacenter| &datacenter.clusters)
    }

    pub(crate) fn cluster(&self, path: &str) -> Option<&Cluster> {
        self.clusters().find(|cluster| cluster.path == path)
    }
}
