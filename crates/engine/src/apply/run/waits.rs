//! Waiting for what happens by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::Run;
use crate::apply::end::End;
use crate::feed::{Changes, Followed};
use crate::journal::Journal;
use crate::platform::Platform;
use crate::progress::Listener;
use crate::reason::Reason;
use crate::resource::{Endpoint, Id};
use crate::step::Wait;

/// How long to gather what begins to wait, or has changed, for one call: machines come in groups.
const GATHER_TIME: Duration = Duration::from_millis(100);

/// How failed waits are called, beside the verbs of steps.
const VERB: &str = "wait";

/// What one feed follows.
type Group<P> = Vec<Followed<<P as Platform>::Desired, <P as Platform>::State>>;

/// What is waited for.
pub(super) struct Waiting {
    /// Since when each resource waits for what.
    since: BTreeMap<Id, BTreeMap<Reason, Instant>>,
    /// Resources whose changes no feed tells yet.
    unfollowed: BTreeSet<Id>,
    /// When a feed is opened for them.
    open_at: Option<Instant>,
    /// When what has changed at an endpoint is looked at.
    look_at: BTreeMap<Endpoint, Instant>,
    followed: BTreeSet<Id>,
    /// Feeds that are open, and what they follow.
    pub(super) feeds: JoinSet<Vec<Id>>,
    pub(super) changes: (Changes, UnboundedReceiver<Id>),
}

impl Default for Waiting {
    fn default() -> Self {
        Waiting {
            since: BTreeMap::new(),
            unfollowed: BTreeSet::new(),
            open_at: None,
            look_at: BTreeMap::new(),
            followed: BTreeSet::new(),
            feeds: JoinSet::new(),
            changes: Changes::channel(),
        }
    }
}

impl Waiting {
    /// When a feed is to be opened.
    pub(super) fn open_at(&self) -> Option<Instant> {
        self.open_at
    }

    pub(super) fn forget(&mut self, id: &Id) {
        self.unfollowed.remove(id);
    }
}

impl<P: Platform, J: Journal<P::State>, L: Listener> Run<'_, P, J, L> {
    /// Looks again later, or gives up what has taken too long. What comes and goes meanwhile gives no more time.
    pub(super) fn wait(&mut self, id: &Id, wait: Wait) {
        let Wait { reason, sentence, look_again, limit, overdue, remedy } = wait;
        let now = Instant::now();
        let since = self.waiting.since.entry(id.clone()).or_default().entry(reason.clone()).or_insert(now);
        let end = *since + limit;
        if now >= end {
            return self.settle(id, End::Failed { reason, verb: VERB.into(), error: overdue, remedy });
        }
        self.tell_waiting(id, &reason, sentence);
        self.stale.insert(id.clone(), end.min(now + look_again));
        if !self.waiting.followed.contains(id) {
            self.waiting.unfollowed.insert(id.clone());
            self.waiting.open_at.get_or_insert(now + GATHER_TIME);
        }
    }

    /// Opens feeds for what has begun to wait: one for each endpoint, however many they are.
    pub(super) fn follow(&mut self) {
        if self.waiting.open_at.is_none_or(|at| at > Instant::now()) {
            return;
        }
        self.waiting.open_at = None;
        let mut groups: BTreeMap<Endpoint, Group<P>> = BTreeMap::new();
        for id in std::mem::take(&mut self.waiting.unfollowed) {
            let Some(resource) = self.graph.get(&id).cloned() else { continue };
            let observed = self.world.get(&id).state().cloned();
            groups.entry(id.endpoint.clone()).or_default().push(Followed { resource, observed });
            self.waiting.followed.insert(id);
        }
        for (endpoint, group) in groups {
            let (platform, changes) = (self.platform.clone(), self.waiting.changes.0.clone());
            self.waiting.feeds.spawn(async move {
                if let Err(error) = platform.follow(&endpoint, &group, &changes).await {
                    tracing::debug!(%endpoint, %error, "the feed of changes ended");
                }
                group.iter().map(|followed| followed.resource.id.clone()).collect()
            });
        }
    }

    /// A feed says that something may have changed.
    pub(super) fn heard_change(&mut self, id: &Id) {
        self.waiting.followed.remove(id);
        let now = Instant::now();
        let look_at = self.waiting.look_at.entry(id.endpoint.clone()).or_insert(now);
        if *look_at <= now {
            *look_at = now + GATHER_TIME;
        }
        if let Some(at) = self.stale.get_mut(id) {
            *at = *look_at;
        }
    }

    /// A feed has ended: what it followed is looked at when it is due, and followed by another one then.
    pub(super) fn unfollowed(&mut self, ended: Result<Vec<Id>, JoinError>) {
        for id in ended.unwrap_or_default() {
            self.waiting.followed.remove(&id);
        }
    }
}
