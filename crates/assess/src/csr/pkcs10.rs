//! What is inside of a certificate signing request.
//!
//! The signer reads the same bytes with another parser. So everything that two parsers could see differently is a flaw:
//! a second block of PEM, a second list of extensions, an unexpected attribute.

use std::collections::BTreeSet;
use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use x509_parser::asn1_rs::Header;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::cri_attributes::{ParsedCriAttribute, X509CriAttribute};
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::{
    OID_EC_P256, OID_NIST_EC_P384, OID_PKCS1_SHA1WITHRSA, OID_SHA1_WITH_RSA, OID_SIG_ED25519,
    OID_X509_COMMON_NAME, OID_X509_ORGANIZATION_NAME,
};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::{SubjectPublicKeyInfo, X509Name};

const BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const END: &str = "-----END CERTIFICATE REQUEST-----";
/// A request of a kubelet has less than two thousand.
const LIMIT: usize = 64 << 10;
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// What a certificate would say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub common_name: String,
    pub organizations: Vec<String>,
    pub names: BTreeSet<String>,
    pub addresses: BTreeSet<IpAddr>,
    /// Alternative names of kinds that no node has: mail addresses, URIs and others.
    pub others: Vec<String>,
    /// Kind and size of the key.
    pub key: String,
    /// The SHA-256 of the key as it is in the request, by which people and we know it again.
    pub fingerprint: String,
}

/// Why a request cannot be relied on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("it is larger than {LIMIT} bytes")]
    TooLarge,
    #[error("it is not exactly one `CERTIFICATE REQUEST` in PEM")]
    Pem,
    #[error("it is not a request in DER")]
    Der,
    #[error("its subject is not one common name and organizations")]
    Subject,
    #[error("the request has an attribute other than one list of extensions")]
    Attributes,
    #[error("it asks for an extension other than one list of alternative names")]
    Extensions,
    #[error("an alternative name is not text or an address")]
    AlternativeName,
    #[error("its key is {key}; RSA from 2048 bits, ECDSA P-256 and P-384, and Ed25519 are used")]
    Key { key: String },
    #[error("it is not signed with the key it is about")]
    Signature,
}

/// Reads a request in PEM.
pub fn parse(pem: &[u8]) -> Result<Content, Flaw> {
    if pem.len() > LIMIT {
        return Err(Flaw::TooLarge);
    }
    let der = unpack(pem).ok_or(Flaw::Pem)?;
    let (rest, request) = X509CertificationRequest::from_der(&der).map_err(|_| Flaw::Der)?;
    if !rest.is_empty() {
        return Err(Flaw::Der);
    }
    let info = &request.certification_request_info;
    let key = key(&info.subject_pki)?;
    let algorithm = &request.signature_algorithm.algorithm;
    if *algorithm == OID_PKCS1_SHA1WITHRSA || *algorithm == OID_SHA1_WITH_RSA {
        return Err(Flaw::Signature);
    }
    request.verify_signature().map_err(|_| Flaw::Signature)?;
    let (common_name, organizations) = subject(&info.subject).ok_or(Flaw::Subject)?;
    let mut content = Content {
        common_name,
        organizations,
        names: BTreeSet::new(),
        addresses: BTreeSet::new(),
        others: Vec::new(),
        key,
        fingerprint: fingerprint(info.subject_pki.raw),
    };
    match info.attributes() {
        [] => {}
        [attribute] => alternative_names(attribute, &mut content)?,
        _ => return Err(Flaw::Attributes),
    }
    Ok(content)
}

fn fingerprint(key: &[u8]) -> String {
    format!("sha256:{:x}", Sha256::digest(key))
}

/// The bytes between the lines of PEM, without headers and without anything around it.
fn unpack(pem: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pem).ok()?.trim();
    let inner = text.strip_prefix(BEGIN)?.strip_suffix(END)?;
    let inner: String = inner.lines().map(str::trim).collect();
    STANDARD.decode(inner).ok()
}

/// Common name and organizations, if there is nothing else.
fn subject(name: &X509Name<'_>) -> Option<(String, Vec<String>)> {
    let (mut common_name, mut organizations) = (None, Vec::new());
    for attribute in name.iter_attributes() {
        let value = attribute.as_str().ok()?.to_owned();
        if *attribute.attr_type() == OID_X509_COMMON_NAME {
            if common_name.replace(value).is_some() {
                return None;
            }
        } else if *attribute.attr_type() == OID_X509_ORGANIZATION_NAME {
            organizations.push(value);
        } else {
            return None;
        }
    }
    Some((common_name?, organizations))
}

fn alternative_names(attribute: &X509CriAttribute<'_>, content: &mut Content) -> Result<(), Flaw> {
    let ParsedCriAttribute::ExtensionRequest(request) = attribute.parsed_attribute() else {
        return Err(Flaw::Attributes);
    };
    // An attribute is a set of values, and only the first was read: there must be no second one.
    let (inside, header) = Header::from_der(attribute.value).map_err(|_| Flaw::Attributes)?;
    if header.length().definite() != Ok(inside.len()) {
        return Err(Flaw::Attributes);
    }
    let names = match &request.extensions[..] {
        [] => return Ok(()),
        [only] => match only.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => &names.general_names,
            _ => return Err(Flaw::Extensions),
        },
        _ => return Err(Flaw::Extensions),
    };
    for name in names {
        match name {
            GeneralName::DNSName(name) => {
                content.names.insert((*name).to_owned());
            }
            GeneralName::IPAddress(bytes) => {
                content.addresses.insert(address(bytes).ok_or(Flaw::AlternativeName)?);
            }
            GeneralName::Invalid(..) => return Err(Flaw::AlternativeName),
            other => content.others.push(other.to_string()),
        }
    }
    Ok(())
}

/// An address in its usual form: an IPv4 address mapped into IPv6 becomes IPv4.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(IpAddr::from(four));
    }
    <[u8; 16]>::try_from(bytes).ok().map(|sixteen| IpAddr::from(sixteen).to_canonical())
}

fn key(info: &SubjectPublicKeyInfo<'_>) -> Result<String, Flaw> {
    if info.algorithm.algorithm == OID_SIG_ED25519 {
        return Ok("Ed25519".to_owned());
    }
    let bad = |key: String| Flaw::Key { key };
    match info.parsed() {
        Ok(PublicKey::RSA(rsa)) => {
            // The first octet only says that it is positive.
            let significant = rsa.modulus.iter().skip_while(|byte| **byte == 0).count();
            let leading = rsa.modulus.iter().find(|byte| **byte != 0).map_or(0, |byte| byte.leading_zeros());
            let bits = (significant * 8).saturating_sub(leading as usize);
            let name = format!("RSA {bits}");
            if RSA_BITS.contains(&bits) { Ok(name) } else { Err(bad(name)) }
        }
        Ok(PublicKey::EC(_)) => {
            let curve = info.algorithm.parameters.as_ref().and_then(|curve| curve.as_oid().ok());
            match curve {
                Some(curve) if curve == OID_EC_P256 => Ok("ECDSA P-256".to_owned()),
                Some(curve) if curve == OID_NIST_EC_P384 => Ok("ECDSA P-384".to_owned()),
                _ => Err(bad("ECDSA of another curve".to_owned())),
            }
        }
        _ => Err(bad("of an unknown kind".to_owned())),
    }
}
