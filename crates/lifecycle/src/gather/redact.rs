//! What must not be in the archive.
//!
//! Three nets: every secret that is known is looked for, as it is, escaped and as base64; what looks like a secret is taken out
//! by its form; and in objects, by the name of its field. Values of variables are only kept if they are known to be harmless.

mod known;
#[cfg(test)]
mod tests;
mod view;

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use slipway_config::private_url::{PrivateUrl, mask_urls};

use self::known::Known;
use self::view::View;

const REMOVED: &str = "<removed>";
/// Fields with these in their names have secrets.
const NAMES: [&str; 13] = [
    "accesskey",
    "apikey",
    "certificatekey",
    "clientkey",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "pullsecret",
    "secret",
    "token",
    "userdata",
];
/// So have these.
const WHOLE_NAMES: [&str; 4] = ["auth", "authorization", "pass", "pwd"];
/// Fields that only sound like it.
const HARMLESS: [&str; 5] = [
    "secretkeyref",
    "imagepullsecrets",
    "automountserviceaccounttoken",
    "serviceaccounttoken",
    "bootstraptokenid",
];
/// What is not the secret, but says where it is, or how long it is good for.
const HARMLESS_ENDINGS: [&str; 7] = ["dir", "file", "name", "namespace", "path", "ref", "ttl"];
/// Variables whose values are shown: those of the drivers and of the control plane. Users' variables hold anything.
const VARIABLES: [&str; 36] = [
    "ADDRESS",
    "CLUSTER_FLAVOR",
    "CSI_ENDPOINT",
    "CSI_NAMESPACE",
    "DRIVER_REG_SOCK_PATH",
    "ENABLE_ALPHA_FEATURES",
    "FULL_SYNC_INTERVAL_MINUTES",
    "GODEBUG",
    "GOGC",
    "GOMAXPROCS",
    "GOMEMLIMIT",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "INCLUSTER_CLIENT_BURST",
    "INCLUSTER_CLIENT_QPS",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "LANG",
    "LOGGER_LEVEL",
    "LOG_LEVEL",
    "MAX_VOLUMES_PER_NODE",
    "NODEGETINFO_WATCH_TIMEOUT_MINUTES",
    "NODE_NAME",
    "NO_PROXY",
    "OPERATOR_IMAGE_VERSION",
    "POD_NAME",
    "POD_NAMESPACE",
    "RELEASE_VERSION",
    "SKIP_NODE_DELETION",
    "TZ",
    "VSPHERE_CSI_CONFIG",
    "WEBHOOK_CONFIG_PATH",
    "X_CSI_MODE",
    "X_CSI_SERIAL_VOL_ACCESS_TIMEOUT",
    "X_CSI_SPEC_DISABLE_LEN_CHECK",
    "X_CSI_SPEC_REQ_VALIDATION",
];
/// What words of a line end with.
const WORD_ENDS: [char; 8] = [' ', '\t', '"', '\'', ',', ';', '&', '?'];

/// Takes secrets out.
#[derive(Debug, Default)]
pub struct Redactor {
    known: Known,
}

impl Redactor {
    /// Adds a secret. One of several lines is looked for line by line.
    pub fn add(&mut self, secret: &str) {
        self.known.add(secret);
    }

    /// Adds the login and the signature of a URL, as they are written there and as they are meant.
    pub fn add_url(&mut self, url: &PrivateUrl) {
        for secret in url.secrets() {
            let password = secret.split_once(':').map(|(_, password)| password);
            for part in [Some(secret), password].into_iter().flatten() {
                for view in View::all(part) {
                    self.add(&String::from_utf8_lossy(view.bytes()));
                }
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

    /// A text without secrets. One that is a JSON document is looked at field by field, and so is each line that is one.
    pub fn text(&self, text: &str) -> String {
        if let Some(document) = self.document(text) {
            return document;
        }
        let text = without_keys(text);
        let lines: Vec<String> = text.lines().map(|line| self.line(line)).collect();
        let mut joined = lines.join("\n");
        if text.ends_with('\n') {
            joined.push('\n');
        }
        joined
    }

    fn line(&self, line: &str) -> String {
        if let Some(document) = self.document(line) {
            return document;
        }
        without_words(&mask_urls(&without(line, self.known.find(line).into_iter())))
    }

    /// A JSON document without secrets, as it was if it has none.
    fn document(&self, text: &str) -> Option<String> {
        if !text.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let value: Value = serde_json::from_str(text).ok()?;
        let mut shown = value.clone();
        self.value(&mut shown);
        if shown == value {
            return Some(text.to_owned());
        }
        let one_line = !text.trim().contains('\n');
        let written =
            if one_line { serde_json::to_string(&shown) } else { serde_json::to_string_pretty(&shown) };
        let end = if text.ends_with('\n') { "\n" } else { "" };
        Some(format!("{}{end}", written.ok()?))
    }

    /// An object without secrets.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Number(number) if !self.known.find(&number.to_string()).is_empty() => {
                *value = REMOVED.into();
            }
            Value::Array(items) => self.items(items),
            Value::Object(members) => {
                // What is listed says by its name what it holds.
                let named = members.get("name").and_then(Value::as_str).is_some_and(is_secret_name);
                for (name, member) in members.iter_mut() {
                    match member {
                        Value::Array(variables) if name == "env" => self.variables(variables),
                        member if is_secret_name(name) || (named && name == "value") => self.secret(member),
                        member => self.value(member),
                    }
                }
                self.keys(members);
            }
            _ => {}
        }
    }

    /// What a field holds that is said to be secret. Of an object, its own names decide.
    fn secret(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.is_empty() => {}
            Value::String(_) | Value::Number(_) => *value = REMOVED.into(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.secret(item)),
            other => self.value(other),
        }
    }

    /// Items of a list. What follows `--password` is one.
    fn items(&self, items: &mut [Value]) {
        let mut expected = false;
        for item in items {
            let flag = item.as_str().is_some_and(is_secret_flag);
            let is_value = item.as_str().is_some_and(|text| !text.starts_with('-'));
            if expected && is_value {
                self.secret(item);
            } else {
                self.value(item);
            }
            expected = flag;
        }
    }

    fn variables(&self, variables: &mut [Value]) {
        for variable in variables {
            let harmless = variable["name"].as_str().is_some_and(|name| VARIABLES.contains(&name));
            match variable.get_mut("value") {
                Some(value) if !harmless => self.secret(value),
                _ => self.value(variable),
            }
        }
    }

    /// A secret may be a key as well. Keys that are plain words stay whatever the secrets are: a password such as `cluster` would
    /// take names of fields and machines apart. No member gets lost: keys that become the same are numbered.
    fn keys(&self, members: &mut serde_json::Map<String, Value>) {
        if members.keys().all(|name| self.key(name) == *name) {
            return;
        }
        for (name, member) in std::mem::take(members) {
            let shown = self.key(&name);
            let mut unique = shown.clone();
            for number in 2.. {
                if !members.contains_key(&unique) {
                    break;
                }
                unique = format!("{shown} {number}");
            }
            members.insert(unique, member);
        }
    }

    /// A key without the secrets that stand in it by themselves, and without logins in URLs.
    fn key(&self, name: &str) -> String {
        let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_part = |letter: char| letter.is_alphanumeric();
        let is_alone = |known: &Range<usize>| {
            !name[..known.start].ends_with(is_part) && !name[known.end..].starts_with(is_part)
        };
        let found = self.known.find(name).into_iter();
        mask_urls(&without(name, found.filter(|known| is_alone(known) && !is_word(&name[known.clone()]))))
    }
}

/// A text with some of it taken out.
fn without(text: &str, secrets: impl Iterator<Item = Range<usize>>) -> String {
    let mut kept = String::new();
    let mut from = 0;
    for secret in secrets {
        kept.push_str(&text[from..secret.start]);
        kept.push_str(REMOVED);
        from = secret.end;
    }
    kept.push_str(&text[from..]);
    kept
}

fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let plain = plain.as_str();
    let harmless = HARMLESS.contains(&plain) || HARMLESS_ENDINGS.iter().any(|ending| plain.ends_with(ending));
    !harmless && (WHOLE_NAMES.contains(&plain) || NAMES.iter().any(|word| plain.contains(word)))
}

/// Whether the next argument is a secret.
fn is_secret_flag(argument: &str) -> bool {
    argument.starts_with('-') && !argument.contains('=') && is_secret_name(argument)
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

/// What a word says about the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Anything,
    /// After `Bearer`, or `--password`.
    Secret,
    /// After `Basic`, which is a word of everyday, too.
    Login,
}

/// Takes out what follows `Bearer`, `Basic`, `password=` and `--password`, and tokens of kubeadm's form.
fn without_words(line: &str) -> String {
    let mut kept = String::new();
    let mut next = Next::Anything;
    for word in line.split_inclusive(WORD_ENDS) {
        let bare = word.trim_end_matches(WORD_ENDS);
        let end = &word[bare.len()..];
        let named = bare.split_once(['=', ':']).filter(|(name, value)| {
            is_secret_name(name.rsplit(['&', '?', '/', '-']).next().unwrap_or(name)) && !value.is_empty()
        });
        let announced = match next {
            Next::Anything => false,
            Next::Secret => !bare.is_empty() && !bare.starts_with('-'),
            Next::Login => is_login(bare),
        };
        if is_bootstrap_token(bare) || announced {
            kept.push_str(REMOVED);
        } else if let Some((name, _)) = named {
            kept.push_str(&format!("{name}={REMOVED}"));
        } else {
            kept.push_str(bare);
        }
        kept.push_str(end);
        next = match bare {
            "" => next,
            word if word.eq_ignore_ascii_case("bearer") || is_secret_flag(word) => Next::Secret,
            word if word.eq_ignore_ascii_case("basic") => Next::Login,
            _ => Next::Anything,
        };
    }
    kept
}

/// Whether this is `user:password` in base64.
fn is_login(word: &str) -> bool {
    STANDARD.decode(word).is_ok_and(|bytes| bytes.contains(&b':'))
}

/// Six characters, a dot, and sixteen.
fn is_bootstrap_token(word: &str) -> bool {
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    word.split_once('.')
        .is_some_and(|(id, secret)| id.len() == 6 && secret.len() == 16 && plain(id) && plain(secret))
}
