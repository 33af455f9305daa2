//! One session per vCenter and login, however many controllers and objects need it.
//!
//! A login is tried once for all that wait for it. One that was refused is not tried again with the same password: vCenters
//! lock accounts after a few of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use secrecy::SecretString;
use slipway_assets::drivers::Connection;
use slipway_config::install_config::vsphere::Tls;
use slipway_engine::{Endpoint, Reason};
use slipway_providers::text::chain;
use slipway_providers::vsphere::pool::{Key, Lease, Pool};
use slipway_providers::vsphere::{self, Client, Error, FaultKind, Login};
use thiserror::Error as ThisError;
use tokio::time::timeout;

use super::shared::Shared;

/// How long a vCenter may take to say who it is.
const REACH_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest a call may take.
const CALL_TIMEOUT: Duration = Duration::from_mins(1);
/// After a first failure, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// After a login was refused. A change of the Secret is noticed at once.
const REFUSED_PAUSE: Duration = Duration::from_mins(30);

/// A vCenter, how to reach it, and as whom.
#[derive(Debug, Clone)]
pub struct Access {
    pub server: String,
    pub port: u16,
    pub tls: Tls,
    pub user: String,
    pub password: SecretString,
}

impl Access {
    /// As a VSphereConnection says.
    pub fn of(Connection { server, port, tls, user, password, .. }: &Connection) -> Self {
        let password = password.expose().into();
        Access { server: server.clone(), port: *port, tls: tls.clone(), user: user.clone(), password }
    }

    /// A client of it, which others may have too. Nothing is sent yet.
    pub fn lease(&self, pool: &Pool) -> Result<Lease, Error> {
        let mut endpoint = vsphere::Endpoint::new(&self.server, self.port, &self.tls);
        endpoint.timeout = CALL_TIMEOUT;
        pool.lease(endpoint, Login { user: self.user.clone(), password: self.password.clone() })
    }
}

/// A session that works.
#[derive(Debug, Clone)]
pub struct Session {
    pub endpoint: Endpoint,
    pub client: Client,
    /// The vCenter's own id: another one at the same address is another world.
    pub instance: Arc<str>,
    /// As long as there is one, it is not ended.
    lease: Lease,
}

impl Session {
    pub fn is_same(&self, other: &Session) -> bool {
        self.lease.is_same(&other.lease)
    }
}

/// Why there is no session.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("{message}")]
pub struct NoSession {
    pub reason: Reason,
    pub message: String,
    /// It will be refused again until the login is another one.
    pub is_refused: bool,
}

impl NoSession {
    fn of(error: &Error) -> Self {
        let is_refused = is_refusal(error);
        let reason = if is_refused { Reason::new("LoginRefused") } else { Reason::UNREACHABLE };
        NoSession { reason, message: chain(error), is_refused }
    }
}

/// Whether a vCenter does not take the login.
pub fn is_refusal(error: &Error) -> bool {
    matches!(error.fault().map(|fault| &fault.kind), Some(FaultKind::InvalidLogin))
}

/// The vCenter's own id, once a login has worked.
type Slot = Arc<Shared<Arc<str>, NoSession>>;

/// The sessions of a process. Clones are the same sessions.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    pool: Pool,
    slots: Arc<Mutex<BTreeMap<Key, Slot>>>,
}

impl Sessions {
    /// The session of a vCenter. With another login than before it is another one.
    pub async fn open(&self, access: &Access) -> Result<Session, NoSession> {
        let lease = access.lease(&self.pool).map_err(|error| NoSession::of(&error))?;
        let stands = |answer: &Result<Arc<str>, NoSession>, failures: u32| match answer {
            Ok(_) => None,
            Err(error) if error.is_refused => Some(REFUSED_PAUSE),
            Err(_) => Some(FIRST_PAUSE.saturating_mul(1 << failures.min(8)).min(LONGEST_PAUSE)),
        };
        let instance = self.slot(lease.key()).get(log_in(access, lease.client()), stands).await?;
        let (client, endpoint) = (lease.client().clone(), access.server.as_str().into());
        Ok(Session { endpoint, client, instance, lease })
    }

    /// The clients of these sessions, for controllers that look after failures themselves.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    fn slot(&self, key: &Key) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        // Of an account one password is good.
        slots.retain(|known, _| known == key || !known.is_same_account(key));
        slots.entry(key.clone()).or_default().clone()
    }

    /// A call was refused because of the login: it expired, or was changed on the vCenter. Nothing is tried with it until it is
    /// another one.
    pub fn refuse(&self, session: &Session, message: &str) {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(slot) = slots.get(session.lease.key()) else { return };
        if slot.known().is_some() {
            let (reason, message) = (Reason::new("LoginRefused"), message.to_owned());
            slot.fail(NoSession { reason, message, is_refused: true }, REFUSED_PAUSE);
        }
    }

    /// Ends all of them.
    pub async fn close(&self) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.pool.close().await;
    }
}

async fn log_in(access: &Access, client: &Client) -> Result<Arc<str>, NoSession> {
    let late = |_| NoSession {
        reason: Reason::UNREACHABLE,
        message: format!("no answer from `{}` within {} s", access.server, REACH_TIMEOUT.as_secs()),
        is_refused: false,
    };
    let content = timeout(REACH_TIMEOUT, client.content()).await.map_err(late)?;
    let instance = content.map_err(|error| NoSession::of(&error))?.about.instance_uuid.as_str().into();
    client.user().await.map_err(|error| NoSession::of(&error))?;
    tracing::info!(endpoint = access.server, user = access.user, "logged in");
    Ok(instance)
}
