//! Ports on the loopback interface, and networks of their own.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::process::{Process, Start, bound, is_root, not_started};
use crate::scratch::Scratch;

/// A port nobody listens on, and that is not handed out twice.
pub fn free_port() -> anyhow::Result<u16> {
    static TAKEN: LazyLock<Mutex<HashSet<u16>>> = LazyLock::new(Mutex::default);
    for _ in 0..100 {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        if TAKEN.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
            return Ok(port);
        }
    }
    bail!("no free port")
}

/// A network namespace with a loopback interface and nothing else. Needs root, or user namespaces that everybody
/// may make.
#[derive(Debug)]
pub struct PrivateNetwork {
    holder: Process,
}

impl PrivateNetwork {
    pub fn new(scratch: &Scratch) -> anyhow::Result<Self> {
        let arguments: &[&str] = if is_root() { &["--net"] } else { &["--user", "--map-root-user", "--net"] };
        let arguments = arguments.iter().chain(&["--", "sleep", "infinity"]);
        // The namespace lives as long as a process in it.
        let mut holder = Process::start(Start {
            name: "network",
            program: Path::new("unshare"),
            arguments: arguments.map(Into::into).collect(),
            environment: Vec::new(),
            log: scratch.join("network.log"),
            network_of: None,
        })?;
        let own = fs_err::read_link("/proc/self/ns/net")?;
        let link = format!("/proc/{}/ns/net", holder.id());
        holder
            .wait_until(Duration::from_secs(10), || std::fs::read_link(&link).is_ok_and(|other| other != own))
            .context(
                "this test needs a network of its own: run it as root, or let everybody make user namespaces",
            )?;
        let network = PrivateNetwork { holder };
        network.run("ip", &["link", "set", "lo", "up"])?;
        Ok(network)
    }

    /// The process whose network it is.
    pub fn holder(&self) -> u32 {
        self.holder.id()
    }

    /// A command inside of the network.
    pub fn command(&self, program: &Path) -> Command {
        bound(program, Some(self.holder()))
    }

    fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let output = self
            .command(Path::new(program))
            .args(arguments)
            .output()
            .map_err(|error| not_started(program, OsStr::new("nsenter"), error))?;
        if !output.status.success() {
            bail!("{program}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }
}
