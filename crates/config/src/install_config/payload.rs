//! `payload`: what runs on the machines. A field of ours.

use crate::decode::{BadText, Field, FromText, choice, object, text};
use crate::findings::{Findings, Rule};
use crate::shape::Text;
use crate::yaml::At;

choice! {
    /// What kind of cluster is installed.
    PayloadType {
        /// An OpenShift release.
        OpenShift = "OpenShift",
        /// Upstream Kubernetes, by kubeadm.
        Kubernetes = "Kubernetes",
    }
}

object! {
    /// What is installed on the machines. Absent means OpenShift.
    WrittenPayload {
        /// OpenShift or upstream Kubernetes.
        kind: PayloadType as "type", default "OpenShift";
        /// The OpenShift release image. Needed from `create ignition-configs` on.
        release_image: ImageRef as "releaseImage";
        /// The Kubernetes version, such as v1.34.4.
        version: KubernetesVersion as "version";
        /// The image Slipway's operator runs from.
        slipway_image: ImageRef as "slipwayImage", default "the image of this build";
        /// A directory with the manifests of the network plugin (CNI) to apply. Kubernetes only.
        network_manifests: String as "networkManifests";
    }
}

/// A container image with registry and tag or digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRef(String);

impl ImageRef {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromText for ImageRef {
    const TEXT: Text = Text::new("a container image").pattern(r"^\S+$");

    fn from_text(text: &str) -> Result<Self, BadText> {
        let bad = |reason: &str| BadText::new(reason).rule(Rule::ImageReference);
        if text.contains("://") {
            return Err(bad("an image has no scheme").hint("leave out everything up to `://`"));
        }
        let name_end = text.find('@').unwrap_or(text.len());
        let (name, digest) = text.split_at(name_end);
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-/:[]".contains(c);
        if name.is_empty() || !name.chars().all(allowed) || !name.contains('/') {
            return Err(bad("not a container image")
                .hint("write registry, repository and tag or digest: quay.io/example/image:v1"));
        }
        if !digest.is_empty() {
            let hex = digest.strip_prefix("@sha256:").unwrap_or_default();
            if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(
                    bad("the digest is not `sha256:` and 64 hexadecimal digits").hint("copy it whole")
                );
            }
        }
        Ok(ImageRef(text.to_owned()))
    }
}

/// A Kubernetes version with its leading `v`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubernetesVersion(semver::Version);

impl KubernetesVersion {
    pub fn version(&self) -> &semver::Version {
        &self.0
    }
}

impl FromText for KubernetesVersion {
    const TEXT: Text = Text::new("a Kubernetes version such as v1.34.4").pattern(r"^v[0-9]+\.[0-9]+\.[0-9]+");

    fn from_text(text: &str) -> Result<Self, BadText> {
        let bad = || BadText::new("not a Kubernetes version").rule(Rule::KubernetesVersion);
        let Some(number) = text.strip_prefix('v') else {
            return Err(bad().hint(format!("write it with a `v`: `v{text}`")));
        };
        let version = number.parse().map_err(|_| bad().hint("write all three parts: `v1.34.4`"))?;
        Ok(KubernetesVersion(version))
    }
}

text!(ImageRef, KubernetesVersion);

/// What is installed on the machines.
#[derive(Debug, Clone)]
pub enum Payload {
    OpenShift {
        release_image: Option<ImageRef>,
        slipway_image: Option<ImageRef>,
    },
    Kubernetes {
        version: KubernetesVersion,
        slipway_image: Option<ImageRef>,
        network_manifests: Option<String>,
    },
}

impl Payload {
    pub fn kind(&self) -> PayloadType {
        match self {
            Payload::OpenShift { .. } => PayloadType::OpenShift,
            Payload::Kubernetes { .. } => PayloadType::Kubernetes,
        }
    }
}

pub(super) fn resolve(written: &Field<WrittenPayload>, findings: &mut Findings) -> Option<Payload> {
    let payload = match written {
        Field::Absent => return Some(Payload::OpenShift { release_image: None, slipway_image: None }),
        Field::Invalid(_) => return None,
        Field::Set(payload) => payload,
    };
    let WrittenPayload { kind, release_image, version, slipway_image, network_manifests } = &payload.value;
    if kind.is_invalid() {
        return None;
    }
    match kind.cloned_or(PayloadType::OpenShift) {
        PayloadType::OpenShift => {
            only_for(version.at(), "version", PayloadType::Kubernetes, findings);
            only_for(network_manifests.at(), "networkManifests", PayloadType::Kubernetes, findings);
            Some(Payload::OpenShift {
                release_image: release_image.get().cloned(),
                slipway_image: slipway_image.get().cloned(),
            })
        }
        PayloadType::Kubernetes => {
            only_for(release_image.at(), "releaseImage", PayloadType::OpenShift, findings);
            if network_manifests.is_absent() {
                findings
                    .warning(Rule::NetworkManifests, payload.at, "without a network plugin the nodes never become Ready")
                    .hint("set `networkManifests` to a directory with the plugin's manifests, or apply them yourself");
            }
            if version.is_absent() {
                findings
                    .missing(payload.at, "version", "`version` is required for Kubernetes")
                    .hint("add `version: v1.34.4`, or the version you want");
            }
            Some(Payload::Kubernetes {
                version: version.get()?.clone(),
                slipway_image: slipway_image.get().cloned(),
                network_manifests: network_manifests.get().cloned(),
            })
        }
    }
}

pub(super) fn only_for(at: Option<At>, key: &str, kind: PayloadType, findings: &mut Findings) {
    if let Some(at) = at {
        findings
            .error(Rule::PayloadField, at, format!("`{key}` is only for the payload {kind}"))
            .hint(format!("remove it, or set `type: {kind}`"));
    }
}
