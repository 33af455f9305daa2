//! The log of an asset directory, beside its journal: what commands did and which calls they made, for the person who
//! has to find out later. No trouble with it is trouble for a command.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fs_err::os::unix::fs::OpenOptionsExt;
use fs_err::{File, OpenOptions};

const NAME: &str = "slipway.log";
/// The log before this one.
const OLD_NAME: &str = "slipway.log.1";
/// There are two of these at most.
const MAX_BYTES: u64 = 8 << 20;
/// What is kept until there is a folder.
const MAX_WAITING: usize = 64 << 10;

static LOG: Mutex<Log> = Mutex::new(Log::new());

/// From now on everything is kept in an asset directory, as soon as it is one.
pub(crate) fn keep_in(directory: &Path) {
    let folder = directory.join(".slipway");
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    if log.folder.as_ref() != Some(&folder) {
        *log = Log { waiting: std::mem::take(&mut log.waiting), folder: Some(folder), ..Log::new() };
    }
}

/// Writes into the log of the process.
pub(super) struct Writer;

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Log {
    folder: Option<PathBuf>,
    file: Option<File>,
    length: u64,
    waiting: Vec<u8>,
}

impl Log {
    const fn new() -> Self {
        Log { folder: None, file: None, length: 0, waiting: Vec::new() }
    }

    fn add(&mut self, line: &[u8]) {
        if self.file.is_none() || self.length + line.len() as u64 > MAX_BYTES {
            self.open();
        }
        let Some(file) = &mut self.file else {
            if self.waiting.len() + line.len() <= MAX_WAITING {
                self.waiting.extend_from_slice(line);
            }
            return;
        };
        let lines = [std::mem::take(&mut self.waiting).as_slice(), line].concat();
        if file.write_all(&lines).is_ok() {
            self.length += lines.len() as u64;
        }
    }

    /// The folder is not made for it: not every directory that a command looks at is one of ours.
    fn open(&mut self) {
        self.file = None;
        let Some(folder) = self.folder.as_ref().filter(|folder| folder.is_dir()) else { return };
        let path = folder.join(NAME);
        let is_file = |path: &Path| fs_err::symlink_metadata(path).map(|found| found.is_file());
        // A link leads elsewhere.
        if is_file(&path).is_ok_and(|is_file| !is_file) {
            return;
        }
        if fs_err::metadata(&path).is_ok_and(|found| found.len() >= MAX_BYTES / 2) {
            let _ = fs_err::rename(&path, folder.join(OLD_NAME));
        }
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        if let Ok(file) = opened {
            self.length = file.metadata().map_or(0, |found| found.len());
            self.file = Some(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::{Log, MAX_BYTES, NAME, OLD_NAME};

    #[test]
    fn it_waits_for_its_folder_is_private_and_stays_small() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join(".slipway");
        let mut log = Log { folder: Some(folder.clone()), ..Log::new() };
        log.add(b"early\n");
        assert!(!folder.exists());
        std::fs::create_dir(&folder).unwrap();
        log.add(b"late\n");
        let path = folder.join(NAME);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "early\nlate\n");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let line = vec![b'x'; 1 << 20];
        for _ in 0..40 {
            log.add(&line);
        }
        for name in [NAME, OLD_NAME] {
            assert!(std::fs::metadata(folder.join(name)).unwrap().len() <= MAX_BYTES, "{name}");
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join(".slipway");
        std::fs::create_dir(&folder).unwrap();
        let elsewhere = directory.path().join("elsewhere");
        std::fs::write(&elsewhere, "").unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.join(NAME)).unwrap();
        Log { folder: Some(folder), ..Log::new() }.add(b"line\n");
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "");
    }
}
