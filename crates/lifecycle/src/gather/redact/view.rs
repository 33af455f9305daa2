//! A text as others read it: what is escaped in it read for what it means, with the way back to where it stands.

use std::ops::Range;

/// How deep escaped text is looked for in escaped text.
const MAX_DEPTH: usize = 2;

/// Reads an escape at the beginning of some bytes: what it means, and how long it is.
type Escape = fn(&[u8]) -> Option<(Vec<u8>, usize)>;

const ESCAPES: [Escape; 4] = [percent, form, backslash, entity];
/// What they begin with.
const SIGNS: &[u8] = b"%+\\&";

/// A text, or a reading of it.
#[derive(Debug)]
pub(super) struct View {
    bytes: Vec<u8>,
    /// Where in the text each byte comes from, and where the last one ends.
    from: Vec<usize>,
}

impl View {
    /// The text itself, and every other reading of it.
    pub(super) fn all(text: &str) -> Vec<View> {
        let mut views = vec![View { bytes: text.as_bytes().to_vec(), from: (0..=text.len()).collect() }];
        let mut done = 0;
        for _ in 0..MAX_DEPTH {
            let newest = done..views.len();
            done = newest.end;
            for index in newest {
                let deeper: Vec<View> =
                    ESCAPES.into_iter().filter_map(|escape| views[index].read(escape)).collect();
                views.extend(deeper);
            }
        }
        views
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in the text a part of this is.
    pub(super) fn in_text(&self, range: Range<usize>) -> Range<usize> {
        self.from[range.start]..self.from[range.end]
    }

    /// `None` if nothing is escaped like this.
    fn read(&self, escape: Escape) -> Option<View> {
        if !self.bytes.iter().any(|byte| SIGNS.contains(byte)) {
            return None;
        }
        let mut view = View { bytes: Vec::with_capacity(self.bytes.len()), from: Vec::new() };
        let mut at = 0;
        while at < self.bytes.len() {
            if let Some((meant, length)) = escape(&self.bytes[at..]) {
                view.from.extend(meant.iter().map(|_| self.from[at]));
                view.bytes.extend(meant);
                at += length;
            } else {
                view.from.push(self.from[at]);
                view.bytes.push(self.bytes[at]);
                at += 1;
            }
        }
        view.from.push(self.from[self.bytes.len()]);
        (view.bytes != self.bytes).then_some(view)
    }
}

/// `%2F`, as in URLs.
fn percent(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let digits = bytes.strip_prefix(b"%")?.get(..2)?;
    Some((vec![u8::try_from(number(digits, 16)?).ok()?], 3))
}

/// The same in forms, where a blank is a plus sign.
fn form(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    if bytes.starts_with(b"+") { Some((b" ".to_vec(), 1)) } else { percent(bytes) }
}

/// `\"` and `\u0022`, as in JSON and in most languages.
fn backslash(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let rest = bytes.strip_prefix(b"\\")?;
    match rest.first()? {
        b'u' => {
            let unit = |bytes: &[u8]| number(bytes.strip_prefix(b"\\u")?.get(..4)?, 16);
            let first = unit(bytes)?;
            if let Some(c) = char::from_u32(first) {
                return Some((c.to_string().into_bytes(), 6));
            }
            let pair = [u16::try_from(first).ok()?, u16::try_from(unit(bytes.get(6..)?)?).ok()?];
            Some((String::from_utf16(&pair).ok()?.into_bytes(), 12))
        }
        b'n' => Some((b"\n".to_vec(), 2)),
        b't' => Some((b"\t".to_vec(), 2)),
        b'r' => Some((b"\r".to_vec(), 2)),
        other => Some((vec![*other], 2)),
    }
}

/// `&amp;` and `&#39;`, as in XML.
fn entity(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let rest = bytes.strip_prefix(b"&")?;
    let end = rest.iter().take(10).position(|byte| *byte == b';')?;
    let meant = match &rest[..end] {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(number(digits, 16)?)?,
        [b'#', digits @ ..] => char::from_u32(number(digits, 10)?)?,
        _ => return None,
    };
    Some((meant.to_string().into_bytes(), end + 2))
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, radix).ok()
}
