//! YAML as plain values, for documents that are passed on rather than decoded.

use serde_json::{Map, Number, Value as Json};

use super::{At, Document, Limits, Style, Value, parse};
use crate::findings::{Findings, Report};

/// Reads one document as the tools of the Kubernetes world, which are written in Go, would.
pub fn from_yaml(text: &str) -> Result<Json, Report> {
    let mut findings = Findings::default();
    let document = parse(text, Limits::default(), &mut findings);
    match document {
        Some(document) if !findings.has_errors() => Ok(json(&document, At::ROOT)),
        document => Err(findings.report(document.as_ref(), text)),
    }
}

fn json(document: &Document, at: At) -> Json {
    let value = document.value(at);
    match value {
        Value::Scalar { .. } if value.is_null() => Json::Null,
        Value::Scalar { text, style: Style::Text } => Json::from(&**text),
        Value::Scalar { text, style: Style::Plain } => plain(text),
        Value::List(items) => items.iter().map(|&item| json(document, item)).collect(),
        Value::Map(entries) => {
            let members = entries.iter().map(|entry| (entry.key.to_string(), json(document, entry.at)));
            Json::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// A word without quotes. Go's reader still knows the booleans of YAML 1.1.
fn plain(text: &str) -> Json {
    match text {
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y" => Json::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N" => {
            Json::Bool(false)
        }
        _ => number(text).map_or_else(|| Json::from(text), Json::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    // `inf` and `nan` are numbers to Rust, and readers differ about `007`: such words stay words.
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit())
        || (digits.starts_with('0') && digits[1..].starts_with(|c: char| c.is_ascii_digit()))
    {
        return None;
    }
    let integer =
        text.parse::<i64>().ok().map(Number::from).or_else(|| text.parse::<u64>().ok().map(Number::from));
    integer.or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::from_yaml;

    #[test]
    fn values_keep_their_types() {
        let text = "a: 1\nb: '1'\nc: [yes, \"no\", ~, 1.5, 1.2.3, 010]\nd: |\n  text\n";
        let expected = json!({"a": 1, "b": "1", "c": [true, "no", null, 1.5, "1.2.3", "010"], "d": "text\n"});
        assert_eq!(from_yaml(text).unwrap(), expected);
        assert_eq!(from_yaml(r#"{"kind": "Secret"}"#).unwrap(), json!({"kind": "Secret"}));
    }

    #[test]
    fn what_cannot_be_read_is_explained() {
        assert!(from_yaml("a: [1").unwrap_err().has_errors());
        assert!(from_yaml("a: 1\n---\nb: 2\n").unwrap_err().has_errors());
    }
}
