//! Sections from and to YAML.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::keys::Section;
use crate::decode::{Decoder, closest};
use crate::findings::Rule;
use crate::yaml::{At, Entry, Value as Node, printable};

/// The entries of a mapping; nothing at all counts as an empty one.
pub(super) fn entries<'a>(decoder: &mut Decoder<'a>, at: At) -> &'a [Entry] {
    match decoder.value(at) {
        Node::Map(entries) => entries,
        value if value.is_null() => &[],
        _ => {
            decoder.wrong_kind(at, "a mapping");
            &[]
        }
    }
}

/// Reads a section. `ignored` are keys that tools write and drivers overwrite.
pub(super) fn section<S: Section>(decoder: &mut Decoder<'_>, at: At, ignored: &[&str]) -> S {
    let mut section = S::default();
    for entry in entries(decoder, at) {
        let Some(index) = S::KEYS.iter().position(|key| key.yaml == &*entry.key) else {
            if !ignored.contains(&&*entry.key) {
                unknown_key(decoder, entry, S::KEYS.iter().map(|key| (key.yaml, key.ini)));
            } else if !matches!(decoder.value(entry.at), Node::Scalar { .. }) {
                decoder.wrong_kind(entry.at, "text");
            }
            continue;
        };
        if !decoder.value(entry.at).is_null() {
            section.slots_mut()[index].read_yaml(decoder, entry.at);
        }
    }
    section
}

/// Mappings of names to sections.
pub(super) fn sections<S: Section>(
    decoder: &mut Decoder<'_>,
    at: At,
    ignored: &[&str],
) -> BTreeMap<String, (At, S)> {
    let entries = entries(decoder, at);
    entries
        .iter()
        .map(|entry| (entry.key.to_string(), (entry.at, section(decoder, entry.at, ignored))))
        .collect()
}

/// The drivers silently ignore what they do not know; most often it is the INI spelling.
pub(super) fn unknown_key<'k>(
    decoder: &mut Decoder<'_>,
    entry: &Entry,
    keys: impl Iterator<Item = (&'k str, &'k str)> + Clone,
) {
    decoder.conceal(entry.at);
    let key = &*entry.key;
    let spelt =
        keys.clone().find(|(yaml, ini)| *ini == key || yaml.eq_ignore_ascii_case(key)).map(|(yaml, _)| yaml);
    let hint = match spelt.or_else(|| closest(key, keys.map(|(yaml, _)| yaml))) {
        Some(near) => format!("write `{near}`"),
        None => "remove it".to_owned(),
    };
    let message = format!("the driver ignores `{}`", printable(key));
    decoder.findings().warning(Rule::DriverKeyUnknown, entry.at, message).on_key().hint(hint);
}

/// The keys that are set.
pub(super) fn to_map<S: Section>(section: &S) -> Map<String, Value> {
    let set = S::KEYS.iter().zip(section.slots()).filter(|(_, slot)| slot.is_set());
    set.map(|(key, slot)| (key.yaml.to_owned(), slot.to_yaml())).collect()
}
