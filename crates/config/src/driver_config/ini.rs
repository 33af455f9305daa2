//! Sections from and to INI.

use super::keys::{Section, Slot};
use crate::findings::{Findings, Rule};
use crate::gcfg::{self, File, Variable, WriteError, Writer};
use crate::yaml::{FieldPath, Span};

/// A key or section that has no place in the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// `[Section] key`, without the value.
    pub name: String,
    pub line: usize,
    pub reason: &'static str,
}

/// Walks through a file and remembers which sections were not read.
#[derive(Debug)]
pub(super) struct IniReader<'a> {
    text: &'a str,
    file: &'a File,
    taken: Vec<bool>,
    pub(super) leftovers: Vec<Leftover>,
    pub(super) findings: &'a mut Findings,
}

impl<'a> IniReader<'a> {
    pub(super) fn new(text: &'a str, file: &'a File, findings: &'a mut Findings) -> Self {
        IniReader { text, file, taken: vec![false; file.sections.len()], leftovers: Vec::new(), findings }
    }

    /// All variables of a section, however often its header is repeated.
    pub(super) fn section<S: Section>(&mut self, name: &str) -> S {
        let mut section = S::default();
        self.section_into(name, &mut [&mut section as &mut dyn AnySection]);
        section
    }

    /// Variables of a section that is split over several structs.
    pub(super) fn section_into(&mut self, name: &str, parts: &mut [&mut dyn AnySection]) {
        for index in 0..self.file.sections.len() {
            let section = &self.file.sections[index];
            if section.subsection.is_none() && gcfg::same_name(&section.name, name) {
                self.taken[index] = true;
                self.variables(index, name, parts);
            }
        }
    }

    /// Sections with a name in quotes, by that name; without one it is empty, as it is to the drivers.
    pub(super) fn subsections<S: Section>(&mut self, name: &str) -> std::collections::BTreeMap<String, S> {
        let mut found = std::collections::BTreeMap::<String, S>::new();
        for index in 0..self.file.sections.len() {
            let section = &self.file.sections[index];
            if self.taken[index] || !gcfg::same_name(&section.name, name) {
                continue;
            }
            self.taken[index] = true;
            let entry = found.entry(section.subsection.clone().unwrap_or_default()).or_default();
            let shown = section.subsection.as_ref().map_or(name.to_owned(), |sub| format!("{name} {sub:?}"));
            self.variables(index, &shown, &mut [entry as &mut dyn AnySection]);
        }
        found
    }

    fn variables(&mut self, index: usize, section: &str, parts: &mut [&mut dyn AnySection]) {
        let file = self.file;
        for variable in &file.sections[index].variables {
            let taken = parts.iter_mut().find_map(|part| part.store(variable));
            match taken {
                Some(Stored { result, secret }) => {
                    if secret {
                        self.findings.conceal(span(variable));
                    }
                    if let Err(expected) = result {
                        let message = format!("`{}` cannot be read", variable.name);
                        self.findings
                            .error_in(Rule::DriverValue, span(variable), message)
                            .at_path(path(section, &variable.name))
                            .hint(expected);
                    }
                }
                None => self.leave(section, variable, parts),
            }
        }
    }

    /// The drivers ignore what they do not know; we say so.
    fn leave(&mut self, section: &str, variable: &Variable, parts: &[&mut dyn AnySection]) {
        self.findings.conceal(span(variable));
        // Known to the cloud provider, which sets it itself; it is not read any further, but it is read.
        let provider = parts.iter().any(|part| part.ini_keys().contains(&"secretref"));
        if provider && variable.value.is_none() && gcfg::same_name(&variable.name, "tenantref") {
            self.findings
                .error_in(Rule::DriverValue, span(variable), "`tenantref` cannot be read")
                .at_path(path(section, &variable.name))
                .hint("remove it");
            return;
        }
        let near = crate::decode::closest(&variable.name, parts.iter().flat_map(|part| part.ini_keys()));
        let finding = self
            .findings
            .warning_in(
                Rule::DriverKeyUnknown,
                Span::new(variable.offset, variable.offset + variable.name.len()),
                format!("the driver ignores `{}` in [{section}]", variable.name),
            )
            .at_path(path(section, &variable.name));
        match near {
            Some(near) => finding.hint(format!("did you mean `{near}`?")),
            None => finding.hint("remove it"),
        };
        let name = format!("[{section}] {}", variable.name);
        self.leftover(name, variable.offset, "the driver does not know this key");
    }

    pub(super) fn leftover(&mut self, name: String, offset: usize, reason: &'static str) {
        let line = self.text[..offset].bytes().filter(|byte| *byte == b'\n').count() + 1;
        self.leftovers.push(Leftover { name, line, reason });
    }

    /// A section that needs a name in quotes is given without one, which the drivers refuse.
    pub(super) fn refuse_unnamed(&mut self, name: &str) {
        let file = self.file;
        for (index, section) in file.sections.iter().enumerate() {
            if section.subsection.is_none() && gcfg::same_name(&section.name, name) {
                self.taken[index] = true;
                self.findings
                    .error_in(Rule::DriverValue, header(section), format!("[{name}] needs a name in quotes"))
                    .at_path(FieldPath::of(format!("[{name}]")))
                    .hint(format!("write [{name} \"server\"]"));
            }
        }
    }

    /// Reports the sections that were not read.
    pub(super) fn finish(&mut self, known: &[&str]) {
        const REASON: &str = "the driver does not know this section";
        let file = self.file;
        for (section, _) in file.sections.iter().zip(&self.taken.clone()).filter(|(_, taken)| !**taken) {
            let shown = match &section.subsection {
                Some(subsection) => format!("{} {subsection:?}", section.name),
                None => section.name.clone(),
            };
            let hint = match crate::decode::closest(&section.name, known.iter().copied()) {
                Some(near) if gcfg::same_name(near, &section.name) && section.subsection.is_some() => {
                    format!("write [{near}] without a name in quotes")
                }
                Some(near) if gcfg::same_name(near, &section.name) => format!("write [{near} \"name\"]"),
                Some(near) => format!("did you mean [{near}]?"),
                None => "remove it".to_owned(),
            };
            self.findings
                .warning_in(
                    Rule::DriverKeyUnknown,
                    header(section),
                    format!("the driver ignores the section [{shown}]"),
                )
                .at_path(FieldPath::of(format!("[{shown}]")))
                .hint(hint);
            for variable in &section.variables {
                self.findings.conceal(span(variable));
                self.leftover(format!("[{shown}] {}", variable.name), variable.offset, REASON);
            }
            if section.variables.is_empty() {
                self.leftover(format!("[{shown}]"), section.offset, REASON);
            }
        }
    }
}

/// Where a key is written; where its section is, if it is not; nowhere, if there is no such section. An empty key
/// asks for the section.
pub(super) fn find(file: &File, name: &str, subsection: Option<&str>, key: &str) -> Option<Span> {
    let sections = || {
        file.sections.iter().filter(|section| {
            gcfg::same_name(&section.name, name) && section.subsection.as_deref() == subsection
        })
    };
    // The last one counts.
    let variable = sections()
        .flat_map(|section| &section.variables)
        .rfind(|variable| gcfg::same_name(&variable.name, key));
    let header = || sections().next().map(header);
    variable.map(|variable| Span::new(variable.offset, variable.offset + variable.name.len())).or_else(header)
}

/// `[Name`, the part of a header that is always there.
pub(super) fn header(section: &gcfg::Section) -> Span {
    Span::new(section.offset, section.offset + 1 + section.name.len())
}

/// `[Section "name"] key`, as much of it as is given.
pub(super) fn shown(name: &str, subsection: Option<&str>, key: &str) -> FieldPath {
    let section = subsection.map_or(format!("[{name}]"), |subsection| format!("[{name} {subsection:?}]"));
    FieldPath::of(if key.is_empty() { section } else { format!("{section} {key}") })
}

fn path(section: &str, key: &str) -> FieldPath {
    FieldPath::of(format!("[{section}] {key}"))
}

fn span(variable: &Variable) -> Span {
    match &variable.value_span {
        range if range.is_empty() => Span::new(variable.offset, variable.offset + variable.name.len()),
        range => Span::new(range.start, range.end),
    }
}

/// What became of a variable.
pub(super) struct Stored {
    result: Result<(), &'static str>,
    secret: bool,
}

/// A section of any type.
pub(super) trait AnySection {
    /// `None` when the section has no such key.
    fn store(&mut self, variable: &Variable) -> Option<Stored>;

    fn ini_keys(&self) -> Vec<&'static str>;
}

impl<S: Section> AnySection for S {
    fn store(&mut self, variable: &Variable) -> Option<Stored> {
        let index = S::KEYS.iter().position(|key| gcfg::same_name(key.ini, &variable.name))?;
        let mut slots = self.slots_mut();
        let slot: &mut dyn Slot = slots[index];
        let result = slot.read_ini(variable.value.as_deref());
        Some(Stored { result, secret: slot.is_secret() })
    }

    fn ini_keys(&self) -> Vec<&'static str> {
        S::KEYS.iter().map(|key| key.ini).collect()
    }
}

/// The name in quotes of a section that has one.
pub(super) fn quoted(name: &str) -> Option<&str> {
    Some(name).filter(|name| !name.is_empty())
}

/// Writes the keys that are set, if any; `always` writes the header anyway.
pub(super) fn write_section<S: Section>(
    writer: &mut Writer,
    name: &str,
    subsection: Option<&str>,
    section: &S,
    always: bool,
) -> Result<(), WriteError> {
    if section.is_blank() && !always {
        return Ok(());
    }
    writer.section(name, subsection)?;
    write_keys(writer, section)
}

/// Writes the keys that are set into the section that was written last.
pub(super) fn write_keys<S: Section>(writer: &mut Writer, section: &S) -> Result<(), WriteError> {
    for (key, slot) in S::KEYS.iter().zip(section.slots()).filter(|(_, slot)| slot.is_set()) {
        writer.variable(key.ini, &slot.to_ini())?;
    }
    Ok(())
}
