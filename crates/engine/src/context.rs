//! What a step has around it while it is performed.

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::resource::Id;

/// A step tells through it how far it has come, and writes down the tasks it has started.
#[derive(Debug, Clone)]
pub struct Context {
    pub(crate) resource: Id,
    pub(crate) verb: Box<str>,
    pub(crate) news: UnboundedSender<News>,
}

/// What a step says while it runs.
#[derive(Debug)]
pub(crate) struct News {
    pub(crate) resource: Id,
    pub(crate) verb: Box<str>,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    Percent(u8),
    /// A task was started; the sender is dropped when that is in the journal.
    Task(String, oneshot::Sender<()>),
}

impl Context {
    /// How far it has come; listeners hear of it.
    pub fn percent(&self, percent: u8) {
        self.tell(What::Percent(percent));
    }

    /// Writes down that the endpoint does it in a task of this name. When it returns, a crash does not lose it: the next run
    /// waits for that task and does not call again.
    pub async fn task(&self, reference: impl Into<String>) {
        let (written, wait) = oneshot::channel();
        self.tell(What::Task(reference.into(), written));
        // A journal that fails ends the run, and this step with it.
        let _ = wait.await;
    }

    fn tell(&self, what: What) {
        let Context { resource, verb, news } = self;
        // A run that has ended needs to know no more.
        let _ = news.send(News { resource: resource.clone(), verb: verb.clone(), what });
    }
}
