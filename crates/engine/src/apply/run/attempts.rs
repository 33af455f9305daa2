//! What became of a step, or of a task that was begun before.

use std::time::Duration;

use tokio::time::Instant;

use super::{Run, Work};
use crate::apply::end::{End, Performed};
use crate::apply::explain;
use crate::budget::Reservation;
use crate::context::Context;
use crate::journal::{Event as Journaled, Journal, Written};
use crate::platform::{Failure, Platform, Resumed, Severity};
use crate::progress::{Event, Listener};
use crate::reason::{Cause, Reason};
use crate::resource::{Id, Resource};
use crate::retry;
use crate::world::{Observation, Observed};

/// Something that was tried.
pub(super) struct Attempt<P: Platform> {
    id: Id,
    verb: Box<str>,
    sentence: String,
    started: Instant,
    ended: Ended<P>,
    /// It was begun by an earlier run or attempt.
    resumed: bool,
    held: Reservation,
}

enum Ended<P: Platform> {
    /// The resource is like this now.
    Done(Option<P::State>),
    Failed(P::Error),
    /// A task of an earlier attempt failed, or is forgotten: the resource is looked at.
    Over(Cause),
    TimedOut(Duration),
}

/// Why something did not succeed.
struct Failed {
    cause: Cause,
    severity: Severity,
    /// How long the endpoint had not answered when it was noticed.
    silence: Duration,
    remedy: Option<String>,
}

impl<P: Platform> Attempt<P> {
    pub(super) async fn make(
        platform: &P,
        resource: &Resource<P::Desired>,
        observed: Observed<P::State>,
        work: Work<P::Action>,
        context: &Context,
        held: Reservation,
    ) -> Self {
        let (id, verb, started) = (resource.id.clone(), Box::from(work.verb()), Instant::now());
        let resumed = matches!(work, Work::Resume { .. });
        let (sentence, ended) = match work {
            Work::Step(step) => {
                let doing = platform.perform(resource, &observed, &step.action, context);
                let ended = match tokio::time::timeout(step.limit, doing).await {
                    Ok(Ok(state)) => Ended::Done(state),
                    Ok(Err(error)) => Ended::Failed(error),
                    Err(_) => Ended::TimedOut(step.limit),
                };
                (step.sentence, ended)
            }
            Work::Resume { task, .. } => {
                let ended = match platform.resume(resource, &task, context).await {
                    Ok(Resumed::Done(state)) => Ended::Done(state),
                    Ok(Resumed::Failed(cause)) => Ended::Over(cause),
                    Ok(Resumed::Over) => {
                        let message = format!("{} has ended; its result is checked", task.reference);
                        Ended::Over(Cause::new(Reason::TASK_OVER, message))
                    }
                    Err(error) => Ended::Failed(error),
                };
                (format!("{} (begun before)", task.verb), ended)
            }
        };
        Attempt { id, verb, sentence, started, ended, resumed, held }
    }
}

impl<P: Platform, J: Journal<P::State>, L: Listener> Run<'_, P, J, L> {
    pub(super) async fn tried(&mut self, attempt: Attempt<P>) -> Result<(), J::Error> {
        let Attempt { id, verb, sentence, started, ended, resumed, held: _held } = attempt;
        let failed = match ended {
            Ended::Done(state) => {
                let done = Journaled::Done { state: state.clone().map(Written::State) };
                self.journal.append(vec![self.entry(&id, &verb, done)]).await?;
                self.answered(&id.endpoint);
                let by = (!resumed).then_some(sentence);
                self.succeeded(&id, verb, by, started, state);
                return Ok(());
            }
            Ended::Over(cause) => {
                let (error, refused, under_way) = (cause.message, false, false);
                let over = Journaled::Failed { error, refused, under_way };
                self.journal.append(vec![self.entry(&id, &verb, over)]).await?;
                self.answered(&id.endpoint);
                if !self.ends.contains_key(&id) {
                    self.stale.insert(id, Instant::now());
                }
                return Ok(());
            }
            Ended::Failed(error) => {
                let severity = error.severity();
                let cause = Cause::new(error.reason(), explain(&error));
                // That a task cannot be asked about says nothing about how it ended.
                let open = resumed || error.leaves_task_running();
                let under_way = open && self.journal.task(&id).is_some();
                let refused = severity == Severity::Permanent;
                let failed = Journaled::Failed { error: cause.message.clone(), refused, under_way };
                self.journal.append(vec![self.entry(&id, &verb, failed)]).await?;
                if severity != Severity::Unreachable {
                    self.answered(&id.endpoint);
                }
                Failed { cause, severity, silence: error.silence(), remedy: error.remedy() }
            }
            Ended::TimedOut(limit) => {
                let error = format!("it took longer than {} s", limit.as_secs());
                let under_way = self.journal.task(&id).is_some();
                let failed = Journaled::Failed { error: error.clone(), refused: false, under_way };
                self.journal.append(vec![self.entry(&id, &verb, failed)]).await?;
                let cause = Cause::new(Reason::TIMED_OUT, error);
                let severity = Severity::Transient { after: None };
                Failed { cause, severity, silence: Duration::ZERO, remedy: None }
            }
        };
        // What was given up meanwhile stays so.
        if !self.ends.contains_key(&id) {
            self.failed(&id, &verb, failed);
        }
        Ok(())
    }

    fn succeeded(
        &mut self,
        id: &Id,
        verb: Box<str>,
        sentence: Option<String>,
        started: Instant,
        state: Option<P::State>,
    ) {
        let took = started.elapsed();
        self.listener.tell(&Event::Finished { resource: id, verb: &verb, took });
        // What an earlier run began is not a step of this one.
        if let Some(sentence) = sentence {
            let started = started - self.began;
            self.performed.push(Performed { resource: id.clone(), verb, sentence, started, took });
        }
        self.changed.insert(id.clone());
        self.attempts.remove(id);
        self.world.set(id.clone(), Observation::Known(state));
        if let Some(resource) = self.graph.get(id).cloned() {
            self.consider(&resource);
        }
    }

    fn failed(&mut self, id: &Id, verb: &str, failed: Failed) {
        let Failed { cause, severity, silence, remedy } = failed;
        let Cause { reason, message: error } = cause.clone();
        let give_up = End::Failed { reason, verb: verb.into(), error: error.clone(), remedy };
        let (counted, count) = self.attempts.entry(id.clone()).or_insert_with(|| (verb.into(), 0));
        if **counted != *verb {
            (*counted, *count) = (verb.into(), 0);
        }
        // Nothing is tried before a look has succeeded: an endpoint that is away for long costs one attempt, one that
        // answers everything but this call costs them all.
        *count += 1;
        let count = *count;
        let pause = match severity {
            Severity::Permanent => return self.settle(id, give_up),
            _ if count >= self.options.attempts => return self.settle(id, give_up),
            Severity::Unreachable => {
                let Some(pause) = self.silent(&id.endpoint, &error, silence) else {
                    self.settle(id, give_up);
                    return self.abandon(&id.endpoint, &cause);
                };
                pause
            }
            Severity::Transient { after } => {
                after.unwrap_or_else(|| retry::pause(&self.options.pauses, count, id))
            }
        };
        self.listener.tell(&Event::Retrying { resource: id, verb, error: &error, pause });
        self.stale.insert(id.clone(), Instant::now() + pause);
    }
}
