//! From YAML nodes to typed values, with every problem collected on the way.
//!
//! What users write is decoded into types that keep, beside each value, the node it came from. A field
//! is absent, set, or invalid; the last has been reported already, and rules that look at it stay silent
//! so that one mistake yields one finding.

mod macros;
mod values;

pub(crate) use macros::{choice, object};
pub(crate) use values::{BadText, FromText, text};
pub use values::{Ignored, Port, Replicas};

use crate::findings::{Findings, Rule};
use crate::shape::{FieldSpec, Object, Shape};
use crate::yaml::{At, Document, Entry, Style, Value};

/// A type that can be read from a configuration file.
pub trait Decode: Sized {
    fn shape() -> Shape;

    /// `None` means that what is wrong has been reported.
    fn decode(decoder: &mut Decoder<'_>, at: At) -> Option<Self>;
}

/// A value and the node it was read from.
#[derive(Debug, Clone)]
pub struct Located<T> {
    pub value: T,
    pub at: At,
}

/// What the file says about one field.
#[derive(Debug, Clone, Default)]
pub enum Field<T> {
    #[default]
    Absent,
    /// Given, but not usable; the finding has been reported.
    Invalid(At),
    Set(Located<T>),
}

impl<T> Field<T> {
    pub fn set(value: T, at: At) -> Self {
        Field::Set(Located { value, at })
    }

    pub fn get(&self) -> Option<&T> {
        self.located().map(|located| &located.value)
    }

    pub fn located(&self) -> Option<&Located<T>> {
        match self {
            Field::Set(located) => Some(located),
            _ => None,
        }
    }

    pub fn get_mut(&mut self) -> Option<&mut T> {
        match self {
            Field::Set(located) => Some(&mut located.value),
            _ => None,
        }
    }

    pub fn is_absent(&self) -> bool {
        matches!(self, Field::Absent)
    }

    pub fn is_invalid(&self) -> bool {
        matches!(self, Field::Invalid(_))
    }

    /// Where the field was given.
    pub fn at(&self) -> Option<At> {
        match self {
            Field::Absent => None,
            Field::Invalid(at) => Some(*at),
            Field::Set(located) => Some(located.at),
        }
    }
}

impl<T: Clone> Field<T> {
    pub fn cloned_or(&self, default: T) -> T {
        self.get().cloned().unwrap_or(default)
    }
}

/// A list whose entries may be invalid one by one.
pub type Entries<T> = Vec<Field<T>>;

impl<T> Field<Entries<T>> {
    /// The entries that could be read.
    pub fn items(&self) -> impl Iterator<Item = &Located<T>> {
        self.get().into_iter().flatten().filter_map(Field::located)
    }

    pub fn items_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.get_mut().into_iter().flatten().filter_map(Field::get_mut)
    }

    /// Entries given, readable or not.
    pub fn len(&self) -> usize {
        self.get().map_or(0, Vec::len)
    }

    /// Something about the list could not be read, so nothing can be said of the whole.
    pub fn is_partial(&self) -> bool {
        self.is_invalid() || self.get().is_some_and(|entries| entries.iter().any(Field::is_invalid))
    }

    /// The list is absent or has no entries.
    pub fn is_empty(&self) -> bool {
        !self.is_invalid() && self.len() == 0
    }
}

/// Reads a document and keeps what it finds.
#[derive(Debug)]
pub struct Decoder<'a> {
    document: &'a Document,
    findings: &'a mut Findings,
}

/// The values of an object's fields, in the order of its field table.
#[derive(Debug)]
pub struct Matched(Vec<FieldPosition>);

/// Where a field of an object is.
#[derive(Debug, Clone, Copy)]
enum FieldPosition {
    Absent,
    At(At),
    /// Probably meant by a key that has been reported as unknown.
    Misspelt(At),
}

impl<'a> Decoder<'a> {
    pub fn new(document: &'a Document, findings: &'a mut Findings) -> Self {
        Decoder { document, findings }
    }

    pub fn findings(&mut self) -> &mut Findings {
        self.findings
    }

    pub fn value(&self, at: At) -> &'a Value {
        self.document.value(at)
    }

    /// Finds the object's fields in a mapping, whatever the case of the keys, and reports the keys that
    /// belong to no field and the fields that are needed but not there.
    pub(crate) fn matched(&mut self, at: At, object: &'static Object) -> Option<Matched> {
        let Value::Map(entries) = self.value(at) else {
            self.wrong_kind(at, "a mapping");
            return None;
        };
        let mut matched = vec![FieldPosition::Absent; object.fields.len()];
        let mut unknown = Vec::new();
        for entry in entries {
            let Some(index) = find_field(object, &entry.key) else {
                unknown.push(entry);
                continue;
            };
            let field = &object.fields[index];
            if let FieldPosition::At(first) = matched[index] {
                // The same spelling twice has been reported by the YAML reader.
                if self.document.path(first) != self.document.path(entry.at) {
                    let message = format!("`{}` is given twice, in two spellings", field.key);
                    self.findings
                        .error(Rule::DuplicateKey, entry.at, message)
                        .on_key()
                        .hint(format!("keep one, spelt `{}`", field.key))
                        .related(first, "first given here");
                }
                continue;
            }
            if &*entry.key != field.key {
                let message = format!("`{}` is read as `{}`", entry.key, field.key);
                self.findings
                    .note(Rule::KeySpelling, entry.at, message)
                    .on_key()
                    .hint(format!("write `{}`", field.key));
            }
            if let (Some(instead), false) = (field.deprecated, self.value(entry.at).is_null()) {
                self.findings
                    .warning(Rule::Deprecated, entry.at, format!("`{}` is deprecated", field.key))
                    .on_key()
                    .hint(instead);
            }
            matched[index] = FieldPosition::At(entry.at);
        }
        for entry in unknown {
            self.unknown_key(at, entry, object, &mut matched);
        }
        for (field, place) in object.fields.iter().zip(&mut matched) {
            if let FieldPosition::At(value) = *place {
                if self.is_blank(value) {
                    *place = FieldPosition::Absent;
                } else if let (Some(most), Value::List(items)) = (field.at_most, self.value(value))
                    && let Some(&extra) = items.get(most)
                {
                    let message =
                        format!("`{}` has {} entries; at most {most} are allowed", field.key, items.len());
                    self.findings
                        .error(Rule::TooMany, extra, message)
                        .hint("remove the ones that are not needed");
                }
            }
            if field.required && matches!(place, FieldPosition::Absent) {
                let what = (field.shape)().describe();
                self.findings
                    .missing(at, field.key, format!("`{}` is required", field.key))
                    .hint(format!("add `{}:` with {what}", field.key));
            }
        }
        Some(Matched(matched))
    }

    /// Reads the field at `index` of the object's table.
    pub(crate) fn field<T: Decode>(&mut self, matched: &Matched, index: usize) -> Field<T> {
        match matched.0[index] {
            FieldPosition::Absent => Field::Absent,
            FieldPosition::Misspelt(at) => Field::Invalid(at),
            FieldPosition::At(at) => match T::decode(self, at) {
                Some(value) => Field::set(value, at),
                None => Field::Invalid(at),
            },
        }
    }

    /// The text of a scalar, if the node is one.
    pub(crate) fn text(&mut self, at: At, expected: &str) -> Option<&'a str> {
        match self.value(at) {
            value @ Value::Scalar { text, style } if !value.is_null() => {
                if *style == Style::Plain && is_old_boolean(text) {
                    let meaning =
                        matches!(text.chars().next(), Some('y' | 'Y')) || text.eq_ignore_ascii_case("on");
                    self.findings
                        .error(
                            Rule::YamlBoolean,
                            at,
                            format!("YAML 1.1 readers, Go tools among them, take `{text}` for `{meaning}`"),
                        )
                        .hint(format!("write `{meaning}` for a switch, or `\"{text}\"` in quotes for text"));
                    return None;
                }
                Some(text)
            }
            _ => {
                self.wrong_kind(at, expected);
                None
            }
        }
    }

    pub(crate) fn wrong_kind(&mut self, at: At, expected: &str) {
        let found = self.value(at).kind();
        let finding = self.findings.error(Rule::WrongKind, at, format!("expected {expected}, found {found}"));
        if expected.contains("text") {
            finding.hint("put the whole value into single quotes");
        }
    }

    /// The node holds a secret: whatever happens, its text is not shown.
    pub(crate) fn conceal(&mut self, at: At) {
        self.findings.conceal(self.document.value_span(at));
    }

    /// Nothing, or an empty text: as good as not given.
    pub(crate) fn is_blank(&self, at: At) -> bool {
        match self.value(at) {
            value @ Value::Scalar { text, .. } => value.is_null() || text.is_empty(),
            _ => false,
        }
    }

    /// Reports a key that belongs to no field. If it is a near miss of a field that is absent, that field
    /// counts as given but unusable, so that one slip of the pen is one finding.
    fn unknown_key(
        &mut self,
        parent: At,
        entry: &Entry,
        object: &'static Object,
        matched: &mut [FieldPosition],
    ) {
        self.findings.conceal(self.document.value_span(entry.at));
        let key = &*entry.key;
        let whose = match self.document.path(parent) {
            path if path.as_str().is_empty() && object.name == "WrittenMatrix" => "the matrix".to_owned(),
            path if path.as_str().is_empty() => "the install-config".to_owned(),
            path => format!("`{path}`"),
        };
        let absent = |index: usize| matches!(matched[index], FieldPosition::Absent);
        let near = if self.findings.is_full() {
            None
        } else {
            other_name(object, key)
                .or_else(|| closest(key, object.fields.iter().map(|field| field.key)))
                .and_then(|near| object.fields.iter().position(|field| field.key == near))
        };
        let keys = || object.fields.iter().filter(|field| field.deprecated.is_none()).map(|field| field.key);
        let hint = match near {
            Some(index) => format!("did you mean `{}`?", object.fields[index].key),
            None if object.fields.is_empty() => "it takes no fields".to_owned(),
            None => format!("its fields are {}", keys().collect::<Vec<_>>().join(", ")),
        };
        let message = format!("{whose} has no field `{}`", crate::yaml::printable(key));
        self.findings.error(Rule::UnknownField, entry.at, message).on_key().hint(hint);
        if let Some(index) = near.filter(|index| absent(*index)) {
            matched[index] = FieldPosition::Misspelt(entry.at);
        }
    }
}

/// Names from elsewhere that no near miss would find.
fn other_name<'k>(object: &'static Object, key: &str) -> Option<&'k str> {
    const OTHER: [(&str, &str); 5] = [
        ("username", "user"),
        ("host", "server"),
        ("url", "server"),
        ("vips", "apiVIPs"),
        ("count", "replicas"),
    ];
    let (_, ours) = OTHER.iter().find(|(other, _)| other.eq_ignore_ascii_case(key))?;
    object.fields.iter().map(|field| field.key).find(|field| field == ours)
}

/// The field for a key: the exact spelling first, then without regard to case, as the Go tools do.
fn find_field(object: &'static Object, key: &str) -> Option<usize> {
    let by = |same: &dyn Fn(&FieldSpec) -> bool| object.fields.iter().position(same);
    by(&|field| field.key == key).or_else(|| by(&|field| field.key.eq_ignore_ascii_case(key)))
}

/// The candidate a mistyped word was probably meant to be: a third of its letters may be wrong.
pub(crate) fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    closest_within(word, candidates, |candidate| candidate.chars().count().max(3) / 3)
}

/// The same, with so many wrong letters as `slips` allows.
pub(crate) fn closest_within<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
    slips: impl Fn(&str) -> usize,
) -> Option<&'c str> {
    // Longer words are no near misses, and comparing them would cost their square.
    const MAX_WORD: usize = 64;
    const MAX_WORDS: usize = 200;
    if word.chars().nth(MAX_WORD).is_some() {
        return None;
    }
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .take(MAX_WORDS)
        .filter(|candidate| candidate.len() <= 2 * MAX_WORD)
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= slips(candidate))
        .min_by_key(|(distance, candidate)| (*distance, *candidate))
        .map(|(_, candidate)| candidate)
}

fn is_old_boolean(text: &str) -> bool {
    matches!(
        text,
        "y" | "Y"
            | "n"
            | "N"
            | "yes"
            | "Yes"
            | "YES"
            | "no"
            | "No"
            | "NO"
            | "on"
            | "On"
            | "ON"
            | "off"
            | "Off"
            | "OFF"
    )
}
