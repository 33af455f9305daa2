//! What must not be in the archive.
//!
//! Three nets: every secret that is known is looked for, as it is and as base64; what looks like a secret is taken out by its
//! form; and in objects, by the name of its field.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

const REMOVED: &str = "<removed>";
/// Shorter ones would hit innocent words.
const SHORTEST: usize = 6;
/// Fields with these in their names have secrets.
const NAMES: [&str; 11] = [
    "clientkey",
    "password",
    "passwd",
    "token",
    "secret",
    "credential",
    "apikey",
    "privatekey",
    "certificatekey",
    "userdata",
    "pullsecret",
];
/// Fields that only sound like it.
const HARMLESS: [&str; 8] = [
    "secretname",
    "secretref",
    "secretkeyref",
    "secretnamespace",
    "imagepullsecrets",
    "automountserviceaccounttoken",
    "serviceaccounttoken",
    "bootstraptokenid",
];

/// Takes secrets out.
#[derive(Debug, Default)]
pub struct Redactor {
    known: Vec<SecretString>,
}

impl Redactor {
    /// Adds a secret. One of several lines is looked for line by line.
    pub fn add(&mut self, secret: &str) {
        for line in secret.lines().map(str::trim).filter(|line| line.len() >= SHORTEST) {
            if !line.starts_with("-----") {
                self.known.push(line.into());
            }
        }
        if secret.trim().len() >= SHORTEST {
            for whole in [secret, secret.trim()] {
                self.known.push(STANDARD.encode(whole).into());
            }
        }
    }

    /// Adds what an object says by the names of its fields to be secret.
    pub fn add_named(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.add_named(item)),
            Value::Object(members) => {
                for (name, member) in members {
                    match member {
                        Value::String(text) if is_secret_name(name) => self.add(text),
                        member => self.add_named(member),
                    }
                }
            }
            _ => {}
        }
    }

    /// A text without secrets.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.known {
            let secret = secret.expose_secret();
            if text.contains(secret) {
                text = text.replace(secret, REMOVED);
            }
        }
        let text = without_keys(&text);
        let lines: Vec<String> = text.lines().map(without_words).collect();
        let mut joined = lines.join("\n");
        if text.ends_with('\n') {
            joined.push('\n');
        }
        joined
    }

    /// An object without secrets.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                // A variable of a container says by its name what it holds.
                let named = members.get("name").and_then(Value::as_str).is_some_and(is_secret_name);
                for (name, member) in members.iter_mut() {
                    let secret = is_secret_name(name) || (named && name == "value");
                    match member {
                        Value::String(text) if secret && !text.is_empty() => REMOVED.clone_into(text),
                        member => self.value(member),
                    }
                }
            }
            _ => {}
        }
    }
}

fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    !HARMLESS.contains(&plain.as_str()) && NAMES.iter().any(|word| plain.contains(word))
}

/// Takes out whole private keys.
fn without_keys(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find("-----BEGIN ") {
        let (before, from) = rest.split_at(begin);
        kept.push_str(before);
        let label = from["-----BEGIN ".len()..].split("-----").next().unwrap_or_default();
        let end = format!("-----END {label}-----");
        let length = from.find(&end).map_or(from.len(), |at| at + end.len());
        if label.contains("PRIVATE KEY") {
            kept.push_str(REMOVED);
            rest = &from[length..];
        } else {
            kept.push_str("-----BEGIN ");
            rest = &from["-----BEGIN ".len()..];
        }
    }
    kept.push_str(rest);
    kept
}

/// Takes out what follows `Bearer` and `password=`, and tokens of kubeadm's form.
fn without_words(line: &str) -> String {
    let mut kept = String::new();
    let mut after_bearer = false;
    for word in line.split_inclusive([' ', '\t', '"', '\'', ',', ';', '&', '?']) {
        let bare = word.trim_end_matches([' ', '\t', '"', '\'', ',', ';', '&', '?']);
        let end = &word[bare.len()..];
        let named = bare.split_once(['=', ':']).filter(|(name, value)| {
            is_secret_name(name.rsplit(['&', '?', '/', '-']).next().unwrap_or(name)) && !value.is_empty()
        });
        if is_bootstrap_token(bare) || (after_bearer && !bare.is_empty()) {
            kept.push_str(REMOVED);
        } else if let Some((name, _)) = named {
            kept.push_str(&format!("{name}={REMOVED}"));
        } else {
            kept.push_str(bare);
        }
        kept.push_str(end);
        after_bearer = bare.eq_ignore_ascii_case("bearer") || (after_bearer && bare.is_empty());
    }
    kept
}

/// Six characters, a dot, and sixteen.
fn is_bootstrap_token(word: &str) -> bool {
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    word.split_once('.')
        .is_some_and(|(id, secret)| id.len() == 6 && secret.len() == 16 && plain(id) && plain(secret))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::Redactor;

    #[rstest]
    #[case("login as admin with hunter22 failed", "login as admin with <removed> failed")]
    #[case("data: aHVudGVyMjI=", "data: <removed>")]
    #[case("Authorization: Bearer abc.def-123", "Authorization: Bearer <removed>")]
    #[case("kubeadm join --token abcdef.0123456789abcdef x", "kubeadm join --token <removed> x")]
    #[case("url?user=a&password=swordfish, next", "url?user=a&password=<removed>, next")]
    #[case("a\n-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nb\n", "a\n<removed>\nb\n")]
    #[case("-----BEGIN RSA PRIVATE KEY-----\ncut off", "<removed>")]
    #[case(
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    )]
    #[case(
        "time=12:00 stage=control-plane node a.b.c 10.0.0.1:6443",
        "time=12:00 stage=control-plane node a.b.c 10.0.0.1:6443"
    )]
    fn texts(#[case] text: &str, #[case] expected: &str) {
        let mut redactor = Redactor::default();
        redactor.add("hunter22");
        assert_eq!(redactor.text(text), expected);
    }

    #[test]
    fn objects() {
        let mut value = json!({
            "data": {"password": "a", "user": "b"},
            "spec": {
                "env": [{"name": "DB_PASSWORD", "value": "c"}, {"name": "MODE", "value": "d"}],
                "secretName": "kept", "userData": "e", "volumes": [{"secret": {"secretName": "kept"}}],
            },
        });
        Redactor::default().value(&mut value);
        assert_eq!(
            value,
            json!({
                "data": {"password": "<removed>", "user": "b"},
                "spec": {
                    "env": [{"name": "DB_PASSWORD", "value": "<removed>"}, {"name": "MODE", "value": "d"}],
                    "secretName": "kept", "userData": "<removed>", "volumes": [{"secret": {"secretName": "kept"}}],
                },
            })
        );
    }
}
