//! One session per vCenter, however many controllers and objects need it.
//!
//! A login is tried once for all that wait for it. One that was refused is not tried again with the same password: vCenters
//! lock accounts after a few of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::digest;
use secrecy::{ExposeSecret, SecretString};
use slipway_config::install_config::vsphere::Tls;
use slipway_engine::{Endpoint, Reason};
use slipway_providers::text::chain;
use slipway_providers::vsphere::{self, Client, Error, FaultKind, Login};
use thiserror::Error as ThisError;
use tokio::task::JoinSet;
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

static NUMBERS: AtomicU64 = AtomicU64::new(0);

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
    /// Differs when anything of it does.
    fn fingerprint(&self) -> Fingerprint {
        let mut hash = digest::Context::new(&digest::SHA256);
        let trust = format!("{:?}", self.tls);
        for part in [&self.server, &trust, &self.user, self.password.expose_secret()] {
            hash.update(&part.len().to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.update(&self.port.to_le_bytes());
        hash.finish().as_ref().to_vec()
    }
}

type Fingerprint = Vec<u8>;

/// A session that works.
#[derive(Debug, Clone)]
pub struct Session {
    pub endpoint: Endpoint,
    pub client: Client,
    /// The vCenter's own id: another one at the same address is another world.
    pub instance: Arc<str>,
    /// Tells it from those before and after it.
    number: u64,
}

impl Session {
    pub fn is_same(&self, other: &Session) -> bool {
        self.number == other.number
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

type Slot = Arc<Shared<Session, NoSession>>;

/// The sessions of a process, by server. Clones are the same sessions.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    slots: Arc<Mutex<BTreeMap<String, (Fingerprint, Slot)>>>,
}

impl Sessions {
    /// The session of a vCenter. With another login than before the old session is ended.
    pub async fn open(&self, access: &Access) -> Result<Session, NoSession> {
        let (slot, replaced) = self.slot(access);
        if let Some(session) = replaced {
            // What still uses it is told that it has ended, and begins anew.
            tokio::spawn(async move { drop(session.client.logout().await) });
        }
        slot.get(open(access), |answer, failures| match answer {
            Ok(_) => None,
            Err(error) if error.is_refused => Some(REFUSED_PAUSE),
            Err(_) => Some(FIRST_PAUSE.saturating_mul(1 << failures.min(8)).min(LONGEST_PAUSE)),
        })
        .await
    }

    fn slot(&self, access: &Access) -> (Slot, Option<Session>) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let fingerprint = access.fingerprint();
        if let Some((known, slot)) = slots.get(&access.server)
            && *known == fingerprint
        {
            return (slot.clone(), None);
        }
        let slot = Slot::default();
        let replaced = slots.insert(access.server.clone(), (fingerprint, slot.clone()));
        (slot, replaced.and_then(|(_, slot)| slot.known()))
    }

    /// A call was refused because of the login: it expired, or was changed on the vCenter. Nothing is tried with it until it is
    /// another one.
    pub fn refuse(&self, session: &Session, message: &str) {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, slot)) = slots.get(session.endpoint.as_str()) else { return };
        if slot.known().is_some() {
            let (reason, message) = (Reason::new("LoginRefused"), message.to_owned());
            slot.fail(NoSession { reason, message, is_refused: true }, REFUSED_PAUSE);
        }
    }

    /// Ends all of them.
    pub async fn close(&self) {
        let slots = std::mem::take(&mut *self.slots.lock().unwrap_or_else(PoisonError::into_inner));
        let mut ends = JoinSet::new();
        for session in slots.into_values().filter_map(|(_, slot)| slot.known()) {
            // A vCenter that is gone ends the session itself, after a while.
            ends.spawn(async move { drop(session.client.logout().await) });
        }
        ends.join_all().await;
    }
}

async fn open(access: &Access) -> Result<Session, NoSession> {
    let mut endpoint = vsphere::Endpoint::new(&access.server, access.port, &access.tls);
    endpoint.timeout = CALL_TIMEOUT;
    let login = Login { user: access.user.clone(), password: access.password.clone() };
    let client = Client::new(endpoint, login).map_err(|error| NoSession::of(&error))?;
    let late = |_| NoSession {
        reason: Reason::UNREACHABLE,
        message: format!("no answer from `{}` within {} s", access.server, REACH_TIMEOUT.as_secs()),
        is_refused: false,
    };
    let content = timeout(REACH_TIMEOUT, client.content()).await.map_err(late)?;
    let instance = content.map_err(|error| NoSession::of(&error))?.about.instance_uuid.as_str().into();
    client.user().await.map_err(|error| NoSession::of(&error))?;
    tracing::info!(endpoint = access.server, user = access.user, "logged in");
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    Ok(Session { endpoint: access.server.as_str().into(), client, instance, number })
}
