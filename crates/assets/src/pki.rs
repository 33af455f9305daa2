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

use self::issue::Authorities;
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

/// How many of the keys a step needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Those that manifests contain: the root authority, what it signs, and all tokens.
    Manifests,
    /// Those that the Ignition configurations and `auth/` contain as well.
    All,
}

/// Keys and certificates of a cluster in PEM, by their file names, such as `root-ca.crt` and `root-ca.key`. Drawing them takes
/// long, so it holds as many as steps have needed so far.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pki {
    created: Timestamp,
    files: BTreeMap<String, String>,
}

impl Pki {
    /// Nothing is drawn yet. What will be is valid from `now` on, whenever it is drawn.
    pub fn new(now: Timestamp) -> Self {
        Pki { created: now, files: BTreeMap::new() }
    }

    /// Draws all keys and signs all certificates.
    pub fn generate(config: &InstallConfig, now: Timestamp, random: &dyn Random) -> Result<Self, PkiError> {
        let mut pki = Pki::new(now);
        pki.draw(config, Extent::All, random)?;
        Ok(pki)
    }

    /// Draws the keys and signs the certificates that are needed and not there. What is there stays as it is; if one cannot be
    /// made, none is.
    pub fn draw(
        &mut self,
        config: &InstallConfig,
        extent: Extent,
        random: &dyn Random,
    ) -> Result<(), PkiError> {
        let payload = config.payload.kind();
        let mut files = self.files.clone();
        if payload == PayloadType::Kubernetes {
            add_secrets(&mut files, random);
        }
        let signers = Signer::needed(payload, extent);
        issue::draw_slow(&mut files, signers, token_keys(payload, extent), config.signer_key(), random)?;
        let mut leaves = plan::leaves(config);
        leaves.retain(|leaf| signers.contains(&leaf.signer) && !files.contains_key(&leaf.certificate()));
        let authorities = Authorities::of(&mut files, signers, &leaves, self.created)?;
        for leaf in &leaves {
            authorities.issue(&mut files, leaf, random)?;
        }
        if extent == Extent::All {
            issue::add_ssh_key(&mut files, random)?;
            if payload == PayloadType::OpenShift {
                add_bundles(&mut files);
            }
        }
        self.files = files;
        Ok(())
    }

    /// Draws secrets that an earlier release did without; which ones it were.
    pub fn draw_missing_secrets(&mut self, payload: PayloadType, random: &dyn Random) -> Vec<String> {
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

/// Keys of service accounts that a payload has: their files without an extension.
fn token_keys(payload: PayloadType, extent: Extent) -> &'static [&'static str] {
    match (extent, payload) {
        (Extent::Manifests, _) => &[],
        (Extent::All, PayloadType::OpenShift) => &["service-account", "bound-service-account-signing-key"],
        (Extent::All, PayloadType::Kubernetes) => &["service-account"],
    }
}

fn add_bundles(files: &mut BTreeMap<String, String>) {
    for bundle in Bundle::ALL {
        let certificates = bundle.signers().iter().filter_map(|signer| files.get(&signer.certificate()));
        let certificates = certificates.map(String::as_str).collect();
        files.entry(format!("{}.crt", bundle.name())).or_insert(certificates);
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
