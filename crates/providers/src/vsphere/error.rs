//! What can go wrong on the way to a vCenter and back.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::fault::{Fault, FaultKind};
use super::soap::Malformed;
use super::trust_error::TrustError;

/// A call that failed, and on which vCenter.
#[derive(Debug, Error)]
#[error("{method} on {server}")]
pub struct Error {
    pub server: Arc<str>,
    pub method: Box<str>,
    pub source: Cause,
}

/// Why a call failed.
#[derive(Debug, Error)]
pub enum Cause {
    #[error("the server cannot be reached")]
    Connect(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("its certificate is not trusted")]
    Untrusted(#[source] TrustError),
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("the connection broke before the answer was complete")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the answer has HTTP status {status}")]
    Status { status: u16, retry_after: Option<Duration> },
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error(transparent)]
    Fault(Box<Fault>),
    #[error("`{object}` belongs to another vCenter")]
    Stranger { object: String },
    /// Nobody knows how the task ended: its effects must be looked at.
    #[error("the vCenter has forgotten the task {task}, look at what it did")]
    Forgotten { task: String },
    /// The task may go on; the vCenter could not be asked about it.
    #[error("its end is unknown")]
    Unheard(#[source] Arc<Error>),
    #[error("the session was closed, by this program or the vCenter, while the call ran")]
    LoggedOut,
    #[error("another vCenter answers than before: its id was {was} and is {is}")]
    AnotherVCenter { was: String, is: String },
    #[error("{0}")]
    Setup(String),
}

/// What to do about a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The same call may work after a pause; the server may have named one.
    Later(Option<Duration>),
    /// Log in and call again.
    LogIn,
    /// Nothing will change by itself.
    Never,
}

impl Error {
    pub fn fault(&self) -> Option<&Fault> {
        match &self.source {
            Cause::Fault(fault) => Some(fault),
            _ => None,
        }
    }

    /// Whether the object of the call does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self.fault().map(|fault| &fault.kind), Some(FaultKind::NotFound { .. }))
    }

    pub fn retry(&self) -> Retry {
        match &self.source {
            Cause::Fault(fault) if fault.kind == FaultKind::NotAuthenticated => Retry::LogIn,
            Cause::Fault(fault) if fault.is_transient() => Retry::Later(None),
            Cause::Connect(_) | Cause::Timeout(_) | Cause::Broken(_) => Retry::Later(None),
            Cause::Unheard(error) => error.retry(),
            Cause::Status { status: 401, .. } => Retry::LogIn,
            Cause::Status { status: 408 | 429 | 500..=599, retry_after } => Retry::Later(*retry_after),
            _ => Retry::Never,
        }
    }

    /// Whether the server has, or may have, got the call, and no answer came back.
    pub(super) fn answer_is_lost(&self) -> bool {
        matches!(self.source, Cause::Timeout(_) | Cause::Broken(_))
    }

    /// How long the server has said nothing, as far as this call knows.
    pub fn silence(&self) -> Duration {
        match &self.source {
            Cause::Timeout(limit) => *limit,
            Cause::Unheard(error) => error.silence(),
            _ => Duration::ZERO,
        }
    }

    /// Whether the server may have acted although the call failed.
    pub fn may_have_acted(&self) -> bool {
        matches!(
            self.source,
            Cause::Timeout(_)
                | Cause::Broken(_)
                | Cause::Status { .. }
                | Cause::TooLarge(_)
                | Cause::Malformed(_)
                | Cause::Forgotten { .. }
                | Cause::Unheard(_)
                | Cause::LoggedOut
        )
    }

    /// What somebody can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match &self.source {
            Cause::Untrusted(reason) => Some(reason.hint()),
            Cause::Connect(_) => Some("check the name, the port, DNS, firewalls and `noProxy`"),
            Cause::Timeout(_) => Some("the server is busy or a firewall drops packets; try again later"),
            Cause::Unheard(error) => error.hint(),
            Cause::AnotherVCenter { .. } => {
                Some("check where the name of the vCenter leads to; then run the same command again")
            }
            Cause::Fault(fault) => match fault.kind {
                FaultKind::InvalidLogin => {
                    Some("check user and password, and that the account is not locked")
                }
                FaultKind::NoPermission { .. } => Some("give the user a role with this privilege"),
                _ => None,
            },
            _ => None,
        }
    }
}
