//! Asking endpoints: all at once, each within the limits of the whole, so that none waits for another.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use slipway_providers::vsphere::Proxy;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// What says the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How endpoints are asked.
#[derive(Clone)]
pub struct Options {
    /// The longest one call may take.
    pub call: Duration,
    /// The longest everything may take.
    pub whole: Duration,
    /// The longest logging out may take. It is kept of the whole, a quarter of it at most.
    pub logout: Duration,
    pub proxy: Proxy,
    pub clock: Clock,
    /// Machines of this very cluster run already, of an earlier run: it is theirs to answer on its addresses.
    pub machines_run: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            call: Duration::from_mins(1),
            whole: Duration::from_mins(2),
            logout: Duration::from_secs(5),
            proxy: Proxy::FromEnvironment,
            clock: Arc::new(Timestamp::now),
            machines_run: false,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("call", &self.call)
            .field("whole", &self.whole)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// The time for asking, and for logging out.
    pub(crate) fn shares(&self) -> (Duration, Duration) {
        let logout = self.logout.min(self.whole / 4);
        (self.whole.saturating_sub(logout), logout)
    }
}

/// What became of asking an endpoint.
#[derive(Debug)]
pub(crate) enum Asked<T, E> {
    Answered(T),
    Failed(E),
    /// It did not answer within this time.
    Late(Duration),
}

/// Asks an endpoint, as long as there is time for asking.
pub(crate) async fn ask<T, E>(
    options: &Options,
    question: impl Future<Output = Result<T, E>>,
) -> Asked<T, E> {
    let (asking, _) = options.shares();
    match timeout(asking, question).await {
        Ok(Ok(answer)) => Asked::Answered(answer),
        Ok(Err(error)) => Asked::Failed(error),
        Err(_) => Asked::Late(asking),
    }
}

/// Tasks beside each other. What goes wrong in one of them is no business of the others.
#[derive(Debug)]
pub(crate) struct Tasks<T> {
    tasks: JoinSet<T>,
    stop: watch::Sender<bool>,
}

/// Says when a task is to end early.
#[derive(Debug, Clone)]
pub struct Stopped(watch::Receiver<bool>);

impl Stopped {
    /// What comes of it, unless everything is to stop before.
    pub(crate) async fn or<T>(mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            Ok(_) = self.0.wait_for(|stopped| *stopped) => None,
        }
    }
}

impl<T: Send + 'static> Tasks<T> {
    pub(crate) fn new() -> Self {
        Tasks { tasks: JoinSet::new(), stop: watch::Sender::new(false) }
    }

    pub(crate) fn stopped(&self) -> Stopped {
        Stopped(self.stop.subscribe())
    }

    pub(crate) fn spawn(&mut self, task: impl Future<Output = T> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// What came of each task, none for one that panicked. When it is cancelled the tasks are told to stop and waited for, so
    /// that they can log out, and nothing comes of it.
    pub(crate) async fn join(mut self, cancelled: impl Future<Output = ()>) -> Option<Vec<Option<T>>> {
        let mut results = Vec::new();
        let mut cancelled = pin!(cancelled);
        loop {
            tokio::select! {
                done = self.tasks.join_next() => match done {
                    None => break,
                    Some(result) => results.push(result.ok()),
                },
                () = &mut cancelled, if !*self.stop.borrow() => drop(self.stop.send_replace(true)),
            }
        }
        (!*self.stop.borrow()).then_some(results)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::Duration;

    use super::{Options, Tasks};

    #[tokio::test]
    async fn one_that_panics_leaves_the_others_alone() {
        let mut tasks = Tasks::new();
        tasks.spawn(async { panic!("as planned") });
        tasks.spawn(ready(1));
        let mut results = tasks.join(pending()).await.unwrap();
        results.sort();
        assert_eq!(results, [None, Some(1)]);
    }

    #[tokio::test]
    async fn a_cancelled_task_ends_its_work_itself() {
        let (told, mut ended) = tokio::sync::mpsc::channel(1);
        let mut tasks = Tasks::new();
        let stopped = tasks.stopped();
        tasks.spawn(async move {
            let result = stopped.or(pending::<()>()).await;
            told.send(result).await.unwrap();
        });
        assert_eq!(tasks.join(ready(())).await, None);
        assert_eq!(ended.recv().await, Some(None), "the task went on after it was stopped");
    }

    #[test]
    fn logging_out_has_its_share_of_the_time() {
        let seconds = Duration::from_secs;
        for (whole, logout, expected) in [(120, 5, (115, 5)), (8, 5, (6, 2))] {
            let options = Options { whole: seconds(whole), logout: seconds(logout), ..Options::default() };
            assert_eq!(options.shares(), (seconds(expected.0), seconds(expected.1)));
        }
    }
}
