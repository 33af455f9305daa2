//! The asset directory: who may work in it, what is remembered, and how files get there.
//!
//! Every change follows the same order. The plan compares what we left, what we want and what is there, and a
//! conflict ends the run before anything is written. Then the state is saved with what is about to be
//! written, then files are written one by one, then the state is saved with what was written. After a crash
//! anywhere in between, the next run knows its own files from the user's.

mod disk;
mod lock;
mod plan;
mod reconcile;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use slipway_assets::Tree;
use thiserror::Error;

use self::disk::Disk;
pub(crate) use self::disk::make_folder;
use self::lock::Lock;
use self::plan::PlannedFile;

pub use self::lock::Holder;
pub use self::plan::{Conflict, FileResult, Future, Plan};
pub use self::reconcile::{Absence, Digest, FileAction, Reason, Trace, judge};
pub(crate) use self::state::VERSION;
pub use self::state::{Generated, Inputs, ReleaseOsImage, State, Step};

/// The folder of ours in an asset directory.
const OWN: &str = ".slipway";
const STATE: &str = "state.json";

/// The folder with what opens the cluster.
const AUTH: &str = "auth/";

/// The user's file, which is only ever read.
pub const INSTALL_CONFIG: &str = "install-config.yaml";

/// Why the asset directory cannot be used.
#[derive(Debug, Error)]
pub enum Error {
    #[error("`{}` is in use{}", .directory.display(), by(.holder.as_ref()))]
    Locked { directory: PathBuf, holder: Option<Holder> },
    #[error("`{}` cannot be locked", .path.display())]
    Unlockable { path: PathBuf, source: io::Error },
    #[error("`{}` was written by slipway {slipway}, which is newer than this one ({VERSION})", .path.display())]
    Newer { path: PathBuf, slipway: String },
    #[error("`{}` is damaged: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("`{}` is a symbolic link; slipway does not follow links in its directory", .path.display())]
    SymbolicLink { path: PathBuf },
    #[error("`{}` is in the place of a file", .path.display())]
    NotAFile { path: PathBuf },
    #[error("`{}` is in the place of a folder", .path.display())]
    NotAFolder { path: PathBuf },
    #[error("`{path}` is not a path slipway may write to")]
    ForbiddenPath { path: String },
    #[error("{} would be {}", files(.conflicts.len()), lost(.conflicts))]
    Conflicts {
        conflicts: Vec<Conflict>,
        /// Which inputs are not what they were.
        changed: Vec<String>,
    },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Locked { holder: Some(_), .. } => {
                "wait for it to end, or end it; the lock goes when the process does"
            }
            Error::Locked { holder: None, .. } => {
                "wait until the other `slipway` that has locked this directory ends"
            }
            Error::Unlockable { .. } => "use a directory on a file system that has locks",
            Error::Newer { .. } => "use that version, or a new directory",
            Error::Damaged { .. } => {
                "nothing was changed; restore the file from a backup. Without it the cluster's keys and names are lost: \
                 `slipway destroy cluster --infra-id ID` removes its machines (the id is in metadata.json and the name of its \
                 folder and tag), and a new cluster needs a new directory"
            }
            Error::SymbolicLink { .. } => "replace it by what it points to",
            Error::NotAFile { .. } | Error::NotAFolder { .. } => "move it away",
            Error::Conflicts { changed, .. } if changed.is_empty() => {
                "nothing was written. To keep these files, move them away; to take the generated ones, run again with \
                 --force: yours go to .slipway/backup"
            }
            Error::Conflicts { conflicts, .. } if lost(conflicts) != "overwritten" => {
                "nothing was written. To keep your versions, undo the change that is named above, or move what is no \
                 longer generated to a file of another name; to have them replaced and removed, run again with \
                 --force: your versions go to .slipway/backup"
            }
            Error::Conflicts { .. } => {
                "nothing was written. To keep your versions, undo the change that is named above; to take the generated \
                 ones, run again with --force: your versions go to .slipway/backup"
            }
            Error::ForbiddenPath { .. } => "this is a mistake in slipway, please report it",
            Error::Io(_) => return None,
        };
        Some(hint.to_owned())
    }
}

fn by(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| " by another slipway".to_owned(), |holder| format!(": {holder}"))
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// What would become of files.
fn lost(conflicts: &[Conflict]) -> &'static str {
    let removed = conflicts.iter().filter(|conflict| conflict.reason == Reason::NoLongerGenerated).count();
    match removed {
        0 => "overwritten",
        all if all == conflicts.len() => "removed",
        _ => "overwritten or removed",
    }
}

/// Where a file of ours is in an asset directory that may not be one.
pub(crate) fn own_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(OWN).join(name)
}

/// An asset directory that is ours alone as long as this lives.
#[derive(Debug)]
pub struct Store {
    disk: Disk,
    saved: Option<String>,
    /// The folder with what this run replaces by force.
    backup: Option<String>,
    /// What goes there before the first change, whatever the change is.
    doomed: Vec<String>,
    _lock: Lock,
}

impl Store {
    /// Locks the directory. `command` is what others are told about who holds it.
    pub fn open(directory: &Path, command: &str, now: Timestamp) -> Result<Self, Error> {
        let disk = Disk::open(directory)?;
        let lock = Lock::take(directory, &disk.lock_file(), command, now)?;
        disk.clean()?;
        let saved = disk.state()?;
        Ok(Store { disk, saved, backup: None, doomed: Vec::new(), _lock: lock })
    }

    /// What earlier runs left, if there were any.
    pub fn state(&self) -> Result<Option<State>, Error> {
        self.saved.as_deref().map(|text| State::read(text, &self.disk.state_file())).transpose()
    }

    /// The folder with what was replaced by force, if anything was.
    pub fn backup(&self) -> Option<&str> {
        self.backup.as_deref()
    }

    /// Where a file of ours is that is neither generated nor for the user.
    pub(crate) fn own_file(&self, name: &str) -> PathBuf {
        self.disk.state_file().with_file_name(name)
    }

    /// Whether keys are about to be replaced.
    pub(crate) fn replaces(&self) -> bool {
        !self.doomed.is_empty()
    }

    /// Whether a file is there.
    pub(crate) fn has(&self, path: &str) -> Result<bool, Error> {
        self.disk.is_file(path)
    }

    /// Compares what we left, what we want and what is there. Changes nothing. By force, what was deleted comes
    /// back.
    pub fn plan(
        &self,
        state: &State,
        step: Step,
        tree: Tree,
        inputs: Inputs,
        force: bool,
    ) -> Result<Plan, Error> {
        // Who deletes a manifest leaves an object out; who deletes a result wants it made again.
        let absence = if step == Step::Manifests && !force { Absence::Meant } else { Absence::Lost };
        let left = state.steps.get(&step).map(|generated| &generated.files);
        let left = |path: &str| left.and_then(|left| left.get(path));
        let recorded = state.steps.get(&step).into_iter().flat_map(|generated| generated.files.keys());
        let paths: BTreeSet<&str> =
            recorded.map(String::as_str).chain(tree.iter().map(|(path, _)| path)).collect();
        let files = paths.into_iter().map(|path| {
            if !is_plain(path) {
                return Err(Error::ForbiddenPath { path: path.to_owned() });
            }
            let found = self.disk.digest(path)?;
            let ours = left(path).and_then(|trace| trace.settle(found.as_ref())).cloned();
            let wanted = tree.get(path).map(|file| Digest::of(&file.contents));
            let verdict = judge(ours.as_ref(), wanted.as_ref(), found.as_ref(), absence);
            let restored =
                ours.is_some() && wanted.is_some() && found.is_none() && verdict == FileAction::Write;
            Ok(PlannedFile { path: path.to_owned(), ours, wanted, verdict, restored })
        });
        let files = files.collect::<Result<_, Error>>()?;
        Ok(Plan { step, changed: state.changed_inputs(step, &inputs), files, tree, inputs })
    }

    /// Carries a plan out, conflicts included: see [`Plan::check`]. The state is changed along, and saved.
    pub fn execute(
        &mut self,
        state: &mut State,
        plan: Plan,
        now: Timestamp,
    ) -> Result<Vec<(String, FileResult)>, Error> {
        let Plan { step, files, tree, inputs, changed: _ } = plan;
        for path in std::mem::take(&mut self.doomed) {
            if self.disk.is_file(&path)? {
                self.back_up(&path, now)?;
            }
        }
        for planned in files.iter().filter(|planned| planned.overwrites()) {
            self.back_up(&planned.path, now)?;
        }

        let mut generated = state.steps.get(&step).cloned().unwrap_or_default();
        for planned in files.iter().filter(|planned| planned.changes()) {
            let PlannedFile { ours, wanted, .. } = planned;
            let trace = Trace { written: ours.clone(), writing: wanted.clone(), removing: wanted.is_none() };
            generated.files.insert(planned.path.clone(), trace);
            if wanted.is_some() {
                state.directories.extend(self.missing_folders(&planned.path)?);
            }
        }
        state.steps.insert(step, generated.clone());
        self.save(state)?;

        // A file that is gone already may have gone in a run that did not come to its end.
        let shrinks = files.iter().any(|planned| planned.removes() || planned.verdict == FileAction::Forget);
        let mut fates = Vec::new();
        for PlannedFile { path, wanted, verdict, .. } in files {
            match (verdict, tree.get(&path)) {
                (FileAction::Write | FileAction::Conflict(_), Some(file)) => {
                    self.disk.write(&path, &file.contents, file.access)?;
                }
                (FileAction::Keep | FileAction::KeepEdit, Some(file)) => {
                    self.disk.tighten(&path, file.access)?;
                }
                (FileAction::Remove | FileAction::Conflict(Reason::NoLongerGenerated), _) => {
                    self.disk.remove(&path)?;
                }
                _ => {}
            }
            match wanted {
                Some(wanted) => generated.files.insert(path.clone(), Trace::written(wanted)),
                None => generated.files.remove(&path),
            };
            fates.extend(FileResult::of(verdict).map(|fate| (path, fate)));
        }
        if shrinks {
            self.remove_empty_folders(&mut state.directories)?;
        }
        generated.inputs = inputs;
        state.steps.insert(step, generated);
        self.save(state)?;
        Ok(fates)
    }

    /// Has the keys that are about to be replaced copied aside before anything is changed: the state, and how to
    /// log in to a cluster that was made with it.
    pub(crate) fn replaces_keys(&mut self, state: &State) {
        self.doomed = vec![format!("{OWN}/{STATE}")];
        let generated = state.steps.values().flat_map(|generated| generated.files.keys());
        self.doomed.extend(generated.filter(|path| path.starts_with(AUTH)).cloned());
    }

    fn back_up(&mut self, path: &str, now: Timestamp) -> Result<(), Error> {
        let folder = match &self.backup {
            Some(folder) => folder.clone(),
            None => self.disk.new_backup(&now.strftime("%Y%m%dT%H%M%SZ").to_string())?,
        };
        self.disk.back_up(path, &folder)?;
        self.backup = Some(folder);
        Ok(())
    }

    /// Saves the state unless it is saved already.
    pub(crate) fn save(&mut self, state: &State) -> Result<(), Error> {
        let text = state.to_text();
        if self.saved.as_ref() != Some(&text) {
            self.disk.save_state(&text)?;
            self.saved = Some(text);
        }
        Ok(())
    }

    /// The folders above a file that are not there yet.
    fn missing_folders(&self, path: &str) -> Result<Vec<String>, Error> {
        let mut missing = Vec::new();
        for (at, _) in path.match_indices('/') {
            if !self.disk.exists(&path[..at])? {
                missing.push(path[..at].to_owned());
            }
        }
        Ok(missing)
    }

    /// Removes the folders that are ours and empty, the inner ones first.
    fn remove_empty_folders(&self, ours: &mut BTreeSet<String>) -> Result<(), Error> {
        let mut kept = BTreeSet::new();
        for folder in std::mem::take(ours).into_iter().rev() {
            if !self.disk.remove_if_empty(&folder)? {
                kept.insert(folder);
            }
        }
        *ours = kept;
        Ok(())
    }
}

/// What earlier runs left, without the lock of the directory: a command that only reads does not wait for others.
pub(crate) fn peek(directory: &Path) -> Result<Option<State>, Error> {
    let path = directory.join(OWN).join(STATE);
    match crate::regular::open(&path).and_then(io::read_to_string) {
        Ok(text) => State::read(&text, &path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether a path stays within the directory, and out of what is not generated.
fn is_plain(path: &str) -> bool {
    let parts = || path.split('/');
    parts().all(|part| !matches!(part, "" | "." | ".."))
        && !path.contains(['\\', '\0'])
        && parts().next() != Some(OWN)
        && path != INSTALL_CONFIG
}
