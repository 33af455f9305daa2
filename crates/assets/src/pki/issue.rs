//! Drawing keys and signing certificates.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
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

type Files = BTreeMap<String, String>;

/// Signers that are ready to sign.
pub(super) struct Authorities {
    issuers: Vec<(Signer, Issuer<'static, KeyPair>)>,
    now: Timestamp,
}

impl Authorities {
    /// The signers of these leaves. Signers without a certificate get one.
    pub(super) fn of(
        files: &mut Files,
        signers: &[Signer],
        leaves: &[Leaf],
        now: Timestamp,
    ) -> Result<Self, PkiError> {
        let mut issuers = Vec::new();
        for &signer in signers {
            let signs = leaves.iter().any(|leaf| leaf.signer == signer);
            if signs || !files.contains_key(&signer.certificate()) {
                let issuer = authority(files, signer, now).map_err(|source| failed(signer.name(), source))?;
                issuers.push((signer, issuer));
            }
        }
        Ok(Authorities { issuers, now })
    }

    /// Adds certificate and key of a leaf. It lasts as long as its signer: the files of a cluster hold both, so a shorter life
    /// would protect nothing.
    pub(super) fn issue(&self, files: &mut Files, leaf: &Leaf, random: &dyn Random) -> Result<(), PkiError> {
        let make = || -> Result<(String, String), rcgen::Error> {
            let issuer = self.issuers.iter().find(|(signer, _)| *signer == leaf.signer);
            let (_, issuer) = issuer.ok_or(rcgen::Error::CouldNotParseKeyPair)?;
            let pem = random.key(LEAF_KEY)?;
            let key = KeyPair::from_pem(&pem)?;
            let certificate = leaf_params(leaf, self.now)?.signed_by(&key, issuer)?;
            Ok((certificate.pem(), pem))
        };
        let (certificate, key) = make().map_err(|source| failed(leaf.name, source))?;
        files.extend([(leaf.certificate(), certificate), (format!("{}.key", leaf.name), key)]);
        Ok(())
    }
}

/// Draws the keys that take long, on all processors, unless they are there: of signers and of service accounts.
pub(super) fn draw_slow(
    files: &mut Files,
    signers: &[Signer],
    token_keys: &[&str],
    kind: SignerKey,
    random: &dyn Random,
) -> Result<(), PkiError> {
    let names = |signer: &Signer| (signer.name().to_owned(), kind);
    let tokens = token_keys.iter().map(|&name| (name.to_owned(), TOKEN_KEY));
    let mut wanted: Vec<(String, SignerKey)> = signers.iter().map(names).chain(tokens).collect();
    wanted.retain(|(name, _)| !files.contains_key(&format!("{name}.key")));
    let drawn = draw(&wanted, random)?;
    for ((name, _), pem) in wanted.into_iter().zip(drawn) {
        if token_keys.contains(&name.as_str()) {
            let key = KeyPair::from_pem(&pem).map_err(|source| failed(&name, source))?;
            files.insert(format!("{name}.pub"), key.public_key_pem());
        }
        files.insert(format!("{name}.key"), pem);
    }
    Ok(())
}

/// The key to log in to the bootstrap machine with, unless it is there.
pub(super) fn add_ssh_key(files: &mut Files, random: &dyn Random) -> Result<(), PkiError> {
    let name = "bootstrap-ssh";
    if files.contains_key(&format!("{name}.key")) {
        return Ok(());
    }
    let pem = random.key(LEAF_KEY).map_err(|source| failed(name, source))?;
    let key = KeyPair::from_pem(&pem).map_err(|source| failed(name, source))?;
    files.extend([(format!("{name}.pub"), ssh_public_key(&key)), (format!("{name}.key"), pem)]);
    Ok(())
}

fn failed(name: &str, source: rcgen::Error) -> PkiError {
    PkiError { name: name.to_owned(), source }
}

/// Keys in the order they are asked for.
fn draw(wanted: &[(String, SignerKey)], random: &dyn Random) -> Result<Vec<String>, PkiError> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(wanted.len());
    let queue = Mutex::new(wanted.iter().enumerate());
    let work = || -> Vec<(usize, Result<String, PkiError>)> {
        let next = || queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
        let key = |(index, (name, kind)): (usize, &(String, SignerKey))| {
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

/// A signer whose key is drawn. Its certificate is signed unless it is there.
fn authority(
    files: &mut Files,
    signer: Signer,
    now: Timestamp,
) -> Result<Issuer<'static, KeyPair>, rcgen::Error> {
    let unit: &[&str] = if Signer::OPENSHIFT.contains(&signer) { &["openshift"] } else { &[] };
    let mut params = params(signer.name(), unit, &DnType::OrganizationalUnitName);
    lifetime(&mut params, now, signer.validity());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
        KeyUsagePurpose::KeyCertSign,
    ];
    let key = files.get(&signer.key()).map_or("", String::as_str);
    let key = KeyPair::from_pem(key)?;
    if let Entry::Vacant(certificate) = files.entry(signer.certificate()) {
        certificate.insert(params.self_signed(&key)?.pem());
    }
    Ok(Issuer::new(params, key))
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
