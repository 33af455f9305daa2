//! A registry with images.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::json;

use crate::network::{PrivateNetwork, free_port_at};
use crate::peers;
use crate::pki::Authority;
use crate::process::{Process, Start};
use crate::scratch::Scratch;

/// Who may use it.
pub const LOGIN: (&str, &str) = ("mirror", "Str0ng!");
/// The same as the registry stores it: bcrypt, as cheap as it can be.
const STORED: &str = "mirror:$2b$04$slipwayslipwayslipwayu.UbvMaV/XG3jcwjtX8v9j4yVaU3BeBi\n";

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running registry that demands a login, in a private network or on the loopback interface.
#[derive(Debug)]
pub struct Registry {
    _process: Process,
    address: String,
    ca_file: PathBuf,
    scratch: Scratch,
}

impl Registry {
    /// Under one of the network's names.
    pub fn start(network: &PrivateNetwork, name: &str, port: u16) -> anyhow::Result<Self> {
        let at = network.address_of(name).with_context(|| format!("`{name}` is no name in this network"))?;
        Self::start_in(Some(network), name, at, port)
    }

    /// Where every program of this machine reaches it.
    pub fn start_on_loopback() -> anyhow::Result<Self> {
        let at = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Self::start_in(None, &at.to_string(), at, free_port_at(at)?)
    }

    fn start_in(network: Option<&PrivateNetwork>, name: &str, at: IpAddr, port: u16) -> anyhow::Result<Self> {
        let scratch = Scratch::new("registry")?;
        let authority = Authority::new("registry-ca")?;
        let identity = authority.issue(name, None, &[name])?;
        let ca_file = scratch.write("ca.crt", authority.certificate())?;
        let certificate = scratch.write("tls.crt", &identity.certificate)?;
        let key = scratch.write("tls.key", &identity.key)?;
        let users = scratch.write("htpasswd", STORED)?;
        // YAML, too.
        let config = json!({
            "version": 0.1,
            "log": {"level": "warn"},
            "storage": {"inmemory": {}},
            "auth": {"htpasswd": {"realm": "slipway", "path": users}},
            "http": {
                "addr": SocketAddr::new(at, port).to_string(), "secret": "unused",
                "tls": {"certificate": certificate, "key": key},
            },
        });
        let config = scratch.write("config.yml", config.to_string())?;
        let program = peers::find("registry")?;
        let log = scratch.join("registry.log");
        let mut process = Process::start(Start {
            name: "registry",
            program: &program,
            arguments: vec!["serve".into(), config.into()],
            environment: vec![("OTEL_TRACES_EXPORTER", "none".into())],
            log,
            network_of: network.map(PrivateNetwork::holder),
        })?;
        process.wait_until(START_TIMEOUT, || listens(network, at, port))?;
        scratch.settle();
        Ok(Registry { _process: process, address: format!("{name}:{port}"), ca_file, scratch })
    }

    /// `name:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn ca_file(&self) -> &Path {
        &self.ca_file
    }

    /// Logins as podman writes them, and as pull secrets hold them.
    pub fn logins(&self) -> String {
        use base64::Engine;
        let (user, password) = LOGIN;
        let auth = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        json!({"auths": {&self.address: {"auth": auth}}}).to_string()
    }

    /// A file of them.
    pub fn auth_file(&self) -> anyhow::Result<PathBuf> {
        self.scratch.write("auth.json", self.logins())
    }

    /// Puts an image behind each reference: references and digests of what they now stand for.
    pub fn push(
        &self,
        network: &PrivateNetwork,
        references: &[String],
    ) -> anyhow::Result<Vec<(String, String)>> {
        self.push_by(network.command(&peers::find("registry")?), references)
    }

    /// Puts an image of these layers, the lowest first, into a repository of a registry on the loopback interface: its digest.
    pub fn push_layers(&self, repository: &str, layers: &[Vec<u8>]) -> anyhow::Result<String> {
        let mut line = format!("{}/{repository}:pushed", self.address);
        for (index, layer) in layers.iter().enumerate() {
            let name = format!("{}-{index}.tar.gz", repository.replace('/', "-"));
            line.push_str(&format!(" {}", self.scratch.write(&name, layer)?.display()));
        }
        let pushed = self.push_by(Command::new(peers::find("registry")?), &[line])?;
        pushed.into_iter().map(|(_, digest)| digest).next().context("nothing was pushed")
    }

    fn push_by(&self, mut command: Command, references: &[String]) -> anyhow::Result<Vec<(String, String)>> {
        let (user, password) = LOGIN;
        command.arg("push").arg(&self.ca_file).args([user, password]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting to push")?;
        child.stdin.take().context("no input")?.write_all((references.join("\n") + "\n").as_bytes())?;
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!("pushing images: {}", String::from_utf8_lossy(&output.stderr));
        }
        let lines = String::from_utf8(output.stdout)?;
        let split =
            |line: &str| line.split_once(' ').map(|(image, digest)| (image.to_owned(), digest.to_owned()));
        Ok(lines.lines().filter_map(split).collect())
    }
}

/// Whether somebody listens there. A thread cannot move to another network, a process can.
fn listens(network: Option<&PrivateNetwork>, at: IpAddr, port: u16) -> bool {
    let Some(network) = network else { return TcpStream::connect((at, port)).is_ok() };
    let script = format!("exec 3<>/dev/tcp/{at}/{port}");
    let output = network.command(Path::new("bash")).args(["-c", &script]).output();
    output.is_ok_and(|output| output.status.success())
}
