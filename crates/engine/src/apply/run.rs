//! One run: what may move, what waits, what is looked at again.

mod attempts;
mod looks;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tracing::{Instrument, info_span};

use self::attempts::Attempt;
use self::waits::Waiting;
use super::end::{End, Outcome, Performed};
use super::{Look, Options, is_vanished, vanished};
use crate::budget::Reservation;
use crate::context::{Context, News, What};
use crate::journal::{Before, Entry, Event as Journaled, Journal, Task};
use crate::platform::Platform;
use crate::progress::{Event, Listener};
use crate::reason::Reason;
use crate::resource::{Endpoint, Graph, Id, Resource};
use crate::step::{Next, Step, Wait};
use crate::world::{Observation, Observed, World};

/// What a background task comes back with.
enum Message<P: Platform> {
    Tried(Box<Attempt<P>>),
    Looked(Look<P>),
}

/// What can be started.
enum Work<A> {
    Step(Box<Step<A>>),
    /// An earlier run or attempt has started it: only its end is waited for.
    Resume {
        resource: Id,
        task: Task,
    },
}

impl<A> Work<A> {
    fn resource(&self) -> &Id {
        match self {
            Work::Step(step) => &step.resource,
            Work::Resume { resource, .. } => resource,
        }
    }

    fn verb(&self) -> &str {
        match self {
            Work::Step(step) => &step.verb,
            Work::Resume { task, .. } => &task.verb,
        }
    }
}

/// What is to be done about a resource whose turn it is.
enum Decision<A> {
    Work(Work<A>),
    Wait(Box<Wait>),
    End(End),
}

type Pending<P> = BTreeMap<(u8, usize), Work<<P as Platform>::Action>>;

pub(super) struct Run<'a, P: Platform, J, L> {
    platform: Arc<P>,
    graph: &'a Graph<P::Desired>,
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
    /// What could start, by rank.
    pending: Pending<P>,
    /// Resources to look at again, and when.
    stale: BTreeMap<Id, Instant>,
    attempts: BTreeMap<Id, (Box<str>, u32)>,
    looking: BTreeSet<Endpoint>,
    /// When endpoints that do not answer are given up.
    give_up_at: BTreeMap<Endpoint, Instant>,
    /// Steps and looks that are under way.
    running: BTreeMap<Endpoint, Vec<AbortHandle>>,
    /// What listeners heard last of what a resource waits for.
    told: BTreeMap<Id, String>,
    waiting: Waiting,
    performed: Vec<Performed>,
    tasks: JoinSet<Message<P>>,
    news: (UnboundedSender<News>, UnboundedReceiver<News>),
}

impl<'a, P: Platform, J: Journal<P::State>, L: Listener> Run<'a, P, J, L> {
    pub(super) fn new(
        platform: Arc<P>,
        graph: &'a Graph<P::Desired>,
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
            looking: BTreeSet::new(),
            give_up_at: BTreeMap::new(),
            running: BTreeMap::new(),
            told: BTreeMap::new(),
            waiting: Waiting::default(),
            performed: Vec::new(),
            tasks: JoinSet::new(),
            news: unbounded_channel(),
        }
    }

    pub(super) async fn finish(
        mut self,
        cancelled: impl Future<Output = ()> + Send,
    ) -> Result<Outcome<P::State>, J::Error> {
        let mut cancelled = std::pin::pin!(cancelled);
        let mut stop_at: Option<Instant> = None;
        let ready = self.graph.iter().filter(|resource| self.graph.waits_for(&resource.id).is_empty());
        for resource in ready.cloned().collect::<Vec<_>>() {
            self.consider(&resource);
        }
        loop {
            // Before anything is tried: what other runs give back meanwhile is not missed.
            let mut freed = std::pin::pin!(self.options.lanes.freed());
            freed.as_mut().enable();
            if stop_at.is_none() {
                self.end_silent();
                self.look_again();
                self.start().await?;
                self.follow();
            }
            let nothing_to_do = self.stale.is_empty() && self.pending.is_empty();
            if self.tasks.is_empty() && (stop_at.is_some() || nothing_to_do) {
                break;
            }
            let wake = stop_at.or_else(|| {
                let given_up = self.give_up_at.values().copied();
                self.next_look().into_iter().chain(self.waiting.open_at()).chain(given_up).min()
            });
            tokio::select! {
                biased;
                () = &mut cancelled, if stop_at.is_none() => stop_at = Some(Instant::now() + self.options.grace),
                Some(news) = self.news.1.recv() => self.hear(news).await?,
                Some(message) = self.tasks.join_next() => {
                    // A step that panics has ended in an unknown way; its resource stays unfinished.
                    if let Ok(message) = message {
                        self.take(message).await?;
                    }
                }
                Some(id) = self.waiting.changes.1.recv() => self.heard_change(&id),
                Some(ended) = self.waiting.feeds.join_next() => self.unfollowed(ended),
                () = freed, if !self.pending.is_empty() || !self.stale.is_empty() => {}
                () = sleep_until(wake) => if stop_at.is_some() { break },
            }
        }
        for resource in self.graph.iter() {
            self.ends.entry(resource.id.clone()).or_insert(End::Unfinished);
        }
        let cancelled = stop_at.is_some();
        Ok(Outcome { ends: self.ends, performed: self.performed, world: self.world, cancelled })
    }

    /// Moves a resource whose turn it is: something is done about it, or it is settled, and then those that waited for it.
    fn consider(&mut self, resource: &Arc<Resource<P::Desired>>) {
        // It was given up, and an answer came late.
        if self.ends.contains_key(&resource.id) {
            return;
        }
        let decision = self.judge(resource);
        self.act(resource, decision);
    }

    fn act(&mut self, resource: &Resource<P::Desired>, decision: Decision<P::Action>) {
        match decision {
            Decision::Work(work) => self.enqueue(resource, work),
            Decision::Wait(wait) => self.wait(&resource.id, *wait),
            Decision::End(end) => self.settle(&resource.id, end),
        }
    }

    fn judge(&self, resource: &Resource<P::Desired>) -> Decision<P::Action> {
        let id = &resource.id;
        let first = self.graph.waits_for(id);
        if let Some(by) = first.iter().find(|first| !self.ends.get(first).is_some_and(End::is_done)) {
            return Decision::End(End::Blocked { by: by.clone() });
        }
        if let Some(by) = self.graph.missing_given(resource, &self.world) {
            return Decision::End(End::Blocked { by: by.clone() });
        }
        if let Some(cause) = &resource.hold {
            return Decision::End(End::Stopped(cause.clone()));
        }
        let observation = self.world.get(id);
        if let Observation::Unknown(cause) = observation {
            return Decision::End(End::Unknown(cause));
        }
        // Whatever it looks like now: a task may be at it.
        if let Some(task) = self.journal.task(id) {
            return Decision::Work(Work::Resume { resource: id.clone(), task: task.clone() });
        }
        // Only at first observation: what this run has made and lost is looked at like anything else.
        let made = self.journal.made(id).filter(|_| !self.changed.contains(id));
        if is_vanished(resource, &observation, made, &self.options.recreate) {
            return Decision::End(End::Stopped(vanished(id)));
        }
        match self.platform.next(resource, &self.observed(resource)) {
            Next::Step(step) => Decision::Work(Work::Step(step)),
            Next::Wait(wait) => Decision::Wait(wait),
            Next::Done => Decision::End(End::Done { changed: self.changed.contains(id) }),
            Next::Stop(cause) => Decision::End(End::Stopped(cause)),
        }
    }

    fn entry(&self, resource: &Id, verb: &str, event: Journaled<P::State>) -> Entry<P::State> {
        Entry { at: self.options.clock.now(), resource: resource.clone(), verb: verb.into(), event }
    }

    fn observed(&self, resource: &Resource<P::Desired>) -> Observed<P::State> {
        self.world.observed(&resource.id, &resource.depends_on)
    }

    /// Whether nothing of the resource is left when a step has succeeded.
    fn removes(&self, step: &Step<P::Action>) -> bool {
        let resource = self.graph.get(&step.resource);
        resource.is_some_and(|resource| {
            self.platform.predict(resource, &self.observed(resource), &step.action).is_none()
        })
    }

    fn enqueue(&mut self, resource: &Resource<P::Desired>, work: Work<P::Action>) {
        let place = self.places.get(&resource.id).copied().unwrap_or_default();
        self.pending.insert((resource.rank, place), work);
    }

    fn settle(&mut self, id: &Id, end: End) {
        self.listener.tell(&Event::Settled { resource: id, end: end.as_str() });
        self.told.remove(id);
        self.waiting.forget(id);
        self.ends.insert(id.clone(), end);
        for follower in self.followers.remove(id).unwrap_or_default() {
            let (Some(open), Some(resource)) = (self.open.get_mut(&follower), self.graph.get(&follower))
            else {
                continue;
            };
            *open -= 1;
            if *open == 0 {
                self.consider(&resource.clone());
            }
        }
    }

    /// Starts what may start, the intents first.
    async fn start(&mut self) -> Result<(), J::Error> {
        let mut chosen = Vec::new();
        let mut exhausted: BTreeSet<(Endpoint, Box<str>)> = BTreeSet::new();
        for key in self.pending.keys().copied().collect::<Vec<_>>() {
            let Some(work) = self.pending.get(&key) else { continue };
            let id = work.resource().clone();
            let endpoint = &id.endpoint;
            if let Some(why) = self.options.lanes.blocked(endpoint) {
                let why = format!("{endpoint} does not answer ({why})");
                self.tell_waiting(&id, &Reason::UNREACHABLE, why);
                self.probe(key);
                continue;
            }
            let costs = match work {
                Work::Step(step) => step.costs.as_slice(),
                Work::Resume { .. } => &[],
            };
            let used_up =
                costs.iter().find(|cost| exhausted.contains(&(endpoint.clone(), cost.budget.clone())));
            let reserved = match used_up {
                Some(cost) => Err(cost.budget.clone()),
                None => self.options.lanes.budgets.reserve(endpoint, costs),
            };
            match reserved {
                Ok(reservation) => chosen.push((key, reservation)),
                Err(budget) => {
                    let why = format!("for its turn: enough is under way ({budget})");
                    self.tell_waiting(&id, &Reason::BUDGET_EXHAUSTED, why);
                    exhausted.insert((endpoint.clone(), budget));
                }
            }
        }
        let chosen: Vec<_> =
            chosen.into_iter().filter_map(|(key, held)| Some((self.pending.remove(&key)?, held))).collect();
        let entries: Vec<_> = chosen
            .iter()
            .filter_map(|(work, _)| match work {
                Work::Step(step) => {
                    let before = Some(Before::of(self.world.get(&step.resource).state().cloned()));
                    let removal = self.removes(step);
                    let intended = Journaled::Intended { mark: step.mark, removal, before };
                    Some(self.entry(&step.resource, &step.verb, intended))
                }
                Work::Resume { .. } => None,
            })
            .collect();
        if !entries.is_empty() {
            self.journal.append(entries).await?;
        }
        for (work, reservation) in chosen {
            self.spawn(work, reservation);
        }
        Ok(())
    }

    /// An endpoint has to answer a look before anything else is sent: where this run does not look anyway, it does now.
    fn probe(&mut self, key: (u8, usize)) {
        let Some(id) = self.pending.get(&key).map(|work| work.resource().clone()) else { return };
        let looks = self.stale.keys().any(|stale| stale.endpoint == id.endpoint);
        if !looks && !self.looking.contains(&id.endpoint) {
            self.pending.remove(&key);
            self.stale.insert(id, Instant::now());
        }
    }

    fn spawn(&mut self, work: Work<P::Action>, reservation: Reservation) {
        let Some(resource) = self.graph.get(work.resource()).cloned() else { return };
        let (id, verb) = (&resource.id, work.verb());
        self.told.remove(id);
        let attempt = self.attempts.get(id).map_or(1, |(_, count)| count + 1);
        let resumes;
        let sentence = match &work {
            Work::Step(step) => &step.sentence,
            Work::Resume { task, .. } => {
                resumes = format!("wait for the {verb} that an earlier run started ({})", task.reference);
                &resumes
            }
        };
        self.listener.tell(&Event::Started { resource: id, verb, sentence, attempt });
        let span = info_span!("step", endpoint = %id.endpoint, resource = %id.name, verb = %verb);
        let context = Context { resource: id.clone(), verb: verb.into(), news: self.news.0.clone() };
        let (platform, observed) = (self.platform.clone(), self.observed(&resource));
        let endpoint = id.endpoint.clone();
        let task = async move {
            let attempt = Attempt::make(&*platform, &resource, observed, work, &context, reservation).await;
            Message::Tried(Box::new(attempt))
        };
        self.run_at(endpoint, task.instrument(span));
    }

    /// Does something at an endpoint, for as long as that is not given up.
    fn run_at(&mut self, endpoint: Endpoint, task: impl Future<Output = Message<P>> + Send + 'static) {
        let task = self.tasks.spawn(task);
        let running = self.running.entry(endpoint).or_default();
        running.retain(|task| !task.is_finished());
        running.push(task);
    }

    async fn take(&mut self, message: Message<P>) -> Result<(), J::Error> {
        match message {
            Message::Looked(look) => {
                self.looked(look);
                Ok(())
            }
            Message::Tried(attempt) => self.tried(*attempt).await,
        }
    }

    /// What a step says while it runs.
    async fn hear(&mut self, news: News) -> Result<(), J::Error> {
        let News { resource, verb, what } = news;
        match what {
            What::Percent(percent) => {
                self.listener.tell(&Event::Progress { resource: &resource, verb: &verb, percent });
            }
            What::Task(reference, written) => {
                let entry = self.entry(&resource, &verb, Journaled::Task { reference });
                self.journal.append(vec![entry]).await?;
                drop(written);
            }
        }
        Ok(())
    }

    fn tell_waiting(&mut self, id: &Id, reason: &Reason, why: String) {
        if self.told.get(id) != Some(&why) {
            self.listener.tell(&Event::Waiting { resource: id, reason, why: &why });
            self.told.insert(id.clone(), why);
        }
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
