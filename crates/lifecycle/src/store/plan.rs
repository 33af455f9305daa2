//! What is going to happen to the files of a step.

use serde::Serialize;
use slipway_assets::{File, Tree};

use super::Error;
use super::reconcile::{Digest, FileAction, Reason};
use super::state::{Inputs, Step};

/// A file that can be neither kept nor written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    pub path: String,
    pub reason: Reason,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileResult {
    Written,
    /// A conflict, overwritten by force.
    Overwritten,
    /// No longer generated. If it was edited, by force.
    Removed,
    /// The user's edit stays.
    EditKept,
    /// The user deleted it, and it stays deleted.
    DeletionKept,
    /// In a folder that is read, but not of a kind that is read there.
    Ignored,
    Unchanged,
}

impl FileResult {
    pub(super) fn of(verdict: FileAction) -> Option<Self> {
        match verdict {
            FileAction::Keep => Some(FileResult::Unchanged),
            FileAction::Write => Some(FileResult::Written),
            FileAction::Remove | FileAction::Conflict(Reason::NoLongerGenerated) => Some(FileResult::Removed),
            FileAction::KeepEdit => Some(FileResult::EditKept),
            FileAction::KeepDeleted => Some(FileResult::DeletionKept),
            FileAction::Conflict(_) => Some(FileResult::Overwritten),
            FileAction::Forget => None,
        }
    }
}

/// What is going to happen to the files of a step.
#[derive(Debug)]
pub struct Plan {
    pub(super) step: Step,
    pub(super) files: Vec<PlannedFile>,
    pub(super) tree: Tree,
    pub(super) inputs: Inputs,
    /// Inputs that are not what they were.
    pub(super) changed: Vec<String>,
}

/// What is going to happen to a file.
#[derive(Debug)]
pub(super) struct PlannedFile {
    pub(super) path: String,
    pub(super) ours: Option<Digest>,
    pub(super) wanted: Option<Digest>,
    pub(super) verdict: FileAction,
    /// The user deleted it, and it is written again.
    pub(super) restored: bool,
}

/// What will be at a path once a plan has been carried out.
#[derive(Debug)]
pub enum Future<'a> {
    /// This, whatever is there now.
    Written(&'a File),
    Gone,
    /// What is there now.
    AsItIs,
}

impl Plan {
    /// Refuses to overwrite what is not ours, unless by force.
    pub fn check(&self, force: bool) -> Result<(), Error> {
        let conflicts = self.files.iter().filter_map(|planned| match planned.verdict {
            FileAction::Conflict(reason) => Some(Conflict { path: planned.path.clone(), reason }),
            _ => None,
        });
        let conflicts: Vec<Conflict> = conflicts.collect();
        if conflicts.is_empty() || force {
            return Ok(());
        }
        Err(Error::Conflicts { conflicts, changed: self.changed.clone() })
    }

    /// Whether a file is among those that are generated, whatever becomes of it.
    pub fn generates(&self, path: &str) -> bool {
        self.tree.get(path).is_some()
    }

    /// What will be at a path.
    pub fn future(&self, path: &str) -> Future<'_> {
        let position = self.files.binary_search_by(|planned| planned.path.as_str().cmp(path));
        let verdict = position.map(|position| self.files[position].verdict);
        match (verdict, self.tree.get(path)) {
            (Ok(FileAction::Write | FileAction::Conflict(_)), Some(file)) => Future::Written(file),
            (Ok(FileAction::Remove | FileAction::Conflict(Reason::NoLongerGenerated)), _) => Future::Gone,
            _ => Future::AsItIs,
        }
    }

    /// The files that the user deleted and that will be written again.
    pub fn restored(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter(|planned| planned.restored).map(|planned| planned.path.as_str())
    }

    /// The files that will be written.
    pub fn writes(&self) -> impl Iterator<Item = (&str, &File)> {
        let writes = self.files.iter().filter(|planned| planned.writes());
        writes.filter_map(|planned| Some((planned.path.as_str(), self.tree.get(&planned.path)?)))
    }
}

impl PlannedFile {
    fn writes(&self) -> bool {
        matches!(self.verdict, FileAction::Write | FileAction::Conflict(_)) && self.wanted.is_some()
    }

    /// Something is written or removed.
    pub(super) fn changes(&self) -> bool {
        self.writes() || self.removes()
    }

    pub(super) fn removes(&self) -> bool {
        matches!(self.verdict, FileAction::Remove | FileAction::Conflict(Reason::NoLongerGenerated))
    }

    /// Something of the user's is lost.
    pub(super) fn overwrites(&self) -> bool {
        matches!(
            self.verdict,
            FileAction::Conflict(Reason::Edited | Reason::NotOurs | Reason::NoLongerGenerated)
        )
    }
}
