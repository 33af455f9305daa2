//! `keys!`: one definition gives a section's struct and how its keys are spelt in INI and in YAML.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::decode::{Decode, Decoder, Entries, Field};
use crate::findings::Rule;
use crate::secret::Secret;
use crate::yaml::At;

/// A section with known keys. Each field reads `name: Type = "ini-key" "yamlKey";`.
macro_rules! keys {
    ($(#[doc = $doc:literal])+ $name:ident {
        $($(#[doc = $field_doc:literal])+ $field:ident: $type:ty = $ini:literal $yaml:literal;)*
    }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[doc = $field_doc])+ pub $field: $type,)*
        }

        impl $crate::driver_config::keys::Section for $name {
            const KEYS: &'static [$crate::driver_config::keys::Key] =
                &[$($crate::driver_config::keys::Key { ini: $ini, yaml: $yaml }),*];

            fn slots(&self) -> Vec<&dyn $crate::driver_config::keys::Slot> {
                vec![$(&self.$field),*]
            }

            fn slots_mut(&mut self) -> Vec<&mut dyn $crate::driver_config::keys::Slot> {
                vec![$(&mut self.$field),*]
            }
        }
    };
}
pub(super) use keys;

/// How a key is spelt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) ini: &'static str,
    pub(crate) yaml: &'static str,
}

/// A section whose keys are known.
pub(crate) trait Section: Default {
    const KEYS: &'static [Key];

    /// The values, in the order of the keys.
    fn slots(&self) -> Vec<&dyn Slot>;

    fn slots_mut(&mut self) -> Vec<&mut dyn Slot>;

    /// Nothing in it is set.
    fn is_blank(&self) -> bool {
        self.slots().iter().all(|slot| !slot.is_set())
    }
}

/// A value in both formats. What is empty, zero or false counts as not set, as it does to the drivers.
pub(crate) trait Slot {
    fn is_set(&self) -> bool;

    /// `None` is a name without a value. The error says what is expected.
    fn read_ini(&mut self, value: Option<&str>) -> Result<(), &'static str>;

    fn to_ini(&self) -> String;

    /// What is wrong is reported by the decoder.
    fn read_yaml(&mut self, decoder: &mut Decoder<'_>, at: At) -> bool;

    fn to_yaml(&self) -> Value;

    /// Its text must not be shown.
    fn is_secret(&self) -> bool {
        false
    }
}

pub(super) const NEEDS_VALUE: &str = "a value is needed: `name = value`";

/// Takes what the decoder found, and says whether there was something.
fn store<T: Decode>(target: &mut T, decoder: &mut Decoder<'_>, at: At) -> bool {
    T::decode(decoder, at).map(|value| *target = value).is_some()
}

impl Slot for String {
    fn is_set(&self) -> bool {
        !self.is_empty()
    }

    fn read_ini(&mut self, value: Option<&str>) -> Result<(), &'static str> {
        value.ok_or(NEEDS_VALUE)?.clone_into(self);
        Ok(())
    }

    fn to_ini(&self) -> String {
        self.clone()
    }

    fn read_yaml(&mut self, decoder: &mut Decoder<'_>, at: At) -> bool {
        store(self, decoder, at)
    }

    fn to_yaml(&self) -> Value {
        json!(self)
    }
}

impl Slot for Secret {
    fn is_set(&self) -> bool {
        !self.is_empty()
    }

    fn read_ini(&mut self, value: Option<&str>) -> Result<(), &'static str> {
        *self = value.ok_or(NEEDS_VALUE)?.into();
        Ok(())
    }

    fn to_ini(&self) -> String {
        self.expose().to_owned()
    }

    fn read_yaml(&mut self, decoder: &mut Decoder<'_>, at: At) -> bool {
        decoder.conceal(at);
        let mut text = String::new();
        let found = store(&mut text, decoder, at);
        *self = text.as_str().into();
        found
    }

    fn to_yaml(&self) -> Value {
        json!(self.expose())
    }

    fn is_secret(&self) -> bool {
        true
    }
}

impl Slot for bool {
    fn is_set(&self) -> bool {
        *self
    }

    fn read_ini(&mut self, value: Option<&str>) -> Result<(), &'static str> {
        *self = match value.map(str::to_lowercase).as_deref() {
            None | Some("true" | "yes" | "on" | "1") => true,
            Some("false" | "no" | "off" | "0") => false,
            Some(_) => return Err("write true or false"),
        };
        Ok(())
    }

    fn to_ini(&self) -> String {
        self.to_string()
    }

    fn read_yaml(&mut self, decoder: &mut Decoder<'_>, at: At) -> bool {
        store(self, decoder, at)
    }

    fn to_yaml(&self) -> Value {
        json!(self)
    }
}

/// A switch that is on unless it is set, so that off must be kept.
impl Slot for Option<bool> {
    fn is_set(&self) -> bool {
        self.is_some()
    }

    fn read_ini(&mut self, value: Option<&str>) -> Result<(), &'static str> {
        self.get_or_insert_default().read_ini(value)
    }

    fn to_ini(&self) -> String {
        self.unwrap_or_default().to_string()
    }

    fn read_yaml(&mut self, decoder: &mut Decoder<'_>, at: At) -> bool {
        let mut value = false;
        let found = store(&mut value, decoder, at);
        *self = found.then_some(value);
        found
    }

    fn to_yaml(&self) -> Value {
        json!(self)
    }
}

impl Slot for u32 {
    fn is_set(&self) -> bool {
        *self != 0
    }

    fn read_ini(&mut self, value: Option<&str>) -> Result<(), &'static str> {
        let text = value.ok_or(NEEDS_VALUE)?.trim();
        let number = match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+')),
            None => text.parse().ok().filter(|_| !text.starts_with('+')),
        };
        *self = number.ok_or("write a whole number")?;
        Ok(())
    }

    fn to_ini(&self) -> String {
        self.to_string()
    }

    fn read_yaml(&mut self, decoder: &mut Decoder<'_>, at: At) -> bool {
        store(self, decoder, at)
    }

    fn to_yaml(&self) -> Value {
        json!(self)
    }
}

/// Separated by commas in INI, a list in YAML. A comma inside an entry fits into neither, because the
/// drivers join lists with commas.
impl Slot for Vec<String> {
    fn is_set(&self) -> bool {
        !self.is_empty()
    }

    fn read_ini(&mut self, value: Option<&str>) -> Result<(), &'static str> {
        let text = value.ok_or(NEEDS_VALUE)?;
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        *self = entries.map(str::to_owned).collect();
        // Not empty to the drivers, so that nothing is inherited either.
        if self.is_empty() && !text.is_empty() {
            return Err("name at least one, or remove the key");
        }
        Ok(())
    }

    fn to_ini(&self) -> String {
        self.join(",")
    }

    fn read_yaml(&mut self, decoder: &mut Decoder<'_>, at: At) -> bool {
        let mut entries: Entries<String> = Vec::new();
        let mut found = store(&mut entries, decoder, at);
        for entry in entries.iter().filter_map(Field::located) {
            if entry.value.trim().is_empty() {
                let message =
                    "an empty entry, which stands for nothing but keeps others from being inherited";
                decoder.findings().error(Rule::DriverValue, entry.at, message).hint("remove it");
                found = false;
            } else if entry.value.contains(',') {
                let message =
                    format!("`{}` contains a comma, at which the driver would split it", entry.value);
                decoder
                    .findings()
                    .error(Rule::ListComma, entry.at, message)
                    .hint("write one entry per item of the list");
                found = false;
            }
        }
        found &= entries.iter().all(|entry| !entry.is_invalid());
        *self = entries.iter().filter_map(Field::get).map(|text| text.trim().to_owned()).collect();
        found
    }

    fn to_yaml(&self) -> Value {
        json!(self)
    }
}

/// A JSON object in INI, a mapping in YAML.
impl Slot for BTreeMap<String, String> {
    fn is_set(&self) -> bool {
        !self.is_empty()
    }

    fn read_ini(&mut self, value: Option<&str>) -> Result<(), &'static str> {
        let text = value.ok_or(NEEDS_VALUE)?;
        *self = if text.is_empty() {
            BTreeMap::new()
        } else {
            serde_json::from_str(text).map_err(|_| "write a JSON object of texts: {\"name\": \"value\"}")?
        };
        Ok(())
    }

    fn to_ini(&self) -> String {
        json!(self).to_string()
    }

    fn read_yaml(&mut self, decoder: &mut Decoder<'_>, at: At) -> bool {
        let mut entries: BTreeMap<String, Field<String>> = BTreeMap::new();
        let found = store(&mut entries, decoder, at) && entries.values().all(|value| !value.is_invalid());
        *self = entries.into_iter().filter_map(|(name, value)| Some((name, value.get()?.clone()))).collect();
        found
    }

    fn to_yaml(&self) -> Value {
        json!(self)
    }
}
