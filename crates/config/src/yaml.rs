//! YAML as a tree of nodes that remember where they were written.
//!
//! The tree is an arena: a node is named by [`At`], a number that is cheap to keep beside a decoded
//! value, and from which the field path and the place in the file can be found again later.

mod build;
mod json;
mod write;

use std::fmt;
use std::ops::Range;

pub(crate) use build::printable;
pub use build::{Limits, parse};
pub use json::from_yaml;
pub use write::to_yaml;

/// Names one node of a [`Document`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct At(u32);

impl At {
    /// The document itself.
    pub const ROOT: At = At(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A range of bytes of the source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// Offsets beyond what a span can hold do not occur: documents are limited in size.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { start: offset(start), end: offset(end) }
    }

    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// How a scalar was written, as far as it matters for its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes: `true`, `12` and `null` have their usual meaning.
    Plain,
    /// In quotes or as a block: always text.
    Text,
}

/// The content of a node.
#[derive(Debug, Clone)]
pub enum Value {
    Scalar { text: Box<str>, style: Style },
    List(Vec<At>),
    Map(Vec<Entry>),
}

impl Value {
    /// What to call this kind of value in a message.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Scalar { .. } if self.is_null() => "nothing",
            Value::Scalar { .. } => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Scalar { text, style: Style::Plain }
            if matches!(&**text, "" | "~" | "null" | "Null" | "NULL"))
    }
}

/// One `key: value` of a mapping.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: Box<str>,
    pub key_span: Span,
    pub at: At,
}

/// How a node is reached from its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Root,
    Key(Box<str>),
    Index(usize),
}

#[derive(Debug, Clone)]
struct Node {
    parent: At,
    step: Step,
    /// Where the value stands.
    span: Span,
    /// Where the key that leads to the value stands.
    key_span: Option<Span>,
    value: Value,
}

/// A YAML document whose nodes know their place in the source.
#[derive(Debug, Clone)]
pub struct Document {
    nodes: Vec<Node>,
}

impl Document {
    pub fn value(&self, at: At) -> &Value {
        &self.nodes[at.index()].value
    }

    /// The place to point at when speaking about this node: the value of a scalar, the key (or, in a
    /// list, the first line) of anything larger.
    pub fn span(&self, at: At) -> Span {
        let node = &self.nodes[at.index()];
        match (&node.value, node.key_span) {
            // A block is marked by its key: it may be long, and a private key.
            (Value::Scalar { text, .. }, Some(key)) if text.contains('\n') => key,
            (Value::Scalar { .. }, _) if node.span.start < node.span.end => node.span,
            (_, Some(key)) => key,
            _ => node.span,
        }
    }

    /// Where the key that leads to this node stands.
    pub(crate) fn key_span(&self, at: At) -> Option<Span> {
        self.nodes[at.index()].key_span
    }

    /// The value behind a key of a mapping, whatever the case of its letters.
    pub(crate) fn entry(&self, at: At, key: &str) -> Option<At> {
        let Value::Map(entries) = self.value(at) else { return None };
        entries.iter().find(|entry| entry.key.eq_ignore_ascii_case(key)).map(|entry| entry.at)
    }

    /// The text of a scalar.
    pub fn scalar(&self, at: At) -> Option<&str> {
        match self.value(at) {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Where the value itself stands, whatever its kind.
    pub(crate) fn value_span(&self, at: At) -> Span {
        self.nodes[at.index()].span
    }

    /// The field path as people write it: `platform.vsphere.vcenters[1].server`.
    pub fn path(&self, at: At) -> FieldPath {
        let mut steps = Vec::new();
        let mut node = &self.nodes[at.index()];
        while node.step != Step::Root {
            steps.push(node.step.clone());
            node = &self.nodes[node.parent.index()];
        }
        let mut path = FieldPath::default();
        for step in steps.into_iter().rev() {
            match step {
                Step::Root => {}
                Step::Key(key) => path.push_key(&key),
                Step::Index(index) => path.push_index(index),
            }
        }
        path
    }
}

/// A field path with list indices, such as `platform.vsphere.failureDomains[3].zone`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(String);

impl FieldPath {
    pub fn push_key(&mut self, key: &str) {
        let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        if plain {
            if !self.0.is_empty() {
                self.0.push('.');
            }
            self.0.push_str(key);
        } else {
            self.0.push_str(&format!("[{key:?}]"));
        }
    }

    /// A path in another format.
    pub(crate) fn of(text: String) -> Self {
        FieldPath(text)
    }

    pub fn push_index(&mut self, index: usize) {
        self.0.push_str(&format!("[{index}]"));
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
