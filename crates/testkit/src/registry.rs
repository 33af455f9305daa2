//! A registry with images.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::json;

use crate::network::PrivateNetwork;
use crate::peers;
use crate::pki::Authority;
use crate::process::{Process, Start};
use crate::scratch::Scratch;

/// Who may use it.
pub const LOGIN: (&str, &str) = ("mirror", "Str0ng!");
/// The same as the registry stores it: bcrypt, as cheap as it can be.
const STORED: &str = "mirror:$2b$04$slipwayslipwayslipwayu.UbvMaV/XG3jcwjtX8v9j4yVaU3BeBi\n";

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running registry that demands a login, in a private network.
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
        let scratch = Scratch::new("registry")?;
        let at = network.address_of(name).with_context(|| format!("`{name}` is no name in this network"))?;
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
            network_of: Some(network.holder()),
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

    /// A file of logins as podman writes it.
    pub fn auth_file(&self) -> anyhow::Result<PathBuf> {
        use base64::Engine;
        let (user, password) = LOGIN;
        let auth = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        self.scratch.write("auth.json", json!({"auths": {&self.address: {"auth": auth}}}).to_string())
    }

    /// Puts an image behind each reference: references and digests of what they now stand for.
    pub fn push(
        &self,
        network: &PrivateNetwork,
        references: &[String],
    ) -> anyhow::Result<Vec<(String, String)>> {
        let mut command: Command = network.command(&peers::find("registry")?);
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
fn listens(network: &PrivateNetwork, at: std::net::IpAddr, port: u16) -> bool {
    let script = format!("exec 3<>/dev/tcp/{at}/{port}");
    let output = network.command(Path::new("bash")).args(["-c", &script]).output();
    output.is_ok_and(|output| output.status.success())
}
