//! One list of outstanding tasks per client, and one call that waits for news of any of them.
//!
//! The list is a `ListView` and the news come from a property collector of its own; both live as long as the
//! session. While nobody waits, nothing is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};
use tracing::debug;

use crate::vsphere::client::Client;
use crate::vsphere::error::{Error, Retry};
use crate::vsphere::fault::{Fault, FaultKind};
use crate::vsphere::moref::{MoRef, Reference};
use crate::vsphere::properties::{PropertySpec, property_sets};
use crate::vsphere::soap::{Body, Element};

/// How long the server holds a call in which nothing happens, at most: no longer than a call may take, so that a server that
/// is gone is noticed.
const LONG_POLL: Duration = Duration::from_secs(30);

/// Tasks that start, or end, within this time share a call.
const DEBOUNCE: Duration = Duration::from_millis(20);

/// Failures in a row after which the waiters are told.
const MAX_ATTEMPTS: u32 = 5;
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

const PROPERTIES: [&str; 4] = ["info.state", "info.error", "info.result", "info.progress"];

/// How waiting for a task ended.
#[derive(Debug, Clone)]
pub(super) enum End {
    Done(Element),
    Failed(Box<Fault>),
    /// The server does not know the task, or no more.
    Forgotten,
    /// The server could not be asked.
    Unheard(Arc<Error>),
    LoggedOut,
}

/// What a client waits for.
#[derive(Debug, Default)]
pub(in crate::vsphere) struct Tracker {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    tasks: BTreeMap<Reference, Followed>,
    tickets: u64,
    /// Tasks in the server's list that nobody waits for any more.
    settled: BTreeSet<Reference>,
    /// What is left on the server from the last time somebody waited.
    feed: Option<Feed>,
    /// A settled task is awaited again: the server has told all it had to say, a new list tells it again.
    renew: bool,
    follower: Option<AbortHandle>,
}

#[derive(Debug, Default)]
struct Followed {
    waiters: BTreeMap<u64, (oneshot::Sender<End>, watch::Sender<u8>)>,
    fields: BTreeMap<Box<str>, Element>,
    listed: bool,
}

/// List and collector on the server, and how far the news were read.
#[derive(Debug)]
struct Feed {
    view: MoRef,
    collector: MoRef,
    version: String,
}

impl Tracker {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody waits any more: what is on the server ends with the session.
    pub(in crate::vsphere) fn stop(&self) {
        let mut state = self.lock();
        if let Some(follower) = state.follower.take() {
            follower.abort();
        }
        state.feed = None;
        state.end_all(&End::LoggedOut);
    }
}

impl State {
    fn end(&mut self, task: &Reference, end: &End) {
        if let Some(followed) = self.tasks.remove(task) {
            if followed.listed {
                self.settled.insert(task.clone());
            }
            for (done, _) in followed.waiters.into_values() {
                // A waiter that left does not need to know.
                let _ = done.send(end.clone());
            }
        }
    }

    fn end_all(&mut self, end: &End) {
        let tasks: Vec<Reference> = self.tasks.keys().cloned().collect();
        for task in &tasks {
            self.end(task, end);
        }
        self.settled.clear();
    }

    /// Nobody waits, or somebody does for what the list does not tell.
    fn wants_no_more_of_it(&self) -> bool {
        self.tasks.is_empty() || self.renew
    }

    /// News of a task.
    fn learn(&mut self, update: &Element) {
        let Some(task) = update.child("obj").map(Reference::of) else { return };
        let Some(followed) = self.tasks.get_mut(&task) else { return };
        if update.text_of("kind") == "leave" {
            self.end(&task, &End::Forgotten);
            return;
        }
        for change in update.all("changeSet") {
            let value = if change.text_of("op") == "assign" { change.child("val").cloned() } else { None };
            followed.fields.insert(change.text_of("name").into(), value.unwrap_or_default());
        }
        if let Some(percent) = followed.fields.get("info.progress").and_then(|value| value.text.parse().ok())
        {
            for (_, progress) in followed.waiters.values() {
                progress.send_if_modified(|known| std::mem::replace(known, percent) != percent);
            }
        }
        let end = match followed.fields.get("info.state").map_or("", |state| &*state.text) {
            "success" => End::Done(followed.fields.remove("info.result").unwrap_or_default()),
            "error" => {
                let fault = followed.fields.get("info.error").map_or_else(Fault::unknown, Fault::of_method);
                End::Failed(Box::new(fault))
            }
            _ => return,
        };
        self.end(&task, &end);
    }
}

/// A caller waiting for one task. Dropped, it is forgotten.
#[derive(Debug)]
pub(super) struct TaskWait {
    client: Client,
    task: Reference,
    number: u64,
    done: oneshot::Receiver<End>,
    progress: watch::Receiver<u8>,
}

impl TaskWait {
    pub(super) fn new(client: &Client, task: &Reference) -> Self {
        let ((done, ended), (progress, reported)) = (oneshot::channel(), watch::channel(0));
        let tracker = client.tracker();
        let mut state = tracker.lock();
        state.tickets += 1;
        let number = state.tickets;
        state.renew |= state.settled.contains(task);
        let followed = state.tasks.entry(task.clone()).or_default();
        followed.waiters.insert(number, (done, progress));
        if state.follower.is_none() {
            state.follower = Some(tokio::spawn(follow(Follower(client.clone()))).abort_handle());
        }
        drop(state);
        tracker.changed.notify_one();
        TaskWait { client: client.clone(), task: task.clone(), number, done: ended, progress: reported }
    }

    pub(super) async fn wait(&mut self, mut report: impl FnMut(u8)) -> End {
        loop {
            tokio::select! {
                biased;
                end = &mut self.done => {
                    // Without an answer the follower died with its runtime.
                    return end.unwrap_or(End::LoggedOut);
                }
                Ok(()) = self.progress.changed() => {
                    let percent = *self.progress.borrow_and_update();
                    report(percent);
                }
            }
        }
    }
}

impl Drop for TaskWait {
    fn drop(&mut self) {
        let tracker = self.client.tracker();
        let mut state = tracker.lock();
        let Some(followed) = state.tasks.get_mut(&self.task) else { return };
        followed.waiters.remove(&self.number);
        if followed.waiters.is_empty() {
            let listed = followed.listed;
            state.tasks.remove(&self.task);
            if listed {
                state.settled.insert(self.task.clone());
            }
            tracker.changed.notify_one();
        }
    }
}

/// The one that follows. However it ends, the next waiter finds nobody following.
struct Follower(Client);

impl Drop for Follower {
    fn drop(&mut self) {
        let mut state = self.0.tracker().lock();
        // Whoever stopped it has cleared this already, and somebody else may follow by now.
        if state.follower.as_ref().is_some_and(|follower| Some(follower.id()) == tokio::task::try_id()) {
            state.follower = None;
            state.end_all(&End::LoggedOut);
        }
    }
}

async fn follow(follower: Follower) {
    let client = &follower.0;
    let tracker = client.tracker();
    let mut failures = 0;
    let mut heard = Instant::now();
    loop {
        sleep(DEBOUNCE).await;
        let error = match round(client).await {
            Ok(()) => {
                failures = 0;
                heard = Instant::now();
                let mut state = tracker.lock();
                if state.tasks.is_empty() {
                    state.follower = None;
                    return;
                }
                continue;
            }
            Err(error) => error,
        };
        failures += 1;
        let pause = match error.retry() {
            Retry::Later(wanted) => wanted,
            Retry::LogIn => None,
            // The list went with its session, or the wait with the collector.
            Retry::Never if made_anew(&error) => None,
            Retry::Never => {
                failures = MAX_ATTEMPTS;
                None
            }
        };
        let (hold, deadline) = patience(client);
        if failures >= MAX_ATTEMPTS || heard.elapsed() >= deadline {
            let mut state = tracker.lock();
            state.follower = None;
            state.end_all(&End::Unheard(Arc::new(error)));
            return;
        }
        debug!(server = %client.server(), %error, "waiting for tasks again");
        sleep(pause.unwrap_or(RETRY_INTERVAL * 2_u32.pow(failures - 1)).min(hold)).await;
    }
}

/// How long the server holds a call, and how long an answer is waited for.
fn patience(client: &Client) -> (Duration, Duration) {
    let timeout = client.parts().0.timeout;
    let hold = LONG_POLL.min(timeout).max(Duration::from_secs(1));
    (hold, hold + timeout)
}

fn made_anew(error: &Error) -> bool {
    let kind = error.fault().map(|fault| &fault.kind);
    matches!(kind, Some(FaultKind::NotFound { .. } | FaultKind::Cancelled))
}

/// One waiting call, while the list is kept up to date.
async fn round(client: &Client) -> Result<(), Error> {
    let tracker = client.tracker();
    // Taken, so that a round that fails or is dropped leaves nothing half-read behind.
    let (taken, renew) = {
        let mut state = tracker.lock();
        if state.tasks.is_empty() {
            return Ok(());
        }
        (state.feed.take(), state.renew)
    };
    let mut feed = match taken {
        Some(feed) if renew => {
            destroy(client, &feed).await;
            make(client).await?
        }
        Some(feed) => {
            update(client, &feed).await?;
            feed
        }
        None => make(client).await?,
    };
    let Some(reply) = listen(client, &feed).await? else {
        // The answer under way was lost with the call, so the collector goes too.
        destroy(client, &feed).await;
        return Ok(());
    };
    let mut state = tracker.lock();
    if let Some(set) = reply.child("returnval") {
        set.text_of("version").clone_into(&mut feed.version);
        for news in set.all("filterSet").flat_map(|filter| filter.all("objectSet")) {
            state.learn(news);
        }
    }
    state.feed = Some(feed);
    Ok(())
}

/// Waits for news, and lists the tasks that are added meanwhile. `None` when there is nothing to wait for.
async fn listen(client: &Client, feed: &Feed) -> Result<Option<Element>, Error> {
    let tracker = client.tracker();
    let (hold, deadline) = patience(client);
    let options = Body::new().text("maxWaitSeconds", hold.as_secs());
    let body = Body::new().text("version", &feed.version).object("options", &options);
    let wait = client.call_within(&feed.collector, "WaitForUpdatesEx", &body, deadline);
    tokio::pin!(wait);
    loop {
        tokio::select! {
            biased;
            reply = &mut wait => return reply.map(Some),
            () = tracker.changed.notified() => {
                if tracker.lock().wants_no_more_of_it() {
                    return Ok(None);
                }
                sleep(DEBOUNCE).await;
                update(client, feed).await?;
            }
        }
    }
}

/// Puts new tasks into the server's list, and takes settled ones out, in one call.
async fn update(client: &Client, feed: &Feed) -> Result<(), Error> {
    let (added, removed) = {
        let mut state = client.tracker().lock();
        let fresh = state.tasks.iter_mut().filter(|(_, followed)| !followed.listed);
        let added: Vec<Reference> = fresh
            .map(|(task, followed)| {
                followed.listed = true;
                task.clone()
            })
            .collect();
        // What only leaves can wait until something joins.
        let removed = if added.is_empty() { BTreeSet::new() } else { std::mem::take(&mut state.settled) };
        (added, removed)
    };
    if added.is_empty() {
        return Ok(());
    }
    let body = Body::new()
        .each(&added, |body, task| body.reference("add", task))
        .each(&removed, |body, task| body.reference("remove", task));
    let reply = client.call(&feed.view, "ModifyListView", &body).await?;
    let unknown: Vec<Reference> = reply.all("returnval").map(Reference::of).collect();
    if !unknown.is_empty() {
        let body = Body::new().each(&unknown, |body, task| body.reference("remove", task));
        client.call(&feed.view, "ModifyListView", &body).await?;
        let mut state = client.tracker().lock();
        for task in &unknown {
            state.end(task, &End::Forgotten);
            state.settled.remove(task);
        }
    }
    Ok(())
}

/// A list and a collector of its own: filters of others would answer as well.
async fn make(client: &Client) -> Result<Feed, Error> {
    {
        let mut state = client.tracker().lock();
        state.settled.clear();
        state.renew = false;
        state.tasks.values_mut().for_each(|followed| followed.listed = false);
    }
    let returned = |method: &'static str, reply: &Element| {
        let made = reply.need("returnval").map_err(|cause| client.error(method, cause))?;
        Ok::<_, Error>(client.moref(Reference::of(made)))
    };
    let views = client.manager("viewManager").await?;
    // Empty at first: a task that is gone would fail the call.
    let reply = client.call(&views, "CreateListView", &Body::new()).await?;
    let view = returned("CreateListView", &reply)?;
    let parent = client.manager("propertyCollector").await?;
    let reply = client.call(&parent, "CreatePropertyCollector", &Body::new()).await?;
    let collector = returned("CreatePropertyCollector", &reply)?;
    let traversal =
        Body::new().text("name", "tasks").text("type", "ListView").text("path", "view").text("skip", false);
    let set = Body::new().reference("obj", &view.reference).text("skip", true).typed(
        "selectSet",
        "TraversalSpec",
        &traversal,
    );
    let specs = [PropertySpec { kind: "Task", properties: &PROPERTIES }];
    let spec = property_sets(&specs).object("objectSet", &set);
    let body = Body::new().object("spec", &spec).text("partialUpdates", true);
    client.call(&collector, "CreateFilter", &body).await?;
    let feed = Feed { view, collector, version: String::new() };
    update(client, &feed).await?;
    Ok(feed)
}

async fn destroy(client: &Client, feed: &Feed) {
    // Both end with the session otherwise.
    let _ = client.call(&feed.collector, "DestroyPropertyCollector", &Body::new()).await;
    let _ = client.call(&feed.view, "DestroyView", &Body::new()).await;
}
