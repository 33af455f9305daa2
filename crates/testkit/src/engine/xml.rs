//! XML as the engine reads and writes it. What it writes is made of the JSON form, so that both always say the same.

use std::fmt::Write as _;

use jiff::Timestamp;
use quick_xml::events::Event;
use serde_json::{Map, Value};

/// An element that was read.
#[derive(Debug, Default, Clone)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<Element>,
    pub(super) text: String,
}

/// Nothing if it is not well-formed.
pub(super) fn read(text: &str) -> Option<Element> {
    let mut reader = quick_xml::Reader::from_str(text);
    let mut open = vec![Element::default()];
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => open.push(element(&start)?),
            Event::Empty(start) => {
                let element = element(&start)?;
                open.last_mut()?.children.push(element);
            }
            Event::End(_) => {
                let mut done = open.pop()?;
                if !done.children.is_empty() {
                    done.text.clear();
                }
                open.last_mut()?.children.push(done);
            }
            Event::Text(text) => open.last_mut()?.text.push_str(&text.xml10_content()),
            Event::CData(data) => open.last_mut()?.text.push_str(&data.xml10_content()),
            Event::GeneralRef(reference) => {
                let entity = format!("&{};", &*reference);
                open.last_mut()?.text.push_str(&quick_xml::escape::unescape(&entity).ok()?);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    let mut document = open.pop().filter(|_| open.is_empty())?;
    (document.children.len() == 1).then(|| document.children.remove(0))
}

fn element(start: &quick_xml::events::BytesStart<'_>) -> Option<Element> {
    let name = start.local_name().as_ref().to_owned();
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.ok()?;
        let key = attribute.key.local_name().as_ref().to_owned();
        let value: &str = &attribute.value;
        let value = quick_xml::escape::unescape(value).ok()?;
        attributes.push((key, value.into_owned()));
    }
    Some(Element { name, attributes, children: Vec::new(), text: String::new() })
}

/// In XML these are attributes.
const ATTRIBUTES: [&str; 3] = ["href", "id", "rel"];

/// A document with this root.
pub(super) fn write(root: &str, value: &Value) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n");
    put(&mut text, root, value);
    text
}

fn put(text: &mut String, name: &str, value: &Value) {
    match value {
        Value::Object(object) => put_object(text, name, object),
        Value::Array(items) => items.iter().for_each(|item| put(text, name, item)),
        Value::Null => {}
        scalar => {
            let _ = write!(text, "<{name}>{}</{name}>", escape(&scalar_text(name, scalar)));
        }
    }
}

fn put_object(text: &mut String, name: &str, object: &Map<String, Value>) {
    let _ = write!(text, "<{name}");
    for attribute in ATTRIBUTES {
        if let Some(Value::String(value)) = object.get(attribute) {
            let _ = write!(text, " {attribute}=\"{}\"", escape(value));
        }
    }
    let children = object.iter().filter(|(key, _)| !ATTRIBUTES.contains(&key.as_str()));
    let mut inner = String::new();
    children.for_each(|(key, value)| put(&mut inner, key, value));
    if inner.is_empty() {
        text.push_str("/>");
    } else {
        let _ = write!(text, ">{inner}</{name}>");
    }
}

/// In JSON times are numbers, in XML they are written out.
fn scalar_text(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if name == "time" || name.ends_with("_time") || name == "last_updated" => {
            let time = number.as_i64().and_then(|time| Timestamp::from_millisecond(time).ok());
            time.map_or_else(
                || number.to_string(),
                |time| time.strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string(),
            )
        }
        other => other.to_string(),
    }
}

fn escape(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}
