//! Keys and certificates.
//!
//! Each signer vouches for one thing, so that a stolen key opens one door. Signers and leaves are listed in
//! `plan`; `issue` turns the list into PEM.

mod issue;
mod plan;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use slipway_config::install_config::{InstallConfig, PayloadType, SignerKey};
use thiserror::Error;

use self::issue::Workshop;
pub use self::plan::{Bundle, Leaf, Signer};
use crate::names::Role;
use crate::random::Random;

/// How long before their making certificates are already valid: machines whose clock lags, most often by
/// a time zone, must not refuse them.
const BACKDATED: SignedDuration = SignedDuration::from_hours(24);

/// How long the least durable certificate is valid. Upstream has some that last a day, and a cluster that is
/// first started on the next morning then never comes up.
pub const SHORTEST_VALIDITY: SignedDuration = SignedDuration::from_hours(365 * 24);

/// Key or certificate could not be made.
#[derive(Debug, Error)]
#[error("making {name}")]
pub struct PkiError {
    name: String,
    source: rcgen::Error,
}

/// All keys and certificates of a cluster in PEM, by their file names, such as `root-ca.crt` and
/// `root-ca.key`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pki {
    created: Timestamp,
    files: BTreeMap<String, String>,
}

impl Pki {
    /// Draws all keys and signs all certificates.
    pub fn generate(config: &InstallConfig, now: Timestamp, random: &dyn Random) -> Result<Self, PkiError> {
        let payload = config.payload.kind();
        let signers = Signer::of(payload);
        let workshop = Workshop::new(signers, config.signer_key, now, random)?;
        let mut files = BTreeMap::new();
        for &signer in signers {
            files.insert(format!("{}.crt", signer.name()), workshop.certificate(signer).to_owned());
            files.insert(format!("{}.key", signer.name()), workshop.key(signer).to_owned());
        }
        for leaf in plan::leaves(config) {
            let (certificate, key) = workshop.issue(&leaf)?;
            files.insert(format!("{}.crt", leaf.name), certificate);
            files.insert(format!("{}.key", leaf.name), key);
        }
        match payload {
            PayloadType::OpenShift => {
                for bundle in Bundle::ALL {
                    let certificates =
                        bundle.signers().iter().map(|signer| workshop.certificate(*signer)).collect();
                    files.insert(format!("{}.crt", bundle.name()), certificates);
                }
            }
            PayloadType::Kubernetes => drop(add_secrets(&mut files, random)),
        }
        for (name, contents) in workshop.loose_keys()? {
            files.insert(name, contents);
        }
        Ok(Pki { created: now, files })
    }

    /// Draws secrets that an earlier release did without; which ones it were.
    pub fn complete(&mut self, payload: PayloadType, random: &dyn Random) -> Vec<String> {
        match payload {
            PayloadType::OpenShift => Vec::new(),
            PayloadType::Kubernetes => add_secrets(&mut self.files, random),
        }
    }

    /// The contents of a file; empty if there is none of that name.
    pub fn pem(&self, name: &str) -> &str {
        self.files.get(name).map_or("", String::as_str)
    }

    /// All files, by name.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, pem)| (name.as_str(), pem.as_str()))
    }

    /// From when on a machine that boots for the first time may meet an expired certificate.
    pub fn expires(&self) -> Timestamp {
        self.created.checked_add(SHORTEST_VALIDITY).unwrap_or(Timestamp::MAX)
    }
}

type Draw = fn(&dyn Random) -> String;

/// Draws the secrets of a cluster made by kubeadm that are not there yet; their names.
fn add_secrets(files: &mut BTreeMap<String, String>, random: &dyn Random) -> Vec<String> {
    let mut secrets: Vec<(String, Draw)> = vec![(CERTIFICATE_KEY.to_owned(), secret_key)];
    for role in Role::ALL {
        secrets.push((bootstrap_token(role), draw_bootstrap_token));
        secrets.push((machine_config_token(role), secret_key));
    }
    secrets.retain(|(name, _)| !files.contains_key(name));
    files.extend(secrets.iter().map(|(name, draw)| (name.clone(), draw(random))));
    secrets.into_iter().map(|(name, _)| name).collect()
}

/// The name of the token with which a machine of a role asks for its first certificate in a cluster made by kubeadm, and
/// for nothing else.
pub fn bootstrap_token(role: Role) -> String {
    format!("bootstrap-token-{}", role.as_str())
}

/// What kubeadm encrypts the signers' keys with while it hands them to further control-plane machines.
pub(crate) const CERTIFICATE_KEY: &str = "certificate-key";

/// Six characters that name the token, a dot, and sixteen that are secret: 82 bits.
fn draw_bootstrap_token(random: &dyn Random) -> String {
    format!("{}.{}", random.letters(6), random.letters(16))
}

/// The name of the token that the machine-config server demands of machines of a role.
pub fn machine_config_token(role: Role) -> String {
    format!("machine-config-token-{}", role.as_str())
}

/// 256 bits in hexadecimal digits: a key of AES-256, or a token.
fn secret_key(random: &dyn Random) -> String {
    let mut key = [0; 32];
    random.fill(&mut key);
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl std::fmt::Debug for Pki {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.files.keys()).finish()
    }
}

/// The key of everything that is not a signer: quick to make, small, and understood by all that will meet it.
const LEAF_KEY: SignerKey = SignerKey::Ecdsa(slipway_config::install_config::Curve::P256);

/// The key tokens are signed with. Components that publish it know RSA only.
const TOKEN_KEY: SignerKey = SignerKey::Rsa(2048);
