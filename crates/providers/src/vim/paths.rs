//! Names and inventory paths, with vSphere's escaping both ways.

use std::borrow::Cow;

/// A name as vCenter stores it: a slash, a backslash and a percent sign are escaped.
pub fn escape(name: &str) -> Cow<'_, str> {
    if !name.contains(['/', '\\', '%']) {
        return Cow::Borrowed(name);
    }
    let mut stored = String::with_capacity(name.len() + 6);
    for c in name.chars() {
        match c {
            '/' => stored.push_str("%2f"),
            '\\' => stored.push_str("%5c"),
            '%' => stored.push_str("%25"),
            c => stored.push(c),
        }
    }
    Cow::Owned(stored)
}

/// A stored name as people know it. Only the three escapes of vCenter are undone.
pub fn unescape(stored: &str) -> Cow<'_, str> {
    if !stored.contains('%') {
        return Cow::Borrowed(stored);
    }
    let mut name = String::with_capacity(stored.len());
    let mut rest = stored;
    while let Some(at) = rest.find('%') {
        name.push_str(&rest[..at]);
        let code = rest.get(at..at + 3).map(str::to_ascii_lowercase);
        let plain = match code.as_deref() {
            Some("%2f") => '/',
            Some("%5c") => '\\',
            Some("%25") => '%',
            _ => {
                name.push('%');
                rest = &rest[at + 1..];
                continue;
            }
        };
        name.push(plain);
        rest = &rest[at + 3..];
    }
    name.push_str(rest);
    Cow::Owned(name)
}

/// Whether somebody who writes `written` means the object that is stored as `stored`: escaped or not.
pub fn is_name_of(written: &str, stored: &str) -> bool {
    let known = unescape(stored);
    stored == written || known == written || known == unescape(written)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::{escape, is_name_of, unescape};

    #[rstest]
    #[case("team/blue", "team%2fblue")]
    #[case("a\\b", "a%5cb")]
    #[case("100%", "100%25")]
    #[case("%2f", "%252f")]
    #[case("ünïcode", "ünïcode")]
    fn names_are_stored_escaped(#[case] name: &str, #[case] stored: &str) {
        assert_eq!(escape(name), stored);
        assert_eq!(unescape(stored), name);
    }

    #[rstest]
    #[case("50%", "50%")]
    #[case("%zz", "%zz")]
    #[case("%2F", "/")]
    #[case("%é", "%é")]
    fn odd_stored_names_are_kept(#[case] stored: &str, #[case] name: &str) {
        assert_eq!(unescape(stored), name);
    }

    #[rstest]
    #[case("VLAN 10/20", "VLAN 10%2f20", true)]
    #[case("VLAN 10%2f20", "VLAN 10%2f20", true)]
    #[case("VLAN 10%2F20", "VLAN 10%2f20", true)]
    #[case("%2f", "%252f", true)]
    #[case("VLAN 10", "VLAN 10%2f20", false)]
    fn names_are_recognised_in_both_forms(#[case] written: &str, #[case] stored: &str, #[case] same: bool) {
        assert_eq!(is_name_of(written, stored), same);
    }

    proptest! {
        #[test]
        fn both_ways(name in "\\PC*") {
            let stored = escape(&name);
            prop_assert_eq!(unescape(&stored), name.as_str());
        }
    }
}
