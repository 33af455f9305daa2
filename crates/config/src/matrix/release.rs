//! Versions of Kubernetes and of vCenters, which are not quite semantic, and ranges of them.

use std::fmt;
use std::str::FromStr;

use crate::decode::{BadText, FromText, text};
use crate::shape::Text;

/// A version of Kubernetes or of a vCenter's API. Of `v1.34.4+k3s1` and `8.0.3.0` three numbers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release([u32; 3]);

impl Release {
    pub fn new(major: u32, minor: u32, patch: u32) -> Self {
        Release([major, minor, patch])
    }
}

/// A text that is no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version such as 1.34.4 or 8.0.3")]
pub struct NotARelease(String);

impl FromStr for Release {
    type Err = NotARelease;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || NotARelease(text.chars().take(64).collect());
        let text = text.strip_prefix('v').unwrap_or(text);
        // What follows is the vendor's, or says that it is not quite finished.
        let numbers = text.split(['+', '-', ' ']).next().unwrap_or_default();
        let parts: Vec<u32> = numbers
            .split('.')
            .map(|part| {
                let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
                part.parse().ok().filter(|_| digits).ok_or_else(bad)
            })
            .collect::<Result<_, _>>()?;
        match *parts {
            [major, minor] => Ok(Release([major, minor, 0])),
            [major, minor, patch] | [major, minor, patch, _] => Ok(Release([major, minor, patch])),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// One end of a range: `1.34` stands for all of 1.34, `6.7.3` for that patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bound {
    major: u32,
    minor: u32,
    patch: Option<u32>,
}

impl Bound {
    fn first(self) -> Release {
        Release([self.major, self.minor, self.patch.unwrap_or(0)])
    }

    fn last(self) -> Release {
        Release([self.major, self.minor, self.patch.unwrap_or(u32::MAX)])
    }
}

impl FromText for Bound {
    const TEXT: Text = Text::new("a version such as 1.34 or 8.0.3")
        .pattern(r"^[0-9]{1,9}(\.[0-9]{1,9}){1,2}$")
        .max_length(32);

    fn from_text(text: &str) -> Result<Self, BadText> {
        let bad = || {
            BadText::new("not a version of two or three numbers")
                .hint("write `1.34`, which stands for all its patches, or `8.0.3`")
        };
        let number = |part: &str| {
            let digits =
                !part.is_empty() && part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse::<u32>().ok().filter(|_| digits).ok_or_else(bad)
        };
        let parts: Vec<u32> = text.split('.').map(number).collect::<Result<_, _>>()?;
        match *parts {
            [major, minor] => Ok(Bound { major, minor, patch: None }),
            [major, minor, patch] => Ok(Bound { major, minor, patch: Some(patch) }),
            _ => Err(bad()),
        }
    }
}

text!(Bound);

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

/// A range of releases. Both ends belong to it; without a maximum it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub min: Bound,
    pub max: Option<Bound>,
}

impl Range {
    pub fn contains(&self, release: Release) -> bool {
        !self.is_above(release) && !self.is_below(release)
    }

    /// The whole range is newer than the release.
    pub fn is_above(&self, release: Release) -> bool {
        release < self.min.first()
    }

    /// The whole range is older than the release.
    pub fn is_below(&self, release: Release) -> bool {
        self.max.is_some_and(|max| release > max.last())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.max.is_some_and(|max| max.last() < self.min.first())
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.max {
            None => write!(f, "{} or newer", self.min),
            Some(max) if max == self.min => write!(f, "{max}"),
            Some(max) => write!(f, "{} to {max}", self.min),
        }
    }
}
