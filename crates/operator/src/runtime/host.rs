//! The machine below: its files and its programs.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// How much of what a program says is kept.
const KEPT: usize = 2000;

/// Programs of the machine. Tests have their own.
pub trait Programs: Send + Sync + 'static {
    fn run(
        &self,
        program: &str,
        arguments: &[&str],
        patience: Duration,
    ) -> impl Future<Output = Result<(), ProgramError>> + Send;
}

impl<P: Programs> Programs for std::sync::Arc<P> {
    async fn run(&self, program: &str, arguments: &[&str], patience: Duration) -> Result<(), ProgramError> {
        (**self).run(program, arguments, patience).await
    }
}

/// What became of a program that did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("starting `{program}`")]
    NotStarted { program: String, source: io::Error },
    #[error("`{program}` failed: {said}")]
    Failed { program: String, said: String },
    #[error("`{program}` took longer than {} s", patience.as_secs())]
    TooSlow { program: String, patience: Duration },
}

/// The programs of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Processes;

impl Programs for Processes {
    async fn run(&self, program: &str, arguments: &[&str], patience: Duration) -> Result<(), ProgramError> {
        let name = program.to_owned();
        tracing::info!(program, arguments = arguments.join(" "), "a program is run");
        let child = tokio::process::Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::inherit())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| ProgramError::NotStarted { program: name.clone(), source })?;
        match tokio::time::timeout(patience, child.wait_with_output()).await {
            Err(_) => Err(ProgramError::TooSlow { program: name, patience }),
            Ok(Err(source)) => Err(ProgramError::NotStarted { program: name, source }),
            Ok(Ok(output)) if output.status.success() => Ok(()),
            Ok(Ok(output)) => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(ProgramError::Failed { program: name, said: tail(&said) })
            }
        }
    }
}

/// The end of a text: what went wrong comes last.
fn tail(text: &str) -> String {
    let text = text.trim();
    let start = text.char_indices().rev().nth(KEPT).map_or(0, |(index, _)| index);
    text[start..].to_owned()
}

/// Files of the machine, below a folder that is `/` but in tests.
#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
}

impl Files {
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Files { root: root.into() }
    }

    /// Where a path of the machine is.
    pub fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.at(path).exists()
    }

    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<String> {
        fs_err::read_to_string(self.at(path))
    }

    /// What there is, or nothing if there is no such file.
    pub fn read_if_there(&self, path: impl AsRef<Path>) -> io::Result<Option<String>> {
        match self.read(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces a file in one step, so that it is the old one or the new one after a power cut; whether it changed.
    pub fn write(&self, path: impl AsRef<Path>, mode: u32, contents: &str) -> io::Result<bool> {
        let path = self.at(path);
        if fs_err::read_to_string(&path).is_ok_and(|found| found == contents) {
            return Ok(false);
        }
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs_err::create_dir_all(folder)?;
        // The kubelet does not look at files whose names begin with a dot.
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or(OsStr::new("file")));
        name.push(".new");
        let beside = folder.join(name);
        let mut file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&beside)?;
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        file.write_all(contents.as_bytes())?;
        file.sync_all()?;
        fs_err::rename(&beside, &path)?;
        std::fs::File::open(folder)?.sync_all()?;
        Ok(true)
    }

    /// Makes a folder for the owner's eyes only.
    pub fn make_private_folder(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = self.at(path);
        fs_err::create_dir_all(&path)?;
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o700))
    }

    /// Removes a folder with all that is in it; one that is not there is removed already.
    pub fn remove_folder(&self, path: impl AsRef<Path>) -> io::Result<()> {
        match fs_err::remove_dir_all(self.at(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Removes a file; one that is not there is removed already.
    pub fn remove(&self, path: impl AsRef<Path>) -> io::Result<()> {
        match fs_err::remove_file(self.at(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// The files of a folder by name; none if there is no such folder.
    pub fn list(&self, folder: impl AsRef<Path>) -> io::Result<Vec<String>> {
        let entries = match fs_err::read_dir(self.at(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::{Files, Processes, ProgramError, Programs, tail};

    #[test]
    fn files_are_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::below(folder.path());
        assert!(files.write("/etc/slipway/a", 0o600, "one").unwrap());
        assert!(!files.write("/etc/slipway/a", 0o600, "one").unwrap(), "nothing changed");
        assert!(files.write("/etc/slipway/a", 0o600, "two").unwrap());
        assert_eq!(files.read("/etc/slipway/a").unwrap(), "two");
        let mode = std::fs::metadata(files.at("/etc/slipway/a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(files.list("/etc/slipway").unwrap(), ["a"], "nothing is left beside it");
        assert!(files.list("/etc/nowhere").unwrap().is_empty());
        files.remove("/etc/slipway/a").unwrap();
        files.remove("/etc/slipway/a").unwrap();
    }

    #[tokio::test]
    async fn programs_say_why_they_failed() {
        let patience = Duration::from_mins(1);
        Processes.run("true", &[], patience).await.unwrap();
        let error =
            Processes.run("sh", &["-c", "echo no such thing >&2; exit 3"], patience).await.unwrap_err();
        assert_eq!(error.to_string(), "`sh` failed: no such thing");
        let error = Processes.run("/nowhere", &[], patience).await.unwrap_err();
        assert!(matches!(error, ProgramError::NotStarted { .. }));
        let error = Processes.run("sleep", &["60"], Duration::from_millis(10)).await.unwrap_err();
        assert!(matches!(error, ProgramError::TooSlow { .. }));
    }

    #[test]
    fn only_the_end_is_kept() {
        let text = format!("{}the end", "ü".repeat(5000));
        assert!(tail(&text).len() < 5000);
        assert!(tail(&text).ends_with("the end"));
    }
}
