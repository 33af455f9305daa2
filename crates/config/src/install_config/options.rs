//! Smaller settings of the whole cluster: keys, publishing, single node.

use super::{Check, MachinePool, PayloadType, Pools};
use crate::decode::{Field, Located, choice, object};
use crate::features::Gate;
use crate::findings::Rule;
use crate::yaml::At;

object! {
    /// Keys of the certificates the installer makes.
    WrittenPki {
        /// Keys of the authorities that sign: RSA with 2048 bits by default, for the Kubernetes payload ECDSA on P256.
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
        /// Bits: 2048, 3072, 4096 or 8192.
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

impl SignerKey {
    /// The kind that signers have where the install-config names none. OpenShift's operators make further signers with RSA, as
    /// openshift-install does; kubeadm and everything it starts take either, and an ECDSA key costs a thousandth of the time.
    pub fn default_of(payload: PayloadType) -> Self {
        match payload {
            PayloadType::OpenShift => SignerKey::Rsa(2048),
            PayloadType::Kubernetes => SignerKey::Ecdsa(Curve::P256),
        }
    }
}

/// The key that is written, if one is.
#[expect(clippy::option_option, reason = "absent and unusable are different things")]
pub(super) fn signer_key(
    written: &Field<WrittenPki>,
    payload: PayloadType,
    check: &mut Check<'_>,
) -> Option<Option<SignerKey>> {
    let pki = match written {
        Field::Absent => return Some(None),
        Field::Invalid(_) => return None,
        Field::Set(pki) => pki,
    };
    if payload == PayloadType::OpenShift {
        check.gate(Gate::ConfigurablePki, pki.at, "`pki`");
    }
    let Some(signers) = pki.value.signers.get() else {
        return pki.value.signers.is_absent().then_some(None);
    };
    let key = signers.key.located()?;
    let WrittenKey { algorithm, rsa, ecdsa } = &key.value;
    let algorithm = *algorithm.get()?;
    let (settings, given, other, unwanted) = match algorithm {
        KeyAlgorithm::Rsa => ("rsa", !rsa.is_absent(), "ecdsa", ecdsa.at()),
        KeyAlgorithm::Ecdsa => ("ecdsa", !ecdsa.is_absent(), "rsa", rsa.at()),
    };
    if let Some(at) = unwanted {
        check
            .findings
            .error(Rule::Pki, at, format!("`{other}` has no meaning with the algorithm {algorithm}"))
            .hint("remove it, or change the algorithm");
    }
    if !given {
        let example = match algorithm {
            KeyAlgorithm::Rsa => "rsa: {keySize: 4096}",
            KeyAlgorithm::Ecdsa => "ecdsa: {curve: P384}",
        };
        check
            .findings
            .missing(key.at, settings, format!("`{settings}` is required for the algorithm {algorithm}"))
            .hint(format!("add `{example}`"));
    }
    match algorithm {
        KeyAlgorithm::Rsa => rsa_key(rsa.get()?.key_size.located()?, check).map(Some),
        KeyAlgorithm::Ecdsa => Some(Some(SignerKey::Ecdsa(*ecdsa.get()?.curve.get()?))),
    }
}

fn rsa_key(size: &Located<u32>, check: &mut Check<'_>) -> Option<SignerKey> {
    /// What the cryptographic library makes.
    const SIZES: [u32; 4] = [2048, 3072, 4096, 8192];
    if !SIZES.contains(&size.value) {
        check
            .findings
            .error(Rule::Pki, size.at, format!("RSA keys of {} bits are not supported", size.value))
            .hint("write 2048, 3072, 4096 or 8192");
        return None;
    }
    Some(SignerKey::Rsa(size.value))
}

choice! {
    /// A stream of operating system images.
    OsImageStream {
        /// Red Hat Enterprise Linux CoreOS 9.
        Rhel9 = "rhel-9",
        /// Red Hat Enterprise Linux CoreOS 10.
        Rhel10 = "rhel-10",
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
            .error(Rule::BootstrapInPlace, at, "`bootstrapInPlace` works with `platform: none` only")
            .hint("remove it, or set `platform: {none: {}}`");
    }
    if platform == Some("none") && pools.is_some_and(|pools| pools.control_plane.replicas != 1) {
        check
            .findings
            .error(Rule::BootstrapInPlace, at, "`bootstrapInPlace` creates a cluster of one machine")
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
