//! Replies as a tree of elements. Serde cannot follow `xsi:type`, which half of the vSphere API depends on.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use thiserror::Error;

/// No reply nests deeper; what does is not from a vCenter.
const DEEPEST: usize = 100;

/// A reply that cannot be read.
#[derive(Debug, Error)]
pub enum Malformed {
    #[error("the reply is not XML: {0}")]
    Xml(String),
    #[error("the answer is not the expected JSON: {0}")]
    Json(String),
    #[error("the reply is cut off")]
    CutOff,
    #[error("the reply nests more than {DEEPEST} elements")]
    TooDeep,
    #[error("the reply has no `{0}`")]
    Missing(&'static str),
    #[error("`{field}` is not {wanted}: {text:?}")]
    Value { field: &'static str, wanted: &'static str, text: String },
}

/// An element with its text and children. Names are without prefixes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Element {
    pub name: Box<str>,
    /// The dynamic type (`xsi:type`), or the type of a reference (`type`).
    pub kind: Option<Box<str>>,
    /// Whether it is a reference to a managed object.
    pub refers: bool,
    pub text: Box<str>,
    pub children: Vec<Element>,
}

impl Element {
    /// The first child of that name.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| &*child.name == name)
    }

    /// All children of that name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| &*child.name == name)
    }

    /// The element at the end of the names.
    pub fn at(&self, names: &[&str]) -> Option<&Element> {
        names.iter().try_fold(self, |element, name| element.child(name))
    }

    /// The text of the first child of that name; empty without one.
    pub fn text_of(&self, name: &str) -> &str {
        self.child(name).map_or("", |child| &child.text)
    }

    pub fn need(&self, name: &'static str) -> Result<&Element, Malformed> {
        self.child(name).ok_or(Malformed::Missing(name))
    }

    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or_default()
    }

    pub fn integer(&self, field: &'static str) -> Result<i64, Malformed> {
        self.text.trim().parse().map_err(|_| self.wrong(field, "a number"))
    }

    /// XML Schema knows four spellings.
    pub fn boolean(&self, field: &'static str) -> Result<bool, Malformed> {
        match self.text.trim() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(self.wrong(field, "true or false")),
        }
    }

    fn wrong(&self, field: &'static str, wanted: &'static str) -> Malformed {
        Malformed::Value { field, wanted, text: self.text.chars().take(80).collect() }
    }
}

/// Reads a document into its root element.
pub fn parse(xml: &[u8]) -> Result<Element, Malformed> {
    let bad = |error: &dyn std::fmt::Display| Malformed::Xml(error.to_string());
    let text = std::str::from_utf8(xml).map_err(|error| bad(&error))?;
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut open: Vec<(Element, String)> = Vec::new();
    loop {
        let piece = match reader.read_event().map_err(|error| bad(&error))? {
            Event::Start(start) => {
                if open.len() == DEEPEST {
                    return Err(Malformed::TooDeep);
                }
                open.push((element(&start)?, String::new()));
                continue;
            }
            Event::End(_) => {
                let Some((mut element, text)) = open.pop() else { return Err(Malformed::CutOff) };
                // White space between children is layout, white space in a value is the value.
                if element.children.is_empty() {
                    element.text = text.into();
                }
                match open.last_mut() {
                    Some((parent, _)) => parent.children.push(element),
                    None => return Ok(element),
                }
                continue;
            }
            Event::Text(text) => text.xml10_content().into_owned(),
            Event::CData(data) => data.xml10_content().into_owned(),
            Event::GeneralRef(reference) => {
                let entity = format!("&{};", &*reference);
                quick_xml::escape::unescape(&entity).map_err(|error| bad(&error))?.into_owned()
            }
            Event::Eof => return Err(Malformed::CutOff),
            // Declarations and comments say nothing; a document type could only do harm and is not followed.
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {
                continue;
            }
        };
        if let Some((_, collected)) = open.last_mut() {
            collected.push_str(&piece);
        }
    }
}

/// The text of the first element of that name, just as it is in the document.
pub(crate) fn raw<'a>(xml: &'a [u8], name: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(xml).ok()?;
    let mut reader = Reader::from_str(text);
    let position = |reader: &Reader<_>| usize::try_from(reader.buffer_position()).ok();
    let (mut begin, mut depth) = (None, 0_u32);
    loop {
        let before = position(&reader)?;
        match reader.read_event().ok()? {
            Event::Start(start) if begin.is_some() || start.local_name().as_ref() == name => {
                begin.get_or_insert(before);
                depth += 1;
            }
            Event::End(_) if begin.is_some() => {
                depth -= 1;
                if depth == 0 {
                    return text.get(begin?..position(&reader)?);
                }
            }
            Event::Eof => return None,
            _ => {}
        }
    }
}

fn element(start: &BytesStart<'_>) -> Result<Element, Malformed> {
    let (mut kind, mut refers) = (None, false);
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| Malformed::Xml(error.to_string()))?;
        if attribute.key.local_name().as_ref() != "type" {
            continue;
        }
        let value: &str = &attribute.value;
        // Types carry a prefix that says nothing: all are of one namespace.
        let value = value.rsplit(':').next().unwrap_or(value);
        refers |= attribute.key.prefix().is_none();
        // A reference whose type had to be said has both; what it refers to is what matters.
        if attribute.key.prefix().is_none() || kind.is_none() {
            kind = Some(value.into());
        }
    }
    let name = start.local_name().as_ref().into();
    Ok(Element { name, kind, refers, text: Box::default(), children: Vec::new() })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Malformed, parse, raw};

    #[test]
    fn reads_types_entities_and_order() {
        let xml = br#"<?xml version="1.0"?><s:Envelope xmlns:s="x"><!-- c --><s:Body>
            <val xsi:type="xsd:string">a &amp; b &#x20AC;<![CDATA[<c>]]></val>
            <obj type="VirtualMachine">vm-1</obj><empty/>
            <ref type="Folder" xsi:type="ManagedObjectReference">group-1</ref>
            <ref xsi:type="ManagedObjectReference" type="Folder">group-1</ref></s:Body></s:Envelope>"#;
        let root = parse(xml).unwrap();
        let body = root.child("Body").unwrap();
        assert_eq!(&*body.child("val").unwrap().text, "a & b €<c>");
        assert_eq!(body.child("val").unwrap().kind(), "string");
        assert_eq!(body.child("obj").unwrap().kind(), "VirtualMachine");
        assert_eq!(body.text_of("empty"), "");
        assert!(body.all("ref").all(|reference| reference.kind() == "Folder"));
        assert_eq!(body.children.len(), 5);
    }

    #[test]
    fn raw_text_is_not_touched() {
        let xml = br#"<a><s:T x='1'  y="2"><s:T>&amp;<b/></s:T ></s:T><s:T/></a>"#;
        assert_eq!(raw(xml, "T"), Some(r#"<s:T x='1'  y="2"><s:T>&amp;<b/></s:T ></s:T>"#));
        assert_eq!(raw(xml, "X"), None);
    }

    #[rstest]
    #[case::cut_off("<a><b>")]
    #[case::nothing("")]
    #[case::wrong_end("<a></b>")]
    #[case::unknown_entity("<a>&nbsp;</a>")]
    #[case::too_deep(&"<a>".repeat(200))]
    fn refuses(#[case] xml: &str) {
        let _: Malformed = parse(xml.as_bytes()).unwrap_err();
    }
}
