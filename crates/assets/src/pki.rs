//! Keys and certificates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// All keys and certificates of a cluster in PEM, by their file names, such as `root-ca.crt` and
/// `root-ca.key`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pki {
    files: BTreeMap<String, String>,
}

impl Pki {
    /// The contents of a file; empty if there is none of that name.
    pub fn pem(&self, name: &str) -> &str {
        self.files.get(name).map_or("", String::as_str)
    }

    /// All files, by name.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, pem)| (name.as_str(), pem.as_str()))
    }
}

impl std::fmt::Debug for Pki {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.files.keys()).finish()
    }
}
