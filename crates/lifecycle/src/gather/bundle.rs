//! The archive.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use fs_err::os::unix::fs::OpenOptionsExt;
use jiff::Timestamp;
use serde_json::Value;

use super::Redactor;

/// What is gathered. Nothing gets in without its secrets taken out.
#[derive(Debug, Default)]
pub struct Bundle {
    redactor: Redactor,
    files: BTreeMap<String, Vec<u8>>,
    missing: Vec<String>,
}

impl Bundle {
    /// Secrets to look for from now on: add them before anything else.
    pub fn redactor(&mut self) -> &mut Redactor {
        &mut self.redactor
    }

    pub fn text(&mut self, path: &str, text: &str) {
        let text = self.redactor.text(text);
        self.files.insert(path.to_owned(), text.into_bytes());
    }

    pub fn json(&mut self, path: &str, mut value: Value) {
        self.redactor.value(&mut value);
        let mut text = serde_json::to_vec_pretty(&value).unwrap_or_default();
        text.push(b'\n');
        self.files.insert(path.to_owned(), text);
    }

    /// Something that cannot be had, and why.
    pub fn missing(&mut self, what: &str, why: &str) {
        let why = self.redactor.text(why);
        self.missing.push(format!("{what}: {why}"));
    }

    /// What cannot be had.
    pub fn gaps(&self) -> &[String] {
        &self.missing
    }

    /// The files in it, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// Writes the archive, for its owner alone. A file that is there is not replaced.
    pub fn write(&self, path: &Path, folder: &str, now: Timestamp) -> io::Result<()> {
        let file = fs_err::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::default()));
        let time = u64::try_from(now.as_second()).unwrap_or_default();
        let readme = self.readme(now);
        let own = [("README.txt", readme.as_bytes())];
        for (name, bytes) in own.into_iter().chain(self.files()) {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o600);
            header.set_mtime(time);
            archive.append_data(&mut header, format!("{folder}/{name}"), bytes)?;
        }
        archive.into_inner()?.finish()?.sync_all()
    }

    fn readme(&self, now: Timestamp) -> String {
        let mut text = format!(
            "Gathered by slipway {} at {now}. Secrets are removed; names, addresses and versions are not.\n\n",
            env!("CARGO_PKG_VERSION")
        );
        if self.missing.is_empty() {
            text.push_str("Everything could be had.\n");
        } else {
            text.push_str("What could not be had:\n");
            for gap in &self.missing {
                text.push_str(&format!("- {gap}\n"));
            }
        }
        text
    }
}
