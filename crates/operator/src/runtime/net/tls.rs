//! A server's certificate.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// From files.
pub fn acceptor(certificate: &Path, key: &Path) -> anyhow::Result<TlsAcceptor> {
    let names = (certificate.display().to_string(), key.display().to_string());
    acceptor_from(&fs_err::read(certificate)?, &fs_err::read(key)?, (&names.0, &names.1))
}

/// TLS 1.2 or later, with HTTP/1.1 on top of it: one connection, one request. What certificate and key are called is for
/// messages.
pub fn acceptor_from(
    certificate: &[u8],
    key: &[u8],
    (certificate_name, key_name): (&str, &str),
) -> anyhow::Result<TlsAcceptor> {
    let chain = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<Vec<_>, _>>()
        .with_context(|| format!("reading certificates from `{certificate_name}`"))?;
    anyhow::ensure!(!chain.is_empty(), "there is no certificate in `{certificate_name}`");
    // The parser's complaint could quote the file.
    let Ok(key_der) = PrivateKeyDer::from_pem_slice(key) else {
        anyhow::bail!("there is no private key in PEM in `{key_name}`");
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .with_context(|| format!("using the certificate `{certificate_name}` with the key `{key_name}`"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
