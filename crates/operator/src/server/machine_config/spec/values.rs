//! What has changed about values between versions. What has changed about keys, the schema's types know.

use serde_json::Value;

use super::SpecVersion;

/// Since when sources may have a scheme (Ignition, docs/migrating-configs.md).
const SCHEMES: &[(&str, SpecVersion)] = &[("gs:", SpecVersion::new(2)), ("arn:", SpecVersion::new(4))];
/// Since when content may be verified by SHA-256.
const SHA256: SpecVersion = SpecVersion::new(1);
/// Since when a file system may be none.
const NO_FILE_SYSTEM: SpecVersion = SpecVersion::new(3);
/// Since when setuid, setgid and sticky bits are respected. They were ignored before.
const SPECIAL_BITS: SpecVersion = SpecVersion::new(6);
const SPECIAL: u64 = 0o7000;

/// From where to where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    pub(super) from: SpecVersion,
    pub(super) to: SpecVersion,
}

/// Adapts values, and names those that the other version does not know.
pub(super) fn translate(config: &mut Value, walk: Walk) -> Vec<String> {
    let mut unknown = Vec::new();
    visit(config, "", None, walk, &mut unknown);
    unknown
}

fn visit(value: &mut Value, path: &str, key: Option<&str>, walk: Walk, unknown: &mut Vec<String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = below(name);
                visit(member, &path, Some(name), walk, unknown);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let path = below(&index.to_string());
                visit(item, &path, None, walk, unknown);
            }
        }
        Value::String(text) => {
            let needs = match key {
                Some("source") => {
                    SCHEMES.iter().find(|(scheme, _)| text.starts_with(scheme)).map(|(_, since)| *since)
                }
                Some("hash") if text.starts_with("sha256-") => Some(SHA256),
                Some("format") if text == "none" && path.starts_with("storage.filesystems.") => {
                    Some(NO_FILE_SYSTEM)
                }
                _ => None,
            };
            if needs.is_some_and(|since| walk.to < since) {
                unknown.push(path.to_owned());
            }
        }
        Value::Number(number) if key == Some("mode") => {
            let Some(mode) = number.as_u64().filter(|mode| mode & SPECIAL != 0) else { return };
            if walk.from >= SPECIAL_BITS && walk.to < SPECIAL_BITS {
                unknown.push(path.to_owned());
            } else if walk.from < SPECIAL_BITS && walk.to >= SPECIAL_BITS {
                // They had no effect, and must not gain one.
                *value = Value::from(mode & !SPECIAL);
            }
        }
        _ => {}
    }
}
