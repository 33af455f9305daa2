//! Images in registries, asked for by the OCI distribution API: which digest a tag stands for, manifests and layers.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@reference`] | the parts of an image's name |
//! | [`login`] | whom registries let in, and how they ask |

pub mod login;
pub mod reference;

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Certificate, RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sha2::{Digest, Sha256, Sha512};
use slipway_config::logins::Logins;
use thiserror::Error;

use login::Challenge;
use reference::Reference;

/// For each request, its answer included, and for every part of a layer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// For a whole layer.
const LAYER_TIMEOUT: Duration = Duration::from_mins(10);
/// A registry may refuse larger manifests, so that no builder makes them.
const MANIFEST: usize = 4 << 20;
/// A token is a few kilobytes.
const TOKEN: usize = 256 << 10;
/// What a tag may stand for. Without the first two only one platform of an image would be found.
const KINDS: &str = "application/vnd.oci.image.index.v1+json, \
                     application/vnd.docker.distribution.manifest.list.v2+json, \
                     application/vnd.oci.image.manifest.v1+json, \
                     application/vnd.docker.distribution.manifest.v2+json";

const STRANGER: &str = "and no login for it is known";

/// Why a registry did not tell.
#[derive(Debug, Error)]
pub enum RegistryError {
    #[error("`{0}` names no registry and no tag")]
    Reference(String),
    #[error("there is no `{0}`")]
    NoImage(String),
    #[error("the registry does not let us see `{image}`, {who}")]
    Refused { image: String, who: &'static str },
    #[error("the registry answers with HTTP status {status} for `{image}`")]
    Status { image: String, status: u16 },
    #[error("the registry asks for a login for `{image}` in a way that is not known")]
    Challenge { image: String },
    #[error("the answer for `{image}` is larger than {limit} bytes")]
    TooLarge { image: String, limit: usize },
    #[error("`{image}` should be {said}, and what the registry sends is {is}")]
    DigestMismatch { image: String, said: String, is: String },
    #[error("`{digest}` of `{image}` is a digest that cannot be verified")]
    DigestAlgorithm { image: String, digest: String },
    #[error("asking for `{image}`")]
    Http { image: String, source: reqwest::Error },
    #[error("preparing to ask registries: {0}")]
    Setup(String),
}

impl RegistryError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            RegistryError::Reference(_) => "write it as registry.example.com/path/image:v1",
            RegistryError::NoImage(_) => "copy it to the registry, or correct its name",
            RegistryError::Refused { .. } => "log in with podman or docker, or name their file: --auth-file",
            RegistryError::Http { source, .. } if source.is_connect() => {
                "check name, port and proxy; give its authority with --ca-file, or --plain-http if it has no TLS"
            }
            _ => return None,
        })
    }
}

/// How registries are asked.
#[derive(Debug, Default)]
pub struct Settings {
    /// Authorities that are trusted and no others, in PEM; without them those of the system.
    pub authorities: Option<String>,
    /// Authorities that are trusted as well, in PEM.
    pub additional_authorities: Option<String>,
    /// The registry speaks HTTP without TLS.
    pub plain: bool,
    pub logins: Logins,
}

/// Asks registries. Proxies are those of the environment.
#[derive(Debug)]
pub struct Registries {
    http: reqwest::Client,
    plain: bool,
    logins: Logins,
    /// Tokens by registry and repository.
    tokens: BTreeMap<(String, String), SecretString>,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Registries {
    pub fn new(settings: Settings) -> Result<Self, RegistryError> {
        let Settings { authorities, additional_authorities, plain, logins } = settings;
        let setup = |error: reqwest::Error| RegistryError::Setup(crate::text::chain(&error));
        let mut builder = reqwest::Client::builder()
            .read_timeout(REQUEST_TIMEOUT)
            .connect_timeout(REQUEST_TIMEOUT / 3)
            .redirect(reqwest::redirect::Policy::limited(5))
            .https_only(!plain)
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")));
        let parse = |pem: String| match Certificate::from_pem_bundle(pem.as_bytes()) {
            Ok(parsed) if parsed.is_empty() => {
                Err(RegistryError::Setup("there is no certificate among the authorities".to_owned()))
            }
            parsed => parsed.map_err(setup),
        };
        if let Some(pem) = authorities {
            builder = builder.tls_certs_only(parse(pem)?);
        }
        if let Some(pem) = additional_authorities {
            builder = builder.tls_certs_merge(parse(pem)?);
        }
        Ok(Registries { http: builder.build().map_err(setup)?, plain, logins, tokens: BTreeMap::new() })
    }

    /// The digest of what a tag stands for, computed from what the registry sends.
    pub async fn digest(&mut self, image: &str) -> Result<String, RegistryError> {
        let manifest = self.manifest(image).await?;
        Ok(format!("sha256:{}", hex(&Sha256::digest(&manifest))))
    }

    /// The manifest of an image, or the list of the manifests it has. It is what its digest says.
    pub async fn manifest(&mut self, image: &str) -> Result<Vec<u8>, RegistryError> {
        let reference = reference(image)?;
        self.get(image, reference, Object::Manifest).await
    }

    /// A layer of an image. It is what its digest says, and not larger than `limit`.
    pub async fn layer(&mut self, image: &str, digest: &str, limit: usize) -> Result<Vec<u8>, RegistryError> {
        let reference = Reference { version: digest, ..reference(image)? };
        self.get(image, reference, Object::Layer { limit }).await
    }

    /// Something of a repository, with a login where the registry asks for one.
    async fn get(
        &mut self,
        image: &str,
        reference: Reference<'_>,
        object: Object,
    ) -> Result<Vec<u8>, RegistryError> {
        let url = self.url(&reference, object).ok_or_else(|| RegistryError::Reference(image.to_owned()))?;
        let key = (reference.host.to_owned(), reference.repository.to_owned());
        let login = self.logins.of(reference.host, reference.repository);
        let ask = || {
            let request = self.http.get(url.clone()).timeout(object.timeout());
            match object {
                Object::Manifest => request.header(ACCEPT, KINDS),
                Object::Layer { .. } => request,
            }
        };
        let http = |source| RegistryError::Http { image: image.to_owned(), source };
        let first = match self.tokens.get(&key) {
            Some(token) => bearer(ask(), token),
            None => ask(),
        };
        let mut answer = first.send().await.map_err(http)?;
        if answer.status() == StatusCode::UNAUTHORIZED {
            let header = answer.headers().get_all(WWW_AUTHENTICATE).iter();
            let challenge = header.filter_map(|one| one.to_str().ok()).find_map(Challenge::parse);
            let again = match challenge {
                Some(Challenge::Basic) => {
                    let refused = || RegistryError::Refused { image: image.to_owned(), who: STRANGER };
                    let login = login.ok_or_else(refused)?;
                    ask().basic_auth(&login.user, Some(login.password.expose_secret()))
                }
                Some(Challenge::Bearer { realm, service, scope }) => {
                    let scope = scope.unwrap_or_else(|| format!("repository:{}:pull", reference.repository));
                    let token = self.token(image, &reference, &realm, service.as_deref(), &scope).await?;
                    let again = bearer(ask(), &token);
                    self.tokens.insert(key, token);
                    again
                }
                None => return Err(RegistryError::Challenge { image: image.to_owned() }),
            };
            answer = again.send().await.map_err(http)?;
        }
        let said = answer.headers().get("docker-content-digest").and_then(|said| said.to_str().ok());
        let said = said.filter(|said| said.starts_with("sha256:")).map(str::to_owned);
        let bytes = body(answer, image, object.limit(), login.is_some()).await?;
        // What was asked for by its digest is that, whatever the registry says.
        let asked = reference.version.contains(':').then(|| reference.version.to_owned());
        for said in asked.into_iter().chain(said) {
            verify(&bytes, image, said)?;
        }
        Ok(bytes)
    }

    fn url(&self, reference: &Reference<'_>, object: Object) -> Option<Url> {
        let scheme = if self.plain { "http" } else { "https" };
        let Reference { host, repository, version } = reference;
        let kind = match object {
            Object::Manifest => "manifests",
            Object::Layer { .. } => "blobs",
        };
        Url::parse(&format!("{scheme}://{host}/v2/{repository}/{kind}/{version}")).ok()
    }

    async fn token(
        &self,
        image: &str,
        reference: &Reference<'_>,
        realm: &str,
        service: Option<&str>,
        scope: &str,
    ) -> Result<SecretString, RegistryError> {
        let unknown = || RegistryError::Challenge { image: image.to_owned() };
        let mut url = Url::parse(realm).map_err(|_| unknown())?;
        if let Some(service) = service {
            url.query_pairs_mut().append_pair("service", service);
        }
        url.query_pairs_mut().append_pair("scope", scope);
        let mut request = self.http.get(url).timeout(REQUEST_TIMEOUT);
        // Without a login public images can still be read.
        let login = self.logins.of(reference.host, reference.repository);
        if let Some(login) = login {
            request = request.basic_auth(&login.user, Some(login.password.expose_secret()));
        }
        let answer = request.send().await;
        let answer = answer.map_err(|source| RegistryError::Http { image: image.to_owned(), source })?;
        let bytes = body(answer, image, TOKEN, login.is_some()).await?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|_| unknown())?;
        token.token.or(token.access_token).map(SecretString::from).ok_or_else(unknown)
    }
}

/// What a repository has.
#[derive(Debug, Clone, Copy)]
enum Object {
    Manifest,
    Layer { limit: usize },
}

impl Object {
    fn limit(self) -> usize {
        match self {
            Object::Manifest => MANIFEST,
            Object::Layer { limit } => limit,
        }
    }

    fn timeout(self) -> Duration {
        match self {
            Object::Manifest => REQUEST_TIMEOUT,
            Object::Layer { .. } => LAYER_TIMEOUT,
        }
    }
}

fn reference(image: &str) -> Result<Reference<'_>, RegistryError> {
    Reference::parse(image).ok_or_else(|| RegistryError::Reference(image.to_owned()))
}

/// Whether bytes are what a digest says.
fn verify(bytes: &[u8], image: &str, said: String) -> Result<(), RegistryError> {
    let is = match said.split_once(':') {
        Some(("sha256", _)) => format!("sha256:{}", hex(&Sha256::digest(bytes))),
        Some(("sha512", _)) => format!("sha512:{}", hex(&Sha512::digest(bytes))),
        _ => return Err(RegistryError::DigestAlgorithm { image: image.to_owned(), digest: said }),
    };
    if said == is { Ok(()) } else { Err(RegistryError::DigestMismatch { image: image.to_owned(), said, is }) }
}

pub(crate) fn hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bearer(request: RequestBuilder, token: &SecretString) -> RequestBuilder {
    let header = HeaderValue::try_from(format!("Bearer {}", token.expose_secret()));
    match header {
        Ok(mut value) => {
            value.set_sensitive(true);
            request.header(AUTHORIZATION, value)
        }
        // A token that is none is refused by the registry.
        Err(_) => request,
    }
}

/// A body of limited size, of an answer that is one; asked with a login or without.
async fn body(
    mut answer: Response,
    image: &str,
    limit: usize,
    known: bool,
) -> Result<Vec<u8>, RegistryError> {
    let image = || image.to_owned();
    match answer.status() {
        status if status.is_success() => {}
        StatusCode::NOT_FOUND => return Err(RegistryError::NoImage(image())),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let who = if known { "neither with the login that is known nor without" } else { STRANGER };
            return Err(RegistryError::Refused { image: image(), who });
        }
        status => return Err(RegistryError::Status { image: image(), status: status.as_u16() }),
    }
    let mut bytes = Vec::new();
    while let Some(chunk) =
        answer.chunk().await.map_err(|source| RegistryError::Http { image: image(), source })?
    {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > limit {
            return Err(RegistryError::TooLarge { image: image(), limit });
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
