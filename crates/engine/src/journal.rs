//! What was intended, and what became of it: written before it happens.

use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;
use fs_err::{File, OpenOptions};
use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use uuid::Uuid;

use crate::resource::{Endpoint, Id};

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub at: Timestamp,
    pub resource: Id,
    /// What is, or was, done: `clone`.
    pub verb: Box<str>,
    pub event: Event,
}

impl Entry {
    pub(crate) fn now(resource: Id, verb: &str, event: Event) -> Self {
        Entry { at: Timestamp::now(), resource, verb: verb.into(), event }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// It is about to be done; what it makes will carry the mark.
    Intended {
        mark: Option<Uuid>,
        /// Whether nothing is left of the resource then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        removal: bool,
    },
    /// It was done, and the resource is like this now; `None`: it is gone.
    Done { state: Option<Value> },
    /// It was not done, or that is not known. For people.
    Failed {
        error: String,
        /// Whether it certainly was not done.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
    },
}

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    #[error("the journal")]
    Io(#[from] io::Error),
    #[error("the journal {} is in use by another process", path.display())]
    InUse { path: PathBuf },
    #[error("line {line} of the journal {} cannot be read", path.display())]
    Line { path: PathBuf, line: usize, source: serde_json::Error },
}

/// Where intents go. The CLI has a file; a controller has the status of its object.
pub trait Journal: Send {
    /// When it returns, the entries survive a crash.
    fn append(&mut self, entries: Vec<Entry>) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// How a resource was when it was last made or changed here. `None`: it never was, or was removed since.
    fn made(&self, id: &Id) -> Option<&Value>;
}

/// What a journal knows of a resource that was made, or may have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// How it was last. `None`: it was about to be made, and what became of that is not known.
    pub state: Option<Value>,
    /// When that was written.
    pub at: Timestamp,
    /// Its removal was begun since: if it is not seen, it is gone.
    pub removal: bool,
}

/// A journal without a file, for plans and tests.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    pub entries: Vec<Entry>,
    records: BTreeMap<Id, Record>,
}

impl MemoryJournal {
    /// Everything that was made and not removed, and everything that may have been made.
    pub fn records(&self) -> impl Iterator<Item = (&Id, &Record)> {
        self.records.iter()
    }

    fn take(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            let (id, at) = (&entry.resource, entry.at);
            match &entry.event {
                Event::Done { state: None } => {
                    self.records.remove(id);
                }
                Event::Done { state } => {
                    let record = Record { state: state.clone(), at, removal: false };
                    self.records.insert(id.clone(), record);
                }
                Event::Intended { removal: true, .. } => {
                    if let Some(record) = self.records.get_mut(id) {
                        record.removal = true;
                    }
                }
                // Only what carries a mark is looked for: the rest is known by its name.
                Event::Intended { mark: Some(_), .. } => {
                    let begun = Record { state: None, at, removal: false };
                    self.records.entry(id.clone()).or_insert(begun).removal = false;
                }
                Event::Failed { refused: true, .. } => {
                    if let Some(record) = self.records.get_mut(id) {
                        record.removal = false;
                    }
                }
                Event::Intended { .. } | Event::Failed { .. } => {}
            }
            self.entries.push(entry);
        }
    }
}

impl Journal for MemoryJournal {
    async fn append(&mut self, entries: Vec<Entry>) -> Result<(), JournalError> {
        self.take(entries);
        Ok(())
    }

    fn made(&self, id: &Id) -> Option<&Value> {
        self.records.get(id)?.state.as_ref()
    }
}

/// A journal of one JSON document per line. Only appended to.
#[derive(Debug)]
pub struct FileJournal {
    file: File,
    memory: MemoryJournal,
}

impl FileJournal {
    /// Opens or makes it. A last line without its end was cut off by a crash: nothing was done on its strength, and
    /// it is dropped. A symbolic link is not followed.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        Self::read(open(path)?, path)
    }

    /// The same for one that no other lock guards: [`JournalError::InUse`] if another process has it.
    pub fn open_alone(path: &Path) -> Result<Self, JournalError> {
        let file = open(path)?;
        match file.file().try_lock() {
            Ok(()) => Self::read(file, path),
            Err(TryLockError::WouldBlock) => Err(JournalError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    fn read(mut file: File, path: &Path) -> Result<Self, JournalError> {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut file, &mut bytes)?;
        // A crash cuts anywhere, within a character too: nothing is decoded before.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole < bytes.len() {
            file.set_len(whole as u64)?;
        }
        let mut memory = MemoryJournal::default();
        let lines = bytes[..whole].split_inclusive(|byte| *byte == b'\n');
        let entries: Result<Vec<Entry>, JournalError> = lines
            .enumerate()
            .map(|(index, line)| {
                let broken = |source| JournalError::Line { path: path.to_owned(), line: index + 1, source };
                serde_json::from_slice(line).map_err(broken)
            })
            .collect();
        memory.take(entries?);
        Ok(FileJournal { file, memory })
    }

    pub fn entries(&self) -> &[Entry] {
        &self.memory.entries
    }

    /// Everything that was made and not removed, and everything that may have been made.
    pub fn records(&self) -> impl Iterator<Item = (&Id, &Record)> {
        self.memory.records()
    }

    /// Nothing is left of these.
    pub async fn forget(&mut self, gone: impl Fn(&Id) -> bool) -> Result<(), JournalError> {
        let gone: Vec<Id> = self.records().map(|(id, _)| id).filter(|id| gone(id)).cloned().collect();
        let done = Event::Done { state: None };
        let entries = gone.into_iter().map(|id| Entry::now(id, "forget", done.clone())).collect();
        self.append_for_good(entries).await
    }

    /// An endpoint has another name now: what was made there is known by the new one. Whatever a power cut leaves of it,
    /// `known_by` is the last that goes by the old name, so that it can be done again.
    pub async fn rename(
        &mut self,
        from: &Endpoint,
        to: &Endpoint,
        known_by: impl Fn(&Id) -> bool,
    ) -> Result<(), JournalError> {
        let (mut entries, mut old) = (Vec::new(), Vec::new());
        for (id, record) in self.records().filter(|(id, _)| id.endpoint == *from) {
            let renamed = Id { endpoint: to.clone(), ..id.clone() };
            let event = match record.state.clone() {
                Some(state) => Event::Done { state: Some(state) },
                // Not known to have been made; the mark only says that it is looked for.
                None => Event::Intended { mark: Some(Uuid::nil()), removal: false },
            };
            entries.push(Entry { at: record.at, ..Entry::now(renamed.clone(), "rename", event) });
            if record.removal {
                entries.push(Entry::now(renamed, "rename", Event::Intended { mark: None, removal: true }));
            }
            old.push(id.clone());
        }
        self.append_for_good(entries).await?;
        old.sort_by_key(|id| known_by(id));
        let gone = |id| Entry::now(id, "rename", Event::Done { state: None });
        self.append_for_good(old.into_iter().map(gone).collect()).await
    }

    async fn append_for_good(&mut self, entries: Vec<Entry>) -> Result<(), JournalError> {
        self.append(entries).await?;
        Ok(self.file.sync_data()?)
    }
}

/// A new one is in its folder for good when this returns.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    let file = options.create(true).open(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(file)
}

impl Journal for FileJournal {
    async fn append(&mut self, entries: Vec<Entry>) -> Result<(), JournalError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        for entry in &entries {
            serde_json::to_writer(&mut text, entry).map_err(io::Error::from)?;
            text.push(b'\n');
        }
        self.file.write_all(&text)?;
        // What was done can be seen again; what is intended cannot, so only that must be on the disk.
        if entries.iter().any(|entry| matches!(entry.event, Event::Intended { .. })) {
            self.file.sync_data()?;
        }
        self.memory.take(entries);
        Ok(())
    }

    fn made(&self, id: &Id) -> Option<&Value> {
        self.memory.made(id)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use jiff::Timestamp;
    use serde_json::json;

    use uuid::Uuid;

    use super::{Entry, Event, FileJournal, Journal, JournalError, Record};
    use crate::resource::{Endpoint, Id};

    fn entry(name: &str, event: Event) -> Entry {
        let resource = Id::new(&Endpoint::from("vc"), "machine", name);
        Entry { at: Timestamp::UNIX_EPOCH, resource, verb: "clone".into(), event }
    }

    #[tokio::test]
    async fn remembers_what_was_made_and_what_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let entries = [
            entry("a", Event::Intended { mark: None, removal: false }),
            entry("a", Event::Done { state: Some(json!({"id": "vm-1"})) }),
            entry("b", Event::Done { state: Some(json!(2)) }),
            entry("b", Event::Done { state: None }),
            entry("c", Event::Failed { error: "no".into(), refused: true }),
        ];
        FileJournal::open(&path).unwrap().append(entries.to_vec()).await.unwrap();
        let again = FileJournal::open(&path).unwrap();
        assert_eq!(again.entries(), entries);
        assert_eq!(again.made(&entries[0].resource), Some(&json!({"id": "vm-1"})));
        assert_eq!(again.made(&entries[2].resource), None);
    }

    /// What may be there is known by its record: made, about to be made, or about to go.
    #[tokio::test]
    async fn records_say_what_may_be_there_and_follow_an_endpoint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let intended = |mark, removal| Event::Intended { mark, removal };
        let made = || Event::Done { state: Some(json!(1)) };
        let entries = vec![
            entry("begun", intended(Some(Uuid::nil()), false)),
            entry("failed", intended(Some(Uuid::nil()), false)),
            entry("failed", Event::Failed { error: "no answer".into(), refused: false }),
            entry("unmarked", intended(None, false)),
            entry("made", made()),
            entry("going", made()),
            entry("going", intended(None, true)),
            entry("going", Event::Failed { error: "no answer".into(), refused: false }),
            entry("held", made()),
            entry("held", intended(None, true)),
            entry("held", Event::Failed { error: "no permission".into(), refused: true }),
            entry("remade", made()),
            entry("remade", intended(None, true)),
            entry("remade", intended(Some(Uuid::nil()), false)),
            entry("again", made()),
            entry("again", intended(None, true)),
            entry("again", made()),
            entry("gone", made()),
            entry("gone", Event::Done { state: None }),
        ];
        let mut journal = FileJournal::open(&path).unwrap();
        journal.append(entries).await.unwrap();
        let known = |journal: &FileJournal| -> Vec<(String, bool, bool)> {
            let record = |(id, record): (&Id, &Record)| {
                assert_eq!(record.at, Timestamp::UNIX_EPOCH);
                (format!("{} {}", id.endpoint, id.name), record.state.is_some(), record.removal)
            };
            journal.records().map(record).collect()
        };
        let wanted = |vcenter: &str| -> Vec<(String, bool, bool)> {
            let records = [
                ("again", true, false),
                ("begun", false, false),
                ("failed", false, false),
                ("going", true, true),
                ("held", true, false),
                ("made", true, false),
                ("remade", true, false),
            ];
            records.map(|(name, made, removal)| (format!("{vcenter} {name}"), made, removal)).to_vec()
        };
        assert_eq!(known(&journal), wanted("vc"));
        let known_by = |id: &Id| &*id.name == "again";
        journal.rename(&Endpoint::from("vc"), &Endpoint::from("new"), known_by).await.unwrap();
        let last = journal.entries().last().map(|entry| entry.resource.to_string());
        assert!(last.is_some_and(|last| last.contains("vc") && last.contains("again")), "it goes last");
        assert_eq!(known(&journal), wanted("new"));
        let mut journal = FileJournal::open(&path).unwrap();
        assert_eq!(known(&journal), wanted("new"));
        journal.forget(|id| &*id.name != "made").await.unwrap();
        assert_eq!(known(&FileJournal::open(&path).unwrap()), [("new made".to_owned(), true, false)]);
    }

    #[tokio::test]
    async fn a_line_cut_off_is_dropped_and_one_that_is_wrong_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let first = entry("a", Event::Done { state: Some(json!(1)) });
        FileJournal::open(&path).unwrap().append(vec![first.clone()]).await.unwrap();
        let add = |text: &str| {
            let mut file = fs_err::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        add("{\"at\":\"19");
        let mut journal = FileJournal::open(&path).unwrap();
        assert_eq!(journal.entries(), std::slice::from_ref(&first));
        journal.append(vec![first.clone()]).await.unwrap();
        assert_eq!(FileJournal::open(&path).unwrap().entries().len(), 2, "the rest of the cut line is gone");
        fs_err::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"at\":\"\xc3").unwrap();
        let within_a_character = FileJournal::open(&path).unwrap();
        assert_eq!(within_a_character.entries().len(), 2, "a character that was cut is no obstacle");
        add("nonsense\n");
        assert!(matches!(FileJournal::open(&path), Err(JournalError::Line { line: 3, .. })));
    }

    #[test]
    fn one_in_the_users_folder_is_ours_alone_and_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let alone = FileJournal::open_alone(&path).unwrap();
        assert!(matches!(FileJournal::open_alone(&path), Err(JournalError::InUse { .. })));
        drop(alone);
        FileJournal::open_alone(&path).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for opened in [FileJournal::open(&link), FileJournal::open_alone(&link)] {
            assert!(matches!(opened, Err(JournalError::Io(_))), "{opened:?}");
        }
    }
}
