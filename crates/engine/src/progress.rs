//! What listeners are told while a plan is applied.

use std::time::Duration;

use serde::Serialize;
use tokio::sync::mpsc::UnboundedSender;

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
    /// A resource could move but for this.
    Waiting { resource: &'a Id, why: &'a str },
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

/// Somebody who shows progress.
pub trait Listener: Sync {
    fn tell(&self, event: &Event<'_>);
}

impl<L: Listener + ?Sized> Listener for &L {
    fn tell(&self, event: &Event<'_>) {
        (**self).tell(event);
    }
}

/// How far a step has come: the one who does it tells, and listeners hear of it.
#[derive(Debug, Clone)]
pub struct Meter {
    pub(crate) resource: Id,
    pub(crate) verb: Box<str>,
    pub(crate) readings: UnboundedSender<Reading>,
}

/// What a meter shows.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) resource: Id,
    pub(crate) verb: Box<str>,
    pub(crate) percent: u8,
}

impl Meter {
    pub fn percent(&self, percent: u8) {
        let Meter { resource, verb, readings } = self;
        let reading = Reading { resource: resource.clone(), verb: verb.clone(), percent };
        // A run that has ended needs to know no more.
        let _ = readings.send(reading);
    }
}

/// Nobody.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

impl Listener for Nobody {
    fn tell(&self, _: &Event<'_>) {}
}
