//! YAML for readers written in Go.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use serde_saphyr::{LitStr, SerializerOptions, to_string_with_options};

/// A document in which words that YAML 1.1 takes for something else are quoted. Lines are never folded:
/// what looks like one line is one line.
pub fn to_yaml(value: &Value) -> String {
    let mut options = SerializerOptions::default();
    options.folded_wrap_chars = usize::MAX;
    options.prefer_block_scalars = false;
    // JSON values always have a YAML form.
    to_string_with_options(&Node(value), options).unwrap_or_default()
}

/// A value whose texts of several lines are written as blocks, where every reader agrees on what a block is.
struct Node<'a>(&'a Value);

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if is_plain_block(text) => LitStr(text).serialize(serializer),
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&Node(item))?;
                }
                list.end()
            }
            Value::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, member) in members {
                    map.serialize_entry(key, &Node(member))?;
                }
                map.end()
            }
            other => other.serialize(serializer),
        }
    }
}

/// Several lines without anything at their edges that YAML readers treat differently: Go's refuses a block
/// that starts with a tab.
fn is_plain_block(text: &str) -> bool {
    let lines = text.strip_suffix('\n').unwrap_or(text);
    lines.contains('\n')
        && !lines.starts_with([' ', '\n'])
        && !lines.ends_with('\n')
        && !text
            .chars()
            .any(|c| c != '\n' && (c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}')))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::to_yaml;

    #[test]
    fn texts_keep_their_lines() {
        let value =
            json!({"script": "#!/bin/sh\n  exit 0\n", "tab": "\ta\nb", "word": "yes", "list": ["a: b", ""]});
        insta::assert_snapshot!(to_yaml(&value), @r##"
        script: |
          #!/bin/sh
            exit 0
        tab: "\ta\nb"
        word: "yes"
        list:
        - "a: b"
        - ""
        "##);
    }
}
