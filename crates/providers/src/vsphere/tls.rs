//! TLS settings of one endpoint.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::endpoint::Trust;

/// `None` where the system's own way is used.
pub(super) fn config(trust: &Trust) -> Result<Option<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::System => return Ok(None),
        Trust::Authorities(pem) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate = certificate.map_err(|error| format!("reading its authorities: {error}"))?;
                roots.add(certificate).map_err(|error| format!("reading its authorities: {error}"))?;
            }
            return Ok(Some(builder.with_root_certificates(roots).with_no_client_auth()));
        }
        Trust::Fingerprint(wanted) => Arc::new(Pinned { wanted: Some(wanted.clone()), provider }),
        Trust::Anything => Arc::new(Pinned { wanted: None, provider }),
    };
    Ok(Some(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()))
}

/// Accepts one certificate by its fingerprint, or any. The handshake's signature is verified all the same: the
/// server must hold the key of the certificate it shows.
#[derive(Debug)]
struct Pinned {
    wanted: Option<Vec<u8>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(wanted) = &self.wanted else { return Ok(ServerCertVerified::assertion()) };
        let algorithm = if wanted.len() == 20 { &SHA1_FOR_LEGACY_USE_ONLY } else { &SHA256 };
        if digest(algorithm, certificate).as_ref() == wanted.as_slice() {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
