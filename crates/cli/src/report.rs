//! Findings as people read them, and as programs do.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::Serialize;
use slipway_config::findings::{Finding, Report, Rule, Severity};

use crate::output::{ERROR, GOOD, WARNING};

/// Findings shown as text; a longer list is not read.
const MAX_FINDINGS: usize = 50;

/// So many old fields are listed instead of shown one by one.
const MANY_OLD: usize = 4;

/// Every finding with the lines it is about.
pub(crate) fn text(report: &Report, file: &str) -> String {
    let renderer = Renderer::styled();
    let mut text = String::new();
    let shown = most_important(&report.findings);
    let (old, others): (Vec<&Finding>, Vec<&Finding>) =
        shown.into_iter().partition(|finding| finding.rule == Rule::Deprecated);
    let (old, others) = if old.len() < MANY_OLD { (Vec::new(), merged(old, others)) } else { (old, others) };
    for finding in others {
        text.push_str(&renderer.render(&[group(finding, &report.source, file)]));
        text.push_str("\n\n");
    }
    text.push_str(&old_fields(&old, file));
    let hidden = report.findings.len().saturating_sub(MAX_FINDINGS) + report.left_out();
    if hidden > 0 {
        text.push_str(&format!("… and {hidden} more\n\n"));
    }
    text
}

/// In the order of the file.
fn merged<'a>(one: Vec<&'a Finding>, other: Vec<&'a Finding>) -> Vec<&'a Finding> {
    let mut all: Vec<&Finding> = one.into_iter().chain(other).collect();
    all.sort_by_key(|finding| finding.position.line);
    all
}

/// A file of an old version has many old fields, and each says the same: one line each.
fn old_fields(old: &[&Finding], file: &str) -> String {
    if old.is_empty() {
        return String::new();
    }
    let code = Rule::Deprecated.code();
    let mut text = format!("{WARNING}warning[{code}]{WARNING:#}: {} old fields in {file}\n", old.len());
    for Finding { path, position, hint, .. } in old {
        let hint = hint.as_deref().unwrap_or("leave it out");
        text.push_str(&format!("  line {}: `{path}`: {hint}\n", position.line));
    }
    text.push_str("  they still work: `slipway explain` describes the new ones\n\n");
    text
}

/// Errors first when there is not room for all; shown in the order of the file.
fn most_important(findings: &[Finding]) -> Vec<&Finding> {
    let mut chosen: Vec<(usize, &Finding)> = findings.iter().enumerate().collect();
    chosen.sort_by_key(|(_, finding)| finding.severity);
    chosen.truncate(MAX_FINDINGS);
    chosen.sort_by_key(|(position, _)| *position);
    chosen.into_iter().map(|(_, finding)| finding).collect()
}

fn group<'a>(finding: &'a Finding, source: &'a str, file: &'a str) -> Group<'a> {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(finding.message.as_str()).id(finding.rule.code());
    let window = Window::around(finding, source);
    let mut snippet = Snippet::source(&source[window.start..window.end]).path(file).line_start(window.line);
    let primary = AnnotationKind::Primary.span(window.span(finding.span.range()));
    snippet = snippet.annotation(match finding.path.as_str() {
        "" => primary,
        path => primary.label(path),
    });
    for related in &finding.related {
        let span = window.span(related.span.range());
        snippet = snippet.annotation(AnnotationKind::Context.span(span).label(related.label.as_str()));
    }
    let group = title.element(snippet);
    match &finding.hint {
        Some(hint) => group.element(Level::HELP.message(hint.as_str())),
        None => group,
    }
}

/// The lines of the source a finding needs, so that a large file is not searched for every finding.
struct Window {
    start: usize,
    end: usize,
    line: usize,
}

impl Window {
    fn around(finding: &Finding, source: &str) -> Self {
        let spans =
            || std::iter::once(finding.span).chain(finding.related.iter().map(|related| related.span));
        let first = spans().map(|span| span.start as usize).min().unwrap_or_default();
        let last = spans().map(|span| span.end as usize).max().unwrap_or_default();
        let lines = std::iter::once(finding.position.line)
            .chain(finding.related.iter().map(|related| related.position.line));
        Window {
            start: source[..first].rfind('\n').map_or(0, |at| at + 1),
            end: source[last..].find('\n').map_or(source.len(), |at| last + at),
            line: lines.min().unwrap_or(1),
        }
    }

    fn span(&self, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
        range.start - self.start..range.end - self.start
    }
}

/// `2 errors, 1 warning`.
pub(crate) fn tally(report: &Report) -> String {
    let kinds = [
        (Severity::Error, ERROR, "error"),
        (Severity::Warning, WARNING, "warning"),
        (Severity::Note, GOOD, "note"),
    ];
    let counted: Vec<String> = kinds
        .into_iter()
        .map(|(severity, style, name)| (report.count(severity), style, name))
        .filter(|(count, ..)| *count > 0)
        .map(|(count, style, name)| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{style}{count} {name}{plural}{style:#}")
        })
        .collect();
    if counted.is_empty() { "no findings".to_owned() } else { counted.join(", ") }
}

/// The same without colours.
pub(crate) fn plain_tally(report: &Report) -> String {
    anstream::adapter::strip_str(&tally(report)).to_string()
}

/// A finding for programs.
#[derive(Debug, Serialize)]
pub(crate) struct FindingJson<'a> {
    rule: &'static str,
    severity: &'static str,
    path: &'a str,
    line: usize,
    column: usize,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<RelatedJson<'a>>,
}

#[derive(Debug, Serialize)]
struct RelatedJson<'a> {
    path: &'a str,
    line: usize,
    column: usize,
    label: &'a str,
}

pub(crate) fn json(report: &Report) -> Vec<FindingJson<'_>> {
    report
        .findings
        .iter()
        .map(|finding| FindingJson {
            rule: finding.rule.code(),
            severity: finding.severity.as_str(),
            path: finding.path.as_str(),
            line: finding.position.line,
            column: finding.position.column,
            message: &finding.message,
            hint: finding.hint.as_deref(),
            related: finding
                .related
                .iter()
                .map(|related| RelatedJson {
                    path: related.path.as_str(),
                    line: related.position.line,
                    column: related.position.column,
                    label: &related.label,
                })
                .collect(),
        })
        .collect()
}
