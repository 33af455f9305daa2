//! Smaller settings of the whole cluster: capabilities, keys, publishing, single node.

use std::fmt;

use super::{Check, MachinePool, Pools};
use crate::decode::{BadText, Entries, Field, FromText, Located, choice, object, text};
use crate::findings::Rule;
use crate::shape::Text;
use crate::yaml::At;

object! {
    /// Optional components of OpenShift.
    WrittenCapabilities {
        /// The set to start from.
        baseline: Baseline as "baselineCapabilitySet", default "vCurrent";
        /// Components on top of the set.
        additional: Entries<String> as "additionalEnabledCapabilities";
    }
}

/// `None`, `vCurrent` or `v4.<minor>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Baseline {
    None,
    Minor(u32),
    Current,
}

impl FromText for Baseline {
    const TEXT: Text =
        Text::new("None, vCurrent or a version such as v4.18").pattern(r"^(None|vCurrent|v4\.[0-9]+)$");

    fn from_text(text: &str) -> Result<Self, BadText> {
        let minor = |text: &str| text.strip_prefix("v4.")?.parse::<u32>().ok().filter(|minor| *minor >= 11);
        match text {
            "None" => Ok(Baseline::None),
            "vCurrent" => Ok(Baseline::Current),
            _ => minor(text).map(Baseline::Minor).ok_or_else(|| {
                BadText::new("not a capability set").hint("write None, vCurrent, or v4.11 and later")
            }),
        }
    }
}

text!(Baseline);

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Baseline::None => f.write_str("None"),
            Baseline::Minor(minor) => write!(f, "v4.{minor}"),
            Baseline::Current => f.write_str("vCurrent"),
        }
    }
}

/// Optional components of OpenShift.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    pub baseline: Baseline,
    pub additional: Vec<String>,
}

/// Capabilities a cluster cannot do without, and the first baseline that has them.
const NEEDED: [(&str, u32); 3] = [("CloudCredential", 15), ("CloudControllerManager", 16), ("Ingress", 16)];

#[expect(clippy::option_option, reason = "absent and unusable are different things")]
pub(super) fn capabilities(
    written: &Field<WrittenCapabilities>,
    platform: Option<&str>,
    check: &mut Check<'_>,
) -> Option<Option<Capabilities>> {
    let set = match written {
        Field::Absent => return Some(None),
        Field::Invalid(_) => return None,
        Field::Set(set) => set,
    };
    let WrittenCapabilities { baseline, additional } = &set.value;
    if baseline.is_invalid() || additional.is_partial() {
        return None;
    }
    let chosen = baseline.cloned_or(Baseline::Current);
    let added: Vec<String> = additional.items().map(|name| name.value.clone()).collect();
    let missing: Vec<&str> = NEEDED
        .into_iter()
        .filter(|(name, _)| platform != Some("none") || *name == "Ingress")
        .filter(|(name, since)| chosen < Baseline::Minor(*since) && !added.iter().any(|added| added == name))
        .map(|(name, _)| name)
        .collect();
    if !missing.is_empty() {
        let at = baseline.at().unwrap_or(set.at);
        let names = missing.join(", ");
        check
            .findings
            .error(Rule::Capabilities, at, format!("this set leaves out what the cluster needs: {names}"))
            .hint(format!("add to `additionalEnabledCapabilities`: {names}"));
    }
    Some(Some(Capabilities { baseline: chosen, additional: added }))
}

object! {
    /// Keys of the certificates the installer makes.
    WrittenPki {
        /// Keys of the authorities that sign.
        signers: WrittenCertificates as "signerCertificates";
    }
}

object! {
    /// Keys of a kind of certificates.
    WrittenCertificates {
        /// The key.
        key: WrittenKey as "key", required;
    }
}

object! {
    /// A kind of key.
    WrittenKey {
        /// RSA or ECDSA.
        algorithm: KeyAlgorithm as "algorithm", required;
        /// Settings for RSA.
        rsa: WrittenRsa as "rsa";
        /// Settings for ECDSA.
        ecdsa: WrittenEcdsa as "ecdsa";
    }
}

object! {
    /// Settings for RSA keys.
    WrittenRsa {
        /// Bits: 2048 to 8192, in steps of 1024.
        key_size: u32 as "keySize", required;
    }
}

object! {
    /// Settings for ECDSA keys.
    WrittenEcdsa {
        /// The curve.
        curve: Curve as "curve", required;
    }
}

choice! {
    /// The algorithm of a key.
    KeyAlgorithm {
        /// RSA.
        Rsa = "RSA",
        /// ECDSA.
        Ecdsa = "ECDSA",
    }
}

choice! {
    /// An elliptic curve.
    Curve {
        /// NIST P-256.
        P256 = "P256",
        /// NIST P-384.
        P384 = "P384",
        /// NIST P-521.
        P521 = "P521",
    }
}

/// The kind of key the signers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignerKey {
    Rsa(u32),
    Ecdsa(Curve),
}

impl Default for SignerKey {
    fn default() -> Self {
        SignerKey::Rsa(2048)
    }
}

pub(super) fn signer_key(written: &Field<WrittenPki>, check: &mut Check<'_>) -> Option<SignerKey> {
    let pki = match written {
        Field::Absent => return Some(SignerKey::default()),
        Field::Invalid(_) => return None,
        Field::Set(pki) => &pki.value,
    };
    let Some(signers) = pki.signers.get() else {
        return pki.signers.is_absent().then(SignerKey::default);
    };
    let key = signers.key.located()?;
    let WrittenKey { algorithm, rsa, ecdsa } = &key.value;
    let wrong = match algorithm.get()? {
        KeyAlgorithm::Rsa => ecdsa.at().map(|at| (at, "ecdsa", KeyAlgorithm::Rsa)),
        KeyAlgorithm::Ecdsa => rsa.at().map(|at| (at, "rsa", KeyAlgorithm::Ecdsa)),
    };
    if let Some((at, field, algorithm)) = wrong {
        check
            .findings
            .error(Rule::Pki, at, format!("`{field}` has no meaning with the algorithm {algorithm}"))
            .hint("remove it, or change the algorithm");
        return None;
    }
    match algorithm.get()? {
        KeyAlgorithm::Rsa if rsa.is_absent() => Some(SignerKey::default()),
        KeyAlgorithm::Rsa => {
            let size = rsa.get()?.key_size.located()?;
            if !matches!(size.value, 2048 | 3072 | 4096 | 8192) {
                check
                    .findings
                    .error(Rule::Pki, size.at, format!("RSA keys of {} bits are not supported", size.value))
                    .hint("write 2048, 3072, 4096 or 8192");
                return None;
            }
            Some(SignerKey::Rsa(size.value))
        }
        KeyAlgorithm::Ecdsa if ecdsa.is_absent() => Some(SignerKey::Ecdsa(Curve::P256)),
        KeyAlgorithm::Ecdsa => Some(SignerKey::Ecdsa(*ecdsa.get()?.curve.get()?)),
    }
}

choice! {
    /// Who can reach API and ingress.
    Publish {
        /// Everyone who can reach the machines.
        External = "External",
        /// Not available on the platforms supported here.
        Internal = "Internal",
        /// Not available on the platforms supported here.
        Mixed = "Mixed",
    }
}

choice! {
    /// Which workloads processors are set apart for.
    CpuPartitioning {
        /// None.
        None = "None",
        /// Management workloads, on all nodes.
        AllNodes = "AllNodes",
    }
}

choice! {
    /// When the additional trust bundle is used.
    TrustBundlePolicy {
        /// When a proxy is configured.
        ProxyOnly = "Proxyonly",
        /// Always.
        Always = "Always",
    }
}

object! {
    /// A cluster of one machine that needs no bootstrap machine.
    WrittenBootstrapInPlace {
        /// The disk the system is installed on.
        installation_disk: String as "installationDisk", required;
    }
}

/// A single node installs itself only where the machines are the user's own.
pub(super) fn bootstrap_in_place(
    written: &Field<WrittenBootstrapInPlace>,
    platform: Option<&str>,
    pools: Option<&Pools<MachinePool>>,
    check: &mut Check<'_>,
) {
    let Some(at) = written.at() else { return };
    if platform.is_some_and(|platform| platform != "none") {
        check
            .findings
            .error(Rule::BootstrapInPlace, at, "`bootstrapInPlace` is for the platform none")
            .hint("remove it, or set `platform: {none: {}}`");
    }
    if platform == Some("none") && pools.is_some_and(|pools| pools.control_plane.replicas != 1) {
        check
            .findings
            .error(Rule::BootstrapInPlace, at, "`bootstrapInPlace` makes a cluster of one machine")
            .hint("set `controlPlane.replicas` to 1");
    }
}

/// Settings that exist in OpenShift but on none of the platforms supported here.
pub(super) fn not_here(at: Option<At>, field: &str, why: &str, check: &mut Check<'_>) {
    if let Some(at) = at {
        check
            .findings
            .error(Rule::NotSupported, at, format!("`{field}` is not supported: {why}"))
            .hint("remove it");
    }
}

pub(super) fn publish(written: &Field<Publish>, check: &mut Check<'_>) {
    if let Some(Located { value, at }) = written.located()
        && *value != Publish::External
    {
        check
            .findings
            .error(Rule::NotSupported, *at, format!("`publish: {value}` is for public clouds"))
            .hint("remove the field; who reaches the cluster is decided by your network");
    }
}
