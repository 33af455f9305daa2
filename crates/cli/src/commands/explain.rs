//! `slipway explain`.

use std::fmt::Write;

use anyhow::anyhow;
use serde::Serialize;
use slipway_config::install_config::InstallConfig;
use slipway_config::shape::{FieldInfo, FieldSpec, Shape, lookup, paragraph};

use crate::args::Output;
use crate::exit::Exit;
use crate::output::{FAINT, HEADING, NAME, Printer, WARNING};

const WIDTH: usize = 92;

pub(crate) fn run(path: Option<&str>, printer: &Printer) -> anyhow::Result<Exit> {
    let place = lookup(&InstallConfig::shape(), path.unwrap_or_default()).map_err(|error| {
        let known = match &error.suggestion {
            Some(near) => format!("did you mean `{near}`?"),
            None if error.fields.is_empty() => "it has no fields below it".to_owned(),
            None => format!("its fields are {}", error.fields.join(", ")),
        };
        anyhow!("{error}; {known}")
    })?;
    match printer.output {
        Output::Json => printer.json(&Explanation::of(&place))?,
        Output::Text => printer.data(&text(&place))?,
    }
    Ok(Exit::Ok)
}

fn text(place: &FieldInfo) -> String {
    let mut text = String::new();
    let path = if place.path.is_empty() { "install-config" } else { &place.path };
    let _ = writeln!(text, "{HEADING}{path}{HEADING:#}");
    let _ = writeln!(text, "  {FAINT}{}{FAINT:#}", facts(place.field.as_ref(), &place.shape).join("; "));
    let object = place.shape.object();
    let doc = place.field.map(|field| field.doc).or(object.map(|object| object.doc)).unwrap_or_default();
    let _ = writeln!(text, "\n{}", wrap(&paragraph(doc), 2));
    if let (Some(field), Some(object)) = (place.field, object)
        && paragraph(field.doc) != paragraph(object.doc)
    {
        let each = if matches!(place.shape, Shape::List(_)) { "Each entry: " } else { "" };
        let _ = writeln!(text, "\n{}", wrap(&format!("{each}{}", paragraph(object.doc)), 2));
    }
    if let Some(instead) = place.field.and_then(|field| field.deprecated) {
        let _ = writeln!(text, "  {WARNING}deprecated{WARNING:#}: {instead}");
    }
    if let Shape::Choice { values, .. } = innermost(&place.shape) {
        let _ = writeln!(text, "\n{HEADING}Values{HEADING:#}");
        for value in *values {
            let _ = writeln!(text, "  {NAME}{}{NAME:#}\n{}", value.name, wrap(&paragraph(value.doc), 6));
        }
    }
    if let Some(object) = object {
        let (current, old): (Vec<_>, Vec<_>) =
            object.fields.iter().partition::<Vec<_>, _>(|field| field.deprecated.is_none());
        for (title, fields) in [("Fields", current), ("Deprecated fields", old)] {
            if fields.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\n{HEADING}{title}{HEADING:#}");
            for field in fields {
                let facts = facts(Some(field), &(field.shape)()).join("; ");
                let _ = writeln!(text, "  {NAME}{}{NAME:#}  {FAINT}{facts}{FAINT:#}", field.key);
                let _ = writeln!(text, "{}", wrap(&paragraph(field.deprecated.unwrap_or(field.doc)), 6));
            }
        }
    }
    text
}

fn innermost(shape: &Shape) -> &Shape {
    match shape {
        Shape::List(item) => innermost(item),
        other => other,
    }
}

/// Type, default and so on, in a few words each.
fn facts(field: Option<&FieldSpec>, shape: &Shape) -> Vec<String> {
    let mut facts = vec![kind(shape)];
    if let Shape::Integer { min, max, .. } = shape
        && *max < i64::from(u32::MAX)
    {
        facts.push(format!("{min} to {max}"));
    }
    if let Some(field) = field {
        if field.required || field.needed {
            facts.push("required".to_owned());
        }
        facts.extend(field.at_most.map(|most| format!("at most {most}")));
        facts.extend(field.default.map(|default| format!("default: {default}")));
        if field.ours {
            facts.push("Slipway only".to_owned());
        }
    }
    facts
}

fn kind(shape: &Shape) -> String {
    match shape {
        Shape::Object(_) => "mapping".to_owned(),
        Shape::List(item) => match &**item {
            Shape::Object(_) => "list of mappings".to_owned(),
            item => format!("list: {}", kind(item)),
        },
        other => other.describe(),
    }
}

/// Breaks text into lines of a readable length.
fn wrap(text: &str, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    let indented: Vec<String> = lines.iter().map(|line| format!("{:indent$}{line}", "")).collect();
    indented.join("\n")
}

#[derive(Debug, Serialize)]
struct Explanation {
    path: String,
    #[serde(rename = "type")]
    kind: String,
    description: String,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<Explanation>,
}

impl Explanation {
    fn of(place: &FieldInfo) -> Self {
        let object = place.shape.object();
        let doc = place.field.map(|field| field.doc).or(object.map(|object| object.doc)).unwrap_or_default();
        let below = object.map(|object| object.fields).unwrap_or_default();
        Explanation {
            path: place.path.clone(),
            kind: kind(&place.shape),
            description: paragraph(doc),
            required: place.field.is_some_and(|field| field.required || field.needed),
            default: place.field.and_then(|field| field.default),
            deprecated: place.field.and_then(|field| field.deprecated),
            values: match innermost(&place.shape) {
                Shape::Choice { values, .. } => values.iter().map(|value| value.name).collect(),
                _ => Vec::new(),
            },
            fields: below.iter().map(|field| Explanation::shallow(field, &place.path)).collect(),
        }
    }

    fn shallow(field: &FieldSpec, parent: &str) -> Self {
        let path = if parent.is_empty() { field.key.to_owned() } else { format!("{parent}.{}", field.key) };
        let place = FieldInfo { path, field: Some(*field), shape: (field.shape)() };
        Explanation { fields: Vec::new(), ..Explanation::of(&place) }
    }
}
