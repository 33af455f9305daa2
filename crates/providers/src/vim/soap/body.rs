//! Requests, written element by element: what is text is escaped, whatever it holds.

use std::fmt;
use std::fmt::{Display, Write};

use super::element::Element;
use crate::vim::moref::Reference;

/// The content of a request or of a data object in it. Order matters: it is that of the schema.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Body(String);

/// Requests hold passwords and first-boot configurations.
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.0.len())
    }
}

impl Body {
    pub fn new() -> Self {
        Body::default()
    }

    /// An element with text, a number or a truth value.
    #[must_use]
    pub fn text(mut self, name: &str, value: impl Display) -> Self {
        self.open(name, None);
        escape(&mut self.0, &value.to_string());
        self.close(name);
        self
    }

    /// The same, if there is something.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    /// A text whose type must be said, where the schema leaves it open.
    #[must_use]
    pub fn any(mut self, name: &str, kind: &str, value: impl Display) -> Self {
        self.open(name, Some(&format!("xsd:{kind}")));
        escape(&mut self.0, &value.to_string());
        self.close(name);
        self
    }

    /// A reference to a managed object.
    #[must_use]
    pub fn reference(mut self, name: &str, reference: &Reference) -> Self {
        // Only names of our own and ids of the server come here; ids are escaped like any text.
        let _ = write!(self.0, "<{name} type=\"");
        escape(&mut self.0, &reference.kind);
        self.0.push_str("\">");
        escape(&mut self.0, &reference.id);
        self.close(name);
        self
    }

    /// A data object of the type the schema expects.
    #[must_use]
    pub fn object(mut self, name: &str, body: &Body) -> Self {
        self.open(name, None);
        self.0.push_str(&body.0);
        self.close(name);
        self
    }

    /// A data object of a more special type.
    #[must_use]
    pub fn typed(mut self, name: &str, kind: &str, body: &Body) -> Self {
        self.open(name, Some(kind));
        self.0.push_str(&body.0);
        self.close(name);
        self
    }

    /// What came in a reply, sent back under another name.
    #[must_use]
    pub fn echo(self, name: &str, element: &Element) -> Self {
        if element.refers {
            return self.reference(name, &Reference::of(element));
        }
        let content = if element.children.is_empty() {
            let mut content = Body::new();
            escape(&mut content.0, &element.text);
            content
        } else {
            Body::new().each(&element.children, |body, child| body.echo(&child.name, child))
        };
        match element.kind.as_deref() {
            // The basic types are those with small letters; their prefix was dropped when they were read.
            Some(kind) if kind.starts_with(|first: char| first.is_ascii_lowercase()) => {
                self.typed(name, &format!("xsd:{kind}"), &content)
            }
            Some(kind) => self.typed(name, kind, &content),
            None => self.object(name, &content),
        }
    }

    /// One element per item.
    #[must_use]
    pub fn each<T>(self, items: impl IntoIterator<Item = T>, add: impl FnMut(Self, T) -> Self) -> Self {
        items.into_iter().fold(self, add)
    }

    /// The part, if there is something to say.
    #[must_use]
    pub fn optional<T>(self, value: Option<T>, add: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => add(self, value),
            None => self,
        }
    }

    fn open(&mut self, name: &str, kind: Option<&str>) {
        let _ = match kind {
            Some(kind) => write!(self.0, "<{name} xsi:type=\"{kind}\">"),
            None => write!(self.0, "<{name}>"),
        };
    }

    fn close(&mut self, name: &str) {
        let _ = write!(self.0, "</{name}>");
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }

    /// The whole message for a method of an object. The header is XML.
    pub(crate) fn envelope(&self, method: &str, this: &Reference, namespace: &str, header: &str) -> String {
        let this = Body::new().reference("_this", this);
        let content = format!("<{method} xmlns=\"{namespace}\">{}{}</{method}>", this.0, self.0);
        envelope(header, &content)
    }
}

/// A message with its header and body, both XML.
pub(crate) fn envelope(header: &str, body: &str) -> String {
    let header =
        if header.is_empty() { String::new() } else { format!("<soapenv:Header>{header}</soapenv:Header>") };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><soapenv:Envelope \
         xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" \
         xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">{header}<soapenv:Body>{body}</soapenv:Body>\
         </soapenv:Envelope>"
    )
}

/// Characters that XML 1.0 cannot carry become the replacement character: a server would refuse the message.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // A bare carriage return would be read as a line feed.
            '\r' => out.push_str("&#13;"),
            '\t' | '\n' => out.push(c),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Body;
    use crate::vim::moref::Reference;
    use crate::vim::soap::element::parse;

    proptest! {
        /// What is written is read back, whatever it is.
        #[test]
        fn any_text_survives(text in "\\PC*", id in "\\PC+") {
            let this = Reference::new("Folder", &id);
            let message = Body::new().text("name", &text).any("value", "string", &text);
            let root = parse(message.envelope("Rename", &this, "urn:vim25", "").as_bytes()).unwrap();
            let call = root.at(&["Body", "Rename"]).unwrap();
            prop_assert_eq!(call.text_of("name"), &text);
            prop_assert_eq!(call.text_of("value"), &text);
            prop_assert_eq!(call.text_of("_this"), &id);
            let echo = Body::new().echo("Rename", call).envelope("Again", &this, "urn:vim25", "");
            let again = parse(echo.as_bytes()).unwrap();
            prop_assert_eq!(again.at(&["Body", "Again", "Rename"]).unwrap(), call);
        }
    }
}
