//! Drawing keys and signing certificates.

use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use slipway_config::install_config::SignerKey;
use time::OffsetDateTime;

use super::plan::{Leaf, Signer, Usage};
use super::{BACKDATED, LEAF_KEY, PkiError, TOKEN_KEY};
use crate::random::Random;

/// Keys of service accounts: their files without an extension.
const TOKEN_KEYS: [&str; 2] = ["service-account", "bound-service-account-signing-key"];

/// A signer that is ready to sign.
struct Authority {
    signer: Signer,
    certificate: String,
    key: String,
    issuer: Issuer<'static, KeyPair>,
}

/// All signers, and what else takes long to draw.
pub(super) struct Workshop<'a> {
    authorities: Vec<Authority>,
    token_keys: Vec<String>,
    now: Timestamp,
    random: &'a dyn Random,
}

impl<'a> Workshop<'a> {
    /// Draws the slow keys on all processors.
    pub(super) fn new(
        signers: &[Signer],
        kind: SignerKey,
        now: Timestamp,
        random: &'a dyn Random,
    ) -> Result<Self, PkiError> {
        let wanted: Vec<(&str, SignerKey)> = signers
            .iter()
            .map(|signer| (signer.name(), kind))
            .chain(TOKEN_KEYS.map(|name| (name, TOKEN_KEY)))
            .collect();
        let mut keys = draw(&wanted, random)?.into_iter();
        let mut authorities = Vec::new();
        for (signer, key) in signers.iter().copied().zip(keys.by_ref()) {
            authorities.push(authority(signer, key, now).map_err(|source| failed(signer.name(), source))?);
        }
        Ok(Workshop { authorities, token_keys: keys.collect(), now, random })
    }

    fn authority(&self, signer: Signer) -> Option<&Authority> {
        self.authorities.iter().find(|authority| authority.signer == signer)
    }

    pub(super) fn certificate(&self, signer: Signer) -> &str {
        self.authority(signer).map_or("", |authority| &authority.certificate)
    }

    pub(super) fn key(&self, signer: Signer) -> &str {
        self.authority(signer).map_or("", |authority| &authority.key)
    }

    /// Certificate and key of a leaf. It lasts as long as its signer: whoever holds the files of a cluster
    /// holds both, so a shorter life would protect nobody.
    pub(super) fn issue(&self, leaf: &Leaf) -> Result<(String, String), PkiError> {
        let make = || -> Result<(String, String), rcgen::Error> {
            let authority = self.authority(leaf.signer).ok_or(rcgen::Error::CouldNotParseKeyPair)?;
            let pem = self.random.key(LEAF_KEY)?;
            let key = KeyPair::from_pem(&pem)?;
            let certificate = leaf_params(leaf, self.now)?.signed_by(&key, &authority.issuer)?;
            Ok((certificate.pem(), pem))
        };
        make().map_err(|source| failed(leaf.name, source))
    }

    /// Keys without a certificate: file names and contents.
    pub(super) fn loose_keys(&self) -> Result<Vec<(String, String)>, PkiError> {
        let mut files = Vec::new();
        for (name, pem) in TOKEN_KEYS.into_iter().zip(&self.token_keys) {
            let key = KeyPair::from_pem(pem).map_err(|source| failed(name, source))?;
            files.push((format!("{name}.key"), pem.clone()));
            files.push((format!("{name}.pub"), key.public_key_pem()));
        }
        let ssh = "bootstrap-ssh";
        let pem = self.random.key(LEAF_KEY).map_err(|source| failed(ssh, source))?;
        let key = KeyPair::from_pem(&pem).map_err(|source| failed(ssh, source))?;
        files.push((format!("{ssh}.pub"), ssh_public_key(&key)));
        files.push((format!("{ssh}.key"), pem));
        Ok(files)
    }
}

fn failed(name: &str, source: rcgen::Error) -> PkiError {
    PkiError { name: name.to_owned(), source }
}

/// Keys in the order they are asked for.
fn draw(wanted: &[(&str, SignerKey)], random: &dyn Random) -> Result<Vec<String>, PkiError> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(wanted.len());
    let queue = Mutex::new(wanted.iter().enumerate());
    let work = || -> Vec<(usize, Result<String, PkiError>)> {
        let next = || queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
        let key = |(index, (name, kind)): (usize, &(&str, SignerKey))| {
            (index, random.key(*kind).map_err(|source| failed(name, source)))
        };
        std::iter::from_fn(next).map(key).collect()
    };
    let mut drawn: Vec<(usize, Result<String, PkiError>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut drawn = work();
        for worker in workers {
            drawn.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        drawn
    });
    drawn.sort_by_key(|(index, _)| *index);
    drawn.into_iter().map(|(_, key)| key).collect()
}

fn authority(signer: Signer, pem: String, now: Timestamp) -> Result<Authority, rcgen::Error> {
    let unit: &[&str] = if Signer::OPENSHIFT.contains(&signer) { &["openshift"] } else { &[] };
    let mut params = params(signer.name(), unit, &DnType::OrganizationalUnitName);
    lifetime(&mut params, now, signer.validity());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
        KeyUsagePurpose::KeyCertSign,
    ];
    let key = KeyPair::from_pem(&pem)?;
    let certificate = params.self_signed(&key)?.pem();
    Ok(Authority { signer, certificate, key: pem, issuer: Issuer::new(params, key) })
}

fn leaf_params(leaf: &Leaf, now: Timestamp) -> Result<CertificateParams, rcgen::Error> {
    let mut params = params(leaf.common_name, leaf.organizations, &DnType::OrganizationName);
    lifetime(&mut params, now, leaf.signer.validity());
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = match &leaf.usage {
        Usage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
        Usage::Server { .. } => vec![ExtendedKeyUsagePurpose::ServerAuth],
        Usage::Both { .. } => vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
    };
    match &leaf.usage {
        Usage::Client => {}
        Usage::Server { names, addresses } | Usage::Both { names, addresses } => {
            for name in names {
                params.subject_alt_names.push(SanType::DnsName(name.as_str().try_into()?));
            }
            params.subject_alt_names.extend(addresses.iter().copied().map(SanType::IpAddress));
        }
    }
    Ok(params)
}

/// A subject with a common name and some more of one attribute.
fn params(common_name: &str, more: &[&str], attribute: &DnType) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut subject = DistinguishedName::new();
    for (index, value) in more.iter().enumerate() {
        // A type can be used once; the number of the organization's attribute is another type to it.
        let attribute = if index == 0 { attribute.clone() } else { DnType::CustomDnType(vec![2, 5, 4, 10]) };
        subject.push(attribute, *value);
    }
    subject.push(DnType::CommonName, common_name);
    params.distinguished_name = subject;
    params.subject_alt_names.clear();
    params
}

fn lifetime(params: &mut CertificateParams, now: Timestamp, validity: SignedDuration) {
    let at = |time: Result<Timestamp, jiff::Error>| {
        let seconds = time.map_or(0, Timestamp::as_second);
        OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    };
    params.not_before = at(now.checked_sub(BACKDATED));
    params.not_after = at(now.checked_add(validity));
}

/// A public key as OpenSSH writes it (RFC 5656).
fn ssh_public_key(key: &KeyPair) -> String {
    let kind = "ecdsa-sha2-nistp256";
    let mut blob = Vec::new();
    for part in [kind.as_bytes(), b"nistp256", key.public_key_raw()] {
        blob.extend(u32::try_from(part.len()).unwrap_or_default().to_be_bytes());
        blob.extend(part);
    }
    format!("{kind} {}\n", STANDARD.encode(blob))
}
