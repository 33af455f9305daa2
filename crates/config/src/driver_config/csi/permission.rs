//! Who may do what with file volumes.

use serde_json::{Value, json};

use crate::decode::Decoder;
use crate::driver_config::keys::{NEEDS_VALUE, Slot};
use crate::yaml::At;

/// What clients may do with a file volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    ReadWrite,
    ReadOnly,
    NoAccess,
}

impl Permission {
    pub const ALL: [Permission; 3] = [Permission::ReadWrite, Permission::ReadOnly, Permission::NoAccess];

    pub fn as_str(self) -> &'static str {
        match self {
            Permission::ReadWrite => "READ_WRITE",
            Permission::ReadOnly => "READ_ONLY",
            Permission::NoAccess => "NO_ACCESS",
        }
    }

    fn named(text: &str) -> Option<Self> {
        Permission::ALL.into_iter().find(|permission| permission.as_str() == text)
    }
}

/// Without one the driver lets every client write.
impl Slot for Option<Permission> {
    fn is_set(&self) -> bool {
        self.is_some()
    }

    /// The driver scans for a word: white space around it does not matter, line breaks do, and there must be one.
    fn read_ini(&mut self, value: Option<&str>) -> Result<(), &'static str> {
        let text = value.ok_or(NEEDS_VALUE)?;
        let word = Some(text.trim()).filter(|_| !text.contains('\n')).and_then(Permission::named);
        *self = Some(word.ok_or("write READ_WRITE, READ_ONLY or NO_ACCESS")?);
        Ok(())
    }

    fn to_ini(&self) -> String {
        self.map(Permission::as_str).unwrap_or_default().to_owned()
    }

    /// The storage driver reads no YAML.
    fn read_yaml(&mut self, _: &mut Decoder<'_>, _: At) -> bool {
        false
    }

    fn to_yaml(&self) -> Value {
        json!(self.map(Permission::as_str))
    }
}
