//! Simulated vCenters.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::control_plane::ControlPlane;
use crate::network::{PrivateNetwork, free_port_at};
use crate::peers;
use crate::process::{Process, Start, bound, seldom};
use crate::scratch::Scratch;

/// Ten thousand machines take half a minute to make, and longer beside other tests.
const START_TIMEOUT: Duration = Duration::from_mins(3);

/// A running vCenter with an inventory of its own.
#[derive(Debug)]
pub struct VCenter {
    _process: Process,
    ready: Ready,
    network_of: Option<u32>,
    scratch: Scratch,
}

/// What the simulator says when it serves.
#[derive(Debug, Deserialize)]
struct Ready {
    host: String,
    port: u16,
    ca_file: PathBuf,
    thumbprint_sha1: String,
    thumbprint_sha256: String,
    control_url: String,
}

/// A user that may do everything, unless the inventory says otherwise.
pub const ADMINISTRATOR: (&str, &str) = ("administrator@vsphere.local", "VMware1!");

impl VCenter {
    /// The inventory is JSON; its format is in `peers/vcsim/README.md`.
    pub fn start(inventory: &Value) -> anyhow::Result<Self> {
        Self::start_in(inventory, None, Vec::new())
    }

    /// At an address of this machine and a port that an install-config accepts: those the system hands out are
    /// beyond OpenShift's limit. With further arguments of the simulator.
    pub fn start_at(address: IpAddr, inventory: &Value, arguments: &[&str]) -> anyhow::Result<Self> {
        let listen = SocketAddr::new(address, free_port_at(address)?);
        let listen: [OsString; 2] = ["--listen".into(), listen.to_string().into()];
        let arguments = listen.into_iter().chain(arguments.iter().map(Into::into));
        Self::start_in(inventory, None, arguments.collect())
    }

    /// In the network of a control plane.
    pub fn start_beside(inventory: &Value, plane: &ControlPlane) -> anyhow::Result<Self> {
        Self::start_in(inventory, plane.network_of(), Vec::new())
    }

    /// In the private network of a control plane, under one of its names: `name` at `port` leads there, and
    /// the certificate is for that name.
    pub fn start_named(
        inventory: &Value,
        plane: &ControlPlane,
        name: &str,
        port: u16,
    ) -> anyhow::Result<Self> {
        let network = plane.network().context("the control plane has no network of its own")?;
        Self::start_at_name(inventory, network, name, port)
    }

    /// The same in any private network.
    pub fn start_at_name(
        inventory: &Value,
        network: &PrivateNetwork,
        name: &str,
        port: u16,
    ) -> anyhow::Result<Self> {
        let address =
            network.address_of(name).with_context(|| format!("`{name}` is no name in this network"))?;
        let listen = SocketAddr::new(address, port).to_string();
        let arguments = ["--listen", &listen, "--tls-name", name].map(Into::into).to_vec();
        Self::start_in(inventory, Some(network.holder()), arguments)
    }

    fn start_in(
        inventory: &Value,
        network_of: Option<u32>,
        mut arguments: Vec<OsString>,
    ) -> anyhow::Result<Self> {
        let scratch = Scratch::new("vcenter")?;
        let inventory = scratch.write("inventory.json", inventory.to_string())?;
        let ready_file = scratch.join("ready.json");
        arguments.extend(["--inventory".into(), inventory.into()]);
        arguments.extend(["--ready-file".into(), ready_file.clone().into()]);
        let mut process = Process::start(Start {
            name: "vcsim",
            program: &peers::find("vcsim")?,
            arguments,
            // Its datastores are folders of its own making, which nobody removes when it is ended.
            environment: vec![("TMPDIR", scratch.path().into()), seldom()],
            log: scratch.join("vcsim.log"),
            network_of,
        })?;
        process.wait_until(START_TIMEOUT, || ready_file.exists())?;
        let ready = serde_json::from_slice(&fs_err::read(&ready_file)?).context("the ready file")?;
        scratch.settle();
        Ok(VCenter { _process: process, ready, network_of, scratch })
    }

    /// `host:port`.
    pub fn address(&self) -> String {
        format!("{}:{}", self.ready.host, self.ready.port)
    }

    pub fn host(&self) -> &str {
        &self.ready.host
    }

    pub fn port(&self) -> u16 {
        self.ready.port
    }

    /// The authority its certificate is signed by, in PEM.
    pub fn ca_file(&self) -> &Path {
        &self.ready.ca_file
    }

    pub fn thumbprint_sha1(&self) -> &str {
        &self.ready.thumbprint_sha1
    }

    pub fn thumbprint_sha256(&self) -> &str {
        &self.ready.thumbprint_sha256
    }

    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Asks the simulator itself, past its API: requests, faults, sessions, guests.
    pub fn control(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        // An HTTP/1.0 answer comes whole and ends with the connection.
        let request = format!(
            "{method} {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let authority = self.ready.control_url.trim_start_matches("http://").trim_end_matches('/');
        let answer = exchange(authority, request.as_bytes(), self.network_of)
            .with_context(|| format!("{method} {path}"))?;
        let answer = String::from_utf8(answer)?;
        let (head, content) = answer.split_once("\r\n\r\n").context("no HTTP answer")?;
        let status = head.split(' ').nth(1).unwrap_or_default();
        if !status.starts_with('2') {
            bail!("{method} {path}: {status} {content}");
        }
        Ok(if content.trim().is_empty() { Value::Null } else { serde_json::from_str(content)? })
    }

    /// What lies on a datastore: paths of files, and folders with a slash at the end.
    pub fn files(&self, datastore: &str) -> anyhow::Result<BTreeSet<String>> {
        let mut object = self.object(datastore)?.with_context(|| format!("no datastore {datastore}"))?;
        serde_json::from_value(object["props"]["files"].take()).context("a list of files")
    }

    /// How often each method was called since the log was last cleared.
    pub fn calls(&self) -> anyhow::Result<Value> {
        Ok(self.control("GET", "/stats", &Value::Null)?["by_method"].take())
    }

    /// All objects of the inventory, by path.
    pub fn objects(&self) -> anyhow::Result<Vec<Value>> {
        let mut inventory = self.control("GET", "/inventory", &Value::Null)?;
        serde_json::from_value(inventory["objects"].take()).context("a list of objects")
    }

    /// An object of the inventory by its path.
    pub fn object(&self, path: &str) -> anyhow::Result<Option<Value>> {
        Ok(self.objects()?.into_iter().find(|object| object["path"] == path))
    }
}

/// Sends bytes and reads until the other side ends, in the network the server is in.
fn exchange(authority: &str, request: &[u8], network_of: Option<u32>) -> anyhow::Result<Vec<u8>> {
    let mut answer = Vec::new();
    if network_of.is_none() {
        let mut stream = TcpStream::connect(authority)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.write_all(request)?;
        stream.read_to_end(&mut answer)?;
        return Ok(answer);
    }
    // A thread cannot move to another network, a process can.
    let (host, port) = authority.rsplit_once(':').context("host and port")?;
    let script = format!("exec 3<>/dev/tcp/{host}/{port}; cat >&3; cat <&3");
    let mut child = bound(Path::new("timeout"), network_of)
        .args(["30", "bash", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().context("no input")?.write_all(request)?;
    child.stdout.take().context("no output")?.read_to_end(&mut answer)?;
    child.wait()?;
    Ok(answer)
}
