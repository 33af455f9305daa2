//! Waiting until the machines have become a cluster.
//!
//! | module | what it holds |
//! |---|---|
//! | [`target`] | the cluster that is asked, and how |
//! | [`progress_timer`] | when to give up |
//! | [`bootstrap`] | until bootstrap is complete |
//! | [`kubernetes`] | until nodes and system pods are well |
//! | `compute` | which compute machines are behind |
//! | [`openshift`] | until the cluster's operators are stable |
//! | [`cause`] | why a server does not answer |
//! | `machines` | what the platform knows about machines, told to the cluster |
//!
//! Every look gives a [`View`], which is judged by pure functions.

pub mod bootstrap;
pub mod cause;
mod compute;
pub mod kubernetes;
mod machines;
pub mod openshift;
pub mod progress_timer;
pub mod target;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use slipway_config::install_config::PayloadType;

pub use self::progress_timer::ProgressTimer;
pub use self::target::WaitTarget;
use crate::create;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Bootstrap is complete.
    Bootstrap,
    /// The installation is complete.
    Install,
    /// Its operators are stable.
    Operators,
}

/// How things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub goal: Goal,
    /// What is still waited for, the most important first; nothing if the goal is reached.
    pub waiting: Vec<String>,
    /// What should be known, and is not waited for.
    pub notes: Vec<String>,
    /// The first real cause that was found for not getting further.
    pub cause: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl View {
    fn of(goal: Goal) -> Self {
        View { goal, waiting: Vec::new(), notes: Vec::new(), cause: None, hint: None }
    }

    pub fn is_done(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// How long nothing may move before it is given up.
#[derive(Debug, Clone, Copy)]
pub struct WaitTimeouts {
    pub bootstrap: Duration,
    pub install: Duration,
    /// Between two looks.
    pub pause: Duration,
}

impl Default for WaitTimeouts {
    fn default() -> Self {
        WaitTimeouts {
            bootstrap: Duration::from_mins(30),
            install: Duration::from_mins(40),
            pause: Duration::from_secs(3),
        }
    }
}

/// Is told how things are whenever that changes.
pub trait Listener: Sync {
    fn tell(&self, view: &View);
}

/// Why it was given up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Create(#[from] create::Error),
    #[error(transparent)]
    Store(#[from] crate::store::Error),
    #[error("{0}")]
    Directory(String),
    #[error("no progress for {}: {}", spoken(*.after), .view.waiting.join("; "))]
    Stuck { view: Box<View>, after: Duration },
    #[error("waiting was interrupted")]
    Interrupted,
}

/// A time as people write it.
fn spoken(time: Duration) -> String {
    format!("{:#}", SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX))
}

/// Waits until bootstrap is complete. `addresses` are those of machines, as their platform knows them.
pub async fn for_bootstrap(
    subject: &WaitTarget,
    timeouts: WaitTimeouts,
    addresses: &BTreeMap<String, Vec<IpAddr>>,
    listener: &impl Listener,
    cancelled: impl Future<Output = ()>,
) -> Result<View, Error> {
    let mut told = machines::PendingAddresses::new(addresses, subject);
    let look = async || {
        let seen = bootstrap::look(subject, addresses).await;
        if seen.api.is_ok() {
            told.tell(subject).await;
        }
        bootstrap::judge(&seen, subject)
    };
    until(look, (timeouts.bootstrap, timeouts.pause), listener, cancelled).await
}

/// Whether bootstrap is complete, by one look.
pub async fn bootstrap_view(subject: &WaitTarget) -> View {
    bootstrap::judge(&bootstrap::look(subject, &BTreeMap::new()).await, subject)
}

/// Waits until the installation is complete.
pub async fn for_install(
    subject: &WaitTarget,
    timeouts: WaitTimeouts,
    listener: &impl Listener,
    cancelled: impl Future<Output = ()>,
) -> Result<View, Error> {
    let look = async || match subject.payload {
        PayloadType::Kubernetes => kubernetes::look(subject).await,
        PayloadType::OpenShift => openshift::look(subject).await,
    };
    until(look, (timeouts.install, timeouts.pause), listener, cancelled).await
}

async fn until(
    mut look: impl AsyncFnMut() -> View,
    (timeouts, pause): (Duration, Duration),
    listener: &impl Listener,
    cancelled: impl Future<Output = ()>,
) -> Result<View, Error> {
    let work = async {
        let mut pace = ProgressTimer::new(timeouts, Instant::now());
        let mut last = None;
        loop {
            let view = look().await;
            if last.as_ref() != Some(&view) {
                listener.tell(&view);
            }
            if view.is_done() {
                return Ok(view);
            }
            if pace.is_over(&view.waiting.join("; "), Instant::now()) {
                return Err(Error::Stuck { view: Box::new(view), after: timeouts });
            }
            last = Some(view);
            tokio::time::sleep(pause).await;
        }
    };
    tokio::select! {
        result = work => result,
        () = cancelled => Err(Error::Interrupted),
    }
}
