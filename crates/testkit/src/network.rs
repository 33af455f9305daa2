//! Ports on the loopback interface, and networks of their own with names of their own.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::net::{IpAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::process::{Process, Start, bound, is_root};
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

/// Names and their addresses. A private network has all of 127.0.0.0/8, so every server can have an address,
/// and with it every port, for itself.
pub type Hosts = BTreeMap<String, IpAddr>;

/// A network namespace with a loopback interface and nothing else, and a mount namespace in which `/etc/hosts`
/// knows these names and no others. Needs root, or user namespaces that everybody may make.
#[derive(Debug)]
pub struct PrivateNetwork {
    holder: Process,
    hosts: Hosts,
}

/// Done from within: only what `unshare` starts can be sure that its mounts are not shared with the machine.
const SET_UP: &str = r#"ip link set lo up && mount --bind "$0" /etc/hosts && : >"$1" && exec sleep infinity"#;

impl PrivateNetwork {
    pub fn new(scratch: &Scratch, hosts: Hosts) -> anyhow::Result<Self> {
        let mut file = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
        for (name, address) in &hosts {
            file.push_str(&format!("{address} {name}\n"));
        }
        let file = scratch.write("hosts", file)?;
        let ready = scratch.join("network.ready");
        let user: &[&str] = if is_root() { &[] } else { &["--user", "--map-root-user"] };
        let rest = ["--net", "--mount", "--propagation", "private", "--", "sh", "-c", SET_UP];
        let mut arguments: Vec<OsString> = user.iter().chain(&rest).map(Into::into).collect();
        arguments.extend([file.into(), ready.clone().into()]);
        // The namespaces, and what is mounted there, live as long as a process in them.
        let mut holder = Process::start(Start {
            name: "network",
            program: Path::new("unshare"),
            arguments,
            environment: Vec::new(),
            log: scratch.join("network.log"),
            network_of: None,
        })?;
        holder.wait_until(Duration::from_secs(10), || ready.exists()).context(
            "this test needs a network of its own: run it as root, or let everybody make user namespaces",
        )?;
        Ok(PrivateNetwork { holder, hosts })
    }

    /// The process whose network it is.
    pub fn holder(&self) -> u32 {
        self.holder.id()
    }

    /// What a name stands for in there.
    pub fn address_of(&self, name: &str) -> Option<IpAddr> {
        self.hosts.get(name).copied()
    }

    /// A command inside of the network.
    pub fn command(&self, program: &Path) -> Command {
        bound(program, Some(self.holder()))
    }
}
