//! Why a step did not succeed, and whether it may yet.

use std::time::Duration;

use slipway_engine::batch::BatchError;
use slipway_engine::{Failure, Reason, Severity};
use thiserror::Error;

use super::reason;
use crate::vsphere::error::{Cause, Error, Retry};
use crate::vsphere::fault::FaultKind;
use crate::vsphere::import::ImportError;
use crate::vsphere::inventory::LookupError;
use crate::vsphere::machines::DeviceError;
use crate::vsphere::ova::OvaError;

/// A step that did not succeed.
#[derive(Debug, Error)]
pub enum KindError {
    #[error(transparent)]
    Call(#[from] Error),
    #[error(transparent)]
    Lookup(LookupError),
    #[error("there is no {kind} at `{path}`, or the user may not see it")]
    Missing { kind: &'static str, path: String },
    #[error("no host of `{cluster}` has a network `{name}`, or the user may not see it")]
    MissingNetwork { name: String, cluster: String },
    #[error("several networks of `{cluster}` are called `{name}`: {}", found.join(", "))]
    Networks { cluster: String, name: String, found: Vec<String> },
    #[error("the template `{template}` does not fit")]
    Devices { template: String, source: DeviceError },
    #[error(transparent)]
    Import(ImportError),
    #[error("{0}")]
    Refused(String),
    #[error("`{0}` is not a vCenter of this cluster")]
    NoVCenter(String),
    /// Another caller made the call for several, and it failed.
    #[error("{0}")]
    Shared(std::sync::Arc<KindError>),
}

impl From<LookupError> for KindError {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Call(error) => KindError::Call(error),
            other => KindError::Lookup(other),
        }
    }
}

impl From<ImportError> for KindError {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Call(error) => KindError::Call(error),
            other => KindError::Import(other),
        }
    }
}

impl From<BatchError<KindError>> for KindError {
    fn from(error: BatchError<KindError>) -> Self {
        match error {
            BatchError::Failed(error) => KindError::Shared(error),
            BatchError::Lost => KindError::Refused("the batched call ended without a result".to_owned()),
        }
    }
}

impl From<OvaError> for KindError {
    fn from(error: OvaError) -> Self {
        KindError::Import(ImportError::Ova(error))
    }
}

/// Faults that come again however often one tries.
const PERMANENT: [&str; 9] = [
    "InvalidArgument",
    "InvalidProperty",
    "InvalidRequest",
    "InvalidType",
    "NotSupported",
    "MethodNotFound",
    "RestrictedVersion",
    "NotEnoughLicenses",
    "InvalidName",
];

/// Whether nobody answered: at once, or when a task was followed.
fn is_silence(cause: &Cause) -> bool {
    match cause {
        Cause::Connect(_) | Cause::Timeout(_) | Cause::Broken(_) => true,
        Cause::Unheard(error) => is_silence(&error.source),
        _ => false,
    }
}

impl Failure for KindError {
    fn severity(&self) -> Severity {
        let passing = Severity::Transient { after: None };
        match self {
            KindError::Call(error) => match (&error.source, error.retry()) {
                (cause, _) if is_silence(cause) => Severity::Unreachable,
                (Cause::Untrusted(_) | Cause::Stranger { .. } | Cause::AnotherVCenter { .. }, _) => {
                    Severity::Permanent
                }
                (_, Retry::Later(after)) => Severity::Transient { after },
                (Cause::Fault(fault), _) => match fault.kind {
                    FaultKind::NoPermission { .. } | FaultKind::InvalidLogin => Severity::Permanent,
                    _ if PERMANENT.contains(&&*fault.name) => Severity::Permanent,
                    _ => passing,
                },
                _ => passing,
            },
            KindError::Shared(error) => error.severity(),
            KindError::Import(ImportError::Stalled { .. } | ImportError::Late(_)) => passing,
            KindError::Lookup(_)
            | KindError::Missing { .. }
            | KindError::MissingNetwork { .. }
            | KindError::Networks { .. }
            | KindError::Devices { .. }
            | KindError::Import(_)
            | KindError::Refused(_)
            | KindError::NoVCenter(_) => Severity::Permanent,
        }
    }

    fn reason(&self) -> Reason {
        match self {
            KindError::Call(error) => match &error.source {
                cause if is_silence(cause) => Reason::UNREACHABLE,
                Cause::Untrusted(_) => Reason::new("CertificateNotTrusted"),
                Cause::AnotherVCenter { .. } | Cause::Stranger { .. } => reason::ANOTHER_VCENTER,
                Cause::Forgotten { .. } => Reason::new("TaskForgotten"),
                Cause::Fault(fault) => match fault.kind {
                    FaultKind::NoPermission { .. } => Reason::new("NoPermission"),
                    FaultKind::InvalidLogin => Reason::new("LoginRefused"),
                    _ => Reason::new("VCenterFault"),
                },
                _ => Reason::new("CallFailed"),
            },
            KindError::Shared(error) => error.reason(),
            KindError::Lookup(_) | KindError::Missing { .. } => Reason::new("ObjectMissing"),
            KindError::MissingNetwork { .. } => Reason::new("NetworkMissing"),
            KindError::Networks { .. } => Reason::new("NetworkAmbiguous"),
            KindError::Devices { .. } => Reason::new("TemplateUnfit"),
            KindError::Import(_) => Reason::new("ImportFailed"),
            KindError::Refused(_) => Reason::new("Refused"),
            KindError::NoVCenter(_) => Reason::new("NotConfigured"),
        }
    }

    fn silence(&self) -> Duration {
        match self {
            KindError::Call(error) => error.silence(),
            KindError::Shared(error) => error.silence(),
            _ => Duration::ZERO,
        }
    }

    fn leaves_task_running(&self) -> bool {
        match self {
            KindError::Call(error) => is_silence(&error.source) || matches!(error.source, Cause::LoggedOut),
            KindError::Shared(error) => error.leaves_task_running(),
            _ => false,
        }
    }

    fn remedy(&self) -> Option<String> {
        match self {
            KindError::Call(error) => error.hint().map(str::to_owned),
            KindError::Shared(error) => error.remedy(),
            KindError::Lookup(_) | KindError::Networks { .. } => {
                Some("write the whole inventory path in the install-config".to_owned())
            }
            KindError::Missing { .. } | KindError::MissingNetwork { .. } => Some(
                "check the path in the install-config, and that the user has at least read access there"
                    .to_owned(),
            ),
            KindError::Devices { .. } => Some("use another template, or a larger disk".to_owned()),
            KindError::Import(_) => Some("check `clusterOSImage` and its checksum".to_owned()),
            KindError::Refused(_) | KindError::NoVCenter(_) => None,
        }
    }
}
