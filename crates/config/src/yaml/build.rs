//! Parser events into a [`Document`], within limits.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Options, Parser, ScalarStyle, Span as ParserSpan, Tag};

use super::{At, Document, Entry, Node, Span, Step, Style, Value};
use crate::findings::{Findings, Rule};

/// What a document may cost. Far beyond any real configuration, and small enough that a hostile one
/// neither fills the memory nor takes noticeable time.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub bytes: usize,
    /// Nodes after aliases are expanded.
    pub nodes: usize,
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 8 << 20, nodes: 400_000, depth: 64 }
    }
}

/// Reads one YAML document. Problems go to `findings`; `None` means there is nothing to decode.
pub fn parse(text: &str, limits: Limits, findings: &mut Findings) -> Option<Document> {
    if text.len() > limits.bytes {
        // The caller may have stopped reading there.
        let message = format!("the file has more than {} bytes, and is not read", limits.bytes);
        findings.error(Rule::DocumentTooLarge, At::ROOT, message);
        return None;
    }
    let mut builder = Builder::new(text, limits);
    let mut options = Options::default();
    options.flow_nesting_limit = limits.depth;
    options.block_nesting_limit = limits.depth;
    for event in Parser::new_from_str_with_options(text, options) {
        let step = match event {
            Ok((event, span)) => builder.event(event, span),
            Err(error) => {
                let offset = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
                Err(syntax_problem(text, offset, &error.kind().to_string()))
            }
        };
        if let Err(problem) = step {
            builder.problems.push(problem);
            builder.broken = true;
            break;
        }
    }
    builder.finish(findings)
}

/// What the parser complains about, or what it stumbled over.
fn syntax_problem(text: &str, offset: usize, parser: &str) -> Problem {
    if let Some(tab) = tab_near(text, offset) {
        return Problem::new(Rule::YamlSyntax, point(text, tab), "this line is indented with a tab")
            .hint("indent with spaces; YAML does not allow tabs");
    }
    Problem::new(Rule::YamlSyntax, point(text, offset), syntax_message(parser))
        .hint(syntax_hint(text, offset))
}

/// The parser's words, as a lower-case fragment like every other message.
fn syntax_message(parser: &str) -> String {
    let mut chars = parser.chars();
    let lowered: String = chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect();
    format!("this is not valid YAML: {lowered}")
}

/// A tab that indents the line of an error, or the one after it: the parser complains about the place where it began to
/// look for the next word.
fn tab_near(text: &str, offset: usize) -> Option<usize> {
    const LINES: usize = 2;
    let mut start = text[..text.floor_char_boundary(offset)].rfind('\n').map_or(0, |at| at + 1);
    let mut lines = 0;
    for line in text[start..].split_inclusive('\n') {
        if !line.trim().is_empty() {
            lines += 1;
            let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
            let tab = line[..indentation].find('\t');
            if tab.is_some() || lines == LINES {
                return tab.map(|tab| start + tab);
            }
        }
        start += line.len();
    }
    None
}

/// The usual suspects, by what the line looks like.
fn syntax_hint(text: &str, offset: usize) -> &'static str {
    let nearby = text.floor_char_boundary(offset.saturating_sub(200))
        ..text.ceil_char_boundary((offset + 80).min(text.len()));
    let mut lines = text[nearby].lines();
    if lines.any(|line| {
        line.split_once(": ").is_some_and(|(_, value)| value.starts_with(['@', '%', '`', '&', '*', '!']))
    }) {
        return "put a value that starts with @, %, `, &, * or ! into quotes";
    }
    "check indentation, quotes and the colon before this place"
}

/// The character at `offset`, or the last one before the end of the text.
fn point(text: &str, offset: usize) -> Span {
    let mut start = offset;
    while start > 0 && (start == text.len() || !text.is_char_boundary(start)) {
        start -= 1;
    }
    let width = text[start..].chars().next().map_or(0, char::len_utf8);
    Span::new(start, start + width)
}

struct Problem {
    rule: Rule,
    span: Span,
    message: String,
    hint: Option<String>,
    /// The mapping and key it is about, where there is one.
    place: Option<(At, Box<str>)>,
}

impl Problem {
    fn new(rule: Rule, span: Span, message: impl Into<String>) -> Self {
        Problem { rule, span, message: message.into(), hint: None, place: None }
    }

    fn hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }
}

/// A collection whose end has not been seen yet.
struct Open {
    at: At,
    anchor: usize,
    /// Keys seen so far, and the key that waits for its value. `None` in a list.
    map: Option<OpenMap>,
}

#[derive(Default)]
struct OpenMap {
    seen: HashSet<Box<str>>,
    key: Option<(Box<str>, Span, bool)>,
    merges: Vec<At>,
}

struct Builder<'a> {
    text: &'a str,
    limits: Limits,
    nodes: Vec<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, At>,
    documents: usize,
    problems: Vec<Problem>,
    broken: bool,
}

type Result<T> = std::result::Result<T, Problem>;

impl<'a> Builder<'a> {
    fn new(text: &'a str, limits: Limits) -> Self {
        Builder {
            text,
            limits,
            nodes: Vec::new(),
            open: Vec::new(),
            anchors: HashMap::new(),
            documents: 0,
            problems: Vec::new(),
            broken: false,
        }
    }

    fn event(&mut self, event: Event<'_>, span: ParserSpan) -> Result<()> {
        let span = self.span(&span);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Problem::new(
                        Rule::YamlDocuments,
                        span,
                        "a second YAML document starts here, but one file describes one cluster",
                    )
                    .hint("keep one document and put the rest into files of their own"));
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(&text, style, anchor, tag.as_deref(), span)
            }
            Event::SequenceStart(_, anchor, tag) => {
                check_collection_tag(tag.as_deref(), "seq", span)?;
                self.start(Value::List(Vec::new()), anchor, None, span)
            }
            Event::MappingStart(_, anchor, tag) => {
                check_collection_tag(tag.as_deref(), "map", span)?;
                self.start(Value::Map(Vec::new()), anchor, Some(OpenMap::default()), span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor, span),
            _ => Ok(()),
        }
    }

    /// A span of the parser in bytes.
    fn span(&self, span: &ParserSpan) -> Span {
        let clamp = |offset: Option<usize>| offset.unwrap_or(0).min(self.text.len());
        let start = clamp(span.start.byte_offset());
        Span::new(start, clamp(span.end.byte_offset()).max(start))
    }

    /// The span without white space at its end, and of its first line only if `one_line`.
    fn trimmed(&self, span: Span, one_line: bool) -> Span {
        let start = span.start as usize;
        let source = if one_line { self.text[start..].lines().next() } else { self.text.get(span.range()) };
        Span::new(start, start + source.unwrap_or_default().trim_end().len())
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<()> {
        let tagged_text = match tag {
            None => false,
            Some(tag) if tag.is_yaml_core_schema() => match tag.suffix() {
                "str" => true,
                "null" | "bool" | "int" | "float" => false,
                _ => return Err(unsupported_tag(span)),
            },
            Some(_) => return Err(unsupported_tag(span)),
        };
        let style = match style {
            ScalarStyle::Plain if !tagged_text => Style::Plain,
            _ => Style::Text,
        };
        // A block scalar's span includes the line break after it; point at its text only.
        let span = self.trimmed(span, false);

        if let Some(open) = self.open.last_mut()
            && let Some(map) = &mut open.map
            && map.key.is_none()
        {
            if anchor != 0 {
                return Err(Problem::new(Rule::YamlUnsupported, span, "an anchor on a key is not supported"));
            }
            let merge = style == Style::Plain && text == "<<";
            if !map.seen.insert(text.into()) {
                let message = format!("the key `{}` is given twice in this mapping", printable(text));
                let mut problem = Problem::new(Rule::DuplicateKey, span, message).hint("keep one of the two");
                problem.place = Some((open.at, text.into()));
                self.problems.push(problem);
            }
            map.key = Some((text.into(), span, merge));
            return Ok(());
        }
        let at = self.add(Value::Scalar { text: text.into(), style }, span)?;
        self.remember(anchor, at);
        self.attach(at);
        Ok(())
    }

    fn start(&mut self, value: Value, anchor: usize, map: Option<OpenMap>, span: Span) -> Result<()> {
        if let Some(map) = self.open.last().and_then(|open| open.map.as_ref())
            && map.key.is_none()
        {
            return Err(complex_key(span));
        }
        if self.open.len() >= self.limits.depth {
            return Err(self.too_deep(span));
        }
        // A collection is marked by its first line.
        let at = self.add(value, self.trimmed(span, true))?;
        self.open.push(Open { at, anchor, map });
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        if let Some(map) = open.map {
            for source in map.merges {
                self.merge(open.at, source)?;
            }
        }
        self.remember(open.anchor, open.at);
        self.attach(open.at);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<()> {
        if let Some(map) = self.open.last().and_then(|open| open.map.as_ref())
            && map.key.is_none()
        {
            return Err(complex_key(span));
        }
        let Some(&source) = self.anchors.get(&anchor) else {
            let message = "this alias refers to a value that contains it";
            return Err(Problem::new(Rule::YamlUnsupported, span, message)
                .hint("write the value out instead of using the alias"));
        };
        let at = self.copy(source, self.open.len(), span)?;
        self.attach(at);
        Ok(())
    }

    fn add(&mut self, value: Value, span: Span) -> Result<At> {
        if self.nodes.len() >= self.limits.nodes {
            let message = format!("the document has more than {} values", self.limits.nodes);
            return Err(Problem::new(Rule::DocumentTooLarge, span, message)
                .hint("an alias counts each time it is used"));
        }
        let at = At(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(Node { parent: at, step: Step::Root, span, key_span: None, value });
        Ok(at)
    }

    fn remember(&mut self, anchor: usize, at: At) {
        if anchor != 0 {
            self.anchors.insert(anchor, at);
        }
    }

    /// Hangs a finished node into the collection that is open.
    fn attach(&mut self, at: At) {
        let Some(open) = self.open.last_mut() else { return };
        let parent = open.at;
        match &mut open.map {
            None => {
                if let Value::List(items) = &mut self.nodes[parent.index()].value {
                    let index = items.len();
                    items.push(at);
                    self.place(at, parent, Step::Index(index), None);
                }
            }
            Some(map) => {
                let Some((key, key_span, merge)) = map.key.take() else { return };
                if merge {
                    map.merges.push(at);
                } else {
                    self.insert(parent, Entry { key, key_span, at });
                }
            }
        }
    }

    fn insert(&mut self, parent: At, entry: Entry) {
        self.place(entry.at, parent, Step::Key(entry.key.clone()), Some(entry.key_span));
        if let Value::Map(entries) = &mut self.nodes[parent.index()].value {
            entries.push(entry);
        }
    }

    fn place(&mut self, at: At, parent: At, step: Step, key_span: Option<Span>) {
        let node = &mut self.nodes[at.index()];
        node.parent = parent;
        node.step = step;
        node.key_span = key_span;
    }

    /// A copy of a finished subtree, so that every use of an alias has a path of its own.
    fn copy(&mut self, source: At, depth: usize, alias: Span) -> Result<At> {
        if depth > self.limits.depth {
            return Err(self.too_deep(alias));
        }
        let Node { span, value, .. } = self.nodes[source.index()].clone();
        match value {
            Value::Scalar { .. } => self.add(value, span),
            Value::List(items) => {
                let at = self.add(Value::List(Vec::with_capacity(items.len())), span)?;
                for (index, item) in items.into_iter().enumerate() {
                    let copy = self.copy(item, depth + 1, alias)?;
                    self.place(copy, at, Step::Index(index), None);
                    if let Value::List(items) = &mut self.nodes[at.index()].value {
                        items.push(copy);
                    }
                }
                Ok(at)
            }
            Value::Map(entries) => {
                let at = self.add(Value::Map(Vec::with_capacity(entries.len())), span)?;
                for Entry { key, key_span, at: value } in entries {
                    let value = self.copy(value, depth + 1, alias)?;
                    self.insert(at, Entry { key, key_span, at: value });
                }
                Ok(at)
            }
        }
    }

    /// `<<: *defaults`: the keys that the mapping does not give itself.
    fn merge(&mut self, into: At, source: At) -> Result<()> {
        let span = self.nodes[source.index()].span;
        let sources = match &self.nodes[source.index()].value {
            Value::Map(_) => vec![source],
            Value::List(items) => items.clone(),
            Value::Scalar { .. } => Vec::new(),
        };
        let mut present: HashSet<Box<str>> = match &self.nodes[into.index()].value {
            Value::Map(entries) => entries.iter().map(|entry| entry.key.clone()).collect(),
            _ => HashSet::new(),
        };
        if sources.is_empty() {
            return Err(merge_source(span));
        }
        for source in sources {
            let Value::Map(entries) = &self.nodes[source.index()].value else {
                return Err(merge_source(span));
            };
            for entry in entries.clone() {
                if present.insert(entry.key.clone()) {
                    self.insert(into, entry);
                }
            }
        }
        Ok(())
    }

    fn too_deep(&self, span: Span) -> Problem {
        let message = format!("values are nested more than {} levels deep here", self.limits.depth);
        Problem::new(Rule::DocumentTooLarge, span, message)
    }

    fn finish(self, findings: &mut Findings) -> Option<Document> {
        // The first node added is the outermost one.
        let document = (!self.nodes.is_empty()).then_some(Document { nodes: self.nodes });
        for Problem { rule, span, message, hint, place } in self.problems {
            let finding = findings.error_in(rule, span, message).hint_opt(hint);
            if let (Some(document), Some((parent, key))) = (&document, place) {
                let mut path = document.path(parent);
                path.push_key(&key);
                finding.at_path(path);
            }
        }
        if document.is_none() && !self.broken {
            findings.error(Rule::DocumentEmpty, At::ROOT, "the file is empty".to_owned());
        }
        document.filter(|_| !self.broken)
    }
}

fn check_collection_tag(tag: Option<&Tag>, expected: &str, span: Span) -> Result<()> {
    match tag {
        None => Ok(()),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix() == expected => Ok(()),
        Some(_) => Err(unsupported_tag(span)),
    }
}

fn unsupported_tag(span: Span) -> Problem {
    Problem::new(Rule::YamlUnsupported, span, "this YAML tag is not supported")
        .hint("write the value without the `!…` before it")
}

fn complex_key(span: Span) -> Problem {
    Problem::new(Rule::YamlUnsupported, span, "a key must be a single word")
}

fn merge_source(span: Span) -> Problem {
    Problem::new(Rule::YamlUnsupported, span, "`<<` merges mappings only")
        .hint("point it at an anchor on a mapping: `<<: *defaults`")
}

/// Keys are echoed in messages: without control characters and not at any length.
pub(crate) fn printable(text: &str) -> String {
    const MAX_SHOWN: usize = 80;
    let mut shown: String =
        text.chars().take(MAX_SHOWN).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
