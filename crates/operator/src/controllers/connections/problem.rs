//! Everything that can be wrong with a connection.

use std::borrow::Cow;

use slipway_api::slipway::condition;
use slipway_api::slipway::connection::MissingPrivileges;
use slipway_assets::drivers::connection::Unbound;
use slipway_providers::text::chain;
use slipway_providers::vsphere::error::Cause;
use slipway_providers::vsphere::trust_error::TrustError;
use slipway_providers::vsphere::{Error, FaultKind};
use thiserror::Error as ThisError;

/// What is wrong with a connection. The variant is the reason of the condition.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum Problem {
    #[error("the ConfigMap `{name}` with the vCenter's authorities has no key `{key}`, or does not exist")]
    AuthoritiesMissing { name: String, key: String },
    #[error("{0}")]
    BadSettings(String),
    #[error("`tls.insecure` is refused: a man in the middle could read the password")]
    InsecureRefused,
    #[error("{0}")]
    Unreachable(String),
    #[error("no answer from `{server}` within {seconds} seconds")]
    Timeout { server: String, seconds: u64 },
    #[error("{0}")]
    CertificateExpired(String),
    #[error("{0}")]
    CertificateUntrusted(String),
    #[error("{0}")]
    NotAVCenter(String),
    #[error("there is no Secret `{0}`")]
    CredentialsMissing(String),
    #[error("the Secret `{secret}` has no key `{key}`")]
    CredentialsIncomplete { secret: String, key: &'static str },
    #[error(transparent)]
    CredentialsUnbound(#[from] Unbound),
    #[error("the user in the Secret `{0}` is not written as name@domain")]
    UserWithoutDomain(String),
    #[error("{0}")]
    InvalidLogin(String),
    #[error("{0}")]
    LoginRefused(String),
    #[error("the user sees no {kind} `{path}`")]
    ObjectMissing { kind: String, path: String },
    #[error("the user lacks {}", .0.iter().map(describe).collect::<Vec<_>>().join("; "))]
    PrivilegeMissing(Vec<MissingPrivileges>),
    #[error("there is no tag category {}", quoted(.0))]
    TagCategoryMissing(Vec<String>),
    #[error("{0}")]
    CheckFailed(String),
}

fn describe(missing: &MissingPrivileges) -> String {
    format!("{} on `{}`", missing.privileges.join(", "), missing.object)
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl Problem {
    /// The word for programs.
    /// All reasons.
    pub const REASONS: [&str; 19] = [
        "AuthoritiesMissing",
        "BadSettings",
        "InsecureRefused",
        "Unreachable",
        "Timeout",
        "CertificateExpired",
        "CertificateUntrusted",
        "NotAVCenter",
        "CredentialsMissing",
        "CredentialsIncomplete",
        "CredentialsUnbound",
        "CredentialsOfAnother",
        "UserWithoutDomain",
        "InvalidLogin",
        "LoginRefused",
        "ObjectMissing",
        "PrivilegeMissing",
        "TagCategoryMissing",
        "CheckFailed",
    ];

    pub fn reason(&self) -> &'static str {
        match self {
            Problem::AuthoritiesMissing { .. } => "AuthoritiesMissing",
            Problem::BadSettings(_) => "BadSettings",
            Problem::InsecureRefused => "InsecureRefused",
            Problem::Unreachable(_) => "Unreachable",
            Problem::Timeout { .. } => "Timeout",
            Problem::CertificateExpired(_) => "CertificateExpired",
            Problem::CertificateUntrusted(_) => "CertificateUntrusted",
            Problem::NotAVCenter(_) => "NotAVCenter",
            Problem::CredentialsMissing(_) => "CredentialsMissing",
            Problem::CredentialsIncomplete { .. } => "CredentialsIncomplete",
            Problem::CredentialsUnbound(Unbound::Unsaid { .. }) => "CredentialsUnbound",
            Problem::CredentialsUnbound(Unbound::Another { .. }) => "CredentialsOfAnother",
            Problem::UserWithoutDomain(_) => "UserWithoutDomain",
            Problem::InvalidLogin(_) => "InvalidLogin",
            Problem::LoginRefused(_) => "LoginRefused",
            Problem::ObjectMissing { .. } => "ObjectMissing",
            Problem::PrivilegeMissing(_) => "PrivilegeMissing",
            Problem::TagCategoryMissing(_) => "TagCategoryMissing",
            Problem::CheckFailed(_) => "CheckFailed",
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> Cow<'static, str> {
        let remedy = match self {
            Problem::CredentialsUnbound(unbound) => return unbound.remedy().into(),
            Problem::InsecureRefused => {
                "give its authority in `tls.caBundle` or its fingerprint in `tls.thumbprint`; `slipway drivers deploy \
                 --allow-insecure` lets connections do without"
            }
            Problem::AuthoritiesMissing { .. } => {
                "put the authorities, in PEM, into that key, or choose another way in `tls`"
            }
            Problem::BadSettings(_) => "correct `spec.tls`",
            Problem::Unreachable(_) => {
                "check the name, the port, DNS, firewalls and the operator's proxy settings"
            }
            Problem::Timeout { .. } => "the vCenter is busy, or a firewall drops packets",
            Problem::CertificateExpired(_) => "renew the vCenter's certificate",
            Problem::CertificateUntrusted(_) => {
                "give its authority in `tls.caBundle`, or its fingerprint in `tls.thumbprint`"
            }
            Problem::NotAVCenter(_) => "check that `server` and `port` lead to a vCenter",
            Problem::CredentialsMissing(_) => "create it, with the keys `server`, `username` and `password`",
            Problem::CredentialsIncomplete { .. } => "add the key",
            Problem::UserWithoutDomain(_) => "write the user as name@domain, such as csi@vsphere.local",
            Problem::InvalidLogin(_) => {
                "correct user and password in the Secret, and see that the account is neither locked nor expired"
            }
            Problem::LoginRefused(_) => "look at the account in the vCenter",
            Problem::ObjectMissing { .. } => {
                "correct the name, or give the user a role with System.Read on the object"
            }
            Problem::PrivilegeMissing(_) => "give the user a role with these privileges on these objects",
            Problem::TagCategoryMissing(_) => {
                "create the category in this vCenter and tag its objects, or correct the name in the VDOConfig"
            }
            Problem::CheckFailed(_) => "look at the operator's log; it is tried again",
        };
        remedy.into()
    }

    /// The condition that does not hold because of it.
    pub fn condition(&self) -> &'static str {
        match self {
            Problem::AuthoritiesMissing { .. }
            | Problem::BadSettings(_)
            | Problem::InsecureRefused
            | Problem::Unreachable(_)
            | Problem::Timeout { .. }
            | Problem::CertificateExpired(_)
            | Problem::CertificateUntrusted(_)
            | Problem::NotAVCenter(_) => condition::REACHABLE,
            Problem::CredentialsMissing(_)
            | Problem::CredentialsIncomplete { .. }
            | Problem::CredentialsUnbound(_)
            | Problem::UserWithoutDomain(_)
            | Problem::InvalidLogin(_)
            | Problem::LoginRefused(_) => condition::AUTHENTICATED,
            Problem::ObjectMissing { .. }
            | Problem::PrivilegeMissing(_)
            | Problem::TagCategoryMissing(_)
            | Problem::CheckFailed(_) => condition::AUTHORIZED,
        }
    }

    /// Whether each further attempt counts towards locking the account.
    pub fn is_counted(&self) -> bool {
        matches!(self, Problem::InvalidLogin(_) | Problem::LoginRefused(_))
    }

    /// Why nothing was heard from a vCenter.
    pub(super) fn unreached(error: &Error) -> Self {
        let text = chain(error);
        match &error.source {
            Cause::Connect(_) | Cause::Broken(_) => Problem::Unreachable(text),
            Cause::Timeout(limit) => {
                Problem::Timeout { server: error.server.to_string(), seconds: limit.as_secs() }
            }
            Cause::Untrusted(TrustError::Expired) => Problem::CertificateExpired(text),
            Cause::Untrusted(_) => Problem::CertificateUntrusted(text),
            Cause::Setup(_) => Problem::BadSettings(text),
            _ => Problem::NotAVCenter(text),
        }
    }

    /// Why a login did not work.
    pub(super) fn refused(error: &Error) -> Self {
        match error.fault().map(|fault| &fault.kind) {
            Some(FaultKind::InvalidLogin) => Problem::InvalidLogin(chain(error)),
            Some(_) => Problem::LoginRefused(chain(error)),
            None => Problem::unreached(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Problem, Unbound};
    use crate::controllers::drivers::status::known_reason;

    /// Whatever is wrong with a connection has a word of its own in the conditions of the drivers.
    #[test]
    fn every_reason_is_a_word() {
        let text = String::new;
        let problems = [
            Problem::AuthoritiesMissing { name: text(), key: text() },
            Problem::BadSettings(text()),
            Problem::InsecureRefused,
            Problem::Unreachable(text()),
            Problem::Timeout { server: text(), seconds: 0 },
            Problem::CertificateExpired(text()),
            Problem::CertificateUntrusted(text()),
            Problem::NotAVCenter(text()),
            Problem::CredentialsMissing(text()),
            Problem::CredentialsIncomplete { secret: text(), key: "" },
            Problem::CredentialsUnbound(Unbound::Unsaid { secret: text(), server: text() }),
            Problem::CredentialsUnbound(Unbound::Another { secret: text(), server: text() }),
            Problem::UserWithoutDomain(text()),
            Problem::InvalidLogin(text()),
            Problem::LoginRefused(text()),
            Problem::ObjectMissing { kind: text(), path: text() },
            Problem::PrivilegeMissing(Vec::new()),
            Problem::TagCategoryMissing(Vec::new()),
            Problem::CheckFailed(text()),
        ];
        assert_eq!(problems.each_ref().map(Problem::reason), Problem::REASONS);
        for reason in Problem::REASONS {
            assert_eq!(known_reason(reason), reason);
        }
    }
}
