//! Why a step did not succeed, and whether it may yet.

use std::time::Duration;

use slipway_engine::{Failure, Reason, Severity};
use thiserror::Error;

use super::reason;
use crate::ovirt::error::{Cause, Error};

/// A step that did not succeed.
#[derive(Debug, Error)]
pub enum KindError {
    #[error(transparent)]
    Call(#[from] Error),
    #[error("there is a {kind} `{name}` on the engine that is not of this cluster")]
    NameTaken { kind: &'static str, name: String },
    #[error("`{0}` is not an engine of this cluster")]
    NotConfigured(String),
    /// The slipway engine makes sure of it before a step is made.
    #[error("what the {0} is made from is not known")]
    NotDescribed(&'static str),
}

impl Failure for KindError {
    fn severity(&self) -> Severity {
        let KindError::Call(error) = self else { return Severity::Permanent };
        match &error.source {
            _ if error.is_silence() => Severity::Unreachable,
            // Locked, busy with something related, no host at the moment; and an engine that failed once.
            Cause::SessionLost | Cause::Fault { status: 409 | 500, .. } => {
                Severity::Transient { after: None }
            }
            _ => Severity::Permanent,
        }
    }

    fn reason(&self) -> Reason {
        let error = match self {
            KindError::NameTaken { .. } => return reason::NAME_TAKEN,
            KindError::NotConfigured(_) => return Reason::new("NotConfigured"),
            KindError::NotDescribed(_) => return reason::NOT_DESCRIBED,
            KindError::Call(error) => error,
        };
        match &error.source {
            _ if error.is_silence() => Reason::UNREACHABLE,
            Cause::Untrusted(_) => Reason::new("CertificateNotTrusted"),
            Cause::LoginRefused { .. } | Cause::SessionLost => Reason::new("LoginRefused"),
            Cause::WebPage { .. } => Reason::new("NotTheApi"),
            Cause::NotFound => Reason::new("ObjectMissing"),
            Cause::Fault { status: 403, .. } => Reason::new("NoPermission"),
            Cause::Fault { status: 409, .. } => Reason::new("Conflict"),
            Cause::Fault { status: 400, .. } => Reason::new("Rejected"),
            _ => Reason::new("CallFailed"),
        }
    }

    fn silence(&self) -> Duration {
        match self {
            KindError::Call(Error { source: Cause::Timeout(limit), .. }) => *limit,
            _ => Duration::ZERO,
        }
    }

    fn remedy(&self) -> Option<String> {
        match self {
            KindError::NameTaken { .. } => Some("remove it or rename it, and run again".to_owned()),
            KindError::Call(error) => error.hint(),
            KindError::NotConfigured(_) | KindError::NotDescribed(_) => None,
        }
    }
}
