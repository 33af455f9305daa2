//! One process per asset directory.

use std::fs::TryLockError;
use std::io::{Read, Seek, Write};
use std::path::Path;

use fs_err::os::unix::fs::OpenOptionsExt;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Error;

/// A lock file is never larger than this.
const MAX_BYTES: u64 = 4096;

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub host: String,
    pub command: String,
    pub since: Timestamp,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Holder { pid, host, command, since } = self;
        write!(f, "process {pid} on {host} has been running `{command}` since {since:.0}")
    }
}

/// The lock of a directory. The kernel lets go of it when the process ends, however it ends; what the file
/// says afterwards means nothing.
#[derive(Debug)]
pub(super) struct Lock {
    file: fs_err::File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a program that another thread is just starting holds the file until it is itself.
        let _ = self.file.file().unlock();
    }
}

impl Lock {
    /// `directory` is the one to say in messages, `path` the lock file.
    pub(super) fn take(directory: &Path, path: &Path, command: &str, now: Timestamp) -> Result<Self, Error> {
        let mut options = fs_err::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(path)?;
        match file.file().try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // Empty when the other process has not come to writing it yet.
                let holder = match file.take(MAX_BYTES).read_to_string(&mut text) {
                    Ok(_) => serde_json::from_str(&text).ok(),
                    Err(_) => None,
                };
                return Err(Error::Locked { directory: directory.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => {
                return Err(Error::Unlockable { path: path.to_owned(), source });
            }
        }
        let holder =
            Holder { pid: std::process::id(), host: host(), command: command.to_owned(), since: now };
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(&serde_json::to_vec(&holder).unwrap_or_default())?;
        Ok(Lock { file })
    }
}

fn host() -> String {
    let names = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let name = names.iter().find_map(|path| std::fs::read_to_string(path).ok());
    name.map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or("an unknown host".into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Lock;

    /// As a program that is just being started has one.
    #[test]
    fn a_copy_of_the_file_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let now = "2026-11-16T12:00:00Z".parse().unwrap();
        let take = || Lock::take(Path::new("here"), &path, "a test", now);
        let lock = take().unwrap();
        let copy = lock.file.file().try_clone().unwrap();
        assert!(take().is_err());
        drop(lock);
        take().unwrap();
        drop(copy);
    }
}
