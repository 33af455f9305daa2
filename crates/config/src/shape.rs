//! What a configuration may look like: the field tables that decoding, `explain` and the JSON Schema
//! are all made from.

mod json_schema;
mod lookup;

pub use json_schema::json_schema;
pub use lookup::{FieldInfo, LookupError, lookup};

/// The form of a value.
#[derive(Debug, Clone)]
pub enum Shape {
    Text(Text),
    Integer {
        what: &'static str,
        min: i64,
        max: i64,
    },
    Bool,
    Choice {
        name: &'static str,
        values: &'static [ChoiceValue],
    },
    List(Box<Shape>),
    /// A mapping whose keys the user chooses.
    Map(Box<Shape>),
    Object(&'static Object),
    /// Accepted and ignored.
    Anything,
}

/// A single value that is text to YAML.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    /// What it is, in a few words: `a DNS name or IP address`.
    pub what: &'static str,
    /// A pattern every valid value matches; what it cannot express is checked when decoding.
    pub pattern: Option<&'static str>,
    pub max_length: Option<usize>,
    pub secret: bool,
}

impl Text {
    pub const fn new(what: &'static str) -> Self {
        Text { what, pattern: None, max_length: None, secret: false }
    }

    #[must_use]
    pub const fn pattern(mut self, pattern: &'static str) -> Self {
        self.pattern = Some(pattern);
        self
    }

    #[must_use]
    pub const fn max_length(mut self, length: usize) -> Self {
        self.max_length = Some(length);
        self
    }

    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }
}

/// One value of a choice.
#[derive(Debug, Clone, Copy)]
pub struct ChoiceValue {
    pub name: &'static str,
    pub doc: &'static str,
}

/// A mapping with known fields.
#[derive(Debug)]
pub struct Object {
    pub name: &'static str,
    pub doc: &'static str,
    pub fields: &'static [FieldSpec],
}

/// One field of an [`Object`].
#[derive(Debug, Clone, Copy)]
pub struct FieldSpec {
    pub key: &'static str,
    pub doc: &'static str,
    pub shape: fn() -> Shape,
    pub required: bool,
    /// Needed too, but by a rule that knows more than the field table.
    pub needed: bool,
    pub default: Option<&'static str>,
    /// Most entries, where the field is a list.
    pub at_most: Option<usize>,
    /// What to use instead.
    pub deprecated: Option<&'static str>,
    /// Not a field of OpenShift's install-config but one of ours.
    pub ours: bool,
}

impl FieldSpec {
    pub const fn new(key: &'static str, doc: &'static str, shape: fn() -> Shape) -> Self {
        FieldSpec {
            key,
            doc,
            shape,
            required: false,
            needed: false,
            default: None,
            at_most: None,
            deprecated: None,
            ours: false,
        }
    }

    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    #[must_use]
    pub const fn needed(mut self) -> Self {
        self.needed = true;
        self
    }

    #[must_use]
    pub const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    #[must_use]
    pub const fn at_most(mut self, entries: usize) -> Self {
        self.at_most = Some(entries);
        self
    }

    #[must_use]
    pub const fn deprecated(mut self, instead: &'static str) -> Self {
        self.deprecated = Some(instead);
        self
    }

    #[must_use]
    pub const fn ours(mut self) -> Self {
        self.ours = true;
        self
    }
}

impl Shape {
    /// The object this leads to, through lists and maps.
    pub fn object(&self) -> Option<&'static Object> {
        match self {
            Shape::Object(object) => Some(object),
            Shape::List(item) => item.object(),
            Shape::Map(value) => value.object(),
            _ => None,
        }
    }

    /// A short name for people: `list of DNS name or IP address`.
    pub fn describe(&self) -> String {
        match self {
            Shape::Text(text) => text.what.to_owned(),
            Shape::Integer { what, .. } => (*what).to_owned(),
            Shape::Bool => "true or false".to_owned(),
            Shape::Choice { values, .. } => {
                let names: Vec<_> = values.iter().map(|value| value.name).collect();
                format!("one of {}", names.join(", "))
            }
            Shape::List(item) => format!("list: {}", item.describe()),
            Shape::Map(value) => format!("mapping of names to: {}", value.describe()),
            Shape::Object(_) => "a mapping".to_owned(),
            Shape::Anything => "anything".to_owned(),
        }
    }
}

/// Doc comments as running text: lines joined, paragraphs kept.
pub fn paragraph(doc: &str) -> String {
    let paragraphs = doc.trim().split("\n\n");
    let joined = paragraphs.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    joined.collect::<Vec<_>>().join("\n\n")
}
