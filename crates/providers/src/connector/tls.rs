//! TLS settings of one endpoint.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme,
    WantsVerifier,
};

use super::Trust;

/// `None` where the system's own way is used.
pub(super) fn config(trust: &Trust) -> Result<Option<ClientConfig>, String> {
    match trust {
        Trust::System => Ok(None),
        Trust::Authorities(pem) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate = certificate.map_err(|error| format!("reading its authorities: {error}"))?;
                roots.add(certificate).map_err(|error| format!("reading its authorities: {error}"))?;
            }
            let (builder, _) = builder()?;
            Ok(Some(builder.with_root_certificates(roots).with_no_client_auth()))
        }
        Trust::Fingerprint(wanted) => {
            let wanted = wanted.clone();
            let algorithm = if wanted.len() == 20 { &SHA1_FOR_LEGACY_USE_ONLY } else { &SHA256 };
            judged_by(move |certificate| digest(algorithm, certificate).as_ref() == wanted.as_slice())
                .map(Some)
        }
        Trust::Anything => judged_by(|_| true).map(Some),
    }
}

/// Accepts the certificates that `accepts`, by their DER, whoever signed them. The handshake's signature is verified all the
/// same: the server must hold the key of the certificate it shows.
pub(crate) fn judged_by(
    accepts: impl Fn(&[u8]) -> bool + Send + Sync + 'static,
) -> Result<ClientConfig, String> {
    let (builder, provider) = builder()?;
    let verifier = Arc::new(Judge { accepts, provider });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

type Builder = ConfigBuilder<ClientConfig, WantsVerifier>;

fn builder() -> Result<(Builder, Arc<CryptoProvider>), String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    Ok((builder.map_err(|error| error.to_string())?, provider))
}

struct Judge<F> {
    accepts: F,
    provider: Arc<CryptoProvider>,
}

impl<F> fmt::Debug for Judge<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").finish_non_exhaustive()
    }
}

impl<F: Fn(&[u8]) -> bool + Send + Sync> ServerCertVerifier for Judge<F> {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if (self.accepts)(certificate) {
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
