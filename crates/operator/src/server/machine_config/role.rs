//! Names of roles.

use std::fmt;

/// What a kind of machine is called: a DNS label, so that it is also the name of a file and of nothing else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(String);

impl Role {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a role: a role has lower-case letters, digits and inner hyphens, 63 at most")]
pub struct NotARole;

impl std::str::FromStr for Role {
    type Err = NotARole;

    fn from_str(text: &str) -> Result<Self, NotARole> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let good = !text.is_empty()
            && text.len() <= 63
            && text.chars().all(plain)
            && !text.starts_with('-')
            && !text.ends_with('-');
        if good { Ok(Role(text.to_owned())) } else { Err(NotARole) }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Role;

    #[rstest]
    #[case::usual("worker", true)]
    #[case::own_pool("gpu-a100", true)]
    #[case::empty("", false)]
    #[case::parent("..", false)]
    #[case::path("../etc/passwd", false)]
    #[case::file("worker.ign", false)]
    #[case::nul("worker\0", false)]
    #[case::upper("Worker", false)]
    #[case::hyphen("-worker", false)]
    fn names(#[case] text: &str, #[case] good: bool) {
        assert_eq!(text.parse::<Role>().is_ok(), good);
    }

    #[test]
    fn length() {
        assert!("a".repeat(63).parse::<Role>().is_ok());
        assert!("a".repeat(64).parse::<Role>().is_err());
    }
}
