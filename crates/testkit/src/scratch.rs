//! Folders for servers: gone when a test passes, kept when it fails.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A folder below `target/testkit`.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Until then a failure is one of starting, whose files are wanted too.
    settled: AtomicBool,
}

impl Scratch {
    pub fn new(name: &str) -> anyhow::Result<Self> {
        static SWEEP: Once = Once::new();
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/testkit");
        SWEEP.call_once(|| sweep(&root));
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("{}-{number}-{name}", std::process::id()));
        fs_err::create_dir_all(&path)?;
        Ok(Scratch { path: path.canonicalize()?, settled: AtomicBool::new(false) })
    }

    /// What it was made for is running: from here on its files are only wanted if the test fails.
    pub fn settle(&self) {
        self.settled.store(true, Ordering::Relaxed);
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file and returns where it is. Whoever reads it meanwhile finds all of the old one or all of the new one.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> anyhow::Result<PathBuf> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let (path, number) = (self.join(name), NEXT.fetch_add(1, Ordering::Relaxed));
        let draft = self.join(&format!(".draft-{number}"));
        fs_err::write(&draft, content)?;
        fs_err::rename(&draft, &path)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::thread::panicking() || !self.settled.load(Ordering::Relaxed) {
            // The mark keeps it from being swept up by the next run.
            let _ = std::fs::write(self.path.join(FAILED), "");
            eprintln!("kept for reading: {}", self.path.display());
            show_logs(&self.path);
        } else {
            // A folder that cannot be removed now is swept up by the next run.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// How much of a log is shown with a failure.
const LINES: usize = 12;

/// The ends of all logs, for where the folder cannot be reached afterwards.
fn show_logs(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        let Ok(content) = std::fs::read(&path) else { continue };
        let text = String::from_utf8_lossy(&content);
        let lines: Vec<&str> = text.lines().collect();
        eprintln!("the end of {}:", entry.file_name().display());
        for line in &lines[lines.len().saturating_sub(LINES)..] {
            eprintln!("  {line:.300}");
        }
    }
}

/// Marks the folder of a test that failed.
const FAILED: &str = ".failed";

/// Removes what earlier runs left behind: shared servers, Ctrl-C. It is kept for an hour, in case the run failed
/// for another reason, and for a day where a test is known to have failed.
fn sweep(root: &Path) {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_string_lossy().split('-').next().map(str::to_owned).unwrap_or_default();
        let alive = Path::new("/proc").join(owner).exists();
        let age = entry.metadata().and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
        let patience = if entry.path().join(FAILED).exists() {
            Duration::from_hours(24)
        } else {
            Duration::from_hours(1)
        };
        let kept = age.is_some_and(|age| age < patience);
        if !alive && !kept {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
