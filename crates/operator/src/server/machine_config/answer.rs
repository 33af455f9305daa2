//! A request's answer, and its name in logs and metrics.

use axum::body::Bytes;
use axum::http::StatusCode;

use super::accept::AcceptError;
use super::spec::{SpecError, SpecVersion};

/// What became of a request or a connection; the names are labels of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    Served,
    MissingToken,
    WrongToken,
    ExpiredToken,
    UnknownRole,
    UnknownVersion,
    OtherType,
    MalformedAccept,
    TooNew,
    Unavailable,
    NoSuchPath,
    OtherMethod,
    // Connections that never had a request.
    ForeignNetwork,
    TooManyConnections,
    NoHandshake,
    Distrusted,
    TooSlow,
    TooLarge,
    Malformed,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Served => "Served",
            Outcome::MissingToken => "MissingToken",
            Outcome::WrongToken => "WrongToken",
            Outcome::ExpiredToken => "ExpiredToken",
            Outcome::UnknownRole => "UnknownRole",
            Outcome::UnknownVersion => "UnknownVersion",
            Outcome::OtherType => "OtherType",
            Outcome::MalformedAccept => "MalformedAccept",
            Outcome::TooNew => "TooNew",
            Outcome::Unavailable => "Unavailable",
            Outcome::NoSuchPath => "NoSuchPath",
            Outcome::OtherMethod => "OtherMethod",
            Outcome::ForeignNetwork => "ForeignNetwork",
            Outcome::TooManyConnections => "TooManyConnections",
            Outcome::NoHandshake => "NoHandshake",
            Outcome::Distrusted => "Distrusted",
            Outcome::TooSlow => "TooSlow",
            Outcome::TooLarge => "TooLarge",
            Outcome::Malformed => "Malformed",
        }
    }
}

/// A request's answer.
#[derive(Debug)]
pub(super) enum Answer {
    Config { text: Bytes, version: SpecVersion },
    Refusal(Refusal),
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("the pointer configuration must send a token: `Authorization: Bearer <token>`")]
    MissingToken,
    #[error("the token is not one of this role")]
    WrongToken,
    #[error("the token was replaced and its time is over")]
    ExpiredToken,
    #[error("there is no such role")]
    UnknownRole,
    #[error(transparent)]
    Accept(#[from] AcceptError),
    #[error(transparent)]
    Spec(#[from] SpecError),
    // The reason is for the log: it names files.
    #[error("the configuration is not available now")]
    Unavailable,
    #[error("there is only /config/<role> and /healthz")]
    NoSuchPath,
    #[error("configurations can only be read")]
    OtherMethod,
}

impl Refusal {
    /// Ignition tries again after codes from 500 on, and gives up after those below.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Refusal::MissingToken | Refusal::WrongToken | Refusal::ExpiredToken => StatusCode::UNAUTHORIZED,
            Refusal::UnknownRole | Refusal::NoSuchPath => StatusCode::NOT_FOUND,
            Refusal::OtherMethod => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::Accept(AcceptError::OtherType) | Refusal::Spec(SpecError::TooNew { .. }) => {
                StatusCode::NOT_ACCEPTABLE
            }
            Refusal::Accept(_) => StatusCode::BAD_REQUEST,
            Refusal::Unavailable | Refusal::Spec(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Refusal::MissingToken => Outcome::MissingToken,
            Refusal::WrongToken => Outcome::WrongToken,
            Refusal::ExpiredToken => Outcome::ExpiredToken,
            Refusal::UnknownRole => Outcome::UnknownRole,
            Refusal::Accept(AcceptError::UnknownVersion { .. }) => Outcome::UnknownVersion,
            Refusal::Accept(AcceptError::OtherType) => Outcome::OtherType,
            Refusal::Accept(AcceptError::Malformed) => Outcome::MalformedAccept,
            Refusal::Spec(SpecError::TooNew { .. }) => Outcome::TooNew,
            Refusal::Spec(_) | Refusal::Unavailable => Outcome::Unavailable,
            Refusal::NoSuchPath => Outcome::NoSuchPath,
            Refusal::OtherMethod => Outcome::OtherMethod,
        }
    }
}

impl Answer {
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Answer::Config { .. } => Outcome::Served,
            Answer::Refusal(refusal) => refusal.outcome(),
        }
    }
}
