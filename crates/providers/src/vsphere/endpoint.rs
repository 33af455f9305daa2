//! Where a vCenter is, who logs in, and how its certificate is verified.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use slipway_config::install_config::vsphere::Tls;

/// A vCenter.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Name or address, as the configuration has it.
    pub server: Arc<str>,
    pub port: u16,
    pub trust: Trust,
    pub proxy: Proxy,
    /// The longest a call may take, unless it waits on purpose.
    pub timeout: Duration,
}

impl Endpoint {
    pub fn new(server: &str, port: u16, tls: &Tls) -> Self {
        Endpoint {
            server: server.into(),
            port,
            trust: Trust::of(tls),
            proxy: Proxy::FromEnvironment,
            timeout: Duration::from_mins(1),
        }
    }

    /// `https://server:port`, with brackets around an IPv6 address.
    pub(crate) fn url(&self) -> String {
        let host =
            if self.server.contains(':') { format!("[{}]", self.server) } else { self.server.to_string() };
        match self.port {
            443 => format!("https://{host}"),
            port => format!("https://{host}:{port}"),
        }
    }
}

/// How a certificate is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// By the authorities the system trusts.
    System,
    /// By these authorities, in PEM.
    Authorities(String),
    /// By its fingerprint, SHA-1 (20 bytes) or SHA-256 (32 bytes), whatever else it says.
    Fingerprint(Vec<u8>),
    /// Not at all.
    Anything,
}

impl Trust {
    pub fn of(tls: &Tls) -> Self {
        match tls {
            Tls::System => Trust::System,
            Tls::CaBundle(pem) => Trust::Authorities(pem.clone()),
            Tls::Thumbprint(bytes) => Trust::Fingerprint(bytes.clone()),
            Tls::Insecure => Trust::Anything,
        }
    }
}

/// Which proxy leads to the server.
#[derive(Clone, PartialEq, Eq)]
pub enum Proxy {
    /// What `HTTPS_PROXY`, `NO_PROXY` and the like say.
    FromEnvironment,
    None,
    /// May hold user and password.
    Url(String),
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Proxy::FromEnvironment => "FromEnvironment",
            Proxy::None => "None",
            Proxy::Url(_) => "Url",
        })
    }
}

/// Who logs in.
#[derive(Debug, Clone)]
pub struct Login {
    pub user: String,
    pub password: SecretString,
}
