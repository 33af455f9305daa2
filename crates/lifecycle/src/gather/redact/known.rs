//! Secrets that are known, wherever they are in a text and however they are escaped.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::view::View;

/// Shorter ones would hit innocent words.
const MIN_SECRET: usize = 6;

/// Secrets to look for.
#[derive(Default)]
pub(super) struct Known {
    /// As they are.
    plain: Vec<SecretString>,
    /// What base64 makes of them, wherever they begin in what is encoded.
    encoded: Vec<SecretString>,
    /// All of them, built at the first search.
    search: OnceLock<Option<AhoCorasick>>,
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Known({} secrets)", self.plain.len())
    }
}

impl Known {
    /// One of several lines is looked for line by line, and one that is a JSON document with everything in it.
    pub(super) fn add(&mut self, secret: &str) {
        for line in secret.lines().map(str::trim) {
            if !line.starts_with("-----") {
                self.add_line(line);
            }
        }
        if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(secret) {
            self.add_leaves(&value);
        }
    }

    fn add_line(&mut self, line: &str) {
        if line.len() < MIN_SECRET || self.plain.iter().any(|known| known.expose_secret() == line) {
            return;
        }
        self.search = OnceLock::new();
        self.plain.push(line.into());
        for core in cores(line.as_bytes()) {
            let safe = core.replace('+', "-").replace('/', "_");
            if safe != core {
                self.encoded.push(safe.into());
            }
            self.encoded.push(core.into());
        }
    }

    fn add_leaves(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.add(text);
                // A login as registries want it.
                let login = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                if let Some((_, password)) = login.as_deref().and_then(|login| login.split_once(':')) {
                    self.add(password);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_leaves(item)),
            Value::Object(members) => members.values().for_each(|member| self.add_leaves(member)),
            _ => {}
        }
    }

    /// Where a text has any of them, in order and apart from each other.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let search = self.search.get_or_init(|| {
            let all = self.plain.iter().chain(&self.encoded).map(ExposeSecret::expose_secret);
            AhoCorasick::new(all).ok()
        });
        let Some(search) = search else { return whole(text) };
        let mut found = Vec::new();
        for view in View::all(text) {
            for hit in search.find_overlapping_iter(view.bytes()) {
                let range = view.in_text(hit.range());
                let encoded = hit.pattern().as_usize() >= self.plain.len();
                found.push(if encoded { word_around(text, range) } else { range });
            }
        }
        merged(found)
    }
}

/// Nothing is known to be harmless.
fn whole(text: &str) -> Vec<Range<usize>> {
    std::iter::once(0..text.len()).filter(|range| !range.is_empty()).collect()
}

/// What base64 makes of a secret within a text, for each of the three places it can begin at: the characters that do not
/// depend on what stands before and behind it.
fn cores(secret: &[u8]) -> impl Iterator<Item = String> {
    [(0, 0), (1, 2), (2, 3)].into_iter().map(move |(before, unsure)| {
        let bytes = [&[0; 2][..before], secret].concat();
        let sure = bytes.len() * 8 / 6;
        STANDARD_NO_PAD.encode(&bytes)[unsure..sure].to_owned()
    })
}

/// All of an encoded text that a range is part of.
fn word_around(text: &str, range: Range<usize>) -> Range<usize> {
    let other = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '/' | '-' | '_' | '=');
    let start = text[..range.start].rfind(other).map_or(0, |at| at + 1);
    // The character may be longer than a byte.
    let start = text.ceil_char_boundary(start);
    let end = text[range.end..].find(other).map_or(text.len(), |at| range.end + at);
    start..end
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
