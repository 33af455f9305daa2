//! What is between a run and its journal, and what the engine's reasons mean to the user.

use slipway_engine::journal::JournalError;
use slipway_engine::{Cause, FileJournal, Id, Journal, Reason};

/// What belongs to it is not seen, and it is left alone until then.
pub(super) const NOT_SEEN: Reason = Reason::new("NotSeen");
/// What the steps need is missing, or not allowed.
pub(super) const NOT_ALLOWED: Reason = Reason::new("NotAllowed");

/// What is between a run and the journal of its cluster.
pub trait Through<S> {
    fn journal<'j>(
        &self,
        own: &'j mut FileJournal<S>,
    ) -> impl Journal<S, Error = JournalError> + use<'j, Self, S>;
}

/// Nothing is between them.
#[derive(Debug, Clone, Copy)]
pub struct Directly;

impl<S> Through<S> for Directly
where
    FileJournal<S>: Journal<S, Error = JournalError>,
{
    fn journal<'j>(&self, own: &'j mut FileJournal<S>) -> impl Journal<S, Error = JournalError> + use<'j, S> {
        own
    }
}

/// The engine does not know what the user can do about what vanished.
pub(super) fn advise(id: &Id, cause: &mut Cause) {
    if cause.reason == Reason::VANISHED {
        cause.message.push_str(&format!(
            ". If it was removed on purpose and should be created again, pass `--recreate {}`",
            id.name
        ));
    }
}
