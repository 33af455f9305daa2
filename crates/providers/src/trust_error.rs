//! Why a certificate is not trusted, in words of ours where we have them.

use rustls::CertificateError;
use thiserror::Error;

/// What is wrong with a server's certificate.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TrustError {
    #[error("its issuer is not trusted")]
    Issuer,
    /// A vCenter that was installed anew, for instance.
    #[error("the issuer of that name that is trusted did not sign it")]
    Signature,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet")]
    NotYet,
    #[error("it is for another name")]
    Name,
    #[error("it is not the pinned one")]
    NotPinned,
    #[error("it is an authority's own, which no server may show")]
    Authority,
    #[error("{0}")]
    Other(String),
}

impl TrustError {
    /// Whether a certificate was the problem, somewhere down the chain of errors. What an I/O error wraps is not its source.
    pub(crate) fn find(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return match error {
                rustls::Error::InvalidCertificate(reason) => Some(reason.into()),
                _ => None,
            };
        }
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        wrapped.and_then(|inner| Self::find(inner)).or_else(|| error.source().and_then(Self::find))
    }

    /// What somebody can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            TrustError::Expired => "give the vCenter a new certificate",
            TrustError::NotYet => "compare the clocks of this machine and of the vCenter",
            TrustError::Name => "name the vCenter as its certificate does",
            TrustError::NotPinned => {
                "it may have been renewed: compare its fingerprint with the one the vCenter's administrator sees, and pin that one"
            }
            _ => "give its authority in `tls.caBundle`, or its fingerprint in `tls.thumbprint`",
        }
    }
}

impl From<&CertificateError> for TrustError {
    fn from(reason: &CertificateError) -> Self {
        match reason {
            CertificateError::UnknownIssuer => TrustError::Issuer,
            CertificateError::BadSignature => TrustError::Signature,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => TrustError::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => TrustError::NotYet,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TrustError::Name
            }
            CertificateError::ApplicationVerificationFailure => TrustError::NotPinned,
            // It has no name of its own there.
            other if format!("{other:?}").contains("CaUsedAsEndEntity") => TrustError::Authority,
            other => TrustError::Other(other.to_string()),
        }
    }
}
