//! A journal in a file: what the CLI keeps in the asset directory.

use std::collections::BTreeSet;
use std::fs::TryLockError;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;
use fs_err::{File, OpenOptions};
use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use uuid::Uuid;

use super::{Entry, Event, Journal, MemoryJournal, Record, Task};
use crate::resource::{Endpoint, Id};

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

/// A journal of one JSON document per line. Only appended to.
#[derive(Debug)]
pub struct FileJournal<S> {
    file: File,
    memory: MemoryJournal<S>,
}

impl<S: Clone + Serialize + DeserializeOwned + Send> FileJournal<S> {
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
        let entries: Result<Vec<Entry<S>>, JournalError> = lines
            .enumerate()
            .map(|(index, line)| {
                let broken = |source| JournalError::Line { path: path.to_owned(), line: index + 1, source };
                serde_json::from_slice(line).map_err(broken)
            })
            .collect();
        memory.take(entries?);
        Ok(FileJournal { file, memory })
    }

    /// Reads kinds by the names they have now: pairs of an old name and the new one. The file stays as it is.
    #[must_use]
    pub fn with_kinds(self, renamed: &[(&str, &str)]) -> Self {
        let FileJournal { file, memory: MemoryJournal { mut entries, .. } } = self;
        for entry in &mut entries {
            if let Some((_, new)) = renamed.iter().find(|(old, _)| *old == &*entry.resource.kind) {
                entry.resource.kind = (*new).into();
            }
        }
        let mut memory = MemoryJournal::default();
        memory.take(entries);
        FileJournal { file, memory }
    }

    /// Tasks of which it is not known how they ended.
    pub fn tasks(&self) -> impl Iterator<Item = (&Id, &Task)> {
        self.memory.tasks()
    }

    pub fn entries(&self) -> &[Entry<S>] {
        &self.memory.entries
    }

    /// Everything that was made and not removed, and everything that may have been made.
    pub fn records(&self) -> impl Iterator<Item = (&Id, &Record<S>)> {
        self.memory.records()
    }

    /// Nothing is left of these, as is known at `at`.
    pub async fn forget(&mut self, at: Timestamp, gone: impl Fn(&Id) -> bool) -> Result<(), JournalError> {
        let known = self.records().map(|(id, _)| id).chain(self.memory.tasks().map(|(id, _)| id));
        let gone: BTreeSet<Id> = known.filter(|id| gone(id)).cloned().collect();
        let entry =
            |resource| Entry { at, resource, verb: "forget".into(), event: Event::Done { state: None } };
        let entries = gone.into_iter().map(entry).collect();
        self.append_for_good(entries).await
    }

    /// These tasks are over; what they did is seen.
    pub async fn end_tasks(&mut self, at: Timestamp, over: &BTreeSet<Id>) -> Result<(), JournalError> {
        let ended = self.memory.tasks().filter(|(id, _)| over.contains(*id)).map(|(id, task)| {
            let error = format!("{} has ended; its result is checked", task.reference);
            let event = Event::Failed { error, refused: false, under_way: false };
            Entry { at, resource: id.clone(), verb: task.verb.clone(), event }
        });
        let ended = ended.collect();
        self.append(ended).await
    }

    /// An endpoint has another name now: what was made there is known by the new one. Whatever a power cut leaves of it,
    /// `known_by` is the last that goes by the old name, so that it can be done again.
    pub async fn rename(
        &mut self,
        at: Timestamp,
        from: &Endpoint,
        to: &Endpoint,
        known_by: impl Fn(&Id) -> bool,
    ) -> Result<(), JournalError> {
        let entry = |at, resource, event| Entry { at, resource, verb: "rename".into(), event };
        let (mut entries, mut old) = (Vec::new(), Vec::new());
        for (id, record) in self.records().filter(|(id, _)| id.endpoint == *from) {
            let renamed = Id { endpoint: to.clone(), ..id.clone() };
            let event = match record.state.clone() {
                Some(state) => Event::Done { state: Some(state) },
                // Not known to have been made; the mark only says that it is looked for.
                None => Event::Intended { mark: Some(Uuid::nil()), removal: false, before: None },
            };
            entries.push(entry(record.at, renamed.clone(), event));
            if record.removal {
                entries.push(entry(at, renamed, Event::Intended { mark: None, removal: true, before: None }));
            }
            old.push(id.clone());
        }
        for (id, task) in self.memory.tasks().filter(|(id, _)| id.endpoint == *from) {
            let renamed = Id { endpoint: to.clone(), ..id.clone() };
            let event = Event::Task { reference: task.reference.clone() };
            entries.push(Entry { verb: task.verb.clone(), ..entry(at, renamed, event) });
            old.push(id.clone());
        }
        self.append_for_good(entries).await?;
        old.sort_by_key(|id| known_by(id));
        let gone = |id| entry(at, id, Event::Done { state: None });
        self.append_for_good(old.into_iter().map(gone).collect()).await
    }

    async fn append_for_good(&mut self, entries: Vec<Entry<S>>) -> Result<(), JournalError> {
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

impl<S: Clone + Serialize + DeserializeOwned + Send> Journal<S> for FileJournal<S> {
    type Error = JournalError;

    async fn append(&mut self, entries: Vec<Entry<S>>) -> Result<(), JournalError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        for entry in &entries {
            serde_json::to_writer(&mut text, entry).map_err(io::Error::from)?;
            text.push(b'\n');
        }
        self.file.write_all(&text)?;
        // What was done can be seen again; what is intended and what is under way cannot, so that must be on the disk.
        if entries.iter().any(|entry| matches!(entry.event, Event::Intended { .. } | Event::Task { .. })) {
            self.file.sync_data()?;
        }
        self.memory.take(entries);
        Ok(())
    }

    fn record(&self, id: &Id) -> Option<&Record<S>> {
        self.memory.record(id)
    }

    fn task(&self, id: &Id) -> Option<&Task> {
        self.memory.task(id)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use jiff::Timestamp;
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::{FileJournal, JournalError};
    use crate::journal::{Entry, Event, Journal, Record, Task, Written};
    use crate::resource::{Endpoint, Id};

    fn entry(name: &str, event: Event<Value>) -> Entry<Value> {
        let resource = Id::new(&Endpoint::from("vc"), "machine", name);
        Entry { at: Timestamp::UNIX_EPOCH, resource, verb: "clone".into(), event }
    }

    fn done(state: Value) -> Event<Value> {
        Event::Done { state: Some(Written::State(state)) }
    }

    #[tokio::test]
    async fn remembers_what_was_made_and_what_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let entries = [
            entry("a", Event::Intended { mark: None, removal: false, before: None }),
            entry("a", done(json!({"id": "vm-1"}))),
            entry("b", done(json!(2))),
            entry("b", Event::Done { state: None }),
            entry("c", Event::Failed { error: "no".into(), refused: true, under_way: false }),
        ];
        FileJournal::<Value>::open(&path).unwrap().append(entries.to_vec()).await.unwrap();
        let again = FileJournal::<Value>::open(&path).unwrap();
        assert_eq!(again.entries(), entries);
        assert_eq!(again.made(&entries[0].resource), Some(&Written::State(json!({"id": "vm-1"}))));
        assert_eq!(again.made(&entries[2].resource), None);
    }

    /// A journal of an earlier build: what was created under the old name is removed under the new one, and stays removed.
    #[tokio::test]
    async fn kinds_that_were_renamed_are_read_by_their_new_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let renamed = [("machine", "vm")];
        let old = entry("a", done(json!(1)));
        FileJournal::<Value>::open(&path).unwrap().append(vec![old.clone()]).await.unwrap();
        let mut journal = FileJournal::<Value>::open(&path).unwrap().with_kinds(&renamed);
        let id = Id::new(&Endpoint::from("vc"), "vm", "a");
        assert_eq!(journal.made(&id), Some(&Written::State(json!(1))));
        assert_eq!(journal.made(&old.resource), None);
        let gone = Entry { resource: id.clone(), ..entry("a", Event::Done { state: None }) };
        journal.append(vec![gone]).await.unwrap();
        let again = FileJournal::<Value>::open(&path).unwrap().with_kinds(&renamed);
        assert_eq!(again.records().count(), 0);
    }

    /// What may be there is known by its record: made, about to be made, or about to go.
    #[tokio::test]
    async fn records_say_what_may_be_there_and_follow_an_endpoint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let intended = |mark, removal| Event::Intended { mark, removal, before: None };
        let made = || done(json!(1));
        let entries = vec![
            entry("begun", intended(Some(Uuid::nil()), false)),
            entry("failed", intended(Some(Uuid::nil()), false)),
            entry("failed", Event::Failed { error: "no answer".into(), refused: false, under_way: false }),
            entry("unmarked", intended(None, false)),
            entry("made", made()),
            entry("going", made()),
            entry("going", intended(None, true)),
            entry("going", Event::Failed { error: "no answer".into(), refused: false, under_way: false }),
            entry("held", made()),
            entry("held", intended(None, true)),
            entry("held", Event::Failed { error: "no permission".into(), refused: true, under_way: false }),
            entry("remade", made()),
            entry("remade", intended(None, true)),
            entry("remade", intended(Some(Uuid::nil()), false)),
            entry("again", made()),
            entry("again", intended(None, true)),
            entry("again", made()),
            entry("gone", made()),
            entry("gone", Event::Done { state: None }),
        ];
        let mut journal = FileJournal::<Value>::open(&path).unwrap();
        journal.append(entries).await.unwrap();
        let known = |journal: &FileJournal<Value>| -> Vec<(String, bool, bool)> {
            let record = |(id, record): (&Id, &Record<Value>)| {
                assert_eq!(record.at, Timestamp::UNIX_EPOCH);
                (format!("{} {}", id.endpoint, id.name), record.state.is_some(), record.removal)
            };
            journal.records().map(record).collect()
        };
        let desired = |vcenter: &str| -> Vec<(String, bool, bool)> {
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
        assert_eq!(known(&journal), desired("vc"));
        let known_by = |id: &Id| &*id.name == "again";
        journal
            .rename(Timestamp::UNIX_EPOCH, &Endpoint::from("vc"), &Endpoint::from("new"), known_by)
            .await
            .unwrap();
        let last = journal.entries().last().map(|entry| entry.resource.to_string());
        assert!(last.is_some_and(|last| last.contains("vc") && last.contains("again")), "it goes last");
        assert_eq!(known(&journal), desired("new"));
        let mut journal = FileJournal::<Value>::open(&path).unwrap();
        assert_eq!(known(&journal), desired("new"));
        journal.forget(Timestamp::UNIX_EPOCH, |id| &*id.name != "made").await.unwrap();
        assert_eq!(
            known(&FileJournal::<Value>::open(&path).unwrap()),
            [("new made".to_owned(), true, false)]
        );
    }

    #[tokio::test]
    async fn a_line_cut_off_is_dropped_and_one_that_is_wrong_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let first = entry("a", done(json!(1)));
        FileJournal::<Value>::open(&path).unwrap().append(vec![first.clone()]).await.unwrap();
        let add = |text: &str| {
            let mut file = fs_err::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        add("{\"at\":\"19");
        let mut journal = FileJournal::<Value>::open(&path).unwrap();
        assert_eq!(journal.entries(), std::slice::from_ref(&first));
        journal.append(vec![first.clone()]).await.unwrap();
        assert_eq!(
            FileJournal::<Value>::open(&path).unwrap().entries().len(),
            2,
            "the rest of the cut line is gone"
        );
        fs_err::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"at\":\"\xc3").unwrap();
        let within_a_character = FileJournal::<Value>::open(&path).unwrap();
        assert_eq!(within_a_character.entries().len(), 2, "a character that was cut is not an obstacle");
        add("nonsense\n");
        assert!(matches!(FileJournal::<Value>::open(&path), Err(JournalError::Line { line: 3, .. })));
    }

    /// A task is known until its end is, whatever the endpoint is called meanwhile.
    #[tokio::test]
    async fn a_task_is_known_until_it_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let task = |name: &str| Event::Task { reference: format!("task-{name}") };
        let failed = |under_way| Event::Failed { error: "no answer".into(), refused: false, under_way };
        let entries = vec![
            entry("runs", Event::Intended { mark: Some(Uuid::nil()), removal: false, before: None }),
            entry("runs", task("runs")),
            entry("unheard", task("unheard")),
            entry("unheard", failed(true)),
            entry("failed", task("failed")),
            entry("failed", failed(false)),
            entry("done", task("done")),
            entry("done", done(json!(1))),
            entry("again", task("again")),
            entry("again", Event::Intended { mark: None, removal: false, before: None }),
        ];
        FileJournal::<Value>::open(&path).unwrap().append(entries).await.unwrap();
        let known = |journal: &FileJournal<Value>| -> Vec<String> {
            let shown =
                |(id, task): (&Id, &Task)| format!("{} {} {}", id.endpoint, task.verb, task.reference);
            journal.tasks().map(shown).collect()
        };
        let mut journal = FileJournal::open(&path).unwrap();
        assert_eq!(known(&journal), ["vc clone task-runs", "vc clone task-unheard"]);
        let (vcenter, new) = (Endpoint::from("vc"), Endpoint::from("new"));
        journal.rename(Timestamp::UNIX_EPOCH, &vcenter, &new, |_| false).await.unwrap();
        let mut journal = FileJournal::open(&path).unwrap();
        assert_eq!(known(&journal), ["new clone task-runs", "new clone task-unheard"]);
        journal.forget(Timestamp::UNIX_EPOCH, |id| &*id.name == "unheard").await.unwrap();
        assert_eq!(known(&journal), ["new clone task-runs"]);
    }

    /// Another build may have written other states. That something was made is not forgotten for it, and what was written
    /// stays as it is.
    #[tokio::test]
    async fn a_state_that_cannot_be_read_is_not_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let strange = json!({"kind": "hologram", "id": 7});
        let entries = vec![entry("a", done(strange.clone())), entry("b", done(json!(3)))];
        FileJournal::<Value>::open(&path).unwrap().append(entries.clone()).await.unwrap();
        let (vcenter, new) = (Endpoint::from("vc"), Endpoint::from("new"));
        let mut journal = FileJournal::<u8>::open(&path).unwrap();
        let unreadable = Some(&Written::Unreadable(strange.clone()));
        assert_eq!(journal.made(&entries[0].resource), unreadable);
        assert_eq!(journal.made(&entries[1].resource), Some(&Written::State(3)));
        journal.rename(Timestamp::UNIX_EPOCH, &vcenter, &new, |_| false).await.unwrap();
        let renamed = Id { endpoint: new, ..entries[0].resource.clone() };
        let later = FileJournal::<Value>::open(&path).unwrap();
        assert_eq!(later.made(&renamed), Some(&Written::State(strange)), "word for word");
    }

    #[test]
    fn one_in_the_users_folder_is_ours_alone_and_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let alone = FileJournal::<Value>::open_alone(&path).unwrap();
        assert!(matches!(FileJournal::<Value>::open_alone(&path), Err(JournalError::InUse { .. })));
        drop(alone);
        FileJournal::<Value>::open_alone(&path).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for opened in [FileJournal::<Value>::open(&link), FileJournal::<Value>::open_alone(&link)] {
            assert!(matches!(opened, Err(JournalError::Io(_))), "{opened:?}");
        }
    }
}
