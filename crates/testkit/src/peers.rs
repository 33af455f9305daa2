//! The third-party programs: built from pinned modules into a cache outside of the clone.

mod strangers;
mod table;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

pub use strangers::STRANGERS;
pub use table::{PEERS, Peer, Program};

/// The wrapper modules of this repository.
fn modules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers")
}

/// `SLIPWAY_PEERS`, or a folder in the user's cache.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    if let Some(folder) = std::env::var_os("SLIPWAY_PEERS") {
        return Ok(folder.into());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    Ok(cache.or_else(home).context("neither XDG_CACHE_HOME nor HOME is set")?.join("slipway/peers"))
}

/// Keeps other clones from building into the same cache until it is dropped, or this program ends.
pub(crate) fn lock(cache: &Path) -> anyhow::Result<File> {
    // Beside the folder, so that the folder can be thrown away.
    let path = cache.with_extension("lock");
    if let Some(parent) = path.parent() {
        fs_err::create_dir_all(parent)?;
    }
    let (file, path) = fs_err::OpenOptions::new().create(true).append(true).open(path)?.into_parts();
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => println!("waiting for another build of the peers to end"),
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("locking {}", path.display()));
        }
    }
    file.lock().with_context(|| format!("locking {}", path.display()))?;
    Ok(file)
}

impl Peer {
    /// Those that the default run builds, and strangers.
    pub fn all() -> impl Iterator<Item = &'static Peer> {
        PEERS.iter().chain(STRANGERS)
    }

    /// By the name of its folder, or of a program it makes.
    pub fn named(name: &str) -> anyhow::Result<&'static Peer> {
        let known = || Peer::all().map(|peer| peer.name).collect::<Vec<_>>().join(", ");
        let by_folder = Peer::all().find(|peer| peer.name == name);
        let peer = by_folder.or_else(|| Peer::of_program(name).ok());
        peer.with_context(|| format!("no peer `{name}`; there are {}", known()))
    }

    /// The peer that makes a program.
    fn of_program(program: &str) -> anyhow::Result<&'static Peer> {
        let makes = |peer: &&Peer| {
            peer.programs.iter().any(|made| made.name == program) || peer.files == Some(program)
        };
        Peer::all().find(makes).with_context(|| format!("no peer makes `{program}`"))
    }

    fn module(&self) -> PathBuf {
        modules().join(self.name)
    }

    /// The version of a Go module that it is built from.
    pub fn version_of(&self, module: &str) -> anyhow::Result<String> {
        let text = fs_err::read_to_string(self.module().join("go.mod"))?;
        let required = text.lines().map(|line| line.trim().trim_start_matches("require "));
        let version = required.filter_map(|line| line.split_once(' ')).find(|(path, _)| *path == module);
        let version = version.and_then(|(_, rest)| rest.split(' ').next());
        version.map(str::to_owned).with_context(|| format!("peers/{} does not require {module}", self.name))
    }

    /// Where this version of the peer is kept: by a hash of everything that decides what it is.
    pub fn folder(&self) -> anyhow::Result<PathBuf> {
        let mut hash = Sha256::new();
        let mut sources: Vec<PathBuf> = fs_err::read_dir(self.module())?
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<_>>()?;
        sources.retain(|path| path.is_file() && !path.to_string_lossy().ends_with("_test.go"));
        sources.sort();
        for source in sources {
            hash.update(source.file_name().unwrap_or_default().as_encoded_bytes());
            hash.update(fs_err::read(&source)?);
        }
        hash.update(format!("{:?}", self.programs));
        let digest: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(cache()?.join(format!("{}-{digest}", self.name)))
    }

    /// Whether everything it makes is there.
    pub fn is_built(&self) -> anyhow::Result<bool> {
        Ok(self.folder()?.join(COMPLETE).is_file())
    }

    /// Builds what is missing, with a line of progress. Returns whether there was something to do.
    pub fn build(&self) -> anyhow::Result<bool> {
        if self.is_built()? {
            return Ok(false);
        }
        let _lock = lock(&cache()?)?;
        // Whoever had the lock may have built it.
        if self.is_built()? {
            return Ok(false);
        }
        let folder = self.folder()?;
        fs_err::create_dir_all(&folder)?;
        println!("peer {}: building {}", self.name, self.contents());
        let start = Instant::now();
        for program in self.programs {
            self.build_program(program, &folder)?;
        }
        if let Some(files) = self.files {
            // These programs write files; the files are the peer.
            let program = self.programs.first().context("a program that writes the files")?;
            let output = Command::new(folder.join(program.name))
                .arg(folder.join(files))
                .current_dir(self.module())
                .output()
                .with_context(|| format!("running {}", program.name))?;
            if !output.status.success() {
                bail!("{}: {}", program.name, String::from_utf8_lossy(&output.stderr));
            }
        }
        fs_err::write(folder.join(COMPLETE), "")?;
        println!("peer {}: built in {:.0} s", self.name, start.elapsed().as_secs_f64());
        Ok(true)
    }

    fn contents(&self) -> String {
        let programs = self.programs.iter().map(|program| program.name);
        programs.collect::<Vec<_>>().join(", ")
    }

    fn build_program(&self, program: &Program, folder: &Path) -> anyhow::Result<()> {
        let mut flags = String::from("-s -w");
        for (variable, value) in program.stamps {
            flags.push_str(&format!(" -X {variable}={value}"));
        }
        let tags = strangers::WITH_TAGS.iter().find(|(name, _)| *name == program.name);
        let tags = tags.map(|(_, tags)| format!("-tags={tags}"));
        let status = Command::new("go")
            .args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath"])
            .args(tags)
            .args(["-ldflags", &flags, "-o"])
            .arg(folder.join(program.name))
            .arg(program.package)
            .current_dir(self.module())
            .env("CGO_ENABLED", if table::WITH_C.contains(&program.name) { "1" } else { "0" })
            .env("GOFLAGS", "")
            .status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => bail!("building {} in peers/{}: go ended with {status}", program.name, self.name),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                bail!(
                    "the peer `{}` is built with Go, which is not installed; install Go 1.26 or later",
                    self.name
                )
            }
            Err(error) => Err(error).context("starting go"),
        }
    }
}

/// Marks a folder in which everything has been built.
const COMPLETE: &str = ".complete";

/// A program, or a folder of files, that `cargo xtask peers` has built.
pub fn find(name: &str) -> anyhow::Result<PathBuf> {
    let peer = Peer::of_program(name)?;
    if !peer.is_built()? {
        bail!("the peer `{}` is not built; run `cargo xtask peers {}`", peer.name, peer.name);
    }
    Ok(peer.folder()?.join(name))
}

#[cfg(test)]
mod tests {
    use super::lock;
    use crate::scratch::Scratch;

    #[test]
    fn one_builds_at_a_time() -> anyhow::Result<()> {
        let scratch = Scratch::new("lock")?;
        scratch.settle();
        let held = lock(&scratch.join("peers"))?;
        let other = std::fs::File::open(scratch.join("peers.lock"))?;
        assert!(other.try_lock().is_err(), "somebody else is building");
        drop(held);
        assert!(other.try_lock().is_ok(), "nobody is");
        Ok(())
    }
}
