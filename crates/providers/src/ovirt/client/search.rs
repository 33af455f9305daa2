//! Searches: the engine's own language, in a parameter, with the page in its text.

use std::fmt::Write;

use serde_json::Value;

/// What is asked of a collection.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// `vms`, or a longer path.
    collection: &'a str,
    /// The key its objects stand under: `vm`.
    pub(super) key: &'a str,
    search: Option<String>,
    follow: Option<&'a str>,
}

impl<'a> Query<'a> {
    /// All of a collection that has no search.
    pub fn all(collection: &'a str, key: &'a str) -> Self {
        Query { collection, key, search: None, follow: None }
    }

    /// Those whose field is like a text, in which `*` stands for anything.
    pub fn like(collection: &'a str, key: &'a str, field: &str, text: &str) -> Self {
        Query { search: Some(format!("{field}={}", quoted(text))), ..Query::all(collection, key) }
    }

    /// With what these links lead to.
    #[must_use]
    pub fn follow(self, links: &'a str) -> Self {
        Query { follow: Some(links), ..self }
    }

    /// What is not searched comes in one piece.
    pub(super) fn has_pages(&self) -> bool {
        self.search.is_some()
    }

    pub(super) fn path(&self, page: usize, size: usize) -> String {
        let mut path = self.collection.to_owned();
        let mut parameters = Vec::new();
        if let Some(search) = &self.search {
            // In an order of its own, pages would not fit together.
            let text = format!("{search} sortby name asc page {page}");
            parameters.push(format!("search={}", encoded(&text)));
            parameters.push(format!("max={size}"));
        }
        parameters.extend(self.follow.map(|links| format!("follow={links}")));
        for (index, parameter) in parameters.iter().enumerate() {
            path.push(if index == 0 { '?' } else { '&' });
            path.push_str(parameter);
        }
        path
    }
}

/// A value as the search language takes it. What it cannot express becomes a wildcard: callers compare what they get.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*');
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    let text: String = text.chars().map(|c| if matches!(c, '"' | '\\') { '*' } else { c }).collect();
    format!("\"{text}\"")
}

/// As URLs and forms have it.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'*' => {
                encoded.push(char::from(byte));
            }
            // Writing to a String does not fail.
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

/// Of an empty collection the key is mostly absent.
pub(super) fn items(mut answer: Value, key: &str) -> Vec<Value> {
    match answer.get_mut(key).map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Query, items};

    #[test]
    fn values_are_escaped_and_pages_counted() {
        let query = Query::like("vms", "vm", "name", "barge-x7k2p-*").follow("tags");
        let path = "vms?search=name%3Dbarge-x7k2p-*%20sortby%20name%20asc%20page%202&max=100&follow=tags";
        assert_eq!(query.path(2, 100), path);
        let spaced = Query::like("storagedomains", "storage_domain", "name", "my \"data\" & more");
        assert!(spaced.path(1, 100).contains("name%3D%22my%20*data*%20%26%20more%22%20sortby"));
        assert_eq!(Query::all("tags", "tag").path(1, 100), "tags");
    }

    #[test]
    fn an_empty_collection_has_two_forms() {
        assert!(items(json!({}), "vm").is_empty());
        assert!(items(json!({"vm": []}), "vm").is_empty());
        assert_eq!(items(json!({"vm": [{"id": "1"}]}), "vm").len(), 1);
    }
}
