//! The engine's image transfer daemon: the real one, which disks are uploaded to. A disk is a file in its folder.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::network::free_port;
use crate::pki::Authority;
use crate::process::{Process, Start};
use crate::python;
use crate::scratch::Scratch;

const START_LIMIT: Duration = Duration::from_mins(1);
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Starts with the first transfer.
#[derive(Debug)]
pub(super) struct Imageio {
    folder: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
    ca: PathBuf,
    daemon: Option<Daemon>,
}

#[derive(Debug)]
struct Daemon {
    // Ends it when dropped.
    _process: Process,
    data: u16,
    control: u16,
}

impl Imageio {
    pub(super) fn new(scratch: &Scratch, authority: &Authority) -> anyhow::Result<Self> {
        let identity = authority.issue("imageio", None, &["localhost", "127.0.0.1"])?;
        let folder = scratch.join("imageio");
        fs_err::create_dir_all(folder.join("conf.d"))?;
        fs_err::create_dir_all(folder.join("disks"))?;
        Ok(Imageio {
            certificate: scratch.write("imageio.crt", identity.certificate)?,
            key: scratch.write("imageio.key", identity.key)?,
            ca: scratch.write("imageio-ca.crt", authority.certificate())?,
            folder,
            daemon: None,
        })
    }

    pub(super) fn file(&self, disk: &str) -> PathBuf {
        self.folder.join("disks").join(disk)
    }

    fn daemon(&mut self) -> anyhow::Result<&Daemon> {
        if self.daemon.is_none() {
            self.daemon = Some(self.start()?);
        }
        self.daemon.as_ref().context("the image transfer daemon")
    }

    fn start(&self) -> anyhow::Result<Daemon> {
        let (data, control) = (free_port()?, free_port()?);
        let configuration = format!(
            "[daemon]\nsystemd_enable = false\ndrop_privileges = false\nrun_dir = {folder}\n\
             [tls]\nenable = true\nkey_file = {key}\ncert_file = {certificate}\nca_file = {ca}\n\
             [remote]\nhost = 127.0.0.1\nport = {data}\n[local]\nenable = false\n\
             [control]\ntransport = tcp\nport = {control}\n\
             [handlers]\nkeys = stderr\n[logger_root]\nhandlers = stderr\nlevel = INFO\n",
            folder = self.folder.display(),
            key = self.key.display(),
            certificate = self.certificate.display(),
            ca = self.ca.display(),
        );
        fs_err::write(self.folder.join("conf.d/50-slipway.conf"), configuration)?;
        let mut process = Process::start(Start {
            name: "ovirt-imageio",
            program: &python::find()?,
            arguments: vec![
                "-c".into(),
                "from ovirt_imageio._internal import server; server.main()".into(),
                "--conf-dir".into(),
                self.folder.clone().into(),
            ],
            environment: Vec::new(),
            log: self.folder.join("daemon.log"),
            network_of: None,
        })?;
        process.wait_until(START_LIMIT, || {
            [data, control].iter().all(|port| TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_ok())
        })?;
        Ok(Daemon { _process: process, data, control })
    }

    /// Where a ticket is good for.
    pub(super) fn url(&mut self, ticket: &str) -> anyhow::Result<String> {
        Ok(format!("https://127.0.0.1:{}/images/{ticket}", self.daemon()?.data))
    }

    /// Talks to the side of the daemon that hosts talk to.
    pub(super) fn control(&mut self, method: &str, ticket: &str, body: &Value) -> anyhow::Result<Value> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.daemon()?.control))?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        write!(
            stream,
            "{method} /tickets/{ticket} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, content) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        if !head.split_whitespace().nth(1).is_some_and(|status| status.starts_with('2')) {
            bail!("the image transfer daemon answers {method} with: {answer}");
        }
        Ok(serde_json::from_str(content).unwrap_or_default())
    }
}
