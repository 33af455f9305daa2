//! The cluster's journal, and what the engine's reasons mean to the user.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use slipway_engine::journal::JournalError;
use slipway_engine::{Cause, Endpoint, Id, Journal, Reason};
use slipway_providers::vsphere::kinds::State;

use super::{Error, Project};

/// The journal of a cluster.
pub type FileJournal = slipway_engine::FileJournal<State>;

/// What belongs to it is not seen, and why it is left alone until then.
pub(super) const NOT_SEEN: Reason = Reason::new("NotSeen");
/// What the steps need is missing, or not allowed.
pub(super) const NOT_ALLOWED: Reason = Reason::new("NotAllowed");
/// It is not clear which of several machines is meant, or where it is.
pub(super) const UNCLEAR: Reason = Reason::new("Unclear");

/// What is between a run and the journal of its cluster.
pub trait Through {
    fn journal<'j>(
        &self,
        own: &'j mut FileJournal,
    ) -> impl Journal<State, Error = JournalError> + use<'j, Self>;
}

/// Nothing is between them.
#[derive(Debug, Clone, Copy)]
pub struct Directly;

impl Through for Directly {
    fn journal<'j>(&self, own: &'j mut FileJournal) -> impl Journal<State, Error = JournalError> + use<'j> {
        own
    }
}

impl Project {
    /// Of tasks that earlier runs began, only those that still run are waited for; what the others did is seen.
    pub(super) async fn end_tasks(&mut self, silent: &BTreeMap<Endpoint, String>) -> Result<(), Error> {
        let mut over = BTreeSet::new();
        for endpoint in self.platform.endpoints().iter().filter(|endpoint| !silent.contains_key(*endpoint)) {
            let here = self.journal.tasks().filter(|(id, _)| id.endpoint == *endpoint);
            let here: Vec<(&Id, &str)> = here.map(|(id, task)| (id, task.reference.as_str())).collect();
            if !here.is_empty() {
                over.extend(self.platform.over(endpoint, &here).await);
            }
        }
        Ok(self.journal.end_tasks(Timestamp::now(), &over).await?)
    }
}

/// The engine does not know what the user can do about what vanished.
pub(super) fn advise(id: &Id, cause: &mut Cause) {
    if cause.reason == Reason::VANISHED {
        cause.message.push_str(&format!(
            ". If it was removed on purpose and should be made again, say so with `--recreate {}`",
            id.name
        ));
    }
}
