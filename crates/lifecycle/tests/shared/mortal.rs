//! Processes that die at a moment of a step, on any platform.

use slipway_engine::journal::{Entry, Event, Journal, JournalError, Record, Task};
use slipway_engine::{FileJournal, Id};
use slipway_lifecycle::install::{Error, Through};

const DIED: &str = "the process died";

/// A moment of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The intent is in the journal, the call is not made.
    Intended,
    /// The call is made, and its outcome is not in the journal.
    Performed,
}

/// A process dies at a moment of a step, counted from nought: its journal fails, and nothing happens after that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Death {
    pub(crate) at: usize,
    pub(crate) moment: Moment,
}

struct Mortal<'j, S> {
    journal: &'j mut FileJournal<S>,
    death: Death,
    count: usize,
}

impl<S: Clone + PartialEq + serde::Serialize + serde::de::DeserializeOwned + Send + Sync + 'static> Through<S>
    for Death
{
    fn journal<'j>(&self, own: &'j mut FileJournal<S>) -> impl Journal<S, Error = JournalError> + use<'j, S> {
        Mortal { journal: own, death: *self, count: 0 }
    }
}

impl<S: Clone + PartialEq + serde::Serialize + serde::de::DeserializeOwned + Send + Sync + 'static> Journal<S>
    for Mortal<'_, S>
{
    type Error = JournalError;

    async fn append(&mut self, entries: Vec<Entry<S>>) -> Result<(), JournalError> {
        let Death { at, moment } = self.death;
        let is_counted = |entry: &&Entry<S>| match entry.event {
            Event::Intended { .. } => moment == Moment::Intended,
            Event::Task { .. } => false,
            Event::Done { .. } | Event::Failed { .. } => moment == Moment::Performed,
        };
        let before = self.count;
        self.count += entries.iter().filter(is_counted).count();
        let dies = (before..self.count).contains(&at);
        if !(dies && moment == Moment::Performed) {
            self.journal.append(entries).await?;
        }
        if dies { Err(std::io::Error::other(DIED).into()) } else { Ok(()) }
    }

    fn record(&self, id: &Id) -> Option<&Record<S>> {
        self.journal.record(id)
    }

    fn task(&self, id: &Id) -> Option<&Task> {
        self.journal.task(id)
    }
}

/// Whether a run ended because its process died.
pub(crate) fn has_died(error: &Error) -> bool {
    matches!(error, Error::Journal(JournalError::Io(error)) if error.to_string() == DIED)
}
