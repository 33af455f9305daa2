//! Clients that are shared: one session per vCenter and login, however many parts of a program need it at the same time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use aws_lc_rs::digest;
use secrecy::ExposeSecret;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::debug;

use super::{Client, Endpoint, Error, Login};
use crate::text::chain;

/// What makes a client another one. The password is not kept a second time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    server: String,
    port: u16,
    user: String,
    /// Of the password, and of what the certificate is verified by.
    fingerprint: Vec<u8>,
}

impl Key {
    fn of(Endpoint { server, port, trust, .. }: &Endpoint, Login { user, password }: &Login) -> Self {
        let mut hash = digest::Context::new(&digest::SHA256);
        for part in [&*format!("{trust:?}"), password.expose_secret()] {
            hash.update(&part.len().to_le_bytes());
            hash.update(part.as_bytes());
        }
        let fingerprint = hash.finish().as_ref().to_vec();
        Key { server: server.to_lowercase(), port: *port, user: user.clone(), fingerprint }
    }

    /// Whether it is the same user of the same vCenter, whatever the password.
    pub fn is_same_account(&self, other: &Key) -> bool {
        (&self.server, self.port, &self.user) == (&other.server, other.port, &other.user)
    }
}

/// The clients of a program. Clones are the same pool.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    known: Arc<Mutex<BTreeMap<Key, Weak<Held>>>>,
    departures: Departures,
}

/// Clients that are logging out.
type Departures = Arc<Mutex<JoinSet<()>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// A client, which others may have too. Nothing is sent yet. How long calls may take is up to the first who asks.
    pub fn lease(&self, endpoint: Endpoint, login: Login) -> Result<Lease, Error> {
        let key = Key::of(&endpoint, &login);
        let mut known = lock(&self.known);
        known.retain(|_, held| held.strong_count() > 0);
        let is_open = |held: &Arc<Held>| held.client.check_open("").is_ok();
        if let Some(held) = known.get(&key).and_then(Weak::upgrade).filter(is_open) {
            return Ok(Lease { held });
        }
        let client = Client::new(endpoint, login)?;
        let (departures, has_left) = (self.departures.clone(), AtomicBool::new(false));
        let held = Arc::new(Held { key: key.clone(), client, has_left, departures });
        known.insert(key, Arc::downgrade(&held));
        Ok(Lease { held })
    }

    /// Logs all clients out, those included that are still held, and waits for it.
    pub async fn close(&self) {
        let known = std::mem::take(&mut *lock(&self.known));
        for held in known.values().filter_map(Weak::upgrade) {
            held.log_out_detached();
        }
        self.departed().await;
    }

    /// Waits for clients that are logging out.
    pub async fn departed(&self) {
        let departures = std::mem::take(&mut *lock(&self.departures));
        departures.join_all().await;
    }
}

/// Keeps a client logged in. The last one to be dropped logs it out.
#[derive(Debug, Clone)]
pub struct Lease {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    key: Key,
    client: Client,
    has_left: AtomicBool,
    departures: Departures,
}

impl Lease {
    pub fn client(&self) -> &Client {
        &self.held.client
    }

    pub fn key(&self) -> &Key {
        &self.held.key
    }

    /// Whether both hold the very same client.
    pub fn is_same(&self, other: &Lease) -> bool {
        Arc::ptr_eq(&self.held, &other.held)
    }

    /// Gives the client back. If nothing else holds it, it logs out, and that is waited for.
    pub async fn end(self, limit: Duration) {
        let Some(held) = Arc::into_inner(self.held) else { return };
        held.has_left.store(true, Ordering::Relaxed);
        // A session that is left behind ends by itself, after half an hour.
        if let Ok(Err(error)) = timeout(limit, held.client.logout()).await {
            debug!(server = %held.client.server(), error = chain(&error), "logging out");
        }
    }
}

impl Held {
    fn log_out_detached(&self) {
        let has_left = self.has_left.swap(true, Ordering::Relaxed);
        // Without a runtime nothing can be sent.
        let Ok(runtime) = Handle::try_current() else { return };
        if !has_left {
            let mut departures = lock(&self.departures);
            while departures.try_join_next().is_some() {}
            let client = self.client.clone();
            departures.spawn_on(async move { drop(client.logout().await) }, &runtime);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.log_out_detached();
    }
}
