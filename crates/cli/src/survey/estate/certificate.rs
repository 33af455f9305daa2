//! A server's certificate, read before anything is sent to it, and told to people.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use sha2::{Digest, Sha256};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// What people compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificate {
    pub(crate) subject: String,
    pub(crate) issuer: String,
    pub(crate) names: Vec<String>,
    pub(crate) not_before: Timestamp,
    pub(crate) not_after: Timestamp,
    /// In hexadecimal with colons.
    pub(crate) sha256: String,
}

impl Certificate {
    /// A certificate in DER; what cannot be read of it is left empty, its fingerprint never is.
    fn of(der: &[u8]) -> Self {
        let digest: Vec<String> = Sha256::digest(der).iter().map(|byte| format!("{byte:02X}")).collect();
        let mut certificate = Certificate {
            subject: String::new(),
            issuer: String::new(),
            names: Vec::new(),
            not_before: Timestamp::UNIX_EPOCH,
            not_after: Timestamp::UNIX_EPOCH,
            sha256: digest.join(":"),
        };
        let Ok((_, parsed)) = X509Certificate::from_der(der) else { return certificate };
        let time = |seconds: i64| Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
        certificate.subject = parsed.subject().to_string();
        certificate.issuer = parsed.issuer().to_string();
        certificate.not_before = time(parsed.validity().not_before.timestamp());
        certificate.not_after = time(parsed.validity().not_after.timestamp());
        if let Ok(Some(names)) = parsed.subject_alternative_name() {
            certificate.names = names.value.general_names.iter().filter_map(name).collect();
        }
        certificate
    }

    /// The lines that are shown.
    pub(crate) fn lines(&self, now: Timestamp) -> Vec<String> {
        let day = |time: Timestamp| time.strftime("%Y-%m-%d").to_string();
        let note = if now > self.not_after {
            ", EXPIRED"
        } else if now < self.not_before {
            ", NOT YET VALID"
        } else {
            ""
        };
        vec![
            format!("  subject      {}", self.subject),
            format!("  names        {}", self.names.join(", ")),
            format!("  issuer       {}", self.issuer),
            format!("  valid        {} to {}{note}", day(self.not_before), day(self.not_after)),
            format!("  SHA-256      {}", self.sha256),
        ]
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let address = <[u8; 4]>::try_from(*bytes)
                .map(IpAddr::from)
                .or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
            address.ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

/// The certificate a server shows. The connection ends in the handshake: nothing is sent on it.
pub(super) async fn fetch(url: &str, deadline: Duration) -> Result<Certificate, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let recorder = Arc::new(Recorder {
        seen: Mutex::default(),
        schemes: provider.signature_verification_algorithms.supported_schemes(),
    });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(recorder.clone())
        .with_no_client_auth();
    // The same way to the server as later, proxies included.
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .connect_timeout(deadline)
        .https_only(true)
        .build()
        .map_err(|error| error.to_string())?;
    let outcome = client.get(url).timeout(deadline).send().await;
    let seen = recorder.seen.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (seen, outcome) {
        (Some(der), _) => Ok(Certificate::of(&der)),
        (None, Err(error)) => Err(error.without_url().to_string()),
        (None, Ok(_)) => Err("it shows no certificate".to_owned()),
    }
}

/// Notes the certificate, and refuses it whatever it is.
#[derive(Debug)]
struct Recorder {
    seen: Mutex<Option<Vec<u8>>>,
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Recorder {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(certificate.to_vec());
        Err(refused())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(refused())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(refused())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

fn refused() -> rustls::Error {
    rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::Certificate;

    #[test]
    fn what_is_no_certificate_has_a_fingerprint() {
        let certificate = Certificate::of(b"nonsense");
        assert!(certificate.sha256.starts_with("99:9A:AA:86:45:BB:"), "{}", certificate.sha256);
        assert_eq!(certificate.sha256.len(), 32 * 3 - 1);
    }

    #[test]
    fn an_expired_one_says_so() {
        let time = |text: &str| text.parse::<Timestamp>().expect("a time");
        let certificate = Certificate {
            subject: "CN=vcenter.example.com".to_owned(),
            issuer: "CN=CA".to_owned(),
            names: vec!["vcenter.example.com".to_owned(), "::1".to_owned()],
            not_before: time("2025-01-01T00:00:00Z"),
            not_after: time("2026-01-01T00:00:00Z"),
            sha256: "AB:CD".to_owned(),
        };
        let lines = |now: &str| certificate.lines(time(now)).join("\n");
        insta::assert_snapshot!(lines("2025-06-01T00:00:00Z"), @r"
          subject      CN=vcenter.example.com
          names        vcenter.example.com, ::1
          issuer       CN=CA
          valid        2025-01-01 to 2026-01-01
          SHA-256      AB:CD
        ");
        assert!(lines("2026-06-01T00:00:00Z").contains("2026-01-01, EXPIRED"));
        assert!(lines("2024-06-01T00:00:00Z").contains("2026-01-01, NOT YET VALID"));
    }
}
