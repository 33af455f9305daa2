//! How it ended.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::reason::{Cause, Reason};
use crate::resource::Id;
use crate::world::World;

/// What became of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "end", rename_all = "camelCase")]
pub enum End {
    /// It is in sync.
    Done { changed: bool },
    Failed {
        reason: Reason,
        verb: Box<str>,
        error: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        remedy: Option<String>,
    },
    /// It cannot go on by itself: a person has to decide or act.
    Stopped(Cause),
    /// It could not be looked at.
    Unknown(Cause),
    /// It waits for one that did not end well.
    Blocked { by: Id },
    /// The run ended before its turn came, or while it was at it.
    Unfinished,
}

impl End {
    pub fn is_done(&self) -> bool {
        matches!(self, End::Done { .. })
    }

    /// Why it did not end well; a constant.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            End::Done { .. } | End::Unfinished => None,
            End::Failed { reason, .. }
            | End::Stopped(Cause { reason, .. })
            | End::Unknown(Cause { reason, .. }) => Some(reason.clone()),
            End::Blocked { .. } => Some(Reason::BLOCKED),
        }
    }

    /// One word.
    pub fn as_str(&self) -> &'static str {
        match self {
            End::Done { .. } => "done",
            End::Failed { .. } => "failed",
            End::Stopped(_) => "stopped",
            End::Unknown(_) => "unknown",
            End::Blocked { .. } => "blocked",
            End::Unfinished => "unfinished",
        }
    }
}

/// A step that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Performed {
    pub resource: Id,
    pub verb: Box<str>,
    pub sentence: String,
    /// Since the run began.
    #[serde(with = "crate::seconds")]
    pub started: Duration,
    #[serde(with = "crate::seconds")]
    pub took: Duration,
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome<S> {
    pub ends: BTreeMap<Id, End>,
    /// Steps that succeeded, in the order in which they ended.
    pub performed: Vec<Performed>,
    /// Everything as it was last seen.
    pub world: World<S>,
    pub cancelled: bool,
}

impl<S> Outcome<S> {
    pub fn is_done(&self) -> bool {
        self.ends.values().all(End::is_done)
    }
}
