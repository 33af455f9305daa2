//! URLs that may carry a login or a signature, and text that has such URLs in it.

use std::fmt;
use std::ops::Range;

use serde::{Serialize, Serializer};

use crate::secret::Secret;

/// What stands for a secret part of a URL.
const MASK: &str = "***";
/// Parameters of a query that give nothing away. All others may be a signature or a token.
const HARMLESS: [&str; 5] = ["sha256", "version", "arch", "format", "size"];
/// Names of parameters that are a signature or a login: in part, or …
const SECRET_PARTS: [&str; 9] =
    ["signature", "token", "secret", "password", "passwd", "credential", "auth", "apikey", "api_key"];
/// … as a whole.
const SECRET_NAMES: [&str; 4] = ["sig", "key", "pass", "awsaccesskeyid"];
/// What ends a URL within a text.
const ENDS: [char; 6] = ['"', '\'', '`', '<', '>', '\\'];
/// What ends a word that may be a login without a scheme before it.
const WORD_ENDS: [char; 3] = [',', '{', '}'];

/// A URL that may carry a login or a signature: whatever shows or serialises it shows neither.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateUrl(Secret);

impl PrivateUrl {
    /// The URL as it was given, to be used and not to be shown.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Whether there is anything to hide.
    pub fn is_private(&self) -> bool {
        !secret_parts(self.expose()).is_empty()
    }

    /// Whether it has a login, or a parameter that is known to be a signature. Any other parameter is hidden as well, and may be
    /// harmless.
    pub fn has_login_or_signature(&self) -> bool {
        let url = self.expose();
        let from = match login(url) {
            Some(_) => return true,
            None => url.find('?'),
        };
        let query = from.map_or("", |mark| &url[mark + 1..]).split('#').next().unwrap_or_default();
        query.split('&').any(is_secret)
    }

    /// What there is to hide.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        secret_parts(self.expose()).into_iter().map(|part| &self.expose()[part])
    }

    /// A valid URL of the same place, without login, and with nothing but harmless parameters.
    pub fn public(&self) -> String {
        let url = self.expose();
        let url = match login(url) {
            Some(login) => format!("{}{}", &url[..login.start], &url[login.end + 1..]),
            None => url.to_owned(),
        };
        let rest = url.split('#').next().unwrap_or_default().to_owned();
        let Some((place, query)) = rest.split_once('?') else { return rest };
        let kept: Vec<&str> = query.split('&').filter(|parameter| is_harmless(parameter)).collect();
        if kept.is_empty() { place.to_owned() } else { format!("{place}?{}", kept.join("&")) }
    }
}

impl From<&str> for PrivateUrl {
    fn from(url: &str) -> Self {
        PrivateUrl(url.into())
    }
}

impl fmt::Display for PrivateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(self.expose(), &secret_parts(self.expose())))
    }
}

impl fmt::Debug for PrivateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateUrl({self})")
    }
}

impl Serialize for PrivateUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text without the logins and signatures of the URLs in it.
pub fn mask_urls(text: &str) -> String {
    masked(text, &secrets_in(text))
}

fn masked(text: &str, parts: &[Range<usize>]) -> String {
    let mut shown = String::new();
    let mut from = 0;
    for part in parts {
        shown.push_str(&text[from..part.start]);
        shown.push_str(MASK);
        from = part.end;
    }
    shown.push_str(&text[from..]);
    shown
}

/// Where a text has logins and signatures, in order: in URLs, and in `user:password@host` without a scheme.
pub(crate) fn secrets_in(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut offset = 0;
    for word in text.split_inclusive(|c: char| c.is_whitespace() || ENDS.contains(&c)) {
        let bare = word.trim_end_matches(|c: char| c.is_whitespace() || ENDS.contains(&c));
        let moved = |part: Range<usize>| part.start + offset..part.end + offset;
        if bare.contains("://") {
            found.extend(secret_parts(bare).into_iter().map(moved));
        } else {
            found.extend(bare_logins(bare).into_iter().map(moved));
        }
        offset += word.len();
    }
    found
}

/// `user:password` before an `@`, but not the name of an image before its digest.
fn bare_logins(word: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut offset = 0;
    for piece in word.split_inclusive(WORD_ENDS) {
        if let Some(at) = piece.rfind('@')
            && piece[..at].contains(':')
            && !piece[at..].starts_with("@sha256:")
        {
            // The name of a variable may stand before it.
            let sign = piece[..piece.find(':').unwrap_or(0)].find('=').map_or(0, |sign| sign + 1);
            found.push(offset + sign..offset + at);
        }
        offset += piece.len();
    }
    found
}

/// What of a URL is secret, in order: its login, values of its query, and what follows `#`.
fn secret_parts(url: &str) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = login(url).into_iter().collect();
    let from = parts.first().map_or(0, |login| login.end);
    let hash = url[from..].find('#').map_or(url.len(), |at| from + at);
    if let Some(mark) = url[from..hash].find('?').map(|at| from + at) {
        let mut start = mark + 1;
        for parameter in url[mark + 1..hash].split('&') {
            let value = parameter.find('=').map_or(0, |sign| sign + 1);
            if !is_harmless(parameter) && value < parameter.len() {
                parts.push(start + value..start + parameter.len());
            }
            start += parameter.len() + 1;
        }
    }
    if hash + 1 < url.len() {
        parts.push(hash + 1..url.len());
    }
    parts
}

/// The login of a URL. One with characters that should have been escaped is taken to reach as far as it can.
fn login(url: &str) -> Option<Range<usize>> {
    let start = url.find("://")? + 3;
    let rest = &url[start..];
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let end = if authority.contains('@') {
        rest.split('?').next().unwrap_or_default().rfind('@')?
    } else if is_place(authority) {
        return None;
    } else {
        rest.rfind('@')?
    };
    (end > 0).then_some(start..start + end)
}

/// Whether this is a host, with or without a port.
fn is_place(authority: &str) -> bool {
    let after = match authority.strip_prefix('[') {
        Some(address) => address.split_once(']').map_or(authority, |(_, after)| after),
        None => authority,
    };
    let port = after.split_once(':').map(|(_, port)| port);
    port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_secret(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
    SECRET_NAMES.contains(&name.as_str()) || SECRET_PARTS.iter().any(|part| name.contains(part))
}

fn is_harmless(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default();
    HARMLESS.iter().any(|harmless| harmless.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::{PrivateUrl, mask_urls};

    #[rstest]
    #[case::plain("https://a.example/x.ova", "https://a.example/x.ova", "https://a.example/x.ova")]
    #[case::login("http://me:pw@proxy:3128", "http://***@proxy:3128", "http://proxy:3128")]
    #[case::token("https://ghp_abc@host/x", "https://***@host/x", "https://host/x")]
    #[case::unescaped("http://me:p/w#x@proxy:3128/", "http://***@proxy:3128/", "http://proxy:3128/")]
    #[case::path("https://host:8443/a@b/x.ova", "https://host:8443/a@b/x.ova", "https://host:8443/a@b/x.ova")]
    #[case::checksum("https://h/x?sha256=ab", "https://h/x?sha256=ab", "https://h/x?sha256=ab")]
    #[case::signed(
        "https://h/x?X-Amz-Signature=s1&sha256=ab&sig=s2",
        "https://h/x?X-Amz-Signature=***&sha256=ab&sig=***",
        "https://h/x?sha256=ab"
    )]
    #[case::bare_parameter("https://h/x?s1&a=", "https://h/x?***&a=", "https://h/x")]
    #[case::fragment("https://h/x#s1", "https://h/x#***", "https://h/x")]
    #[case::address("http://[fd00::1]:3128/", "http://[fd00::1]:3128/", "http://[fd00::1]:3128/")]
    fn a_url_shows_no_secrets(#[case] url: &str, #[case] shown: &str, #[case] public: &str) {
        let private = PrivateUrl::from(url);
        assert_eq!(private.to_string(), shown);
        assert_eq!(private.public(), public);
        assert_eq!(private.expose(), url);
        assert_eq!(private.is_private(), url != shown);
        assert_eq!(serde_json::to_string(&private).unwrap(), serde_json::to_string(shown).unwrap());
        assert_eq!(format!("{private:?}"), format!("PrivateUrl({shown})"));
    }

    #[rstest]
    #[case::plain("https://h/x", false)]
    #[case::branch("https://git.example/raw/matrix.yaml?ref=main&inline=false", false)]
    #[case::bare("https://h/x?raw", false)]
    #[case::login("https://me:pw@h/x", true)]
    #[case::s3("https://h/x?ref=main&X-Amz-Signature=s1", true)]
    #[case::azure("https://h/x?sv=2024&SIG=s1", true)]
    #[case::gitlab("https://h/x?private_token=s1", true)]
    #[case::in_a_fragment("https://h/x?a=b#sig=c", false)]
    fn what_is_known_to_be_secret(#[case] url: &str, #[case] expected: bool) {
        assert_eq!(PrivateUrl::from(url).has_login_or_signature(), expected);
    }

    #[rstest]
    #[case("downloading http://a:b@h/x?t=1: refused", "downloading http://***@h/x?t=*** refused")]
    #[case("{\"proxy\":\"http://a:b@h:1\"}", "{\"proxy\":\"http://***@h:1\"}")]
    #[case("HTTP_PROXY=a:b@h:1 next", "HTTP_PROXY=***@h:1 next")]
    fn a_text_shows_no_secrets(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(mask_urls(text), shown);
    }

    #[test]
    fn names_of_images_and_people_stay() {
        for text in ["mirror:5000/a/b@sha256:0123", "user: me@vsphere.local", "at 12:00:01 root@host"] {
            assert_eq!(mask_urls(text), text);
        }
    }

    proptest! {
        /// However odd a password is, nothing of it is shown or left.
        #[test]
        fn no_login_survives(user in "[a-z]{1,8}", password in "[!-~]{4,24}", path in "[a-z/]{0,8}") {
            let escaped: String = password.bytes().map(|byte| format!("%{byte:02X}")).collect();
            for secret in [password, escaped] {
                // With one of these two, or a number before a slash, every parser takes another part for the password.
                let number = secret.split(['/', '#']).next().unwrap().bytes().all(|byte| byte.is_ascii_digit());
                prop_assume!(!secret.contains(['?', '@']));
                prop_assume!(!number || !secret.contains(['/', '#']));
                let url = PrivateUrl::from(format!("http://{user}:{secret}@proxy.example:3128/{path}").as_str());
                let place = format!("proxy.example:3128/{path}");
                prop_assert_eq!(url.to_string(), format!("http://***@{place}"));
            }
        }

        #[test]
        fn masking_never_fails(text in "\\PC{0,80}") {
            mask_urls(&text);
        }
    }
}
