//! What happens to a file, decided from three versions of it. Pure.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a file's contents, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    pub fn of(contents: &[u8]) -> Self {
        Digest::finish(Sha256::new_with_prefix(contents))
    }

    pub(crate) fn finish(hasher: Sha256) -> Self {
        Digest(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// What the state remembers of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// What was written last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Digest>,
    /// What was about to be written when the state was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writing: Option<Digest>,
    /// It was about to be removed when the state was saved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removing: bool,
}

impl Trace {
    pub fn written(digest: Digest) -> Self {
        Trace { written: Some(digest), ..Trace::default() }
    }

    /// Which version is the last one that was ours, after a run that may not have come to its end.
    pub fn settle(&self, found: Option<&Digest>) -> Option<&Digest> {
        if self.removing && found.is_none() {
            return None;
        }
        let writing = self.writing.as_ref();
        // A file that was about to be made and is there now was made, and has perhaps been edited since.
        let made = self.written.is_none() && found.is_some();
        if writing.is_some() && (made || found == writing) { writing } else { self.written.as_ref() }
    }
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// It is in sync.
    Keep,
    Write,
    /// No longer generated, and as we left it.
    Remove,
    /// Edited, and what we generate is what it always was.
    KeepEdit,
    /// Deleted by the user, and what we generate is what it always was.
    KeepDeleted,
    /// No longer generated, and gone already or never ours.
    Forget,
    Conflict(Reason),
}

/// Why a file can be neither kept nor written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Edited, and what we generate has changed.
    Edited,
    /// Deleted, and what we generate has changed.
    Deleted,
    /// Not made by us, and different from what we generate.
    NotOurs,
    /// Edited, and we generate nothing of that name any more.
    NoLongerGenerated,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Edited => "was edited, and what slipway generates for it has changed",
            Reason::Deleted => "was deleted, and what slipway generates for it has changed",
            Reason::NotOurs => "was not created by slipway, and slipway generates a file of that name",
            Reason::NoLongerGenerated => "was edited, and is no longer generated",
        }
    }
}

/// What it means when a file is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// The user does not want it.
    Meant,
    /// It is wanted again.
    Lost,
}

/// Compares what we left, what we want and what is there.
pub fn judge(
    ours: Option<&Digest>,
    wanted: Option<&Digest>,
    found: Option<&Digest>,
    absence: Absence,
) -> FileAction {
    let untouched = ours == found;
    match (ours, wanted, found) {
        (_, Some(_), Some(_)) if wanted == found => FileAction::Keep,
        (None, Some(_), None) => FileAction::Write,
        (None, Some(_), Some(_)) => FileAction::Conflict(Reason::NotOurs),
        (Some(_), Some(_), None) if absence == Absence::Lost => FileAction::Write,
        (Some(_), Some(_), None) if wanted == ours => FileAction::KeepDeleted,
        (Some(_), Some(_), None) => FileAction::Conflict(Reason::Deleted),
        (Some(_), Some(_), Some(_)) if untouched => FileAction::Write,
        (Some(_), Some(_), Some(_)) if wanted == ours => FileAction::KeepEdit,
        (Some(_), Some(_), Some(_)) => FileAction::Conflict(Reason::Edited),
        (None, None, _) | (_, None, None) => FileAction::Forget,
        (Some(_), None, Some(_)) if untouched => FileAction::Remove,
        (Some(_), None, Some(_)) => FileAction::Conflict(Reason::NoLongerGenerated),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Absence, Digest, FileAction, Reason, Trace, judge};

    fn digest(text: &str) -> Option<Digest> {
        (text != "-").then(|| Digest::of(text.as_bytes()))
    }

    /// Every combination of absent, same and different. `-` is absent.
    #[rstest]
    #[case::new("-", "w", "-", FileAction::Write)]
    #[case::adopted("-", "w", "w", FileAction::Keep)]
    #[case::foreign("-", "w", "x", FileAction::Conflict(Reason::NotOurs))]
    #[case::not_our_business("-", "-", "x", FileAction::Forget)]
    #[case::nothing("-", "-", "-", FileAction::Forget)]
    #[case::unchanged("r", "r", "r", FileAction::Keep)]
    #[case::deleted("r", "r", "-", FileAction::KeepDeleted)]
    #[case::edited("r", "r", "x", FileAction::KeepEdit)]
    #[case::input_changed("r", "w", "r", FileAction::Write)]
    #[case::edited_to_what_we_want("r", "w", "w", FileAction::Keep)]
    #[case::deleted_and_changed("r", "w", "-", FileAction::Conflict(Reason::Deleted))]
    #[case::edited_and_changed("r", "w", "x", FileAction::Conflict(Reason::Edited))]
    #[case::no_longer_generated("r", "-", "r", FileAction::Remove)]
    #[case::no_longer_generated_and_gone("r", "-", "-", FileAction::Forget)]
    #[case::no_longer_generated_but_edited("r", "-", "x", FileAction::Conflict(Reason::NoLongerGenerated))]
    fn three_versions(
        #[case] ours: &str,
        #[case] wanted: &str,
        #[case] found: &str,
        #[case] verdict: FileAction,
    ) {
        let (ours, wanted, found) = (digest(ours), digest(wanted), digest(found));
        assert_eq!(judge(ours.as_ref(), wanted.as_ref(), found.as_ref(), Absence::Meant), verdict);
        // It makes a difference only to what is gone and still generated.
        let lost = if wanted.is_some() && found.is_none() { FileAction::Write } else { verdict };
        assert_eq!(judge(ours.as_ref(), wanted.as_ref(), found.as_ref(), Absence::Lost), lost);
    }

    #[rstest]
    #[case::settled("a", "-", "a", "a")]
    #[case::edited("a", "-", "x", "a")]
    #[case::not_yet_made("-", "b", "-", "-")]
    #[case::made("-", "b", "b", "b")]
    #[case::made_and_edited("-", "b", "x", "b")]
    #[case::not_yet_rewritten("a", "b", "a", "a")]
    #[case::rewritten("a", "b", "b", "b")]
    #[case::edited_before_it_was_rewritten("a", "b", "x", "a")]
    #[case::deleted("a", "b", "-", "a")]
    fn after_a_crash(#[case] written: &str, #[case] writing: &str, #[case] found: &str, #[case] ours: &str) {
        let trace = Trace { written: digest(written), writing: digest(writing), removing: false };
        assert_eq!(trace.settle(digest(found).as_ref()), digest(ours).as_ref());
    }

    #[rstest]
    #[case::removed("-", "-")]
    #[case::not_yet_removed("a", "a")]
    #[case::edited_before_it_was_removed("x", "a")]
    fn after_a_crash_while_removing(#[case] found: &str, #[case] ours: &str) {
        let trace = Trace { removing: true, ..Trace::written(Digest::of(b"a")) };
        assert_eq!(trace.settle(digest(found).as_ref()), digest(ours).as_ref());
    }
}
