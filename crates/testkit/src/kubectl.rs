//! The real kubectl, as the independent client of a cluster.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::peers;
use crate::process::bound;

/// How often something is asked for that only failed because the machine is busy.
const ATTEMPTS: usize = 3;
/// What is said then: the server's 34 seconds, etcd's seven and kubectl's ten were not enough.
const PASSING: [&str; 5] = [
    "Error from server (Timeout)",
    "etcdserver: request timed out",
    "etcdserver: leader changed",
    "TLS handshake timeout",
    "http2: client connection lost",
];
/// What cannot be said twice.
const ONCE: [&str; 3] = ["create", "delete", "drain"];

/// kubectl with a kubeconfig, in the network of its cluster.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
    network_of: Option<u32>,
}

impl Kubectl {
    pub(crate) fn new(kubeconfig: &Path, network_of: Option<u32>) -> anyhow::Result<Self> {
        let cache = kubeconfig.with_file_name("kubectl-cache");
        Ok(Kubectl { program: peers::find("kubectl")?, kubeconfig: kubeconfig.to_owned(), cache, network_of })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = bound(&self.program, self.network_of);
        // It ends before there is anything worth collecting, or worth a second thread.
        command.env("GOGC", "off").env("GOMAXPROCS", "1");
        command.arg("--kubeconfig").arg(&self.kubeconfig).arg("--cache-dir").arg(&self.cache).args(arguments);
        command
    }

    /// What kubectl prints; an error is what it complains. What can be said twice is, when the server had no time.
    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let once = || finish(self.command(arguments).output(), arguments);
        if arguments.first().is_some_and(|verb| ONCE.contains(verb)) { once() } else { patiently(once) }
    }

    pub fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let output = self.run(&[arguments, &["--output", "json"]].concat())?;
        serde_json::from_str(&output).with_context(|| format!("kubectl {}", arguments.join(" ")))
    }

    /// Applies manifests on the server's side; a field the server does not know is an error.
    pub fn apply(&self, manifests: &str) -> anyhow::Result<String> {
        patiently(|| self.apply_once(manifests))
    }

    fn apply_once(&self, manifests: &str) -> anyhow::Result<String> {
        let arguments = ["apply", "--server-side", "--validate=strict", "--filename", "-"];
        let mut child = self
            .command(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting kubectl")?;
        child.stdin.take().context("no input")?.write_all(manifests.as_bytes())?;
        finish(child.wait_with_output(), &arguments)
    }

    /// Applies several objects, in this order.
    pub fn apply_all<'v>(&self, objects: impl IntoIterator<Item = &'v Value>) -> anyhow::Result<String> {
        self.apply(&stream(objects))
    }

    pub fn apply_value(&self, manifest: &Value) -> anyhow::Result<String> {
        self.apply(&manifest.to_string())
    }
}

/// Objects in one text. Not a `List`: that one is no kind of the server's, so kubectl judges it by a description of all
/// kinds, which costs the server and itself seconds whenever a definition was added.
pub fn stream<'v>(objects: impl IntoIterator<Item = &'v Value>) -> String {
    objects.into_iter().map(|object| format!("---\n{object}\n")).collect()
}

/// Asks again when the answer was only that there was no time for one.
fn patiently(mut ask: impl FnMut() -> anyhow::Result<String>) -> anyhow::Result<String> {
    for _ in 1..ATTEMPTS {
        match ask() {
            Err(error) if PASSING.iter().any(|words| error.to_string().contains(words)) => {
                eprintln!("once more, after {error}");
            }
            answer => return answer,
        }
    }
    ask()
}

fn finish(output: std::io::Result<std::process::Output>, arguments: &[&str]) -> anyhow::Result<String> {
    let output = output.context("starting kubectl")?;
    if !output.status.success() {
        bail!("kubectl {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
