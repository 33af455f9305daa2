//! One run: who may move, who waits, who is looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{Instrument, info_span};

use super::end::{End, Outcome, Performed};
use super::{Look, Moment, Options, doubt, explain, look, queries};
use crate::breaker::Breaker;
use crate::budget::Reservation;
use crate::journal::{Entry, Event as Journaled, Journal, JournalError};
use crate::platform::{Failure, Platform, Severity};
use crate::progress::{Event, Listener, Meter, Reading};
use crate::resource::{Endpoint, Graph, Id, Resource};
use crate::retry;
use crate::step::{Next, Step};
use crate::world::{Seen, Sight, World};

/// What a background task comes back with.
enum Message<P: Platform> {
    Performed(Box<Attempt<P>>),
    Looked(Look<P>),
}

/// A step that has been tried.
struct Attempt<P: Platform> {
    step: Box<Step<P::Action>>,
    started: Instant,
    /// `None`: it took too long.
    result: Option<Result<Option<P::State>, P::Error>>,
    number: usize,
    _reservation: Reservation,
}

type Pending<P> = BTreeMap<(u8, usize), Box<Step<<P as Platform>::Action>>>;

pub(super) struct Run<'a, P: Platform, J, L> {
    platform: Arc<P>,
    graph: &'a Graph<P::Wanted>,
    world: World<P::State>,
    journal: &'a mut J,
    listener: &'a L,
    options: &'a Options,
    began: Instant,
    /// The place of each resource in the graph's order.
    places: BTreeMap<Id, usize>,
    followers: BTreeMap<Id, Vec<Id>>,
    /// What each resource still waits for.
    open: BTreeMap<Id, usize>,
    ends: BTreeMap<Id, End>,
    changed: BTreeSet<Id>,
    /// Steps that could start, by rank.
    pending: Pending<P>,
    /// Resources to look at again, and when.
    stale: BTreeMap<Id, Instant>,
    attempts: BTreeMap<Id, (Box<str>, u32)>,
    breakers: BTreeMap<Endpoint, Breaker>,
    looking: BTreeSet<Endpoint>,
    waiting: BTreeMap<Id, String>,
    performed: Vec<Performed>,
    started: usize,
    tasks: JoinSet<Message<P>>,
    readings: (UnboundedSender<Reading>, UnboundedReceiver<Reading>),
    /// A test has ended the run.
    dead: bool,
}

impl<'a, P: Platform, J: Journal, L: Listener> Run<'a, P, J, L> {
    pub(super) fn new(
        platform: Arc<P>,
        graph: &'a Graph<P::Wanted>,
        world: World<P::State>,
        journal: &'a mut J,
        listener: &'a L,
        options: &'a Options,
    ) -> Self {
        let mut followers: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
        let mut open = BTreeMap::new();
        for resource in graph.iter() {
            let first = graph.waits_for(&resource.id);
            open.insert(resource.id.clone(), first.len());
            for id in first {
                followers.entry(id.clone()).or_default().push(resource.id.clone());
            }
        }
        Run {
            platform,
            graph,
            world,
            journal,
            listener,
            options,
            began: Instant::now(),
            places: graph.iter().enumerate().map(|(place, resource)| (resource.id.clone(), place)).collect(),
            followers,
            open,
            ends: BTreeMap::new(),
            changed: BTreeSet::new(),
            pending: BTreeMap::new(),
            stale: BTreeMap::new(),
            attempts: BTreeMap::new(),
            breakers: BTreeMap::new(),
            looking: BTreeSet::new(),
            waiting: BTreeMap::new(),
            performed: Vec::new(),
            started: 0,
            tasks: JoinSet::new(),
            readings: unbounded_channel(),
            dead: false,
        }
    }

    pub(super) async fn finish(
        mut self,
        cancelled: impl Future<Output = ()> + Send,
    ) -> Result<Outcome<P::State>, JournalError> {
        let mut cancelled = std::pin::pin!(cancelled);
        let mut stop_at: Option<Instant> = None;
        let ready = self.graph.iter().filter(|resource| self.graph.waits_for(&resource.id).is_empty());
        for resource in ready.cloned().collect::<Vec<_>>() {
            self.consider(&resource);
        }
        loop {
            if stop_at.is_none() {
                self.look_again();
                self.start().await?;
            }
            let idle = self.tasks.is_empty() && (stop_at.is_some() || self.stale.is_empty());
            if idle || self.dead {
                break;
            }
            let wake = stop_at.or_else(|| self.next_look());
            tokio::select! {
                biased;
                () = &mut cancelled, if stop_at.is_none() => stop_at = Some(Instant::now() + self.options.grace),
                Some(message) = self.tasks.join_next() => {
                    // A step that panics has ended in an unknown way; its resource stays unfinished.
                    if let Ok(message) = message {
                        self.take(message).await?;
                    }
                }
                Some(Reading { resource, verb, percent }) = self.readings.1.recv() => {
                    self.listener.tell(&Event::Progress { resource: &resource, verb: &verb, percent });
                }
                () = sleep_until(wake) => if stop_at.is_some() { break },
            }
        }
        for resource in self.graph.iter() {
            self.ends.entry(resource.id.clone()).or_insert(End::Unfinished);
        }
        Ok(Outcome {
            ends: self.ends,
            performed: self.performed,
            world: self.world,
            cancelled: stop_at.is_some() || self.dead,
        })
    }

    /// Moves a resource whose turn it is: it gets a step, or it is settled, and then those that waited for it.
    fn consider(&mut self, resource: &Arc<Resource<P::Wanted>>) {
        match self.judge(resource) {
            Ok(step) => self.enqueue(resource, step),
            Err(end) => self.settle(&resource.id, end),
        }
    }

    /// The next step of a resource, or its end.
    fn judge(&self, resource: &Resource<P::Wanted>) -> Result<Box<Step<P::Action>>, End> {
        let id = &resource.id;
        let first = self.graph.waits_for(id);
        if let Some(by) = first.iter().find(|first| !self.ends.get(first).is_some_and(End::is_done)) {
            return Err(End::Blocked { by: by.clone() });
        }
        if let Some(reason) = &resource.hold {
            return Err(End::Stopped { reason: reason.clone() });
        }
        let sight = self.world.get(id);
        if let Sight::Unknown(reason) = sight {
            return Err(End::Unknown { reason });
        }
        // Only at first sight: what this run has made and lost is looked at like anything else.
        let made = self.journal.made(id).filter(|_| !self.changed.contains(id));
        if let Some(reason) = doubt(resource, &sight, made, &self.options.recreate) {
            return Err(End::Stopped { reason });
        }
        match self.platform.next(resource, &self.seen(resource)) {
            Next::Step(step) => Ok(step),
            Next::Done => Err(End::Done { changed: self.changed.contains(id) }),
            Next::Stop(reason) => Err(End::Stopped { reason }),
        }
    }

    fn seen(&self, resource: &Resource<P::Wanted>) -> Seen<P::State> {
        self.world.seen(&resource.id, &resource.needs)
    }

    /// Whether nothing of the resource is left when a step has succeeded.
    fn removes(&self, step: &Step<P::Action>) -> bool {
        let resource = self.graph.get(&step.resource);
        resource.is_some_and(|resource| {
            self.platform.predict(resource, &self.seen(resource), &step.action).is_none()
        })
    }

    fn enqueue(&mut self, resource: &Resource<P::Wanted>, step: Box<Step<P::Action>>) {
        let place = self.places.get(&resource.id).copied().unwrap_or_default();
        self.pending.insert((resource.rank, place), step);
    }

    fn settle(&mut self, id: &Id, end: End) {
        let mut settled = vec![(id.clone(), end)];
        while let Some((id, end)) = settled.pop() {
            self.listener.tell(&Event::Settled { resource: &id, end: end.as_str() });
            self.waiting.remove(&id);
            self.ends.insert(id.clone(), end);
            for follower in self.followers.remove(&id).unwrap_or_default() {
                let (Some(open), Some(resource)) = (self.open.get_mut(&follower), self.graph.get(&follower))
                else {
                    continue;
                };
                *open -= 1;
                if *open > 0 {
                    continue;
                }
                match self.judge(resource) {
                    Ok(step) => self.enqueue(resource, step),
                    Err(end) => settled.push((follower, end)),
                }
            }
        }
    }

    /// Starts what may start, the intents first.
    async fn start(&mut self) -> Result<(), JournalError> {
        let mut chosen = Vec::new();
        let mut exhausted: BTreeSet<(Endpoint, Box<str>)> = BTreeSet::new();
        for key in self.pending.keys().copied().collect::<Vec<_>>() {
            let Some(step) = self.pending.get(&key) else { continue };
            let endpoint = &step.resource.endpoint;
            if let Some(breaker) = self.breakers.get(endpoint).filter(|breaker| breaker.probing()) {
                let why = format!("{endpoint} does not answer ({})", breaker.reason);
                tell_waiting(self.listener, &mut self.waiting, &step.resource, why);
                continue;
            }
            let used_up =
                step.costs.iter().find(|cost| exhausted.contains(&(endpoint.clone(), cost.budget.clone())));
            let reserved = match used_up {
                Some(cost) => Err(cost.budget.clone()),
                None => self.options.budgets.reserve(endpoint, &step.costs),
            };
            match reserved {
                Ok(reservation) => chosen.push((key, reservation)),
                Err(budget) => {
                    let why = format!("for its turn: enough is under way ({budget})");
                    tell_waiting(self.listener, &mut self.waiting, &step.resource, why);
                    exhausted.insert((endpoint.clone(), budget));
                }
            }
        }
        let chosen: Vec<_> =
            chosen.into_iter().filter_map(|(key, held)| Some((self.pending.remove(&key)?, held))).collect();
        if chosen.is_empty() {
            return Ok(());
        }
        let entries = chosen.iter().map(|(step, _)| {
            entry(step, Journaled::Intended { mark: step.mark, removal: self.removes(step) })
        });
        let entries = entries.collect();
        self.journal.append(entries).await?;
        for (step, reservation) in chosen {
            self.spawn(step, reservation);
        }
        Ok(())
    }

    fn spawn(&mut self, step: Box<Step<P::Action>>, reservation: Reservation) {
        let Some(resource) = self.graph.get(&step.resource).cloned() else { return };
        let number = self.started;
        self.started += 1;
        if self.options.fate.as_ref().is_some_and(|fate| fate(number, Moment::Intended)) {
            self.dead = true;
        }
        if self.dead {
            return;
        }
        self.waiting.remove(&step.resource);
        let attempt = self.attempts.get(&step.resource).map_or(1, |(_, count)| count + 1);
        let Step { resource: id, verb, sentence, .. } = &*step;
        self.listener.tell(&Event::Started { resource: id, verb, sentence, attempt });
        let span = info_span!("step", endpoint = %id.endpoint, resource = %id.name, verb = %verb);
        let readings = self.readings.0.clone();
        let meter = Meter { resource: id.clone(), verb: verb.clone(), readings };
        let (platform, seen, started) = (self.platform.clone(), self.seen(&resource), Instant::now());
        let task = async move {
            let work = platform.perform(&resource, &seen, &step.action, &meter);
            let result = tokio::time::timeout(step.limit, work).await.ok();
            Message::Performed(Box::new(Attempt { step, started, result, number, _reservation: reservation }))
        };
        self.tasks.spawn(task.instrument(span));
    }

    async fn take(&mut self, message: Message<P>) -> Result<(), JournalError> {
        match message {
            Message::Looked(look) => {
                self.looked(look);
                Ok(())
            }
            Message::Performed(attempt) => self.tried(*attempt).await,
        }
    }

    async fn tried(&mut self, attempt: Attempt<P>) -> Result<(), JournalError> {
        let Attempt { step, started, result, number, _reservation } = attempt;
        if self.options.fate.as_ref().is_some_and(|fate| fate(number, Moment::Performed)) {
            self.dead = true;
        }
        if self.dead {
            return Ok(());
        }
        let id = step.resource.clone();
        match result {
            Some(Ok(state)) => {
                let kept = state.as_ref().and_then(|state| serde_json::to_value(state).ok());
                self.journal.append(vec![entry(&step, Journaled::Done { state: kept })]).await?;
                self.answered(&id.endpoint);
                self.succeeded(&step, started, state);
            }
            Some(Err(error)) => {
                let text = explain(&error);
                let refused = matches!(error.severity(), Severity::Lasting);
                let failed = Journaled::Failed { error: text.clone(), refused };
                self.journal.append(vec![entry(&step, failed)]).await?;
                if error.severity() != Severity::Unreachable {
                    self.answered(&id.endpoint);
                }
                self.failed(&step, &text, (error.severity(), error.silence()), error.remedy());
            }
            None => {
                let text = format!("it took longer than {} s", step.limit.as_secs());
                let failed = Journaled::Failed { error: text.clone(), refused: false };
                self.journal.append(vec![entry(&step, failed)]).await?;
                self.failed(&step, &text, (Severity::Passing { after: None }, Duration::ZERO), None);
            }
        }
        Ok(())
    }

    fn succeeded(&mut self, step: &Step<P::Action>, started: Instant, state: Option<P::State>) {
        let Step { resource: id, verb, sentence, .. } = step;
        let took = started.elapsed();
        self.listener.tell(&Event::Finished { resource: id, verb, took });
        self.performed.push(Performed {
            resource: id.clone(),
            verb: verb.clone(),
            sentence: sentence.clone(),
            started: started - self.began,
            took,
        });
        self.changed.insert(id.clone());
        self.attempts.remove(id);
        self.world.set(id.clone(), Sight::Known(state));
        let Some(resource) = self.graph.get(id).cloned() else { return };
        self.consider(&resource);
    }

    fn failed(
        &mut self,
        step: &Step<P::Action>,
        error: &str,
        (severity, silence): (Severity, Duration),
        remedy: Option<String>,
    ) {
        let id = &step.resource;
        let give_up = End::Failed { verb: step.verb.clone(), error: error.to_owned(), remedy };
        let (verb, count) = self.attempts.entry(id.clone()).or_insert_with(|| (step.verb.clone(), 0));
        if *verb != step.verb {
            (*verb, *count) = (step.verb.clone(), 0);
        }
        // Nothing is tried before a look has succeeded: an endpoint that is away for long costs one attempt, one that
        // answers everything but this call costs them all.
        *count += 1;
        let count = *count;
        let pause = match severity {
            Severity::Lasting => return self.settle(id, give_up),
            _ if count >= self.options.attempts => return self.settle(id, give_up),
            Severity::Unreachable => {
                let Some(pause) = self.silent(&id.endpoint, error, silence) else {
                    self.settle(id, give_up);
                    return self.abandon(&id.endpoint, error);
                };
                pause
            }
            Severity::Passing { after } => {
                after.unwrap_or_else(|| retry::pause(&self.options.pauses, count, id))
            }
        };
        self.listener.tell(&Event::Retrying { resource: id, verb: &step.verb, error, pause });
        self.stale.insert(id.clone(), Instant::now() + pause);
    }

    /// An endpoint did not answer. How long to leave it alone; `None` when that has lasted too long.
    fn silent(&mut self, endpoint: &Endpoint, error: &str, silence: Duration) -> Option<Duration> {
        let pauses = self.options.pauses;
        let breaker = self.breakers.entry(endpoint.clone()).or_insert_with(|| Breaker::new(pauses));
        let opened = breaker.failed(error.to_owned(), silence);
        if breaker.silent_for() > self.options.patience {
            return None;
        }
        let until = breaker.open_until();
        let pause = until.map_or_else(|| retry::pause(&pauses, 1, endpoint), |until| until - Instant::now());
        if opened {
            self.listener.tell(&Event::Silent { endpoint, error, pause });
        }
        Some(pause)
    }

    fn answered(&mut self, endpoint: &Endpoint) {
        if let Some(breaker) = self.breakers.get_mut(endpoint) {
            if breaker.probing() {
                self.listener.tell(&Event::Back { endpoint });
            }
            breaker.succeeded();
        }
    }

    /// Looks at what failed, as soon as it is due: all of an endpoint at once, one look at a time.
    fn look_again(&mut self) {
        let now = Instant::now();
        let due: BTreeSet<Endpoint> =
            self.stale.iter().filter(|(_, at)| **at <= now).map(|(id, _)| id.endpoint.clone()).collect();
        for endpoint in due {
            let resting = self.breakers.get(&endpoint).is_some_and(|breaker| breaker.open_until().is_some());
            if resting || !self.looking.insert(endpoint.clone()) {
                continue;
            }
            let chosen = |id: &Id| id.endpoint == endpoint && self.stale.get(id).is_some_and(|at| *at <= now);
            let (resources, made) = queries(self.graph, self.journal, chosen);
            for resource in &resources {
                self.stale.remove(&resource.id);
            }
            let platform = self.platform.clone();
            self.tasks.spawn(async move { Message::Looked(look(platform, endpoint, resources, made).await) });
        }
    }

    fn looked(&mut self, Look { endpoint, ids, result }: Look<P>) {
        self.looking.remove(&endpoint);
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
        let text = explain(error);
        let pause = match error.severity() {
            Severity::Lasting => None,
            Severity::Unreachable | Severity::Passing { .. } => self.silent(endpoint, &text, error.silence()),
        };
        for id in ids {
            match pause {
                Some(pause) => {
                    self.stale.insert(id, Instant::now() + pause);
                }
                None => self.settle(&id, End::Unknown { reason: text.clone() }),
            }
        }
        if pause.is_none() {
            self.abandon(endpoint, &text);
        }
    }

    /// Nobody will answer at this endpoint any more: what is left there ends.
    fn abandon(&mut self, endpoint: &Endpoint, reason: &str) {
        let left: Vec<Id> = self
            .pending
            .values()
            .map(|step| &step.resource)
            .filter(|id| id.endpoint == *endpoint)
            .cloned()
            .collect();
        self.pending.retain(|_, step| step.resource.endpoint != *endpoint);
        for id in left {
            self.settle(&id, End::Unknown { reason: reason.to_owned() });
        }
    }

    /// When something is to be looked at again.
    fn next_look(&self) -> Option<Instant> {
        let due = self.stale.iter().filter(|(id, _)| !self.looking.contains(&id.endpoint));
        due.map(|(id, at)| {
            let rests = self.breakers.get(&id.endpoint).and_then(Breaker::open_until);
            rests.map_or(*at, |until| until.max(*at))
        })
        .min()
    }
}

fn tell_waiting(listener: &impl Listener, waiting: &mut BTreeMap<Id, String>, id: &Id, why: String) {
    if waiting.get(id) != Some(&why) {
        listener.tell(&Event::Waiting { resource: id, why: &why });
        waiting.insert(id.clone(), why);
    }
}

fn entry<A>(step: &Step<A>, event: Journaled) -> Entry {
    Entry::now(step.resource.clone(), &step.verb, event)
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
