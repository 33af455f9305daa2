//! The real kubectl, as the independent client of a cluster.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::peers;
use crate::process::bound;

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
        command.arg("--kubeconfig").arg(&self.kubeconfig).arg("--cache-dir").arg(&self.cache).args(arguments);
        command
    }

    /// What kubectl prints; an error is what it complains.
    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        finish(self.command(arguments).output(), arguments)
    }

    pub fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let output = self.run(&[arguments, &["--output", "json"]].concat())?;
        serde_json::from_str(&output).with_context(|| format!("kubectl {}", arguments.join(" ")))
    }

    /// Applies manifests on the server's side; a field the server does not know is an error.
    pub fn apply(&self, manifests: &str) -> anyhow::Result<String> {
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

    pub fn apply_value(&self, manifest: &Value) -> anyhow::Result<String> {
        self.apply(&manifest.to_string())
    }
}

fn finish(output: std::io::Result<std::process::Output>, arguments: &[&str]) -> anyhow::Result<String> {
    let output = output.context("starting kubectl")?;
    if !output.status.success() {
        bail!("kubectl {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
