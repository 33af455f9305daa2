//! The cluster's journal, and what the engine's reasons mean to the user.

use slipway_engine::journal::JournalError;
use slipway_engine::{Cause, Id, Journal, Reason};
use slipway_providers::vsphere::kinds::State;

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

/// The engine does not know what the user can do about what vanished.
pub(super) fn advise(id: &Id, cause: &mut Cause) {
    if cause.reason == Reason::VANISHED {
        cause.message.push_str(&format!(
            ". If it was removed on purpose and should be made again, say so with `--recreate {}`",
            id.name
        ));
    }
}
