//! The real kubectl, as the independent client of a cluster.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dialogue::Dialogue;
use crate::peers;
use crate::process::{bound, seldom};

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

/// kubectl with a kubeconfig, in the network of its cluster. Starting takes it far longer than most commands, so what has
/// been started stays up for the next one.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
    network_of: Option<u32>,
    idle: Arc<Mutex<Vec<Dialogue>>>,
}

#[derive(Debug, Serialize)]
struct Question<'a> {
    arguments: &'a [&'a str],
    input: &'a str,
}

#[derive(Debug, Deserialize)]
struct Answer {
    code: i32,
    output: String,
    error: String,
}

impl Kubectl {
    pub(crate) fn new(kubeconfig: &Path, network_of: Option<u32>) -> anyhow::Result<Self> {
        Ok(Kubectl {
            program: peers::find("kubectl-session")?,
            kubeconfig: kubeconfig.to_owned(),
            cache: kubeconfig.with_file_name("kubectl-cache"),
            network_of,
            idle: Arc::default(),
        })
    }

    /// One command: every one that is under way has a program for itself.
    fn once(&self, arguments: &[&str], input: &str) -> anyhow::Result<String> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut dialogue = match idle {
            Some(idle) => idle,
            None => self.start()?,
        };
        let (kubeconfig, cache) = (path(&self.kubeconfig)?, path(&self.cache)?);
        let all = [&["--kubeconfig", kubeconfig, "--cache-dir", cache], arguments].concat();
        let answers: Vec<Answer> = dialogue
            .ask(&[Question { arguments: &all, input }])
            .with_context(|| format!("kubectl {} ended", arguments.join(" ")))?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(dialogue);
        match answers.into_iter().next().context("no answer")? {
            Answer { code: 0, output, .. } => Ok(output),
            Answer { error, .. } => bail!("kubectl {}: {}", arguments.join(" "), error.trim()),
        }
    }

    fn start(&self) -> anyhow::Result<Dialogue> {
        let mut command = bound(&self.program, self.network_of);
        command.envs([seldom()]).env("GOMAXPROCS", "1");
        Dialogue::start(command)
    }

    /// What kubectl prints; an error is what it complains. What can be said twice is, when the server had no time.
    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let once = || self.once(arguments, "");
        if arguments.first().is_some_and(|verb| ONCE.contains(verb)) { once() } else { patiently(once) }
    }

    pub fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let output = self.run(&[arguments, &["--output", "json"]].concat())?;
        serde_json::from_str(&output).with_context(|| format!("kubectl {}", arguments.join(" ")))
    }

    /// Applies manifests on the server's side; a field the server does not know is an error.
    pub fn apply(&self, manifests: &str) -> anyhow::Result<String> {
        let arguments = ["apply", "--server-side", "--validate=strict", "--filename", "-"];
        patiently(|| self.once(&arguments, manifests))
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

fn path(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("{} is no text", path.display()))
}
