//! The field tables as a JSON Schema, for editors.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{FieldSpec, Object, Shape, Text};

/// A schema in draft 7, the one editors know best.
pub fn json_schema(shape: &Shape, title: &str) -> Value {
    let mut definitions = BTreeMap::new();
    let root = schema(shape, &mut definitions);
    let mut document = Map::new();
    document.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
    document.insert("title".to_owned(), json!(title));
    if let Value::Object(root) = root {
        document.extend(root);
    }
    document.insert("definitions".to_owned(), Value::Object(definitions.into_iter().collect()));
    Value::Object(document)
}

/// Objects go into `definitions` once and are referred to.
fn schema(shape: &Shape, definitions: &mut BTreeMap<String, Value>) -> Value {
    match shape {
        Shape::Text(text) => text_schema(text),
        Shape::Integer { min, max, .. } => {
            let mut schema = json!({"type": "integer", "minimum": min});
            if *max < i64::MAX {
                schema["maximum"] = json!(max);
            }
            schema
        }
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Choice { values, .. } => {
            let names: Vec<_> = values.iter().map(|value| value.name).collect();
            json!({"type": "string", "enum": names})
        }
        Shape::List(item) => json!({"type": "array", "items": schema(item, definitions)}),
        Shape::Map(value) => json!({"type": "object", "additionalProperties": schema(value, definitions)}),
        Shape::Object(object) => {
            let name = definition_name(object, definitions);
            if !definitions.contains_key(&name) {
                // The place is taken first, so that an object may contain itself.
                definitions.insert(name.clone(), json!({"description": object.doc.trim()}));
                let full = object_schema(object, definitions);
                definitions.insert(name.clone(), full);
            }
            json!({"$ref": format!("#/definitions/{name}")})
        }
        Shape::Anything => json!({}),
    }
}

fn text_schema(text: &Text) -> Value {
    // A number or boolean without quotes is text too where text is expected.
    let mut schema = match text.pattern {
        Some(pattern) => json!({"type": "string", "pattern": pattern}),
        None => json!({"type": ["string", "number", "boolean"]}),
    };
    if let Some(length) = text.max_length {
        schema["maxLength"] = json!(length);
    }
    schema
}

/// Two objects of one name, such as the machine pools of two platforms, get a number.
fn definition_name(object: &'static Object, definitions: &BTreeMap<String, Value>) -> String {
    let base = object.name.strip_prefix("Written").unwrap_or(object.name);
    let marker = |name: &str| definitions.get(name).map(|value| value["description"].clone());
    let mine = Value::from(object.doc.trim());
    (1..=definitions.len() + 1)
        .map(|number| if number == 1 { base.to_owned() } else { format!("{base}{number}") })
        .find(|name| marker(name).is_none_or(|description| description == mine))
        .unwrap_or_default()
}

fn object_schema(object: &Object, definitions: &mut BTreeMap<String, Value>) -> Value {
    let mut properties = Map::new();
    for field in object.fields {
        properties.insert(field.key.to_owned(), field_schema(field, definitions));
    }
    let required: Vec<_> =
        object.fields.iter().filter(|field| field.required).map(|field| field.key).collect();
    let mut schema = json!({
        "description": object.doc.trim(),
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn field_schema(field: &FieldSpec, definitions: &mut BTreeMap<String, Value>) -> Value {
    let mut value = schema(&(field.shape)(), definitions);
    if let Some(most) = field.at_most {
        value["maxItems"] = json!(most);
    }
    let mut description = super::paragraph(field.doc);
    if let Some(default) = field.default {
        description.push_str(&format!("\n\nDefault: {default}"));
    }
    if let Some(instead) = field.deprecated {
        description.push_str(&format!("\n\nDeprecated: {instead}"));
    }
    // `null` stands for "not given"; a reference takes no other keywords beside it in draft 7.
    let optional = if field.required { vec![value] } else { vec![value, json!({"type": "null"})] };
    let mut schema = match <[Value; 1]>::try_from(optional) {
        Ok([only]) if only.get("$ref").is_some() => json!({"allOf": [only]}),
        Ok([only]) => only,
        Err(several) => json!({"anyOf": several}),
    };
    schema["description"] = json!(description);
    if field.deprecated.is_some() {
        schema["deprecated"] = json!(true);
    }
    schema
}
