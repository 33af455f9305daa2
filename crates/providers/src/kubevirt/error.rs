//! Why a step did not succeed, and whether it may yet.

use slipway_engine::{Failure, Reason, Severity};
use thiserror::Error;

use super::kinds::reason;
use crate::cluster::{AccessError, Cause, Retry};

/// A step that did not succeed.
#[derive(Debug, Error)]
pub enum KindError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("there is a {kind} `{name}` in the namespace that is not of this cluster")]
    NameTaken { kind: &'static str, name: String },
    #[error("`{0}` is not an infrastructure cluster of this cluster")]
    NotConfigured(String),
    /// The engine makes sure of it before a step is made.
    #[error("what the {0} is made from is not known")]
    NotDescribed(&'static str),
}

impl KindError {
    fn cause(&self) -> Option<Cause> {
        match self {
            KindError::Access(error) => Some(error.cause()),
            _ => None,
        }
    }
}

/// Whether there was no answer at all.
pub(super) fn is_silence(cause: &Cause) -> bool {
    matches!(cause, Cause::Unresolved | Cause::Refused | Cause::NoRoute | Cause::Broken | Cause::Timeout)
}

impl Failure for KindError {
    fn severity(&self) -> Severity {
        match self.cause() {
            Some(cause) if is_silence(&cause) => Severity::Unreachable,
            Some(cause) => match cause.retry() {
                Retry::Later(after) => Severity::Transient { after },
                Retry::Never => Severity::Permanent,
            },
            None => Severity::Permanent,
        }
    }

    fn reason(&self) -> Reason {
        match self {
            KindError::NameTaken { .. } => return reason::NAME_TAKEN,
            KindError::NotConfigured(_) => return Reason::new("NotConfigured"),
            KindError::NotDescribed(_) => return reason::NOT_DESCRIBED,
            KindError::Access(_) => {}
        }
        match self.cause() {
            Some(cause) if is_silence(&cause) => Reason::UNREACHABLE,
            Some(Cause::Untrusted(_)) => Reason::new("CertificateNotTrusted"),
            Some(Cause::Unauthorized) => Reason::new("LoginRefused"),
            Some(Cause::Forbidden) => Reason::new("NoPermission"),
            Some(Cause::Rejected) => Reason::new("Rejected"),
            Some(Cause::Absent) => Reason::new("ObjectMissing"),
            _ => Reason::new("CallFailed"),
        }
    }

    fn remedy(&self) -> Option<String> {
        let remedy = match (self, self.cause()) {
            (KindError::NameTaken { .. }, _) => "remove it or rename it, and run again",
            (_, Some(Cause::Unauthorized)) => {
                "the token or certificate of the kubeconfig is not accepted; it may have expired"
            }
            (_, Some(Cause::Forbidden)) => {
                "ask the administrator of the infrastructure cluster for the Role in deploy/kubevirt/role.yaml, or for more \
                 quota, as the message says"
            }
            _ => return None,
        };
        Some(remedy.to_owned())
    }
}
