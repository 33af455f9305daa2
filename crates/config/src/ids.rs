//! Names that are made for a cluster.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::ClusterName;

/// Marks what belongs to a cluster, on any platform.
pub const CLUSTER_MARK: &str = "slipway.dev/cluster";
/// Marks one object.
pub const OBJECT_MARK: &str = "slipway.dev/id";
/// Says where the disks are that a machine was made with.
pub const DISKS_MARK: &str = "slipway.dev/disks";
/// The categories of the tags that name regions and zones on vSphere, as OpenShift calls them.
pub const REGION_CATEGORY: &str = "openshift-region";
pub const ZONE_CATEGORY: &str = "openshift-zone";

/// Letters and digits that cannot be confused, and vowels left out so that no words appear.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX: usize = 5;
const MAX_PREFIX: usize = 21;

/// The name of a cluster's infrastructure: part of the cluster name and five random characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InfraId(String);

/// Not of the form `<name>-<five characters>`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the name of an infrastructure: that begins as the cluster's name and ends with a dash and five of the \
     characters {chars}, as in harbour-x7k2p",
    chars = String::from_utf8_lossy(ALPHABET)
)]
pub struct InvalidInfraId(String);

impl TryFrom<String> for InfraId {
    type Error = InvalidInfraId;

    fn try_from(text: String) -> Result<Self, InvalidInfraId> {
        let well_formed = text.rsplit_once('-').is_some_and(|(prefix, suffix)| {
            (1..=MAX_PREFIX).contains(&prefix.len())
                && prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && suffix.len() == SUFFIX
                && suffix.bytes().all(|byte| ALPHABET.contains(&byte))
        });
        if well_formed { Ok(InfraId(text)) } else { Err(InvalidInfraId(text)) }
    }
}

impl From<InfraId> for String {
    fn from(id: InfraId) -> String {
        id.0
    }
}

impl InfraId {
    /// `random(n)` returns a number below `n`.
    pub fn new(cluster: &ClusterName, mut random: impl FnMut(usize) -> usize) -> Self {
        let mut id = prefix(cluster);
        id.push('-');
        id.extend((0..SUFFIX).map(|_| char::from(ALPHABET[random(ALPHABET.len()) % ALPHABET.len()])));
        InfraId(id)
    }

    /// The category of the cluster's own tag, which is named like the infrastructure.
    pub fn tag_category(&self) -> String {
        format!("openshift-{}", self.0)
    }

    /// How long the infrastructure's name of this cluster will be.
    pub fn length(cluster: &ClusterName) -> usize {
        prefix(cluster).len() + 1 + SUFFIX
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InfraId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The cluster name without dots and repeated dashes, cut to fit.
fn prefix(cluster: &ClusterName) -> String {
    let mut prefix = String::new();
    for c in cluster.as_str().chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '-' };
        if c != '-' || !prefix.ends_with('-') {
            prefix.push(c);
        }
    }
    prefix.truncate(MAX_PREFIX);
    prefix.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::InfraId;

    #[rstest]
    #[case("ngirard-multi", "ngirard-multi-bcdfg")]
    #[case("a--b", "a-b-bcdfg")]
    #[case("a.b", "a-b-bcdfg")]
    #[case("abcdefghijklmnopqrst-uvw", "abcdefghijklmnopqrst-bcdfg")]
    #[case("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstu-bcdfg")]
    fn is_cut_and_cleaned(#[case] cluster: &str, #[case] expected: &str) {
        let cluster = cluster.parse().unwrap();
        let mut next = 0..;
        let id = InfraId::new(&cluster, |_| next.next().unwrap());
        assert_eq!(id.as_str(), expected);
        assert_eq!(id.as_str().len(), InfraId::length(&cluster));
        assert_eq!(InfraId::try_from(id.to_string()), Ok(id));
    }

    #[rstest]
    #[case("")]
    #[case("-bcdfg")]
    #[case("a-bcdf")]
    #[case("a-aeiou")]
    #[case("a/b-bcdfg")]
    fn is_read_with_care(#[case] text: &str) {
        assert!(InfraId::try_from(text.to_owned()).is_err());
    }
}
