//! Versions of Ignition's specification, and configurations turned from one into another.

mod values;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use slipway_assets::ignition::remove_nulls;

use self::values::Walk;

/// A version of the specification: 3.`minor`.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpecVersion {
    minor: u8,
}

impl SpecVersion {
    pub const OLDEST: SpecVersion = SpecVersion { minor: 0 };
    /// The newest one that the schema's types know.
    pub const NEWEST: SpecVersion = SpecVersion { minor: 6 };

    pub fn all() -> impl Iterator<Item = SpecVersion> {
        (Self::OLDEST.minor..=Self::NEWEST.minor).map(|minor| SpecVersion { minor })
    }

    pub(super) const fn new(minor: u8) -> Self {
        SpecVersion { minor }
    }

    /// The version of that text, if it is one that we know.
    pub fn known(text: &str) -> Option<Self> {
        Self::all().find(|version| version.to_string() == text)
    }
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "3.{}.0", self.minor)
    }
}

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("the configuration is not one of Ignition's: {reason}")]
    Malformed { reason: String },
    #[error("the configuration has version `{version}`; known are 3.0.0 to {}", SpecVersion::NEWEST)]
    UnknownVersion { version: String },
    #[error("the configuration, of version {from}, has what {to} does not know: {}", parts.join(", "))]
    TooNew { from: SpecVersion, to: SpecVersion, parts: Vec<String> },
}

/// A configuration as it was stored.
#[derive(Debug, Clone)]
pub struct Config {
    version: SpecVersion,
    value: Value,
    /// Keys that its own version does not know either: Ignition ignores them, and so do we.
    ignored: Vec<String>,
}

impl Config {
    pub fn parse(text: &[u8]) -> Result<Self, SpecError> {
        let malformed = |reason: String| SpecError::Malformed { reason };
        let mut value: Value = serde_json::from_slice(text).map_err(|error| malformed(place(&error)))?;
        remove_nulls(&mut value);
        let Some(version) = value.pointer("/ignition/version").and_then(Value::as_str) else {
            return Err(malformed("it has no text at ignition.version".to_owned()));
        };
        let version = SpecVersion::known(version)
            .ok_or_else(|| SpecError::UnknownVersion { version: version.chars().take(40).collect() })?;
        let ignored = read_as(&value, version).map_err(malformed)?;
        Ok(Config { version, value, ignored })
    }

    pub fn version(&self) -> SpecVersion {
        self.version
    }

    /// The content of a file that is part of the configuration itself, as it is or in base64.
    pub fn text(&self, path: &str) -> Option<String> {
        let files = self.value.pointer("/storage/files")?.as_array()?;
        let contents = &files.iter().find(|file| file["path"] == path)?["contents"];
        let source = contents["source"].as_str().filter(|_| contents.get("compression").is_none())?;
        if let Some(encoded) = source.strip_prefix("data:;base64,") {
            return String::from_utf8(STANDARD.decode(encoded).ok()?).ok();
        }
        source.strip_prefix("data:,").map(str::to_owned)
    }

    /// The same with another content of a file that is there.
    #[must_use]
    pub fn with_text(&self, path: &str, text: &str) -> Self {
        let mut changed = self.clone();
        let files = changed.value.pointer_mut("/storage/files").and_then(Value::as_array_mut);
        if let Some(file) = files.into_iter().flatten().find(|file| file["path"] == path) {
            file["contents"] = json!({"source": format!("data:;base64,{}", STANDARD.encode(text))});
        }
        changed
    }

    /// The text in a version. Fails if the configuration has what that version does not know: a machine that
    /// comes up without a part of its configuration is worse than one that does not come up.
    pub fn in_version(&self, to: SpecVersion) -> Result<Vec<u8>, SpecError> {
        let from = self.version;
        let mut value = self.value.clone();
        let mut parts = values::translate(&mut value, Walk { from, to });
        if let Some(version) = value.pointer_mut("/ignition/version") {
            *version = Value::String(to.to_string());
        }
        match read_as(&value, to) {
            Ok(ignored) => {
                parts.extend(ignored.into_iter().filter(|key| !self.ignored.contains(key)));
            }
            // What was optional later was once required.
            Err(reason) => parts.push(reason),
        }
        if !parts.is_empty() {
            parts.sort();
            parts.dedup();
            return Err(SpecError::TooNew { from, to, parts });
        }
        serde_json::to_vec(&value).map_err(|error| SpecError::Malformed { reason: place(&error) })
    }
}

/// The keys that a version does not know; an error if the rest does not have its shape.
fn read_as(value: &Value, version: SpecVersion) -> Result<Vec<String>, String> {
    let mut value = value.clone();
    if let Some(text) = value.pointer_mut("/ignition/version") {
        *text = Value::String(version.to_string());
    }
    let text = serde_json::to_vec(&value).map_err(|error| place(&error))?;
    match ignition_config::Config::parse_slice(&text) {
        Ok((_, warnings)) => Ok(warnings
            .iter()
            .map(|warning| match warning {
                ignition_config::Warning::UnusedKey(key) => key.trim_start_matches("$.").to_owned(),
                other => other.to_string(),
            })
            .collect()),
        Err(ignition_config::Error::Serialization(error)) => Err(shape(&error)),
        Err(error) => Err(error.to_string()),
    }
}

/// Where JSON is broken. Never what is there: it may be a secret.
fn place(error: &serde_json::Error) -> String {
    format!("JSON is broken at line {}, column {}", error.line(), error.column())
}

/// What is missing is named by the schema; other complaints might quote what is there.
fn shape(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let missing = text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    match missing {
        Some(field) => format!("an absent `{field}`"),
        None => "a value of another type".to_owned(),
    }
}

#[cfg(test)]
mod tests;
