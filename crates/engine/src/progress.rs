//! What listeners are told while a plan is applied.

use std::time::Duration;

use serde::Serialize;

use crate::reason::Reason;
use crate::resource::{Endpoint, Id};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum Event<'a> {
    /// A step was started, for the first time or again.
    Started { resource: &'a Id, verb: &'a str, sentence: &'a str, attempt: u32 },
    /// A step that takes long has come so far.
    Progress { resource: &'a Id, verb: &'a str, percent: u8 },
    Finished {
        resource: &'a Id,
        verb: &'a str,
        #[serde(with = "crate::seconds")]
        took: Duration,
    },
    /// A step failed; it is looked at again after a pause.
    Retrying {
        resource: &'a Id,
        verb: &'a str,
        error: &'a str,
        #[serde(with = "crate::seconds")]
        pause: Duration,
    },
    /// A resource waits for this.
    Waiting { resource: &'a Id, reason: &'a Reason, why: &'a str },
    /// Nothing more will happen to a resource.
    Settled { resource: &'a Id, end: &'a str },
    /// An endpoint does not answer and is left alone for a while.
    Silent {
        endpoint: &'a Endpoint,
        error: &'a str,
        #[serde(with = "crate::seconds")]
        pause: Duration,
    },
    /// It answers again.
    Back { endpoint: &'a Endpoint },
}

/// Shows progress.
pub trait Listener: Sync {
    fn tell(&self, event: &Event<'_>);
}

impl<L: Listener + ?Sized> Listener for &L {
    fn tell(&self, event: &Event<'_>) {
        (**self).tell(event);
    }
}

/// Shows nothing.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

impl Listener for Nobody {
    fn tell(&self, _: &Event<'_>) {}
}
