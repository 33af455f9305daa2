//! What the operator draws once and keeps in a Secret of its own: the key of its hashes, and the webhook's certificate.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret as KubeSecret;
use kube::{Api, Client};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;
use slipway_assets::drivers::operator::KEYS_SECRET as NAME;
use slipway_assets::drivers::{WebhookCertificate, storage};
use slipway_config::secret::Secret;
use slipway_providers::cluster::{AccessError, Manager, apply, call};
use thiserror::Error;

use super::MANAGER;

const HASH: &str = "hash";
const AUTHORITY: &str = "webhook-ca.crt";
const AUTHORITY_KEY: &str = "webhook-ca.key";
const CERTIFICATE: &str = "webhook.crt";
const KEY: &str = "webhook.key";
/// How long the certificate is valid, and how long before the end it is replaced.
const YEAR: i64 = 365 * 24;
const MONTH: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Keys could not be had.
#[derive(Debug, Error)]
pub enum KeyError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("making the webhook's certificate")]
    Certificate(#[from] rcgen::Error),
    #[error("the system has no random numbers")]
    Random,
}

/// What was drawn.
#[derive(Debug)]
pub struct Keys {
    pub hash: Secret,
    pub webhook: WebhookCertificate,
}

/// Reads the keys, and draws what is missing or about to expire.
pub async fn keys(client: &Client, namespace: &str, now: Timestamp) -> Result<Keys, KeyError> {
    let secrets: Api<KubeSecret> = Api::namespaced(client.clone(), namespace);
    let found = call("reading the operator's keys", secrets.get_opt(NAME)).await?;
    let data = found.and_then(|secret| secret.data).unwrap_or_default();
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for name in [HASH, AUTHORITY, AUTHORITY_KEY, CERTIFICATE, KEY] {
        let text = data.get(name).and_then(|bytes| String::from_utf8(bytes.0.clone()).ok());
        texts.extend(text.map(|text| (name, text)));
    }
    let before = texts.clone();
    if !texts.contains_key(HASH) {
        texts.insert(HASH, draw()?);
    }
    if !texts.get(CERTIFICATE).is_some_and(|pem| is_fresh(pem, now)) || !texts.contains_key(KEY) {
        issue(&mut texts, now)?;
    }
    if texts != before {
        let data: BTreeMap<&str, ByteString> =
            texts.iter().map(|(name, text)| (*name, ByteString(text.clone().into_bytes()))).collect();
        let patch = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME}, "data": data});
        apply(&secrets, Manager::forcing(MANAGER), NAME, "keeping the operator's keys", &patch).await?;
    }
    let mut take = |name| texts.remove(name).unwrap_or_default();
    Ok(Keys {
        hash: take(HASH).as_str().into(),
        webhook: WebhookCertificate {
            authority: take(AUTHORITY),
            certificate: take(CERTIFICATE),
            key: take(KEY).as_str().into(),
        },
    })
}

fn draw() -> Result<String, KeyError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| KeyError::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A new certificate, by the authority that is there, so that the API server need not learn a new one.
fn issue(texts: &mut BTreeMap<&str, String>, now: Timestamp) -> Result<(), KeyError> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "slipway-operator webhooks");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let known = texts.get(AUTHORITY).zip(texts.get(AUTHORITY_KEY));
    let known = known.and_then(|(pem, key)| {
        is_fresh(pem, now).then_some(())?;
        KeyPair::from_pem(key).ok()
    });
    let issuer = if let Some(key) = known {
        Issuer::new(authority, key)
    } else {
        let key = KeyPair::generate()?;
        (authority.not_before, authority.not_after) = validity(now, 10 * YEAR);
        texts.insert(AUTHORITY, authority.self_signed(&key)?.pem());
        texts.insert(AUTHORITY_KEY, key.serialize_pem());
        Issuer::new(authority, key)
    };
    let mut leaf = CertificateParams::new([storage::WEBHOOK_HOST.to_owned()])?;
    leaf.distinguished_name.push(DnType::CommonName, storage::WEBHOOK_HOST);
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    (leaf.not_before, leaf.not_after) = validity(now, YEAR);
    let key = KeyPair::generate()?;
    texts.insert(CERTIFICATE, leaf.signed_by(&key, &issuer)?.pem());
    texts.insert(KEY, key.serialize_pem());
    Ok(())
}

/// From yesterday on: clocks differ.
fn validity(now: Timestamp, hours: i64) -> (time::OffsetDateTime, time::OffsetDateTime) {
    let at = |hours: i64| {
        let moment = now.checked_add(SignedDuration::from_hours(hours)).unwrap_or(now);
        time::OffsetDateTime::from_unix_timestamp(moment.as_second())
            .unwrap_or(time::OffsetDateTime::UNIX_EPOCH)
    };
    (at(-24), at(hours))
}

fn is_fresh(pem: &str, now: Timestamp) -> bool {
    let parsed = x509_parser::pem::parse_x509_pem(pem.as_bytes());
    let Ok((_, pem)) = parsed else { return false };
    let end = pem.parse_x509().map(|certificate| certificate.validity().not_after.timestamp());
    end.is_ok_and(|end| now.checked_add(MONTH).is_ok_and(|soon| soon.as_second() < end))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::{SignedDuration, Timestamp};

    use super::{AUTHORITY, CERTIFICATE, is_fresh, issue};

    #[test]
    fn certificates_are_replaced_in_time_and_the_authority_stays() {
        let now: Timestamp = "2026-11-16T00:00:00Z".parse().unwrap();
        let later = |days: i64| now + SignedDuration::from_hours(days * 24);
        let mut texts = BTreeMap::new();
        issue(&mut texts, now).unwrap();
        assert!(is_fresh(&texts[CERTIFICATE], later(330)));
        assert!(!is_fresh(&texts[CERTIFICATE], later(336)));
        let before = texts.clone();
        issue(&mut texts, later(336)).unwrap();
        assert!(is_fresh(&texts[CERTIFICATE], later(336)));
        assert_eq!(texts[AUTHORITY], before[AUTHORITY]);
    }
}
