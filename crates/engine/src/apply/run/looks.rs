//! Looking again: at what failed, at what is waited for, and at endpoints that did not answer.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::{Message, Run, Work};
use crate::apply::end::End;
use crate::apply::{Look, Questions, explain, look};
use crate::journal::Journal;
use crate::platform::{Failure, Platform, Severity};
use crate::progress::{Event, Listener};
use crate::reason::{Cause, Reason};
use crate::resource::{Endpoint, Id};
use crate::retry;

impl<P: Platform, J: Journal<P::State>, L: Listener> Run<'_, P, J, L> {
    /// An endpoint did not answer. How long to leave it alone; `None` when that has lasted too long.
    pub(super) fn silent(&mut self, endpoint: &Endpoint, error: &str, silence: Duration) -> Option<Duration> {
        let pauses = self.options.pauses;
        let (opened, silent_for, until) = self.options.lanes.failed(endpoint, pauses, |breaker| {
            let opened = breaker.failed(error.to_owned(), silence);
            (opened, breaker.silent_for(), breaker.open_until())
        });
        if silent_for > self.options.patience {
            return None;
        }
        let pause = until.map_or_else(|| retry::pause(&pauses, 1, endpoint), |until| until - Instant::now());
        if opened {
            self.listener.tell(&Event::Silent { endpoint, error, pause });
        }
        Some(pause)
    }

    pub(super) fn answered(&mut self, endpoint: &Endpoint) {
        if self.options.lanes.answered(endpoint) {
            self.listener.tell(&Event::Back { endpoint });
        }
    }

    /// Looks at what is due: all of an endpoint at once, one look at a time.
    pub(super) fn look_again(&mut self) {
        let now = Instant::now();
        let due: BTreeSet<Endpoint> =
            self.stale.iter().filter(|(_, at)| **at <= now).map(|(id, _)| id.endpoint.clone()).collect();
        for endpoint in due {
            if self.looking.contains(&endpoint) {
                continue;
            }
            if let Some(why) = self.options.lanes.given_up(&endpoint, self.options.patience) {
                self.give_up(&endpoint, &Cause::new(Reason::UNREACHABLE, why));
                continue;
            }
            if !self.options.lanes.may_look(&endpoint) {
                continue;
            }
            self.looking.insert(endpoint.clone());
            let chosen = |id: &Id| id.endpoint == endpoint && self.stale.get(id).is_some_and(|at| *at <= now);
            let questions = Questions::new(self.graph, self.journal, chosen);
            self.stale.retain(|id, at| !(id.endpoint == endpoint && *at <= now));
            let platform = self.platform.clone();
            self.tasks.spawn(async move { Message::Looked(look(platform, endpoint, questions).await) });
        }
    }

    pub(super) fn looked(&mut self, Look { endpoint, ids, unreadable, result }: Look<P>) {
        self.looking.remove(&endpoint);
        for (id, cause) in unreadable {
            self.settle(&id, End::Unknown(cause));
        }
        match result {
            Ok(sights) => {
                self.answered(&endpoint);
                for (id, sight) in ids.into_iter().zip(sights) {
                    self.world.set(id.clone(), sight);
                    if let Some(resource) = self.graph.get(&id).cloned() {
                        self.consider(&resource);
                    }
                }
            }
            Err(error) => self.blind(&endpoint, ids, &error),
        }
    }

    /// A look failed: try again later, for as long as that makes sense.
    fn blind(&mut self, endpoint: &Endpoint, ids: Vec<Id>, error: &P::Error) {
        let cause = Cause::new(error.reason(), explain(error));
        let pause = match error.severity() {
            Severity::Lasting => None,
            Severity::Unreachable | Severity::Passing { .. } => {
                self.silent(endpoint, &cause.message, error.silence())
            }
        };
        for id in ids {
            match pause {
                Some(pause) => {
                    self.stale.insert(id, Instant::now() + pause);
                }
                None => self.settle(&id, End::Unknown(cause.clone())),
            }
        }
        if pause.is_none() {
            self.abandon(endpoint, &cause);
        }
    }

    /// Another run has found out that this endpoint does not answer any more.
    fn give_up(&mut self, endpoint: &Endpoint, cause: &Cause) {
        let stale: Vec<Id> = self.stale.keys().filter(|id| id.endpoint == *endpoint).cloned().collect();
        for id in stale {
            self.stale.remove(&id);
            self.settle(&id, End::Unknown(cause.clone()));
        }
        self.abandon(endpoint, cause);
    }

    /// This endpoint will not answer any more: what is left there ends.
    pub(super) fn abandon(&mut self, endpoint: &Endpoint, cause: &Cause) {
        let here = |id: &Id| id.endpoint == *endpoint;
        let left: Vec<Id> =
            self.pending.values().map(Work::resource).filter(|id| here(id)).cloned().collect();
        self.pending.retain(|_, work| !here(work.resource()));
        for id in left {
            self.settle(&id, End::Unknown(cause.clone()));
        }
    }

    /// When something is to be looked at again.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let due = self.stale.iter().filter(|(id, _)| !self.looking.contains(&id.endpoint));
        due.map(|(id, at)| {
            let rests = self.options.lanes.rests_until(&id.endpoint);
            rests.map_or(*at, |until| until.max(*at))
        })
        .min()
    }
}
