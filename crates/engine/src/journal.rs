//! What was intended, and what became of it: written before it happens.

mod file;

use std::collections::BTreeMap;
use std::convert::Infallible;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

pub use self::file::{FileJournal, JournalError};
use crate::resource::Id;

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry<S> {
    pub at: Timestamp,
    pub resource: Id,
    /// What is, or was, done: `clone`.
    pub verb: Box<str>,
    pub event: Event<S>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event<S> {
    /// It is about to be done; what it makes will carry the mark.
    Intended {
        mark: Option<Uuid>,
        /// Whether nothing is left of the resource then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        removal: bool,
        /// How the resource was. `None`: an earlier build did not write that.
        #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
        before: Option<Before<S>>,
    },
    /// The endpoint does it in a task of this name.
    Task { reference: String },
    /// It was done, and the resource is like this now; `None`: it is gone.
    Done { state: Option<Written<S>> },
    /// It was not done, or that is not known. For people.
    Failed {
        error: String,
        /// Whether it certainly was not done.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
        /// Whether its task may still be running.
        #[serde(default, skip_serializing_if = "std::ops::Not::not", rename = "underWay")]
        under_way: bool,
    },
}

/// How a resource was before a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Before<S> {
    Absent,
    State(Written<S>),
}

impl<S> Before<S> {
    pub(crate) fn of(state: Option<S>) -> Self {
        state.map_or(Before::Absent, |state| Before::State(Written::State(state)))
    }
}

/// A task that was started, and of which it is not known how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// What it does: `clone`.
    pub verb: Box<str>,
    /// As the endpoint names it.
    pub reference: String,
}

/// A state as a journal has it. Another build may have written what this one cannot read: that it was made is known then,
/// and how is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Written<S> {
    State(S),
    Unreadable(Value),
}

impl<S> Written<S> {
    /// `None` for one that cannot be read.
    pub fn state(&self) -> Option<&S> {
        match self {
            Written::State(state) => Some(state),
            Written::Unreadable(_) => None,
        }
    }
}

/// Where intents go. The CLI has a file; a controller has the status of its object.
pub trait Journal<S>: Send {
    type Error: std::error::Error + Send + Sync + 'static;

    /// When it returns, the entries survive a crash.
    fn append(&mut self, entries: Vec<Entry<S>>) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// What is known of a resource. `None`: it was never made here, or was removed since.
    fn record(&self, id: &Id) -> Option<&Record<S>>;

    /// The task that an earlier run, or an earlier attempt, began and did not see the end of.
    fn task(&self, id: &Id) -> Option<&Task>;

    /// How a resource was when it was last made or changed here. `None`: it never was, or was removed since.
    fn made(&self, id: &Id) -> Option<&Written<S>> {
        self.record(id)?.state.as_ref()
    }
}

impl<S, J: Journal<S>> Journal<S> for &mut J {
    type Error = J::Error;

    fn append(&mut self, entries: Vec<Entry<S>>) -> impl Future<Output = Result<(), Self::Error>> + Send {
        (**self).append(entries)
    }

    fn record(&self, id: &Id) -> Option<&Record<S>> {
        (**self).record(id)
    }

    fn task(&self, id: &Id) -> Option<&Task> {
        (**self).task(id)
    }
}

/// What a journal knows of a resource that was made, or may have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<S> {
    /// How it was last. `None`: it was about to be made, and what became of that is not known.
    pub state: Option<Written<S>>,
    /// When that was written.
    pub at: Timestamp,
    /// Its removal was begun since: if it is not seen, it is gone.
    pub removal: bool,
}

/// A journal without a file, for plans and tests.
#[derive(Debug, Clone)]
pub struct MemoryJournal<S> {
    pub entries: Vec<Entry<S>>,
    records: BTreeMap<Id, Record<S>>,
    tasks: BTreeMap<Id, Task>,
}

impl<S> Default for MemoryJournal<S> {
    fn default() -> Self {
        MemoryJournal { entries: Vec::new(), records: BTreeMap::new(), tasks: BTreeMap::new() }
    }
}

impl<S: Clone> MemoryJournal<S> {
    /// One that knows what another has known.
    pub fn restored(
        records: impl IntoIterator<Item = (Id, Record<S>)>,
        tasks: impl IntoIterator<Item = (Id, Task)>,
    ) -> Self {
        let (records, tasks) = (records.into_iter().collect(), tasks.into_iter().collect());
        MemoryJournal { entries: Vec::new(), records, tasks }
    }

    /// Everything that was made and not removed, and everything that may have been made.
    pub fn records(&self) -> impl Iterator<Item = (&Id, &Record<S>)> {
        self.records.iter()
    }

    /// Tasks of which it is not known how they ended.
    pub fn tasks(&self) -> impl Iterator<Item = (&Id, &Task)> {
        self.tasks.iter()
    }

    fn take(&mut self, entries: Vec<Entry<S>>) {
        for entry in entries {
            let (id, at) = (&entry.resource, entry.at);
            if !matches!(entry.event, Event::Failed { under_way: true, .. }) {
                self.tasks.remove(id);
            }
            match &entry.event {
                Event::Done { state: None } => {
                    self.records.remove(id);
                }
                Event::Done { state } => {
                    let record = Record { state: state.clone(), at, removal: false };
                    self.records.insert(id.clone(), record);
                }
                Event::Intended { removal: true, .. } => {
                    if let Some(record) = self.records.get_mut(id) {
                        record.removal = true;
                    }
                }
                // Only what carries a mark is looked for: the rest is known by its name.
                Event::Intended { mark: Some(_), .. } => {
                    let begun = Record { state: None, at, removal: false };
                    self.records.entry(id.clone()).or_insert(begun).removal = false;
                }
                Event::Failed { refused: true, .. } => {
                    if let Some(record) = self.records.get_mut(id) {
                        record.removal = false;
                    }
                }
                Event::Task { reference } => {
                    let task = Task { verb: entry.verb.clone(), reference: reference.clone() };
                    self.tasks.insert(id.clone(), task);
                }
                Event::Intended { .. } | Event::Failed { .. } => {}
            }
            self.entries.push(entry);
        }
    }
}

impl<S: Clone + Send> Journal<S> for MemoryJournal<S> {
    type Error = Infallible;

    async fn append(&mut self, entries: Vec<Entry<S>>) -> Result<(), Infallible> {
        self.take(entries);
        Ok(())
    }

    fn record(&self, id: &Id) -> Option<&Record<S>> {
        self.records.get(id)
    }

    fn task(&self, id: &Id) -> Option<&Task> {
        self.tasks.get(id)
    }
}
