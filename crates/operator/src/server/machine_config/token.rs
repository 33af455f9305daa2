//! What a request must know.
//!
//! A machine's pointer configuration has a token; the server has only hashes of tokens, so that reading its files does not
//! help anybody to read through it. Several are good at the same time while one replaces the other.

use std::fmt;

use aws_lc_rs::{constant_time, digest, rand};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};

/// Bytes of randomness in a token.
const STRENGTH: usize = 32;
const PREFIX: &str = "sha256:";

/// A token that nobody else has.
pub fn generate() -> Result<SecretString, TokenError> {
    let mut bytes = [0_u8; STRENGTH];
    rand::fill(&mut bytes).map_err(|_| TokenError::NoRandomness)?;
    Ok(SecretString::from(hex(&bytes)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is kept of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    pub fn of(token: &SecretString) -> Self {
        Self::of_text(token.expose_secret())
    }

    fn of_text(token: &str) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
        TokenHash(hash)
    }

    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        if digits.len() != 64 || !digits.is_ascii() {
            return None;
        }
        let mut hash = [0; 32];
        for (index, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digits.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(TokenHash(hash))
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", hex(&self.0))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash")
    }
}

/// The tokens of a role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    hash: TokenHash,
    until: Option<Timestamp>,
}

/// What a token is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    Missing,
    Wrong,
    Expired,
}

/// Tokens that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("line {line} is not `sha256:<64 hex digits>`, with `until <time>` after it or without")]
    Malformed { line: usize },
    #[error("the system has no random numbers")]
    NoRandomness,
}

impl Tokens {
    /// Reads a file of hashes, one per line: `sha256:<hex>` or `sha256:<hex> until 2026-11-17T00:00:00Z`.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let malformed = || TokenError::Malformed { line: index + 1 };
            let words: Vec<&str> = line.split_whitespace().collect();
            let (hash, until) = match words[..] {
                [] => continue,
                [first, ..] if first.starts_with('#') => continue,
                [hash] => (hash, None),
                [hash, "until", time] => (hash, Some(time.parse().map_err(|_| malformed())?)),
                _ => return Err(malformed()),
            };
            entries.push(Entry { hash: TokenHash::parse(hash).ok_or_else(malformed)?, until });
        }
        Ok(Tokens { entries })
    }

    /// Judges the value of an Authorization header. All hashes are compared, each in constant time.
    pub fn admit(&self, authorization: Option<&[u8]>, now: Timestamp) -> Admission {
        let Some(token) = authorization.and_then(bearer) else { return Admission::Missing };
        let presented = TokenHash::of_text(token);
        let mut admission = Admission::Wrong;
        for Entry { hash, until } in &self.entries {
            let equal = constant_time::verify_slices_are_equal(&hash.0, &presented.0).is_ok();
            match (equal, until) {
                (true, Some(until)) if *until <= now => {
                    if admission == Admission::Wrong {
                        admission = Admission::Expired;
                    }
                }
                (true, _) => admission = Admission::Admitted,
                (false, _) => {}
            }
        }
        admission
    }

    /// None of them is good any longer than that.
    #[must_use]
    pub fn ended_by(&self, last: Timestamp) -> Self {
        let end = |entry: &Entry| Entry {
            until: Some(entry.until.map_or(last, |until| until.min(last))),
            ..*entry
        };
        Tokens { entries: self.entries.iter().map(end).collect() }
    }

    /// A new token takes over: those before it are good for a while yet, so that machines that are on their way arrive.
    #[must_use]
    pub fn rotated(&self, new: TokenHash, now: Timestamp, keep: SignedDuration) -> Self {
        let last = now.checked_add(keep).unwrap_or(Timestamp::MAX);
        let old = self.entries.iter().filter(|entry| entry.until.is_none_or(|until| until > now));
        let old = old.filter(|_| keep > SignedDuration::ZERO);
        let old = old.map(|Entry { hash, until }| Entry {
            hash: *hash,
            until: Some(until.map_or(last, |until| until.min(last))),
        });
        let mut entries: Vec<Entry> = old.collect();
        entries.push(Entry { hash: new, until: None });
        Tokens { entries }
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Entry { hash, until } in &self.entries {
            match until {
                Some(until) => writeln!(f, "{hash} until {until}")?,
                None => writeln!(f, "{hash}")?,
            }
        }
        Ok(())
    }
}

/// Whether an Authorization header has a token at all.
pub fn is_presented(authorization: Option<&[u8]>) -> bool {
    authorization.and_then(bearer).is_some()
}

/// The token of `Bearer <token>`.
fn bearer(authorization: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(authorization).ok()?;
    let (scheme, token) = text.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{
        Admission, ExposeSecret, SecretString, SignedDuration, TokenError, TokenHash, Tokens, generate,
    };

    const NOW: &str = "2026-11-16T12:00:00Z";

    fn hash(token: &str) -> TokenHash {
        TokenHash::of(&SecretString::from(token))
    }

    #[rstest]
    #[case::good(Some("Bearer good"), Admission::Admitted)]
    #[case::scheme_in_lower_case(Some("bearer good"), Admission::Admitted)]
    #[case::not_yet_over(Some("Bearer leaving"), Admission::Admitted)]
    #[case::over(Some("Bearer gone"), Admission::Expired)]
    #[case::over_but_renewed(Some("Bearer renewed"), Admission::Admitted)]
    #[case::other(Some("Bearer other"), Admission::Wrong)]
    #[case::longer(Some("Bearer goodgood"), Admission::Wrong)]
    #[case::no_scheme(Some("good"), Admission::Missing)]
    #[case::other_scheme(Some("Basic good"), Admission::Missing)]
    #[case::empty(Some("Bearer "), Admission::Missing)]
    #[case::none(None, Admission::Missing)]
    fn judged(#[case] header: Option<&str>, #[case] expected: Admission) {
        let text = format!(
            "# the first\n{}\n\n{} until 2026-11-16T12:00:01Z\n{} until {NOW}\n{} until {NOW}\n{}\n",
            hash("good"),
            hash("leaving"),
            hash("gone"),
            hash("renewed"),
            hash("renewed")
        );
        let tokens = Tokens::parse(&text).unwrap();
        assert_eq!(tokens.admit(header.map(str::as_bytes), NOW.parse().unwrap()), expected);
    }

    /// The hash itself opens nothing, and neither does a file without hashes.
    #[test]
    fn what_is_on_disk_is_no_token() {
        let text = hash("good").to_string();
        let tokens = Tokens::parse(&text).unwrap();
        let now = NOW.parse().unwrap();
        assert_eq!(tokens.admit(Some(format!("Bearer {text}").as_bytes()), now), Admission::Wrong);
        let digits = text.trim_start_matches("sha256:");
        assert_eq!(tokens.admit(Some(format!("Bearer {digits}").as_bytes()), now), Admission::Wrong);
        assert_eq!(Tokens::default().admit(Some(b"Bearer good"), now), Admission::Wrong);
    }

    #[rstest]
    #[case::plain("good", 1)]
    #[case::short("\nsha256:00", 2)]
    #[case::not_hex(&format!("sha256:{}", "g".repeat(64)), 1)]
    #[case::no_ascii(&format!("sha256:{}", "ü".repeat(32)), 1)]
    #[case::time(&format!("sha256:{} until tomorrow", "0".repeat(64)), 1)]
    #[case::word(&format!("sha256:{} for 2026-11-16T12:00:00Z", "0".repeat(64)), 1)]
    fn malformed(#[case] text: &str, #[case] line: usize) {
        assert_eq!(Tokens::parse(text), Err(TokenError::Malformed { line }));
    }

    #[test]
    fn rotation_leaves_time_to_arrive() {
        let now = NOW.parse().unwrap();
        let keep = SignedDuration::from_hours(2);
        let text = format!(
            "{}\n{} until 2026-11-16T11:00:00Z\n{} until 2026-11-16T13:00:00Z\n",
            hash("a"),
            hash("b"),
            hash("c")
        );
        let tokens = Tokens::parse(&text).unwrap().rotated(hash("d"), now, keep);
        let expected = format!(
            "{} until 2026-11-16T14:00:00Z\n{} until 2026-11-16T13:00:00Z\n{}\n",
            hash("a"),
            hash("c"),
            hash("d")
        );
        assert_eq!(tokens.to_string(), expected);
        assert_eq!(Tokens::parse(&expected).unwrap(), tokens);
        let ended = tokens.ended_by("2026-11-16T13:30:00Z".parse().unwrap());
        let ends = expected.replace("14:00", "13:30").replace(&format!("{}\n", hash("d")), "");
        assert_eq!(ended.to_string(), format!("{ends}{} until 2026-11-16T13:30:00Z\n", hash("d")));
        let at_once = tokens.rotated(hash("e"), now, SignedDuration::ZERO);
        assert_eq!(at_once.to_string(), format!("{}\n", hash("e")));
    }

    #[test]
    fn tokens_differ() {
        let (one, other) = (generate().unwrap(), generate().unwrap());
        assert_eq!(one.expose_secret().len(), 64);
        assert_ne!(one.expose_secret(), other.expose_secret());
    }
}
