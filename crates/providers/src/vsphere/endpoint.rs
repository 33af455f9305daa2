//! Where a vCenter is, who logs in, and how its certificate is verified.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use slipway_config::install_config::vsphere::Tls;

use crate::connector::{Proxy, Trust};

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

/// Who logs in.
#[derive(Debug, Clone)]
pub struct Login {
    pub user: String,
    pub password: SecretString,
}
