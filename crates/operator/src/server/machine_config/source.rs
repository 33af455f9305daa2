//! Where configurations come from.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;

use super::joining::JoinError;
use super::role::Role;
use super::spec::{Config, SpecError, SpecVersion};
use super::token::{TokenError, Tokens};

/// What there is for a role.
#[derive(Debug)]
pub struct RoleConfig {
    config: Config,
    tokens: Tokens,
    /// Hundreds of machines ask for the same text within seconds.
    rendered: Mutex<BTreeMap<SpecVersion, Result<Bytes, SpecError>>>,
}

impl RoleConfig {
    pub fn new(config: Config, tokens: Tokens) -> Self {
        RoleConfig { config, tokens, rendered: Mutex::default() }
    }

    /// The same with another content of a file.
    #[must_use]
    pub fn with_text(&self, path: &str, text: &str) -> Self {
        RoleConfig::new(self.config.with_text(path, text), self.tokens.clone())
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    pub fn version(&self) -> SpecVersion {
        self.config.version()
    }

    /// The text in a version.
    pub fn render(&self, version: SpecVersion) -> Result<Bytes, SpecError> {
        let mut rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || self.config.in_version(version).map(Bytes::from);
        rendered.entry(version).or_insert_with(make).clone()
    }
}

/// What a source cannot give.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("reading what there is for role `{role}`")]
    Unreadable { role: Role, source: std::io::Error },
    #[error("what there is for role `{role}` is larger than {limit} bytes")]
    TooLarge { role: Role, limit: u64 },
    #[error("the configuration of role `{role}`")]
    Config { role: Role, source: SpecError },
    #[error("the tokens of role `{role}`")]
    Tokens { role: Role, source: TokenError },
    #[error("a token for machines of role `{role}` to join with")]
    Joining { role: Role, source: JoinError },
    #[error("reading the machine configuration timed out")]
    GivenUp,
    /// Another request failed with it a moment ago.
    #[error(transparent)]
    Shared(Arc<SourceError>),
}

/// Gives what there is for a role: from a directory, or from a cluster.
pub trait Source: Send + Sync + 'static {
    /// Whether there may be such a role. It is asked for requests without a token, so it must cost next to nothing.
    fn knows(&self, role: &Role) -> impl Future<Output = bool> + Send;

    /// `None` if there is no such role.
    fn offer(&self, role: &Role)
    -> impl Future<Output = Result<Option<Arc<RoleConfig>>, SourceError>> + Send;

    /// What a machine gets that was let in: what there is, with whatever has to be fresh.
    fn hand_out(
        &self,
        _role: &Role,
        offer: Arc<RoleConfig>,
    ) -> impl Future<Output = Result<Arc<RoleConfig>, SourceError>> + Send {
        async { Ok(offer) }
    }

    /// Whether anything can be given at all.
    fn is_ready(&self) -> impl Future<Output = bool> + Send;
}
