//! What can go wrong with a cluster, and whether to try again.

use std::error::Error;
use std::time::Duration;

use kube::core::Status;
use kube::error::DiscoveryError;
use thiserror::Error;
use tokio::time::error::Elapsed;

use crate::transport::{self, Reason};
use crate::trust_error::TrustError;

/// What went wrong with a cluster.
#[derive(Debug, Error)]
pub enum AccessError {
    #[error("{doing}")]
    Api { doing: String, source: Box<kube::Error> },
    #[error("{doing} took longer than {} seconds", limit.as_secs())]
    Timeout { doing: String, limit: Duration },
    #[error("the API server has no kind {kind} in {api_version}")]
    UnknownKind { api_version: String, kind: String },
    #[error("`{0}` is not an object of Kubernetes: it has no apiVersion, kind or name")]
    NoObject(String),
    /// Without a source: parsers quote what they cannot read, and that has secrets.
    #[error("the kubeconfig {file} cannot be used: {problem}")]
    Kubeconfig { file: String, problem: String },
    #[error(
        "no kubeconfig was found ({0}), and this is not a pod of a cluster; name a file with `--kubeconfig`, or set KUBECONFIG"
    )]
    NoAccess(String),
}

/// The kind of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The server's name has no address.
    Unresolved,
    /// Nothing listens there.
    Refused,
    /// No network leads there.
    NoRoute,
    /// The connection ended before the answer did.
    Broken,
    Timeout,
    Untrusted(TrustError),
    Unauthorized,
    Forbidden,
    /// The object, or its whole kind, is not there.
    Absent,
    /// Another writer changed the object, or owns what was to be changed.
    Conflict,
    /// The server cannot answer now, and may have said when it can.
    Busy(Option<Duration>),
    /// The server does not take what was sent.
    Rejected,
    /// Nothing was sent: a kubeconfig or an object is unusable.
    Unusable,
    Other,
}

/// What to do about a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The same call may work after a pause; the server may have named one.
    Later(Option<Duration>),
    /// Nothing will change by itself.
    Never,
}

impl AccessError {
    pub fn cause(&self) -> Cause {
        match self {
            AccessError::Api { source, .. } => Cause::of(&**source),
            AccessError::Timeout { .. } => Cause::Timeout,
            AccessError::UnknownKind { .. } => Cause::Absent,
            AccessError::NoObject(_) | AccessError::Kubeconfig { .. } | AccessError::NoAccess(_) => {
                Cause::Unusable
            }
        }
    }

    /// The object, or its whole kind, is not there.
    pub fn is_absent(&self) -> bool {
        self.cause() == Cause::Absent
    }

    /// Another writer changed the object, or owns what was to be changed.
    pub fn is_conflict(&self) -> bool {
        self.cause() == Cause::Conflict
    }

    pub fn retry(&self) -> Retry {
        self.cause().retry()
    }
}

impl Cause {
    /// Finds out why a call of an HTTP client failed, by the types in its chain of errors.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        if let Some(trust_error) = TrustError::find(error) {
            return Cause::Untrusted(trust_error);
        }
        let layers = std::iter::successors(Some(error), |layer| (**layer).source());
        let answered = |layer: &(dyn Error + 'static)| {
            if let Some(error) = layer.downcast_ref::<kube::Error>() {
                return match error {
                    kube::Error::Api(status) => Some(Cause::of_status(status)),
                    kube::Error::Discovery(
                        DiscoveryError::MissingKind(_)
                        | DiscoveryError::MissingApiGroup(_)
                        | DiscoveryError::MissingResource(_)
                        | DiscoveryError::EmptyApiGroup(_),
                    ) => Some(Cause::Absent),
                    _ => None,
                };
            }
            let error = layer.downcast_ref::<reqwest::Error>()?;
            error.status().map(|status| Cause::of_code(status.as_u16(), None))
        };
        if let Some(cause) = layers.clone().find_map(answered) {
            return cause;
        }
        match transport::reason(error) {
            Some(Reason::Unresolved) => return Cause::Unresolved,
            Some(Reason::Refused) => return Cause::Refused,
            Some(Reason::HostUnreachable | Reason::NetworkUnreachable) => return Cause::NoRoute,
            Some(Reason::Reset | Reason::Closed) => return Cause::Broken,
            Some(Reason::TimedOut) => return Cause::Timeout,
            None => {}
        }
        let late = |layer: &(dyn Error + 'static)| {
            layer.is::<Elapsed>()
                || layer.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_timeout)
        };
        if layers.clone().any(late) { Cause::Timeout } else { Cause::Other }
    }

    fn of_status(status: &Status) -> Self {
        let seconds = status.details.as_ref().map(|details| details.retry_after_seconds);
        let pause = seconds.filter(|seconds| *seconds > 0).map(|seconds| Duration::from_secs(seconds.into()));
        Cause::of_code(status.code, pause)
    }

    fn of_code(code: u16, pause: Option<Duration>) -> Self {
        match code {
            401 => Cause::Unauthorized,
            403 => Cause::Forbidden,
            404 => Cause::Absent,
            409 => Cause::Conflict,
            408 | 429 | 500..=599 => Cause::Busy(pause),
            400..=499 => Cause::Rejected,
            _ => Cause::Other,
        }
    }

    pub fn retry(&self) -> Retry {
        match self {
            Cause::Unresolved
            | Cause::Refused
            | Cause::NoRoute
            | Cause::Broken
            | Cause::Timeout
            | Cause::Conflict => Retry::Later(None),
            Cause::Busy(pause) => Retry::Later(*pause),
            Cause::Untrusted(_)
            | Cause::Unauthorized
            | Cause::Forbidden
            | Cause::Absent
            | Cause::Rejected
            | Cause::Unusable
            | Cause::Other => Retry::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};
    use std::time::Duration;

    use kube::core::Status;
    use kube::error::DiscoveryError;
    use rstest::rstest;
    use rustls::CertificateError;

    use super::{AccessError, Cause, Retry};
    use crate::trust_error::TrustError;

    fn answer(code: u16) -> kube::Error {
        kube::Error::Api(Box::new(Status::failure("no", "No").with_code(code)))
    }

    fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> kube::Error {
        kube::Error::Service(error.into())
    }

    fn untrusted(reason: CertificateError) -> kube::Error {
        broken(io::Error::other(rustls::Error::InvalidCertificate(reason)))
    }

    const LATER: Retry = Retry::Later(None);

    #[rstest]
    #[case::unauthorized(answer(401), Cause::Unauthorized, Retry::Never)]
    #[case::forbidden(answer(403), Cause::Forbidden, Retry::Never)]
    #[case::absent(answer(404), Cause::Absent, Retry::Never)]
    #[case::conflict(answer(409), Cause::Conflict, LATER)]
    #[case::invalid(answer(422), Cause::Rejected, Retry::Never)]
    #[case::overloaded(answer(429), Cause::Busy(None), LATER)]
    #[case::starting(answer(503), Cause::Busy(None), LATER)]
    #[case::no_kind(
        kube::Error::Discovery(DiscoveryError::MissingKind(String::new())),
        Cause::Absent,
        Retry::Never
    )]
    #[case::refused(broken(io::Error::from(ErrorKind::ConnectionRefused)), Cause::Refused, LATER)]
    #[case::no_route(broken(io::Error::from(ErrorKind::HostUnreachable)), Cause::NoRoute, LATER)]
    #[case::reset(broken(io::Error::from(ErrorKind::ConnectionReset)), Cause::Broken, LATER)]
    #[case::silent(broken(io::Error::from(ErrorKind::TimedOut)), Cause::Timeout, LATER)]
    #[case::issuer(
        untrusted(CertificateError::UnknownIssuer),
        Cause::Untrusted(TrustError::Issuer),
        Retry::Never
    )]
    #[case::expired(
        untrusted(CertificateError::Expired),
        Cause::Untrusted(TrustError::Expired),
        Retry::Never
    )]
    #[case::other(broken("404 not found"), Cause::Other, Retry::Never)]
    fn causes_are_found_by_type(#[case] error: kube::Error, #[case] cause: Cause, #[case] retry: Retry) {
        let error = AccessError::Api { doing: "reading".to_owned(), source: Box::new(error) };
        assert_eq!((error.cause(), error.retry()), (cause, retry));
    }

    #[test]
    fn a_server_says_how_long_to_wait() {
        let status = r#"{"code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 7}}"#;
        let status: Status = serde_json::from_str(status).unwrap();
        let cause = Cause::of(&kube::Error::Api(Box::new(status)));
        assert_eq!(cause.retry(), Retry::Later(Some(Duration::from_secs(7))));
    }
}
