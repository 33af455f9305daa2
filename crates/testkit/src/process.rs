//! Processes that end with the test, whatever happens to it.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

/// How a server is started.
#[derive(Debug)]
pub struct Start<'a> {
    pub name: &'a str,
    pub program: &'a Path,
    pub arguments: Vec<OsString>,
    pub environment: Vec<(&'a str, OsString)>,
    /// Where its output goes.
    pub log: PathBuf,
    /// The holder of a [`PrivateNetwork`](crate::network::PrivateNetwork) to start it in.
    pub network_of: Option<u32>,
}

/// For servers written in Go: they collect their garbage less often. Memory is plenty here, and processors are few.
pub(crate) fn seldom() -> (&'static str, OsString) {
    ("GOGC", "400".into())
}

type Request = (Command, Sender<std::io::Result<Child>>);

/// Starts a command on a thread that lives as long as this program: the kernel's signal on the death of a
/// parent goes by threads, and the thread of a test ends with the test.
pub(crate) fn spawn(command: Command) -> anyhow::Result<std::io::Result<Child>> {
    static SPAWNER: OnceLock<Sender<Request>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, receiver) = channel::<Request>();
        std::thread::spawn(move || {
            for (mut command, reply) in receiver {
                // Whoever asked waits for the answer, so it is always taken.
                let _ = reply.send(command.spawn());
            }
        });
        sender
    });
    let (reply, answer) = channel();
    spawner.send((command, reply)).context("the spawner is gone")?;
    answer.recv().context("the spawner is gone")
}

/// Whether this program may do everything.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A program that could not be started, with where to get it if it is missing.
pub(crate) fn not_started(name: &str, program: &OsStr, error: std::io::Error) -> anyhow::Error {
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    let error = anyhow::Error::new(error).context(format!("starting {name}"));
    let package = match program.to_str() {
        Some("setpriv" | "nsenter" | "unshare") => "util-linux",
        Some("ip") => "iproute2",
        _ => return error,
    };
    let program = program.display();
    if missing {
        error.context(format!("`{program}` is not installed; it is in the Debian package {package}"))
    } else {
        error
    }
}

/// A command that is ended by the kernel when this program ends, in the network of another process and with the
/// files that it sees.
pub(crate) fn bound(program: &Path, network_of: Option<u32>) -> Command {
    let mut command = match network_of {
        Some(pid) => {
            let mut nsenter = Command::new("nsenter");
            nsenter.args(["--target", &pid.to_string(), "--net", "--mount"]);
            if !is_root() {
                // The namespaces belong to a user namespace; in it we are root.
                nsenter.args(["--user", "--preserve-credentials"]);
            }
            // Whoever enters a mount namespace arrives at its root.
            nsenter.args(["--", "env", "--chdir"]);
            nsenter.arg(std::env::current_dir().unwrap_or_else(|_| "/".into())).arg("setpriv");
            nsenter
        }
        None => Command::new("setpriv"),
    };
    // If this program ends before the signal is asked for, nobody would send it: then do not start at all.
    let parent = std::process::id().to_string();
    command.args(["--pdeathsig", "KILL", "--", "sh", "-c", r#"[ "$PPID" = "$0" ] && exec "$@""#, &parent]);
    command.arg(program).stdin(Stdio::null());
    command
}

impl Process {
    pub fn start(start: Start<'_>) -> anyhow::Result<Self> {
        let Start { name, program, arguments, environment, log, network_of } = start;
        let output = fs_err::File::create(&log)?.into_parts().0;
        let mut command = bound(program, network_of);
        command.args(arguments).envs(environment).stdout(output.try_clone()?).stderr(output);
        let wrapper = command.get_program().to_owned();
        let child = spawn(command)?.map_err(|error| not_started(name, &wrapper, error))?;
        Ok(Process { name: name.to_owned(), child, log })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `ready` says yes. Fails when the process ends before that, or time runs out.
    pub fn wait_until(&mut self, limit: Duration, ready: impl FnMut() -> bool) -> anyhow::Result<()> {
        self.wait_until_with(&mut [], limit, ready)
    }

    /// The same, with others this one cannot do without: when one of them ends, that is the reason.
    pub fn wait_until_with(
        &mut self,
        others: &mut [&mut Process],
        limit: Duration,
        mut ready: impl FnMut() -> bool,
    ) -> anyhow::Result<()> {
        let (began, end) = (Instant::now(), Instant::now() + limit);
        loop {
            // Before it is asked: a machine that stood still is asked once more.
            let (asked, is_over) = (Instant::now(), Instant::now() > end);
            if ready() {
                return Ok(());
            }
            let pause = pause_after(asked.elapsed(), began.elapsed());
            for other in others.iter_mut() {
                other.must_run()?;
            }
            self.must_run()?;
            if is_over {
                bail!("{} was not ready after {limit:?}:\n{}", self.name, self.last_words());
            }
            std::thread::sleep(pause);
        }
    }

    /// How it ended, if it has.
    pub(crate) fn has_ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    pub(crate) fn must_run(&mut self) -> anyhow::Result<()> {
        match self.has_ended()? {
            Some(status) => bail!("{} ended with {status}:\n{}", self.name, self.last_words()),
            None => Ok(()),
        }
    }

    pub fn log(&self) -> String {
        std::fs::read(&self.log).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default()
    }

    fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its data is thrown away, so there is nothing to finish.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long to wait before asking again. What takes long to answer, such as a program that is started for it, is asked
/// less often, and the less the longer it has been waited for: what is waited for needs the processor too.
fn pause_after(took: Duration, waited: Duration) -> Duration {
    let patient = (waited / 10).min(took * 20);
    (took * 2).max(patient).clamp(Duration::from_millis(20), Duration::from_secs(2))
}

/// Waits for a condition.
pub fn eventually<T>(
    what: &str,
    limit: Duration,
    mut check: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let (began, end) = (Instant::now(), Instant::now() + limit);
    loop {
        let (asked, is_over) = (Instant::now(), Instant::now() > end);
        match check() {
            Ok(Some(value)) => return Ok(value),
            Ok(None) if is_over => bail!("{what}: not after {limit:?}"),
            Err(error) if is_over => {
                return Err(error.context(format!("{what}: not after {limit:?}")));
            }
            _ => std::thread::sleep(pause_after(asked.elapsed(), began.elapsed())),
        }
    }
}
