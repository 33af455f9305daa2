//! Feeds of changes: an endpoint says what may be other than it was, so that nothing has to ask again and again.

use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::resource::{Id, Resource};

/// A resource that is followed, and how it was seen last; `None`: it was not there.
#[derive(Debug)]
pub struct Followed<W, S> {
    pub resource: Arc<Resource<W>>,
    pub observed: Option<S>,
}

impl<W, S: Clone> Clone for Followed<W, S> {
    fn clone(&self) -> Self {
        Followed { resource: self.resource.clone(), observed: self.observed.clone() }
    }
}

/// Where a platform tells what has changed.
#[derive(Debug, Clone)]
pub struct Changes {
    changed: UnboundedSender<Id>,
}

impl Changes {
    /// For a run, or for a controller that has one feed for all its runs.
    pub fn channel() -> (Self, UnboundedReceiver<Id>) {
        let (changed, receiver) = unbounded_channel();
        (Changes { changed }, receiver)
    }

    /// This resource may be other than it was seen.
    pub fn tell(&self, id: &Id) {
        // One that has ended needs to know no more.
        let _ = self.changed.send(id.clone());
    }
}
