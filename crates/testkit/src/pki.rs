//! Certificates for servers and clients.

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// An authority that signs certificates.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
#[derive(Debug)]
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let issuer =
            CertifiedIssuer::self_signed(params, KeyPair::generate()?).context("making an authority")?;
        Ok(Authority { issuer })
    }

    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    pub fn key(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A certificate for a server and client of that name, in a group if one is given.
    pub fn issue(&self, name: &str, group: Option<&str>, addresses: &[&str]) -> anyhow::Result<Identity> {
        self.issue_within(name, group, addresses, [1975, 4096])
    }

    /// The same, valid from the beginning of a year until the beginning of another.
    pub fn issue_within(
        &self,
        name: &str,
        group: Option<&str>,
        addresses: &[&str],
        [from, until]: [i32; 2],
    ) -> anyhow::Result<Identity> {
        let names: Vec<String> = addresses.iter().map(|address| (*address).to_owned()).collect();
        let mut params = CertificateParams::new(names)?;
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        params.distinguished_name.push(DnType::CommonName, name);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }
}

/// A key pair in PEM: private, public.
pub fn key_pair() -> anyhow::Result<(String, String)> {
    let key = KeyPair::generate()?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}
