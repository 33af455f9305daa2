//! Ports on the loopback interface, and networks of their own with names of their own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::process::{Process, Start, bound, is_root};
use crate::scratch::Scratch;

/// Below those that the system hands out to whoever does not care, and where an install-config accepts them.
const PORTS: Range<u16> = 12_000..32_000;

/// A port nobody listens on.
pub fn free_port() -> anyhow::Result<u16> {
    free_port_at(Ipv4Addr::LOCALHOST.into())
}

/// A port nobody listens on at this address. As long as this program runs nobody else is given it, here or in another
/// program of tests: between now and the start of a server there is time for many.
pub fn free_port_at(address: IpAddr) -> anyhow::Result<u16> {
    static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let folder = std::env::temp_dir().join(format!("slipway-ports-{}", rustix::process::getuid()));
    fs_err::create_dir_all(&folder)?;
    // Programs begin at different places, so that they seldom meet.
    let first = std::process::id() as usize * 101;
    for _ in PORTS {
        let offset = (first + NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS.len();
        let port = PORTS.start + u16::try_from(offset)?;
        let reservation = fs_err::File::create(folder.join(port.to_string()))?.into_file();
        if reservation.try_lock().is_ok() && TcpListener::bind((address, port)).is_ok() {
            HELD.lock().unwrap_or_else(PoisonError::into_inner).push(reservation);
            return Ok(port);
        }
    }
    bail!("no free port at {address}")
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
        holder.wait_until(Duration::from_mins(1), || ready.exists()).context(
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
