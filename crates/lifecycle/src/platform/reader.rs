//! Files of a directory, with every one that cannot be used.

use std::io::Read;
use std::path::Path;

use serde::de::DeserializeOwned;
use slipway_config::yaml::from_yaml;

use super::BrokenFile;
use crate::regular;

const MAX_FILE_BYTES: u64 = 16 << 20;

/// Files of a directory.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    directory: &'a Path,
    pub(super) broken: Vec<BrokenFile>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(directory: &'a Path) -> Self {
        Reader { directory, broken: Vec::new() }
    }

    pub(super) fn complain(&mut self, path: &str, message: String) {
        self.broken.push(BrokenFile { path: path.to_owned(), message });
    }

    /// Files of a folder that begin so, sorted.
    pub(super) fn list(&mut self, folder: &str, prefix: &str) -> Vec<String> {
        let names: Vec<String> = match fs_err::read_dir(self.directory.join(folder)) {
            Ok(entries) => entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect(),
            Err(error) => {
                self.complain(folder, error.to_string());
                return Vec::new();
            }
        };
        let chosen =
            |name: &String| name.starts_with(prefix) && Path::new(name).extension() == Some("yaml".as_ref());
        let mut paths: Vec<String> =
            names.into_iter().filter(chosen).map(|name| format!("{folder}/{name}")).collect();
        paths.sort();
        paths
    }

    pub(super) fn bytes(&mut self, path: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = regular::open(&self.directory.join(path))
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
            .map(drop);
        match read {
            Ok(()) if bytes.len() as u64 > MAX_FILE_BYTES => {
                self.complain(path, format!("it has more than {} MiB", MAX_FILE_BYTES >> 20));
                None
            }
            Ok(()) => Some(bytes),
            Err(error) => {
                self.complain(path, error.to_string());
                None
            }
        }
    }

    pub(super) fn object<T: DeserializeOwned>(&mut self, path: &str) -> Option<T> {
        let bytes = self.bytes(path)?;
        let Ok(text) = String::from_utf8(bytes) else {
            self.complain(path, "it is not UTF-8 text".to_owned());
            return None;
        };
        let value = match from_yaml(&text) {
            Ok(value) => value,
            Err(report) => {
                let first = report.findings.first().map(|finding| finding.message.clone());
                self.complain(path, first.unwrap_or_else(|| "it is not YAML".to_owned()));
                return None;
            }
        };
        match serde_json::from_value(value) {
            Ok(object) => Some(object),
            Err(error) => {
                self.complain(path, error.to_string());
                None
            }
        }
    }
}
