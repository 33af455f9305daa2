//! Where settings stand in a file, in either format.

use crate::driver_config::ini;
use crate::gcfg;
use crate::yaml::{At, Document, FieldPath, Span, Value};

/// Where to point at when a setting of the whole is wrong.
pub(super) enum Places<'a> {
    Yaml(&'a Document),
    Ini(&'a gcfg::File),
}

/// Section, name in quotes, and key of an INI file.
pub(super) type IniKey<'a> = (&'a str, Option<&'a str>, &'a str);

impl Places<'_> {
    /// The key of a section, or as much of the way to it as exists.
    pub(super) fn find(&self, yaml: &[&str], ini: IniKey<'_>) -> (Span, FieldPath) {
        match self {
            Places::Yaml(document) => {
                let (at, _) = walk(document, yaml);
                (document.span(at), document.path(at))
            }
            Places::Ini(file) => {
                let (name, subsection, key) = ini;
                match ini::find(file, name, subsection, key) {
                    Some(span) => (span, ini::shown(name, subsection, key)),
                    // There is no such section; the file begins with another.
                    None => {
                        (file.sections.first().map(ini::header).unwrap_or_default(), FieldPath::default())
                    }
                }
            }
        }
    }

    /// Whether something stands there that is not nothing.
    pub(super) fn is_written(&self, yaml: &[&str], ini: IniKey<'_>) -> bool {
        match self {
            Places::Yaml(document) => match walk(document, yaml) {
                (at, true) => {
                    let value = document.value(at);
                    !value.is_null() && document.scalar(at).is_none_or(|text| !text.is_empty())
                }
                _ => false,
            },
            Places::Ini(file) => {
                last(file, ini).is_some_and(|variable| variable.value.as_deref() != Some(""))
            }
        }
    }

    /// The entries of a list as they are written, white space included; in INI without what a comma at the end leaves.
    pub(super) fn entries(&self, yaml: &[&str], ini: IniKey<'_>) -> Vec<String> {
        match self {
            Places::Yaml(document) => match walk(document, yaml) {
                (at, true) => match document.value(at) {
                    Value::List(entries) => entries
                        .iter()
                        .filter_map(|entry| document.scalar(*entry).map(str::to_owned))
                        .collect(),
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            },
            Places::Ini(file) => {
                let value = last(file, ini);
                let text = value.and_then(|variable| variable.value.as_deref()).unwrap_or_default();
                let mut entries: Vec<String> = text.split(',').map(str::to_owned).collect();
                if text.is_empty()
                    || entries.len() > 1 && entries.last().is_some_and(|last| last.trim().is_empty())
                {
                    entries.pop();
                }
                entries
            }
        }
    }
}

/// The variable that counts, if there are several.
fn last<'f>(file: &'f gcfg::File, (name, subsection, key): IniKey<'_>) -> Option<&'f gcfg::Variable> {
    let sections = file.sections.iter().filter(|section| {
        gcfg::same_name(&section.name, name) && section.subsection.as_deref() == subsection
    });
    let mut variables = sections.flat_map(|section| &section.variables);
    variables.rfind(|variable| gcfg::same_name(&variable.name, key))
}

/// As far as the path leads, and whether that is its end.
fn walk(document: &Document, path: &[&str]) -> (At, bool) {
    let mut at = At::ROOT;
    for key in path {
        let Value::Map(entries) = document.value(at) else { return (at, false) };
        // Given twice, which is an error anyway, the last is the one that was read.
        let Some(entry) = entries.iter().rfind(|entry| &*entry.key == *key) else { return (at, false) };
        at = entry.at;
    }
    (at, true)
}
