//! Text that is never shown.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// A secret that can be compared, and that may be empty. Shows nothing of itself.
#[derive(Clone, Default)]
pub struct Secret(SecretString);

impl Secret {
    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }

    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Secret(text.into())
    }
}

/// For `#[serde(with = "secret::exposed")]`, on fields of files that only their owner reads.
pub mod exposed {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Secret;

    pub fn serialize<S: Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
        secret.expose().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(|text| text.as_str().into())
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "Secret()" } else { "Secret(…)" })
    }
}
