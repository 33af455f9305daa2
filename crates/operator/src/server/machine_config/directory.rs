//! A directory as a source: `<role>.ign` and, beside it, `<role>.tokens`.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;

use super::role::Role;
use super::source::{RoleConfig, Source, SourceError};
use super::spec::Config;
use super::token::{TokenHash, Tokens, generate};

/// Files above this are a mistake; a machine's configuration has less than a megabyte.
const LIMIT: u64 = 32 << 20;

/// Reads files again when they have changed. What cannot be read is not replaced by what was there before: somebody
/// may have withdrawn a token.
#[derive(Debug, Clone)]
pub struct Directory {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    known: Mutex<BTreeMap<Role, (Stamp, Arc<RoleConfig>)>>,
}

/// How files looked when they were read.
type Stamp = [Option<Look>; 2];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    length: u64,
    modified: SystemTime,
    inode: u64,
}

impl Directory {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Directory { inner: Arc::new(Inner { path: path.into(), known: Mutex::default() }) }
    }

    /// Makes a new token for a role, whose predecessors are good for a while yet, and keeps its hash.
    pub fn rotate(
        &self,
        role: &Role,
        now: Timestamp,
        keep: SignedDuration,
    ) -> Result<SecretString, SourceError> {
        let unreadable = |source| SourceError::Unreadable { role: role.clone(), source };
        let tokens_error = |source| SourceError::Tokens { role: role.clone(), source };
        let path = self.inner.tokens(role);
        let old = match fs_err::read_to_string(&path) {
            Ok(text) => Tokens::parse(&text).map_err(tokens_error)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Tokens::default(),
            Err(error) => return Err(unreadable(error)),
        };
        let token = generate().map_err(tokens_error)?;
        let new = old.rotated(TokenHash::of(&token), now, keep);
        // Replaced in one step: a reader sees the old tokens or the new ones.
        let beside = path.with_extension("tokens.new");
        fs_err::write(&beside, new.to_string()).map_err(unreadable)?;
        fs_err::rename(&beside, &path).map_err(unreadable)?;
        Ok(token)
    }
}

impl Inner {
    fn config(&self, role: &Role) -> PathBuf {
        self.path.join(format!("{role}.ign"))
    }

    fn tokens(&self, role: &Role) -> PathBuf {
        self.path.join(format!("{role}.tokens"))
    }

    fn offer(&self, role: &Role) -> Result<Option<Arc<RoleConfig>>, SourceError> {
        let unreadable = |source| SourceError::Unreadable { role: role.clone(), source };
        let (config, tokens) = (self.config(role), self.tokens(role));
        // Looked at before it is read: a change in between is noticed the next time.
        let stamp = [look(&config).map_err(unreadable)?, look(&tokens).map_err(unreadable)?];
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if stamp[0].is_none() {
            known.remove(role);
            return Ok(None);
        }
        if let Some((_, offer)) = known.get(role).filter(|(known, _)| *known == stamp) {
            return Ok(Some(Arc::clone(offer)));
        }
        known.remove(role);
        let config = Config::parse(&read(&config, role)?)
            .map_err(|source| SourceError::Config { role: role.clone(), source })?;
        let tokens = if stamp[1].is_some() { read(&tokens, role)? } else { Vec::new() };
        let tokens = Tokens::parse(&String::from_utf8_lossy(&tokens))
            .map_err(|source| SourceError::Tokens { role: role.clone(), source })?;
        let offer = Arc::new(RoleConfig::new(config, tokens));
        known.insert(role.clone(), (stamp, Arc::clone(&offer)));
        Ok(Some(offer))
    }
}

impl Source for Directory {
    async fn knows(&self, role: &Role) -> bool {
        let path = self.inner.config(role);
        tokio::task::spawn_blocking(move || path.exists()).await.unwrap_or(false)
    }

    async fn offer(&self, role: &Role) -> Result<Option<Arc<RoleConfig>>, SourceError> {
        let (inner, role) = (Arc::clone(&self.inner), role.clone());
        let read = tokio::task::spawn_blocking(move || inner.offer(&role));
        read.await.map_err(|_| SourceError::GivenUp)?
    }

    async fn is_ready(&self) -> bool {
        let inner = Arc::clone(&self.inner);
        let look = tokio::task::spawn_blocking(move || fs_err::read_dir(&inner.path).is_ok());
        look.await.unwrap_or(false)
    }
}

fn look(path: &Path) -> io::Result<Option<Look>> {
    use std::os::unix::fs::MetadataExt;
    match fs_err::metadata(path) {
        Ok(found) => Ok(Some(Look { length: found.len(), modified: found.modified()?, inode: found.ino() })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(path: &Path, role: &Role) -> Result<Vec<u8>, SourceError> {
    let unreadable = |source| SourceError::Unreadable { role: role.clone(), source };
    let mut bytes = Vec::new();
    let file = fs_err::File::open(path).map_err(unreadable)?;
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LIMIT {
        return Err(SourceError::TooLarge { role: role.clone(), limit: LIMIT });
    }
    Ok(bytes)
}
