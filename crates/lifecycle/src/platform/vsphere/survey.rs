//! What the survey of `slipway create install-config` asks vCenters: first contact, then the lists that answers are chosen from.

mod lists;

use std::time::Duration;

use secrecy::SecretString;
use slipway_config::install_config::vsphere::Tls;
use slipway_providers::vsphere::error::{Cause, Error};
use slipway_providers::vsphere::{Client, Endpoint, FaultKind, Login, certificate};
use tokio::time::timeout;

pub use self::lists::{Cluster, Datacenter, Datastore, Lists};
pub use slipway_providers::vsphere::certificate::{Certificate, Validity};

/// One call.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);
/// A first contact, with all attempts.
const CONTACT_TIMEOUT: Duration = Duration::from_secs(45);
/// Reading all lists.
const READ_TIMEOUT: Duration = Duration::from_mins(3);
const LOGOUT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where a vCenter is, and which certificate it has if the system's trust is not enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub server: String,
    pub port: Option<u16>,
    pub thumbprint: Option<String>,
    /// How a flag wants its certificate to be verified, where there is no thumbprint.
    pub tls: Option<Tls>,
}

impl Target {
    /// As it is written in messages.
    pub fn label(&self) -> String {
        match self.port {
            Some(port) if self.server.contains(':') => format!("[{}]:{port}", self.server),
            Some(port) => format!("{}:{port}", self.server),
            None => self.server.clone(),
        }
    }

    /// How its certificate is verified.
    pub fn trust(&self) -> Tls {
        match &self.thumbprint {
            // One that is none matches nothing.
            Some(text) => Tls::by_thumbprint(text).unwrap_or(Tls::Thumbprint(Vec::new())),
            None => self.tls.clone().unwrap_or(Tls::System),
        }
    }

    fn endpoint(&self) -> Endpoint {
        let endpoint = Endpoint::new(&self.server, self.port.unwrap_or(443), &self.trust());
        Endpoint { timeout: CALL_TIMEOUT, ..endpoint }
    }

    fn client(&self, user: &str, password: &SecretString) -> Result<Client, Error> {
        let login = Login { user: user.to_owned(), password: password.clone() };
        Client::new(self.endpoint(), login)
    }
}

/// What came of the first contact. Nothing secret has been sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContactResult {
    /// Product and version.
    Trusted(String),
    Untrusted {
        reason: String,
        certificate: Box<Certificate>,
    },
}

/// Why a vCenter gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// User or password are wrong, in the vCenter's words.
    Login(String),
    Other {
        message: String,
        hint: Option<String>,
    },
}

/// Contacts a vCenter without logging in.
pub async fn contact(target: &Target) -> Result<ContactResult, Failure> {
    let contact = async {
        let content = async { target.client("", &SecretString::default())?.content().await.cloned() };
        let error = match content.await {
            Ok(content) => return Ok(ContactResult::Trusted(content.about.full_name)),
            Err(error) => error,
        };
        let reason = match &error.source {
            Cause::Untrusted(reason) => reason.to_string(),
            // A small container image, for instance.
            Cause::Setup(_) if target.thumbprint.is_none() && target.tls.is_none() => {
                "this system trusts no authority".to_owned()
            }
            _ => return Err(failure(&error)),
        };
        let certificate = certificate::fetch(&target.endpoint(), CALL_TIMEOUT).await;
        let certificate = certificate.map_err(|message| Failure::Other { message, hint: None })?;
        Ok(ContactResult::Untrusted { reason, certificate: Box::new(certificate) })
    };
    within(CONTACT_TIMEOUT, contact).await
}

/// A user of a vCenter. Nothing is sent before the lists are read.
#[derive(Debug)]
pub struct Session {
    client: Client,
}

impl Session {
    pub fn new(target: &Target, user: &str, password: &SecretString) -> Result<Self, Failure> {
        let client = target.client(user, password).map_err(|error| failure(&error))?;
        Ok(Session { client })
    }

    /// Logs in and reads everything that answers are chosen from.
    pub async fn read(&self) -> Result<Lists, Failure> {
        let read = async { lists::read(&self.client).await.map_err(|error| failure(&error)) };
        within(READ_TIMEOUT, read).await
    }

    /// A session that cannot be ended now ends by itself.
    pub async fn log_out(&self) {
        let _ = timeout(LOGOUT_TIMEOUT, self.client.logout()).await;
    }
}

async fn within<T>(limit: Duration, answer: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    timeout(limit, answer).await.unwrap_or_else(|_| {
        Err(Failure::Other {
            message: format!("no answer within {} seconds", limit.as_secs()),
            hint: Some("the server is busy or a firewall drops packets; try again later".to_owned()),
        })
    })
}

fn failure(error: &Error) -> Failure {
    if let Some(fault) = error.fault()
        && fault.kind == FaultKind::InvalidLogin
    {
        return Failure::Login(fault.to_string());
    }
    let mut message = error.source.to_string();
    let mut cause = std::error::Error::source(&error.source);
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !message.contains(&words) {
            message = format!("{message}: {words}");
        }
        cause = inner.source();
    }
    Failure::Other { message, hint: error.hint().map(str::to_owned) }
}
