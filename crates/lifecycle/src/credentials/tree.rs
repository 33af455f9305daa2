//! Configuration files of other programs: read with their places, problems told without what stands there.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};
use slipway_config::findings::{Findings, Rule, Severity};
use slipway_config::yaml::{self, At, Document, Limits, Style, Value};

use super::Error;

/// A file of another program.
#[derive(Debug)]
pub(super) struct Foreign {
    pub(super) path: PathBuf,
    text: String,
    document: Document,
    findings: Findings,
}

impl Foreign {
    pub(super) fn parse(path: &Path, text: String) -> Result<Self, Error> {
        let mut findings = Findings::default();
        let document = yaml::parse(&text, Limits::default(), &mut findings);
        match document {
            Some(document) => Ok(Foreign { path: path.to_owned(), text, document, findings }),
            None => Err(Error::File { path: path.to_owned(), problems: problems(findings, None, &text) }),
        }
    }

    /// Ends reading: everything that was found wrong.
    pub(super) fn finish(self) -> Result<(), Error> {
        let problems = problems(self.findings, Some(&self.document), &self.text);
        if problems.is_empty() { Ok(()) } else { Err(Error::File { path: self.path, problems }) }
    }

    pub(super) fn wrong(&mut self, at: At, message: impl Into<String>) {
        self.findings.error(Rule::InvalidValue, at, message);
    }

    pub(super) fn missing(&mut self, at: At, key: &str) {
        self.findings.missing(at, key, format!("`{key}` is required"));
    }

    /// A field of a mapping that is set to something.
    pub(super) fn field(&self, at: At, key: &str) -> Option<At> {
        let Value::Map(entries) = self.document.value(at) else { return None };
        let entry = entries.iter().find(|entry| &*entry.key == key)?;
        (!self.document.value(entry.at).is_null()).then_some(entry.at)
    }

    /// The text of a field; what is there but is not text is reported.
    pub(super) fn text(&mut self, at: At, key: &str) -> Option<String> {
        let field = self.field(at, key)?;
        match self.document.scalar(field) {
            Some("") => None,
            Some(text) => Some(text.to_owned()),
            None => {
                self.wrong(field, format!("`{key}` is not a single value"));
                None
            }
        }
    }

    pub(super) fn required(&mut self, at: At, key: &str) -> Option<String> {
        let text = self.text(at, key);
        if text.is_none() && self.field(at, key).is_none_or(|field| self.document.scalar(field) == Some("")) {
            self.missing(at, key);
        }
        text
    }

    /// A switch; absent means off.
    pub(super) fn switch(&mut self, at: At, key: &str) -> bool {
        let Some(field) = self.field(at, key) else { return false };
        match self.document.scalar(field).map(str::to_ascii_lowercase).as_deref() {
            Some("true" | "yes" | "on" | "1") => true,
            Some("false" | "no" | "off" | "0" | "") => false,
            _ => {
                self.wrong(field, format!("`{key}` is neither true nor false"));
                false
            }
        }
    }

    pub(super) fn items(&self, at: At, key: &str) -> Vec<At> {
        match self.field(at, key).map(|at| self.document.value(at)) {
            Some(Value::List(items)) => items.clone(),
            _ => Vec::new(),
        }
    }

    /// A mapping as data.
    pub(super) fn members(&self, at: At) -> Map<String, Json> {
        match json(&self.document, at) {
            Json::Object(members) => members,
            _ => Map::new(),
        }
    }
}

/// The file's name is told elsewhere; what stands in the line may be a secret.
fn problems(findings: Findings, document: Option<&Document>, text: &str) -> Vec<String> {
    let report = findings.report(document, text);
    let errors = report.findings.into_iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| format!("line {}: {}", finding.position.line, finding.message)).collect()
}

/// A node as data, by the rules of YAML's core schema.
pub(crate) fn json(document: &Document, at: At) -> Json {
    match document.value(at) {
        value @ Value::Scalar { text, style } => match style {
            Style::Text => Json::from(&**text),
            Style::Plain if value.is_null() => Json::Null,
            Style::Plain => plain(text),
        },
        Value::List(items) => items.iter().map(|item| json(document, *item)).collect(),
        Value::Map(entries) => {
            let members = entries.iter().map(|entry| (entry.key.to_string(), json(document, entry.at)));
            Json::Object(members.collect())
        }
    }
}

fn plain(text: &str) -> Json {
    match text {
        "true" | "True" | "TRUE" => Json::from(true),
        "false" | "False" | "FALSE" => Json::from(false),
        _ => match serde_json::from_str::<Json>(text) {
            Ok(number @ Json::Number(_)) => number,
            _ => Json::from(text),
        },
    }
}
