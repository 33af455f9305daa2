//! Building an Ignition configuration.

use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use ignition_config::v3_2::{Config, Dropin, File, Passwd, Resource, Storage, Systemd, Unit, User};
use serde_json::Value;

/// What `"compression":"gzip"` costs in the configuration.
const COMPRESSION_KEY: usize = 21;

/// Every user may read it.
pub(crate) const PUBLIC: i64 = 0o644;
/// Only root may read it.
pub(crate) const PRIVATE: i64 = 0o600;
/// Every user may run it.
pub(crate) const PROGRAM: i64 = 0o555;

/// The files, units and keys of one machine. Each path and each unit exists once: the last one wins.
#[derive(Default)]
pub(crate) struct Builder {
    files: BTreeMap<String, File>,
    units: BTreeMap<String, Unit>,
    ssh_keys: Vec<String>,
}

impl Builder {
    pub(crate) fn file(&mut self, path: impl Into<String>, mode: i64, contents: impl AsRef<[u8]>) {
        let path = path.into();
        let mut file = File::new(path.clone());
        file.mode = Some(mode);
        file.overwrite = Some(true);
        file.contents = Some(resource(contents.as_ref()));
        self.files.insert(path, file);
    }

    /// Adds to a file of the operating system.
    pub(crate) fn append(&mut self, path: impl Into<String>, mode: i64, contents: impl AsRef<[u8]>) {
        let path = path.into();
        let mut file = File::new(path.clone());
        file.mode = Some(mode);
        file.append = Some(vec![resource(contents.as_ref())]);
        self.files.insert(path, file);
    }

    pub(crate) fn unit(&mut self, name: &str, contents: &str, enabled: bool) {
        let unit = self.units.entry(name.to_owned()).or_insert_with(|| Unit::new(name.to_owned()));
        unit.contents = Some(contents.to_owned());
        unit.enabled = enabled.then_some(true);
    }

    /// A unit of the operating system.
    pub(crate) fn enable(&mut self, name: &str) {
        let unit = self.units.entry(name.to_owned()).or_insert_with(|| Unit::new(name.to_owned()));
        unit.enabled = Some(true);
    }

    pub(crate) fn dropin(&mut self, unit: &str, name: &str, contents: &str) {
        let unit = self.units.entry(unit.to_owned()).or_insert_with(|| Unit::new(unit.to_owned()));
        let mut dropin = Dropin::new(name.to_owned());
        dropin.contents = Some(contents.to_owned());
        unit.dropins.get_or_insert_default().push(dropin);
    }

    /// A key that logs in as `core`.
    pub(crate) fn ssh_key(&mut self, key: &str) {
        let key = key.trim();
        if !key.is_empty() && !self.ssh_keys.iter().any(|known| known == key) {
            self.ssh_keys.push(key.to_owned());
        }
    }

    /// The files that take most of the space, largest first.
    pub(crate) fn largest(&self, count: usize) -> Vec<(&str, usize)> {
        let size = |file: &File| {
            let resources = file.contents.iter().chain(file.append.iter().flatten());
            resources.filter_map(|resource| resource.source.as_ref()).map(String::len).sum()
        };
        let mut sizes: Vec<(&str, usize)> =
            self.files.iter().map(|(path, file)| (path.as_str(), size(file))).collect();
        sizes.sort_by_key(|&(_, size)| std::cmp::Reverse(size));
        sizes.truncate(count);
        sizes
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        bytes(&self.config())
    }

    pub(crate) fn config(&self) -> Config {
        let mut config = Config::default();
        if !self.ssh_keys.is_empty() {
            let mut core = User::new("core".to_owned());
            core.ssh_authorized_keys = Some(self.ssh_keys.clone());
            config.passwd = Some(Passwd { users: Some(vec![core]), ..Passwd::default() });
        }
        if !self.files.is_empty() {
            let files = self.files.values().cloned().collect();
            config.storage = Some(Storage { files: Some(files), ..Storage::default() });
        }
        if !self.units.is_empty() {
            config.systemd = Some(Systemd { units: Some(self.units.values().cloned().collect()) });
        }
        config
    }
}

/// The text of a configuration, without the nulls that the schema's types write for what is absent.
pub(crate) fn bytes(config: &Config) -> Vec<u8> {
    // Texts, numbers and lists always have a JSON form.
    let mut value = serde_json::to_value(config).unwrap_or_default();
    remove_nulls(&mut value);
    serde_json::to_vec(&value).unwrap_or_default()
}

/// Ignition takes an absent member and a null for the same; readers of the file do not.
pub fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

/// Contents as a data URL, compressed where that makes it shorter.
pub(crate) fn resource(contents: &[u8]) -> Resource {
    let plain = data_url(contents);
    let packed = data_url(&gzip(contents));
    if packed.len() + COMPRESSION_KEY < plain.len() {
        Resource { compression: Some("gzip".to_owned()), source: Some(packed), ..Resource::default() }
    } else {
        Resource { source: Some(plain), ..Resource::default() }
    }
}

fn data_url(contents: &[u8]) -> String {
    format!("data:;base64,{}", STANDARD.encode(contents))
}

/// The same bytes for the same contents: neither time nor system are noted.
pub(crate) fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut writer = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    // A vector takes everything.
    let _ = writer.write_all(contents);
    writer.finish().unwrap_or_default()
}
