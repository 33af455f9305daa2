//! Reading and writing in the asset directory, without ever leaving it.

use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;
use sha2::{Digest as _, Sha256};
use slipway_assets::Access;

use super::reconcile::Digest;
use super::{Error, OWN, STATE};

const TEMPORARY: &str = "tmp";

/// What a file may be opened by at most; a stricter umask is respected.
fn mode(access: Access) -> u32 {
    match access {
        Access::Group => 0o640,
        Access::Owner => 0o600,
    }
}

/// A folder and those it is in, each with the mode.
pub(crate) fn make_folder(path: &Path, mode: u32) -> io::Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    made.map_err(|error| {
        io::Error::new(error.kind(), format!("creating folder `{}`: {error}", path.display()))
    })
}

/// An asset directory. Paths are relative, with forward slashes.
#[derive(Debug)]
pub(super) struct Disk {
    root: PathBuf,
    /// How many changes are left until the power goes off.
    #[cfg(test)]
    pub(super) fuse: std::sync::Mutex<Option<u32>>,
}

impl Disk {
    /// Makes sure that our own folder is there, and that it is ours alone.
    pub(super) fn open(root: &Path) -> Result<Self, Error> {
        let disk = Disk {
            root: root.to_owned(),
            #[cfg(test)]
            fuse: std::sync::Mutex::default(),
        };
        let own = root.join(OWN);
        match disk.kind(OWN)? {
            Kind::Missing => make_folder(&own, 0o700)?,
            Kind::Folder if fs_err::metadata(&own)?.permissions().mode() & 0o077 != 0 => {
                fs_err::set_permissions(&own, PermissionsExt::from_mode(0o700))?;
            }
            Kind::Folder => {}
            Kind::File => return Err(Error::NotAFolder { path: own }),
        }
        Ok(disk)
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.root.join(OWN).join("lock")
    }

    pub(super) fn state_file(&self) -> PathBuf {
        self.root.join(OWN).join(STATE)
    }

    /// Removes what an interrupted run was still writing.
    pub(super) fn clean(&self) -> Result<(), Error> {
        match fs_err::remove_dir_all(self.root.join(OWN).join(TEMPORARY)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    pub(super) fn state(&self) -> Result<Option<String>, Error> {
        self.kind(&format!("{OWN}/{STATE}"))?;
        let path = self.state_file();
        match fs_err::read(&path) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(Error::Damaged { path, reason: "it is not text".to_owned() }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn save_state(&self, text: &str) -> Result<(), Error> {
        self.replace(&format!("{OWN}/{STATE}"), text.as_bytes(), 0o600)
    }

    /// The digest of a file, if it is there.
    pub(super) fn digest(&self, path: &str) -> Result<Option<Digest>, Error> {
        if self.kind_of_file(path)? == Kind::Missing {
            return Ok(None);
        }
        let mut hasher = Sha256::new();
        io::copy(&mut fs_err::File::open(self.root.join(path))?, &mut hasher)?;
        Ok(Some(Digest::finish(hasher)))
    }

    /// Writes a file as a whole or not at all, and the folders it is in.
    pub(super) fn write(&self, path: &str, contents: &[u8], access: Access) -> Result<(), Error> {
        self.kind_of_file(path)?;
        self.make_folders(path, 0o750)?;
        self.replace(path, contents, mode(access))
    }

    /// Takes away from others what they may not do; an editor may have been more generous.
    pub(super) fn tighten(&self, path: &str, access: Access) -> Result<(), Error> {
        let full = self.root.join(path);
        let current = fs_err::symlink_metadata(&full)?.permissions().mode();
        let excess = current & 0o077 & !mode(access);
        if excess != 0 {
            fs_err::set_permissions(&full, PermissionsExt::from_mode(current & 0o777 & !excess))?;
        }
        Ok(())
    }

    pub(super) fn remove(&self, path: &str) -> Result<(), Error> {
        self.kind_of_file(path)?;
        self.change()?;
        Ok(fs_err::remove_file(self.root.join(path))?)
    }

    /// Removes a folder if there is nothing in it.
    pub(super) fn remove_if_empty(&self, path: &str) -> Result<bool, Error> {
        if self.kind(path)? != Kind::Folder || fs_err::read_dir(self.root.join(path))?.next().is_some() {
            return Ok(false);
        }
        self.change()?;
        fs_err::remove_dir(self.root.join(path))?;
        Ok(true)
    }

    pub(super) fn exists(&self, path: &str) -> Result<bool, Error> {
        Ok(self.kind(path)? != Kind::Missing)
    }

    pub(super) fn is_file(&self, path: &str) -> Result<bool, Error> {
        Ok(self.kind(path)? == Kind::File)
    }

    /// A name for a backup that is not taken.
    pub(super) fn new_backup(&self, name: &str) -> Result<String, Error> {
        let mut folder = format!("{OWN}/backup/{name}");
        let mut count = 1;
        while self.exists(&folder)? {
            count += 1;
            folder = format!("{OWN}/backup/{name}-{count}");
        }
        Ok(folder)
    }

    /// Copies a file into a backup.
    pub(super) fn back_up(&self, path: &str, folder: &str) -> Result<(), Error> {
        let contents = fs_err::read(self.root.join(path))?;
        let name = path.strip_prefix(OWN).and_then(|below| below.strip_prefix('/')).unwrap_or(path);
        let target = format!("{folder}/{name}");
        self.make_folders(&target, 0o700)?;
        self.replace(&target, &contents, 0o600)
    }

    /// Writes beside, then renames: readers see the old file or the new one. What is beside is in our own
    /// folder, so that nothing lies around in the user's when the power goes off.
    fn replace(&self, path: &str, contents: &[u8], mode: u32) -> Result<(), Error> {
        let folder = self.root.join(OWN).join(TEMPORARY);
        make_folder(&folder, 0o700)?;
        let temporary = folder.join("file");
        match fs_err::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        self.change()?;
        let mut file = fs_err::OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        file.write_all(contents)?;
        file.sync_all()?;
        self.change()?;
        let target = self.root.join(path);
        fs_err::rename(&temporary, &target)?;
        if let Some(parent) = target.parent() {
            fs_err::File::open(parent)?.sync_all()?;
        }
        Ok(())
    }

    /// The folders a file is in.
    fn make_folders(&self, path: &str, mode: u32) -> Result<(), Error> {
        let Some((folders, _)) = path.rsplit_once('/') else { return Ok(()) };
        let full = self.root.join(folders);
        if !full.is_dir() {
            self.change()?;
            make_folder(&full, mode)?;
        }
        Ok(())
    }

    /// What is at a path where a file belongs.
    fn kind_of_file(&self, path: &str) -> Result<Kind, Error> {
        match self.kind(path)? {
            Kind::Folder => Err(Error::NotAFile { path: self.root.join(path) }),
            kind => Ok(kind),
        }
    }

    /// What is at a path. No step on the way may be a symbolic link: it could lead out of the directory.
    fn kind(&self, path: &str) -> Result<Kind, Error> {
        let mut full = self.root.clone();
        let mut kind = Kind::Folder;
        for part in path.split('/') {
            if kind == Kind::File {
                return Err(Error::NotAFolder { path: full });
            }
            full.push(part);
            let file_type = match fs_err::symlink_metadata(&full) {
                Ok(metadata) => metadata.file_type(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kind::Missing),
                Err(error) => return Err(error.into()),
            };
            kind = if file_type.is_symlink() {
                return Err(Error::SymbolicLink { path: full });
            } else if file_type.is_dir() {
                Kind::Folder
            } else if file_type.is_file() {
                Kind::File
            } else {
                return Err(Error::NotAFile { path: full });
            };
        }
        Ok(kind)
    }

    /// Called before every change, so that tests can cut the power there.
    #[cfg_attr(not(test), expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "for tests"))]
    fn change(&self) -> Result<(), Error> {
        #[cfg(test)]
        if let Some(left) = self.fuse.lock().unwrap().as_mut() {
            let left = std::mem::replace(left, left.saturating_sub(1));
            if left == 0 {
                return Err(io::Error::other("the power went off").into());
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Missing,
    File,
    Folder,
}
