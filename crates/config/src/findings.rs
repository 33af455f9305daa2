//! Problems found in what a user wrote: all of them, each with its place and its cure.

mod redact;
mod rule;

use std::fmt;

pub use redact::redact;
pub use rule::Rule;

use crate::yaml::{At, Document, FieldPath, Span};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// It can be used, but probably does not do what was meant.
    Warning,
    /// Good to know; nothing needs to change.
    Note,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a finding is, before the document has been asked for line and path.
#[derive(Debug, Clone)]
enum FindingPosition {
    Node(At),
    /// The key of a field rather than its value.
    Key(At),
    /// A field that should be in the mapping but is not.
    Missing(At, String),
    /// A place in a text that is not a tree of nodes.
    Text(Span, FieldPath),
}

/// A finding as the rules report it.
#[derive(Debug, Clone)]
pub struct Pending {
    rule: Rule,
    severity: Severity,
    place: FindingPosition,
    message: String,
    hint: Option<String>,
    related: Vec<(At, String)>,
}

impl Pending {
    /// What to write instead.
    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn hint_opt(&mut self, hint: Option<String>) -> &mut Self {
        self.hint = hint;
        self
    }

    /// How the place is called, where it is not a node.
    pub(crate) fn at_path(&mut self, name: FieldPath) -> &mut Self {
        if let FindingPosition::Text(_, path) = &mut self.place {
            *path = name;
        }
        self
    }

    /// The problem is the key, not what it is set to.
    pub fn on_key(&mut self) -> &mut Self {
        if let FindingPosition::Node(at) = self.place {
            self.place = FindingPosition::Key(at);
        }
        self
    }

    /// Another place that belongs to the same problem.
    pub fn related(&mut self, at: At, label: impl Into<String>) -> &mut Self {
        self.related.push((at, label.into()));
        self
    }
}

/// More findings of a kind are of no use to a reader, and a hostile file must not fill the memory with them.
const MAX_FINDINGS: usize = 1000;

/// Collects findings while a configuration is read.
#[derive(Debug, Default)]
pub struct Findings {
    /// By severity, so that notes never take the place of errors.
    pending: [Vec<Pending>; 3],
    /// Found beyond the most that are kept, by severity.
    left_out: [usize; 3],
    secrets: Vec<Span>,
}

impl Findings {
    pub fn error(&mut self, rule: Rule, at: At, message: impl Into<String>) -> &mut Pending {
        self.push(rule, Severity::Error, FindingPosition::Node(at), message.into())
    }

    pub fn warning(&mut self, rule: Rule, at: At, message: impl Into<String>) -> &mut Pending {
        self.push(rule, Severity::Warning, FindingPosition::Node(at), message.into())
    }

    pub fn note(&mut self, rule: Rule, at: At, message: impl Into<String>) -> &mut Pending {
        self.push(rule, Severity::Note, FindingPosition::Node(at), message.into())
    }

    /// The field `key` is needed in the mapping `at`.
    pub fn missing(&mut self, at: At, key: &str, message: impl Into<String>) -> &mut Pending {
        self.push(
            Rule::Required,
            Severity::Error,
            FindingPosition::Missing(at, key.to_owned()),
            message.into(),
        )
    }

    /// The field `key` could be in the mapping `at`, and will be needed one day.
    pub(crate) fn note_missing(
        &mut self,
        rule: Rule,
        at: At,
        key: &str,
        message: impl Into<String>,
    ) -> &mut Pending {
        self.push(rule, Severity::Note, FindingPosition::Missing(at, key.to_owned()), message.into())
    }

    pub(crate) fn error_in(&mut self, rule: Rule, span: Span, message: impl Into<String>) -> &mut Pending {
        self.push(rule, Severity::Error, FindingPosition::Text(span, FieldPath::default()), message.into())
    }

    pub(crate) fn warning_in(&mut self, rule: Rule, span: Span, message: impl Into<String>) -> &mut Pending {
        self.push(rule, Severity::Warning, FindingPosition::Text(span, FieldPath::default()), message.into())
    }

    /// Text that must never be shown to anyone.
    pub(crate) fn conceal(&mut self, span: Span) {
        self.secrets.push(span);
    }

    fn push(
        &mut self,
        rule: Rule,
        severity: Severity,
        place: FindingPosition,
        message: String,
    ) -> &mut Pending {
        let pending = &mut self.pending[severity as usize];
        // Past the limit the last slot takes whatever comes, so that callers need not care.
        if pending.len() > MAX_FINDINGS {
            self.left_out[severity as usize] += 1;
            pending.truncate(MAX_FINDINGS);
        }
        pending.push(Pending { rule, severity, place, message, hint: None, related: Vec::new() });
        let last = pending.len() - 1;
        &mut pending[last]
    }

    /// Whatever other errors are found will only be counted.
    pub(crate) fn is_full(&self) -> bool {
        self.pending[Severity::Error as usize].len() >= MAX_FINDINGS
    }

    pub(crate) fn has_errors(&self) -> bool {
        !self.pending[Severity::Error as usize].is_empty()
    }

    pub(crate) fn has_error_of(&self, rule: Rule) -> bool {
        self.pending[Severity::Error as usize].iter().any(|pending| pending.rule == rule)
    }

    /// Findings with their paths and places, in the order of the file.
    pub fn report(self, document: Option<&Document>, text: &str) -> Report {
        let span_of = |at: At| document.map_or(Span::default(), |document| document.span(at));
        let path_of = |at: At| document.map_or(FieldPath::default(), |document| document.path(at));
        let lines = LineIndex::new(text);
        let mut left_out = self.left_out;
        for (left_out, pending) in left_out.iter_mut().zip(&self.pending) {
            *left_out += pending.len().saturating_sub(MAX_FINDINGS);
        }
        let mut findings: Vec<Finding> = self
            .pending
            .into_iter()
            .flat_map(|pending| pending.into_iter().take(MAX_FINDINGS))
            .map(|pending| {
                let (span, path) = match pending.place {
                    FindingPosition::Node(at) => (span_of(at), path_of(at)),
                    FindingPosition::Key(at) => {
                        let key = document.and_then(|document| document.key_span(at));
                        (key.unwrap_or_else(|| span_of(at)), path_of(at))
                    }
                    FindingPosition::Text(span, path) => (span, path),
                    FindingPosition::Missing(at, key) => {
                        let mut path = path_of(at);
                        path.push_key(&key);
                        // The key may be there, with nothing behind it.
                        let blank = document.and_then(|document| document.entry(at, &key));
                        (span_of(blank.unwrap_or(at)), path)
                    }
                };
                let related = pending.related.into_iter().map(|(at, label)| Related {
                    span: span_of(at),
                    path: path_of(at),
                    position: lines.position(text, span_of(at)),
                    label,
                });
                Finding {
                    rule: pending.rule,
                    severity: pending.severity,
                    position: lines.position(text, span),
                    span,
                    path,
                    message: speakable(&pending.message),
                    hint: pending.hint.as_deref().map(speakable),
                    related: related.collect(),
                }
            })
            .collect();
        findings.sort_by(|a, b| {
            (a.span.start, a.severity, &a.path, a.rule).cmp(&(b.span.start, b.severity, &b.path, b.rule))
        });
        Report { findings, left_out, source: redact(text, &self.secrets) }
    }
}

/// A message as it may be shown: on one line, and without credentials that were part of a value.
fn speakable(text: &str) -> String {
    let one_line: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    redact::redact_urls(&one_line)
}

/// A place in the file, counted from one; columns in characters, in very long lines in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// Another place that belongs to a finding.
#[derive(Debug, Clone)]
pub struct Related {
    pub span: Span,
    pub path: FieldPath,
    pub position: Position,
    pub label: String,
}

/// One problem, ready to be shown.
#[derive(Debug, Clone)]
pub struct Finding {
    pub rule: Rule,
    pub severity: Severity,
    pub path: FieldPath,
    pub span: Span,
    pub position: Position,
    pub message: String,
    pub hint: Option<String>,
    pub related: Vec<Related>,
}

/// Everything that was found in one file.
#[derive(Debug, Clone)]
pub struct Report {
    /// Those that are kept: at most 1,000 of each severity.
    pub findings: Vec<Finding>,
    left_out: [usize; 3],
    /// The source text with secrets blanked out, byte for byte as long as the original.
    pub source: String,
}

impl Report {
    /// How many there are, kept or not.
    pub fn count(&self, severity: Severity) -> usize {
        let kept = self.findings.iter().filter(|finding| finding.severity == severity).count();
        kept + self.left_out[severity as usize]
    }

    /// The findings of one severity.
    #[must_use]
    pub fn only(&self, severity: Severity) -> Report {
        let mut report = self.clone();
        report.findings.retain(|finding| finding.severity == severity);
        report.left_out = [0; 3];
        report.left_out[severity as usize] = self.left_out[severity as usize];
        report
    }

    /// Findings beyond the most that are kept.
    pub fn left_out(&self) -> usize {
        self.left_out.iter().sum()
    }

    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }
}

/// Finds lines without counting from the start of the file for every finding.
struct LineIndex(Vec<usize>);

impl LineIndex {
    fn new(text: &str) -> Self {
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        LineIndex(std::iter::once(0).chain(starts.map(|(at, _)| at + 1)).collect())
    }

    fn position(&self, text: &str, span: Span) -> Position {
        let line = self.0.partition_point(|start| *start <= span.start as usize);
        let start = self.0[line - 1];
        let before = text.get(start..span.start as usize).unwrap_or_default();
        let column = if before.len() > 4096 { before.len() } else { before.chars().count() };
        Position { line, column: column + 1 }
    }
}
