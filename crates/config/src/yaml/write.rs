//! YAML for readers written in Go.

use serde_saphyr::{SerializerOptions, to_string_with_options};

/// A document in which words that YAML 1.1 takes for something else are quoted. Lines are never folded:
/// what looks like one line is one line.
pub fn to_yaml(value: &serde_json::Value) -> String {
    let mut options = SerializerOptions::default();
    options.folded_wrap_chars = usize::MAX;
    // JSON values always have a YAML form.
    to_string_with_options(value, options).unwrap_or_default()
}
