//! HTTP clients of endpoints: which proxy leads there, and how the certificate is verified.

mod tls;

use std::fmt;
use std::time::Duration;

use slipway_config::install_config::vsphere::Tls;

pub(crate) use self::tls::judged_by;

/// A server that is there takes a connection within this time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

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

/// An HTTP client that trusts in its own way.
pub(crate) fn http_client(
    trust: &Trust,
    proxy: &Proxy,
    timeout: Duration,
) -> Result<reqwest::Client, String> {
    let mut builder = reqwest::Client::builder()
        .connect_timeout(timeout.min(CONNECT_TIMEOUT))
        .redirect(reqwest::redirect::Policy::none())
        .https_only(true)
        .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")));
    if let Some(config) = tls::config(trust)? {
        builder = builder.tls_backend_preconfigured(config);
    }
    proxied(builder, proxy)?.build().map_err(|error| error.to_string())
}

/// Goes the way the proxy leads.
pub(crate) fn proxied(
    builder: reqwest::ClientBuilder,
    proxy: &Proxy,
) -> Result<reqwest::ClientBuilder, String> {
    Ok(match proxy {
        Proxy::FromEnvironment => builder,
        Proxy::None => builder.no_proxy(),
        Proxy::Url(url) => {
            // The message of a proxy that is no URL would hold it, with its password.
            let proxy = reqwest::Proxy::https(url).map_err(|_| "the proxy is not a URL".to_owned())?;
            builder.proxy(proxy)
        }
    })
}
