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
        let left = self.options.patience.saturating_sub(silent_for);
        self.give_up_at.insert(endpoint.clone(), Instant::now() + left);
        if left.is_zero() {
            return None;
        }
        let pause = until.map_or_else(|| retry::pause(&pauses, 1, endpoint), |until| until - Instant::now());
        if opened {
            self.listener.tell(&Event::Silent { endpoint, error, pause });
        }
        Some(pause)
    }

    /// Ends what is left at endpoints that have not answered for too long. Nothing that is under way there is waited for: the
    /// journal says that it was begun, and the next run looks what became of it.
    pub(super) fn end_silent(&mut self) {
        let now = Instant::now();
        let due = self.give_up_at.iter().filter(|(_, at)| **at <= now);
        for endpoint in due.map(|(endpoint, _)| endpoint.clone()).collect::<Vec<_>>() {
            self.give_up_at.remove(&endpoint);
            // Another run may have had an answer.
            let Some(why) = self.options.lanes.silent_for(&endpoint, self.options.patience) else { continue };
            self.running.remove(&endpoint).into_iter().flatten().for_each(|task| task.abort());
            self.looking.remove(&endpoint);
            self.stale.retain(|id, _| id.endpoint != endpoint);
            self.pending.retain(|_, work| work.resource().endpoint != endpoint);
            let begun = self.open.iter().filter(|(id, open)| **open == 0 && id.endpoint == endpoint);
            let left = begun.map(|(id, _)| id).filter(|id| !self.ends.contains_key(*id));
            let cause = Cause::new(Reason::UNREACHABLE, why);
            for id in left.cloned().collect::<Vec<Id>>() {
                self.settle(&id, End::Unknown(cause.clone()));
            }
        }
    }

    pub(super) fn answered(&mut self, endpoint: &Endpoint) {
        self.give_up_at.remove(endpoint);
        if self.options.lanes.answered(endpoint, self.options.pauses) {
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
            let looking = endpoint.clone();
            self.run_at(looking, async move { Message::Looked(look(platform, endpoint, questions).await) });
        }
    }

    pub(super) fn looked(&mut self, Look { endpoint, ids, unreadable, result }: Look<P>) {
        // The endpoint was given up, and this came late.
        if !self.looking.remove(&endpoint) {
            return;
        }
        for (id, cause) in unreadable {
            self.settle(&id, End::Unknown(cause));
        }
        match result {
            Ok(observations) => {
                self.answered(&endpoint);
                for (id, observation) in ids.into_iter().zip(observations) {
                    self.world.set(id.clone(), observation);
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
            Severity::Permanent => None,
            Severity::Unreachable | Severity::Transient { .. } => {
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
