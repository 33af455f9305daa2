//! What requests may say: JSON and XML are read into one form, and what the engine does not know is refused.
//!
//! The form is the engine's JSON: lists are objects with the name of an item as their only key, and scalars are strings.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::fault::Refusal;
use super::xml::Element;

static TYPES: LazyLock<BTreeMap<&'static str, Type>> =
    LazyLock::new(|| read(include_str!("../../files/engine/types.txt")));

/// A struct: its fields.
pub(super) type Type = BTreeMap<&'static str, Field>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    One(Form),
    /// Items, under this name.
    Many(Form, &'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Integer,
    Decimal,
    Boolean,
    Struct(&'static str),
    Any,
}

fn read(text: &'static str) -> BTreeMap<&'static str, Type> {
    let mut types = BTreeMap::new();
    let mut current = "";
    for word in text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace) {
        match word.split_once('=') {
            None => {
                current = word.trim_end_matches(':');
                types.insert(current, Type::new());
            }
            Some((name, form)) => {
                if let Some(fields) = types.get_mut(current) {
                    fields.insert(name, field(form));
                }
            }
        }
    }
    types
}

fn field(form: &'static str) -> Field {
    let Some((form, item)) = form.split_once('*') else { return Field::One(scalar(form)) };
    Field::Many(scalar(form), if item.is_empty() { form } else { item })
}

fn scalar(form: &'static str) -> Form {
    match form {
        "string" | "enum" | "date" => Form::Text,
        "integer" => Form::Integer,
        "decimal" => Form::Decimal,
        "boolean" => Form::Boolean,
        "any" => Form::Any,
        name => Form::Struct(name),
    }
}

/// All of them, for the test that compares them with the published model.
pub fn fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    TYPES.iter().flat_map(|(name, fields)| fields.keys().map(|field| (*name, *field)))
}

/// Reads the body of a request.
pub(super) fn from_json(text: &str, of: &'static str) -> Result<Map<String, Value>, Refusal> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => structure(object, of),
        _ => Err(Refusal::Malformed),
    }
}

fn structure(object: Map<String, Value>, of: &'static str) -> Result<Map<String, Value>, Refusal> {
    let Some(fields) = TYPES.get(of) else { return Ok(object) };
    let mut result = Map::new();
    for (name, value) in object {
        // Every object of the engine's may carry these.
        if matches!(name.as_str(), "href" | "link" | "actions") {
            continue;
        }
        let Some(field) = fields.get(name.as_str()) else {
            return Err(Refusal::Unrecognized { field: name, of });
        };
        if value.is_null() {
            continue;
        }
        result.insert(name, known(value, *field)?);
    }
    Ok(result)
}

fn known(value: Value, field: Field) -> Result<Value, Refusal> {
    match (field, value) {
        (Field::One(form), value) => one(value, form),
        (Field::Many(form, item), Value::Object(mut list)) => {
            let items = match list.remove(item) {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(items)) => items,
                Some(_) => return Err(Refusal::Malformed),
            };
            list.remove("href");
            if !list.is_empty() {
                return Err(Refusal::Malformed);
            }
            let items = items.into_iter().map(|value| one(value, form)).collect::<Result<Vec<_>, _>>()?;
            Ok(Value::Object(Map::from_iter([(item.to_owned(), Value::Array(items))])))
        }
        (Field::Many(..), _) => Err(Refusal::Malformed),
    }
}

fn one(value: Value, form: Form) -> Result<Value, Refusal> {
    let text = match (form, value) {
        (Form::Any, value) => return Ok(value),
        (Form::Struct(name), Value::Object(object)) => return Ok(Value::Object(structure(object, name)?)),
        (Form::Struct(_), _) | (_, Value::Object(_) | Value::Array(_) | Value::Null) => {
            return Err(Refusal::Malformed);
        }
        (_, Value::String(text)) => text,
        (_, value) => value.to_string(),
    };
    let valid = match form {
        Form::Integer => text.parse::<i64>().is_ok(),
        Form::Decimal => text.parse::<f64>().is_ok(),
        Form::Boolean => matches!(text.as_str(), "true" | "false"),
        _ => true,
    };
    if valid { Ok(Value::String(text)) } else { Err(Refusal::Malformed) }
}

/// The same from XML, where the engine skips what it does not know.
pub(super) fn from_xml(root: &Element, of: &'static str) -> Result<Map<String, Value>, Refusal> {
    let Some(fields) = TYPES.get(of) else { return Ok(Map::new()) };
    let mut result = Map::new();
    for (name, value) in &root.attributes {
        if fields.contains_key(name.as_str()) {
            result.insert(name.clone(), Value::String(value.clone()));
        }
    }
    for child in &root.children {
        let Some(field) = fields.get(child.name.as_str()) else { continue };
        let value = match *field {
            Field::One(form) => one_of_xml(child, form)?,
            Field::Many(form, item) => {
                let items = child.children.iter().filter(|element| element.name == item);
                let items = items.map(|element| one_of_xml(element, form)).collect::<Result<Vec<_>, _>>()?;
                Value::Object(Map::from_iter([(item.to_owned(), Value::Array(items))]))
            }
        };
        result.insert(child.name.clone(), value);
    }
    Ok(result)
}

fn one_of_xml(element: &Element, form: Form) -> Result<Value, Refusal> {
    match form {
        Form::Struct(name) => Ok(Value::Object(from_xml(element, name)?)),
        Form::Any => Ok(Value::Object(Map::new())),
        _ => one(Value::String(element.text.clone()), form),
    }
}
