//! A running cluster as a source: a Secret for each role, in the operator's namespace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};
use secrecy::{ExposeSecret, SecretString};
use slipway_assets::kubernetes::{
    JOIN_TOKEN_FILE, MACHINE_CONFIG_KEY, MACHINE_CONFIG_NAMESPACE, MACHINE_CONFIG_SECRET,
    MACHINE_CONFIG_TLS_SECRET, TOKENS_KEY,
};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::joining::{Joining, Renewal};
use super::role::Role;
use super::source::{RoleConfig, Source, SourceError};
use super::spec::Config;
use super::token::Tokens;

/// How long an answer of the API server is good for, a failure included. Hundreds of machines ask at once, and a token that
/// is withdrawn must soon be worth nothing.
const CACHE_TIME: Duration = Duration::from_secs(2);
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads Secrets. What cannot be read is not replaced by what was there before: a token may have been withdrawn.
#[derive(Debug, Clone)]
pub struct ClusterSource {
    api: Api<Secret>,
    /// The roles there are. For each, one request at a time reads; the others wait for its answer. Requests for other roles
    /// never reach the API server.
    roles: Arc<BTreeMap<Role, Mutex<Option<CachedSecret>>>>,
    ready: Arc<Mutex<Option<(Instant, bool)>>>,
    joining: Joining,
    /// What was handed out last.
    fresh: Arc<Mutex<BTreeMap<Role, Fresh>>>,
}

/// An offer with the token it was given.
#[derive(Debug)]
struct Fresh {
    stored: Arc<RoleConfig>,
    token: SecretString,
    offer: Arc<RoleConfig>,
}

/// What reading a Secret came to.
#[derive(Debug)]
struct CachedSecret {
    read: Instant,
    /// Of the Secret: configurations are not parsed again as long as it stays the same.
    version: Option<String>,
    offer: Result<Option<Arc<RoleConfig>>, Arc<SourceError>>,
}

impl CachedSecret {
    fn answer(&self) -> Result<Option<Arc<RoleConfig>>, SourceError> {
        self.offer.clone().map_err(SourceError::Shared)
    }
}

impl ClusterSource {
    /// `identity` tells servers of the same cluster apart.
    pub fn new(client: Client, identity: &str, roles: impl IntoIterator<Item = Role>) -> Self {
        ClusterSource {
            api: Api::namespaced(client.clone(), MACHINE_CONFIG_NAMESPACE),
            roles: Arc::new(roles.into_iter().map(|role| (role, Mutex::default())).collect()),
            ready: Arc::default(),
            joining: Joining::new(client, identity, Renewal::Drawn),
            fresh: Arc::default(),
        }
    }

    /// Certificate and key of the server, in PEM.
    pub async fn tls(&self) -> Result<(Vec<u8>, Vec<u8>), ClusterError> {
        let name = MACHINE_CONFIG_TLS_SECRET;
        let secret = self.get(name).await?.ok_or(ClusterError::Missing { name })?;
        let mut data = secret.data.unwrap_or_default();
        let mut part = |key: &'static str| {
            data.remove(key).map(|value| value.0).ok_or(ClusterError::NoKey { name, key })
        };
        Ok((part("tls.crt")?, part("tls.key")?))
    }

    async fn get(&self, name: &str) -> Result<Option<Secret>, ClusterError> {
        match timeout(READ_TIMEOUT, self.api.get_opt(name)).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(source)) => Err(ClusterError::Api { name: name.to_owned(), source: Box::new(source) }),
            Err(_) => Err(ClusterError::TooSlow { name: name.to_owned() }),
        }
    }

    /// Reads the Secret of a role; what is known of it is kept if it is the same still.
    async fn read(&self, role: &Role, known: Option<CachedSecret>) -> CachedSecret {
        let (version, offer) = match self.read_offer(role, known).await {
            Ok((version, offer)) => (version, Ok(offer)),
            Err(error) => (None, Err(Arc::new(error))),
        };
        CachedSecret { read: Instant::now(), version, offer }
    }

    async fn read_offer(
        &self,
        role: &Role,
        known: Option<CachedSecret>,
    ) -> Result<(Option<String>, Option<Arc<RoleConfig>>), SourceError> {
        let unreadable = |error: ClusterError| SourceError::Unreadable {
            role: role.clone(),
            source: std::io::Error::other(error),
        };
        let secret = self.get(&format!("{MACHINE_CONFIG_SECRET}-{role}")).await.map_err(unreadable)?;
        let Some(secret) = secret else { return Ok((None, None)) };
        let version = secret.resource_version();
        if let Some(CachedSecret { offer: Ok(offer), .. }) =
            known.filter(|known| known.version == version && version.is_some())
        {
            return Ok((version, offer));
        }
        let data = secret.data.unwrap_or_default();
        let part = |key: &str| data.get(key).map(|value| value.0.as_slice()).unwrap_or_default();
        let config = Config::parse(part(MACHINE_CONFIG_KEY))
            .map_err(|source| SourceError::Config { role: role.clone(), source })?;
        let tokens = Tokens::parse(&String::from_utf8_lossy(part(TOKENS_KEY)))
            .map_err(|source| SourceError::Tokens { role: role.clone(), source })?;
        Ok((version, Some(Arc::new(RoleConfig::new(config, tokens)))))
    }
}

/// What a cluster cannot give.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error("reading the Secret `{name}`")]
    Api { name: String, source: Box<kube::Error> },
    #[error("reading the Secret `{name}` took longer than {} seconds", READ_TIMEOUT.as_secs())]
    TooSlow { name: String },
    #[error("there is no Secret `{name}` in `{MACHINE_CONFIG_NAMESPACE}`")]
    Missing { name: &'static str },
    #[error("the Secret `{name}` has no `{key}`")]
    NoKey { name: &'static str, key: &'static str },
}

impl Source for ClusterSource {
    async fn knows(&self, role: &Role) -> bool {
        self.roles.contains_key(role)
    }

    async fn offer(&self, role: &Role) -> Result<Option<Arc<RoleConfig>>, SourceError> {
        let Some(place) = self.roles.get(role) else { return Ok(None) };
        let mut known = place.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.read.elapsed() < CACHE_TIME) {
            return known.answer();
        }
        let read = self.read(role, known.take()).await;
        known.insert(read).answer()
    }

    /// With a token that is good for as long as it takes to join, if machines of the role join with one.
    async fn hand_out(&self, role: &Role, stored: Arc<RoleConfig>) -> Result<Arc<RoleConfig>, SourceError> {
        let Some(first) = stored.config().text(JOIN_TOKEN_FILE) else { return Ok(stored) };
        let first = SecretString::from(first.trim());
        let failed = |source| SourceError::Joining { role: role.clone(), source };
        let token = self.joining.token(&first, Timestamp::now()).await.map_err(failed)?;
        let mut fresh = self.fresh.lock().await;
        let known = fresh.get(role).filter(|known| {
            Arc::ptr_eq(&known.stored, &stored) && known.token.expose_secret() == token.expose_secret()
        });
        if let Some(known) = known {
            return Ok(Arc::clone(&known.offer));
        }
        let text = format!("{}\n", token.expose_secret());
        let offer = Arc::new(stored.with_text(JOIN_TOKEN_FILE, &text));
        fresh.insert(role.clone(), Fresh { stored, token, offer: Arc::clone(&offer) });
        Ok(offer)
    }

    /// Asked without a token, so it is the API server's business once in a while only.
    async fn is_ready(&self) -> bool {
        let mut ready = self.ready.lock().await;
        if let Some((_, ready)) = ready.filter(|(read, _)| read.elapsed() < CACHE_TIME) {
            return ready;
        }
        let now = self.get(MACHINE_CONFIG_TLS_SECRET).await.is_ok();
        *ready = Some((Instant::now(), now));
        now
    }
}
