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
