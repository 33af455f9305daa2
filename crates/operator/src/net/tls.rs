//! A server's certificate.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// TLS 1.2 or later, with HTTP/1.1 on top of it: one connection, one request.
pub fn acceptor(certificate: &Path, key: &Path) -> anyhow::Result<TlsAcceptor> {
    let chain = CertificateDer::pem_slice_iter(&fs_err::read(certificate)?)
        .collect::<Result<Vec<_>, _>>()
        .with_context(|| format!("reading certificates from `{}`", certificate.display()))?;
    anyhow::ensure!(!chain.is_empty(), "there is no certificate in `{}`", certificate.display());
    let pem = fs_err::read(key)?;
    // The parser's complaint could quote the file.
    let Ok(key_der) = PrivateKeyDer::from_pem_slice(&pem) else {
        anyhow::bail!("there is no private key in PEM in `{}`", key.display());
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .with_context(|| {
            format!("using the certificate `{}` with the key `{}`", certificate.display(), key.display())
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
