//! A process that dies: its journal fails at an entry, and nothing happens after that.

use slipway_engine::Id;
use slipway_engine::journal::{Entry, Event, Journal, MemoryJournal, Record, Task};
use thiserror::Error;

use crate::toy::Thing;

/// When the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The intent is in the journal, the call is not made.
    Intended,
    /// The call is made, its task is in the journal, and its outcome is not.
    Begun,
    /// The call is made, and its outcome is not in the journal.
    Performed,
}

#[derive(Debug, Error)]
#[error("the process died")]
pub(crate) struct Died;

/// Fails at an entry of its moment, counted from nought.
pub(crate) struct Mortal<'a> {
    pub(crate) journal: &'a mut MemoryJournal<Thing>,
    pub(crate) at: usize,
    pub(crate) moment: Moment,
    count: usize,
}

impl<'a> Mortal<'a> {
    pub(crate) fn new(journal: &'a mut MemoryJournal<Thing>, at: usize, moment: Moment) -> Self {
        Mortal { journal, at, moment, count: 0 }
    }
}

impl Journal<Thing> for Mortal<'_> {
    type Error = Died;

    async fn append(&mut self, entries: Vec<Entry<Thing>>) -> Result<(), Died> {
        let is_counted = |entry: &&Entry<Thing>| match entry.event {
            Event::Intended { .. } => self.moment == Moment::Intended,
            Event::Task { .. } => self.moment == Moment::Begun,
            Event::Done { .. } | Event::Failed { .. } => self.moment == Moment::Performed,
        };
        let before = self.count;
        self.count += entries.iter().filter(is_counted).count();
        let dies = (before..self.count).contains(&self.at);
        if dies && self.moment == Moment::Performed {
            return Err(Died);
        }
        let Ok(()) = self.journal.append(entries).await;
        if dies { Err(Died) } else { Ok(()) }
    }

    fn record(&self, id: &Id) -> Option<&Record<Thing>> {
        self.journal.record(id)
    }

    fn task(&self, id: &Id) -> Option<&Task> {
        self.journal.task(id)
    }
}
