//! How it ended.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::resource::Id;
use crate::world::World;

/// What became of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "end", rename_all = "camelCase")]
pub enum End {
    /// It is as wanted.
    Done { changed: bool },
    Failed {
        verb: Box<str>,
        error: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        remedy: Option<String>,
    },
    /// Somebody has to decide.
    Stopped { reason: String },
    /// It could not be looked at.
    Unknown { reason: String },
    /// It waits for one that did not end well.
    Blocked { by: Id },
    /// The run ended before its turn came, or while it was at it.
    Unfinished,
}

impl End {
    pub fn is_done(&self) -> bool {
        matches!(self, End::Done { .. })
    }

    /// One word.
    pub fn as_str(&self) -> &'static str {
        match self {
            End::Done { .. } => "done",
            End::Failed { .. } => "failed",
            End::Stopped { .. } => "stopped",
            End::Unknown { .. } => "unknown",
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
