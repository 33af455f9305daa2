//! Source text that can be shown: the same text with every secret blanked out.

use crate::private_url::secrets_in;
use crate::yaml::Span;

/// Words in a key that make its value a secret, whatever the field is called in the end: a misspelt
/// `pasword` or a file that does not even parse must not show what stands behind it.
const SECRET_WORDS: [&str; 6] = ["pas", "pwd", "secret", "token", "cred", "auth"];
/// Fields of ours with such a word in their name and nothing secret in their value.
const PUBLIC_KEYS: [&str; 8] = [
    "passwordfile",
    "passwordenv",
    "credentialsmode",
    "authority",
    "secretname",
    "secretnamespace",
    "secretsdirectory",
    "secretnotmanaged",
];

/// Blanks out `secrets` and everything that looks like one. Each byte of a blanked character becomes
/// `*`, so that spans into the text stay valid.
pub fn redact(text: &str, secrets: &[Span]) -> String {
    let mut shown = text.as_bytes().to_vec();
    for span in secrets {
        if let Some(bytes) = shown.get_mut(span.range()) {
            blank(bytes);
        }
    }
    let mut hidden: Option<Hidden> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '-']).len();
        let content = line.trim();
        if let Some(Hidden { indent: outer, quote }) = &mut hidden {
            match quote {
                // A quoted value goes on until its quote, however the lines are indented.
                Some(open) => {
                    let closed = closes(line, *open);
                    blank(&mut shown[offset..offset + line.len()]);
                    offset += line.len();
                    if closed {
                        hidden = None;
                    }
                    continue;
                }
                None if !content.is_empty() && indent <= *outer => hidden = None,
                None => {}
            }
        }
        if hidden.is_some() {
            blank(&mut shown[offset + indent..offset + line.len()]);
        } else if let Some(value) = secret_value(line) {
            blank(&mut shown[offset + value..offset + line.len()]);
            let text = line[value..].trim_start();
            let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
            let quote = quote.filter(|quote| !closes(&text[1..], *quote));
            hidden = Some(Hidden { indent, quote });
        }
        for part in secrets_in(line) {
            blank(&mut shown[offset + part.start..offset + part.end]);
        }
        offset += line.len();
    }
    // Only whole characters were replaced by ASCII, so this never loses anything.
    String::from_utf8_lossy(&shown).into_owned()
}

/// A secret that goes on over several lines.
struct Hidden {
    indent: usize,
    /// The quote that ends it.
    quote: Option<char>,
}

/// Whether a quoted text ends in this piece of it.
fn closes(text: &str, quote: char) -> bool {
    let mut escaped = false;
    text.chars().any(|c| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && quote == '"' && !escaped;
        ends
    })
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| !byte.is_ascii_whitespace()) {
        *byte = b'*';
    }
}

/// Where the value of the first secret-looking key on this line starts.
fn secret_value(line: &str) -> Option<usize> {
    // A line that is no `key: value` at all may still start with the name of a secret.
    let start = line.len() - line.trim_start_matches([' ', '-', '\t']).len();
    let word = line[start..].split([' ', '\t']).next().unwrap_or_default();
    let rest = line[start + word.len()..].trim_start();
    if is_secret_key(word) && !word.contains([':', '=']) && !rest.starts_with([':', '=']) {
        return Some(start + word.len());
    }
    let mut from = 0;
    while let Some(colon) = line[from..].find([':', '=']).map(|at| from + at) {
        from = colon + 1;
        if !line[..colon]
            .ends_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '\'' | ' ' | '_' | '-'))
        {
            continue;
        }
        // Keys are short; looking further back would cost the square of a long line.
        let nearby = line.floor_char_boundary(colon.saturating_sub(128))..colon;
        let key = line[nearby].trim_end().rsplit(['{', ',', ' ', '\t']).next().unwrap_or_default();
        if is_secret_key(key) {
            return Some(colon + 1);
        }
    }
    None
}

fn is_secret_key(key: &str) -> bool {
    let key: String =
        key.chars().take(128).filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    SECRET_WORDS.iter().any(|word| key.contains(word)) && !PUBLIC_KEYS.contains(&key.as_str())
}

/// The same for a text that is not YAML.
pub(super) fn redact_urls(text: &str) -> String {
    let mut shown = text.as_bytes().to_vec();
    for part in secrets_in(text) {
        blank(&mut shown[part]);
    }
    String::from_utf8_lossy(&shown).into_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::redact;

    #[rstest]
    #[case::plain("password: hunter2\nuser: bob\n", "password: *******\nuser: bob\n")]
    #[case::misspelt("- pasword: x1\n", "- pasword: **\n")]
    #[case::pass_word("- vcPass: 'a b'\n", "- vcPass: ** **\n")]
    #[case::flow("{user: bob, password: p, port: 1}", "{user: bob, password: ** ***** **")]
    #[case::block(
        "pullSecret: |\n  {\"auths\": 1}\n  x\nnext: 1\n",
        "pullSecret: *\n  ********* **\n  *\nnext: 1\n"
    )]
    #[case::json("  {\"auth\": \"abc\"}\n", "  {\"auth\": ******\n")]
    #[case::unicode("password: pä\n", "password: ***\n")]
    #[case::proxy("httpProxy: http://me:pw@proxy:3128/\n", "httpProxy: http://*****@proxy:3128/\n")]
    #[case::odd_proxy("httpProxy: http://me:p/w#x@proxy:3128/\n", "httpProxy: http://********@proxy:3128/\n")]
    #[case::no_scheme("httpProxy: me:pw@proxy:3128\n", "httpProxy: *****@proxy:3128\n")]
    #[case::signed("image: http://h/x?sha256=1&sig=ab\n", "image: http://h/x?sha256=1&sig=**\n")]
    #[case::user("user: me@vsphere.local\n", "user: me@vsphere.local\n")]
    #[case::next_line("password:\n  hunter2 @foo: %\nnext: 1\n", "password:\n  ******* ***** *\nnext: 1\n")]
    #[case::no_sign("[Global]\npassword hunter2\nuser=a\n", "[Global]\npassword *******\nuser=a\n")]
    #[case::open_quote(
        "  password: \"ab\n hunter2 x\"\nnext: 1\n",
        "  password: ***\n ******* **\nnext: 1\n"
    )]
    #[case::ini("password = hunter2\nsecret-name = creds\n", "password = *******\nsecret-name = creds\n")]
    #[case::file("passwordFile: /etc/pw\n", "passwordFile: /etc/pw\n")]
    fn hides_secrets(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(redact(text, &[]), shown);
    }
}
