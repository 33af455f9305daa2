//! What a release image of OpenShift says machines boot from: the OVA that its `coreos-bootimages` manifest names.
//!
//! | module | what it holds |
//! |---|---|
//! | `layer` | a file in a layer of an image |
//! | `stream` | from the manifest to an OVA |

mod layer;
mod stream;
#[cfg(test)]
mod tests;

use std::fmt;

use secrecy::ExposeSecret;
use serde::Deserialize;
use slipway_config::install_config::vsphere::OsImage;
use slipway_config::install_config::{InstallConfig, Mirror, OsImageStream, SourcePolicy};
use slipway_config::logins::{LoginError, Logins};
use thiserror::Error;

use crate::registry::{Registries, RegistryError, Settings};

/// As OCI names what machines on vSphere have, and as CoreOS does.
const ARCHITECTURE: (&str, &str) = ("amd64", "x86_64");
/// A layer of a release image has some megabytes; those of the image it was built from may have more, and are not read.
const MAX_LAYER_BYTES: usize = 128 << 20;

/// Why a release image does not say what machines boot from.
#[derive(Debug, Error)]
pub enum ReleaseError {
    #[error("the pull secret cannot be used to read the release image")]
    PullSecret(#[source] LoginError),
    #[error("the release image `{image}` cannot be read")]
    Unreadable { image: String, attempts: Vec<Attempt> },
    #[error("the release image `{image}` cannot be read")]
    Client { image: String, source: RegistryError },
    #[error("the release image `{image}` is not for {}", ARCHITECTURE.0)]
    Architecture { image: String },
    #[error("the release image `{image}` has a manifest that cannot be read")]
    Manifest { image: String, source: serde_json::Error },
    #[error("the release image `{image}` has a layer that cannot be read")]
    Layer { image: String, source: std::io::Error },
    #[error("the release image `{image}` does not say which OS image it boots from")]
    NoBootImages { image: String },
    #[error("what the release image `{image}` says about OS images cannot be read: {reason}")]
    BootImages { image: String, reason: String },
    #[error("the release image `{image}` has no OVA for {} in its stream `{stream}`", ARCHITECTURE.1)]
    NoOva { image: String, stream: String },
}

/// A registry that was asked, and what it said.
#[derive(Debug)]
pub struct Attempt {
    image: String,
    error: RegistryError,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Attempt { image, error } = self;
        let said = crate::text::chain(error);
        if said.contains(image.as_str()) { f.write_str(&said) } else { write!(f, "{image}: {said}") }
    }
}

impl ReleaseError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let instead = "or name the image yourself: `clusterOSImage`, or `topology.template`";
        let first = match self {
            ReleaseError::PullSecret(_) => "correct `pullSecret`",
            ReleaseError::Unreadable { attempts, .. } => {
                let mut hints = attempts.iter().filter_map(|attempt| match &attempt.error {
                    RegistryError::Refused { .. } => Some("add a login for the registry to `pullSecret`"),
                    RegistryError::Http { source, .. } if source.is_connect() => Some(
                        "check the registry's name, the proxy variables, `additionalTrustBundle` and `imageDigestSources`",
                    ),
                    _ => None,
                });
                hints.next_back().unwrap_or("check `payload.releaseImage`")
            }
            ReleaseError::Client { .. } => "check `additionalTrustBundle`",
            _ => "check `payload.releaseImage`",
        };
        format!("{first}; {instead}")
    }

    /// The lines that follow the message.
    pub fn details(&self) -> Vec<String> {
        match self {
            ReleaseError::Unreadable { attempts, .. } => attempts.iter().map(Attempt::to_string).collect(),
            _ => Vec::new(),
        }
    }
}

/// The OVA that machines of this cluster are made from, unless the install-config names something else. Asks the registry of the
/// release image, or its mirrors.
pub async fn os_image(config: &InstallConfig, image: &str) -> Result<OsImage, ReleaseError> {
    let logins = match &config.pull_secret {
        Some(secret) => Logins::parse(secret.expose_secret()).map_err(ReleaseError::PullSecret)?,
        None => Logins::default(),
    };
    let settings = Settings {
        additional_authorities: config.additional_trust_bundle.clone(),
        logins,
        ..Settings::default()
    };
    let registries = Registries::new(settings);
    let mut registries =
        registries.map_err(|source| ReleaseError::Client { image: image.to_owned(), source })?;
    read(&mut registries, image, &config.mirrors, config.os_image_stream).await
}

/// [`os_image`], from these registries.
async fn read(
    registries: &mut Registries,
    image: &str,
    mirrors: &[Mirror],
    stream: Option<OsImageStream>,
) -> Result<OsImage, ReleaseError> {
    let mut attempts = Vec::new();
    for place in places(image, mirrors) {
        match layers(registries, &place).await? {
            Ok(layers) => {
                let text = boot_images(registries, &place, &layers).await?;
                return stream::ova(image, &text, stream);
            }
            Err(error) => attempts.push(Attempt { image: place, error }),
        }
    }
    Err(ReleaseError::Unreadable { image: image.to_owned(), attempts })
}

/// Where an image is looked for, in this order. Mirrors have the same digests as their source, and nothing is known of their tags.
fn places(image: &str, mirrors: &[Mirror]) -> Vec<String> {
    let Some((name, digest)) = image.split_once('@') else { return vec![image.to_owned()] };
    let repository = match name.rsplit_once(':') {
        // A colon before the last slash is that of a port.
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => name,
    };
    let mut fitting: Vec<(&Mirror, &str)> = mirrors
        .iter()
        .filter_map(|mirror| {
            let below = repository.strip_prefix(mirror.source.as_str())?;
            (below.is_empty() || below.starts_with('/')).then_some((mirror, below))
        })
        .collect();
    fitting.sort_by_key(|(mirror, _)| std::cmp::Reverse(mirror.source.len()));
    let may_ask_source =
        fitting.iter().all(|(mirror, _)| mirror.source_policy != Some(SourcePolicy::NeverContactSource));
    let mirrored = fitting
        .iter()
        .flat_map(|(mirror, below)| mirror.mirrors.iter().map(move |at| format!("{at}{below}@{digest}")));
    mirrored.chain(may_ask_source.then(|| format!("{repository}@{digest}"))).collect()
}

/// A part of an image, or one of the images in a list.
#[derive(Debug, Deserialize)]
struct Descriptor {
    digest: String,
    size: u64,
    platform: Option<Platform>,
}

#[derive(Debug, Deserialize)]
struct Platform {
    architecture: String,
    os: String,
}

/// The layers of an image, the lowest first. What a registry says is told apart, since another one may know more.
async fn layers(
    registries: &mut Registries,
    image: &str,
) -> Result<Result<Vec<Descriptor>, RegistryError>, ReleaseError> {
    #[derive(Deserialize)]
    struct Manifest {
        #[serde(default)]
        manifests: Vec<Descriptor>,
        #[serde(default)]
        layers: Vec<Descriptor>,
    }
    let parse = |bytes: &[u8]| {
        serde_json::from_slice::<Manifest>(bytes)
            .map_err(|source| ReleaseError::Manifest { image: image.to_owned(), source })
    };
    let bytes = match registries.manifest(image).await {
        Ok(bytes) => bytes,
        Err(error) => return Ok(Err(error)),
    };
    let Manifest { manifests, layers } = parse(&bytes)?;
    if manifests.is_empty() {
        return Ok(Ok(layers));
    }
    let fits = |platform: &Platform| platform.os == "linux" && platform.architecture == ARCHITECTURE.0;
    let one = manifests.into_iter().find(|one| one.platform.as_ref().is_some_and(fits));
    let one = one.ok_or_else(|| ReleaseError::Architecture { image: image.to_owned() })?;
    let name = image.split_once('@').map_or(image, |(name, _)| name);
    match registries.manifest(&format!("{name}@{}", one.digest)).await {
        Ok(bytes) => Ok(Ok(parse(&bytes)?.layers)),
        Err(error) => Ok(Err(error)),
    }
}

/// The manifest that lists OS images. The release's own files are in its uppermost layers.
async fn boot_images(
    registries: &mut Registries,
    image: &str,
    layers: &[Descriptor],
) -> Result<String, ReleaseError> {
    let name = || image.to_owned();
    for Descriptor { digest, size, .. } in layers.iter().rev() {
        if *size > MAX_LAYER_BYTES as u64 {
            continue;
        }
        let bytes = registries.layer(image, digest, MAX_LAYER_BYTES).await.map_err(|error| {
            ReleaseError::Unreadable { image: name(), attempts: vec![Attempt { image: name(), error }] }
        })?;
        let found = tokio::task::spawn_blocking(move || layer::boot_images(&bytes)).await;
        let found = found.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        if let Some(text) = found.map_err(|source| ReleaseError::Layer { image: name(), source })? {
            return Ok(text);
        }
    }
    Err(ReleaseError::NoBootImages { image: name() })
}
