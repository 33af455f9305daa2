//! vSphere inventory paths.

use std::fmt;

/// The folders below a datacenter that paths lead into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Branch {
    Host,
    Datastore,
    Vm,
}

impl Branch {
    pub fn as_str(self) -> &'static str {
        match self {
            Branch::Host => "host",
            Branch::Datastore => "datastore",
            Branch::Vm => "vm",
        }
    }
}

/// An absolute inventory path, `/<datacenter>/<branch>/<rest>`, without empty parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InventoryPath {
    text: String,
    /// Bytes of the datacenter's part, which may itself lie in folders.
    datacenter: usize,
    /// Where the part behind the branch starts.
    rest: usize,
}

impl InventoryPath {
    /// Reads a path into the given branch. Repeated and trailing slashes do not matter.
    pub fn parse(text: &str, branch: Branch) -> Option<Self> {
        if !text.starts_with('/') {
            return None;
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        let odd = |part: &str| matches!(part, "." | "..") || part.contains(char::is_control);
        if parts.iter().any(|part| odd(part)) {
            return None;
        }
        let at = parts.iter().skip(1).position(|part| *part == branch.as_str())? + 1;
        if at + 1 >= parts.len() {
            return None;
        }
        Some(Self::assemble(&parts[..at].join("/"), branch, &parts[at + 1..].join("/")))
    }

    /// The path of an object by its name, or by its path below the branch.
    pub fn of(datacenter: &str, branch: Branch, name: &str) -> Self {
        Self::assemble(datacenter.trim_matches('/'), branch, name.trim_matches('/'))
    }

    fn assemble(datacenter: &str, branch: Branch, rest: &str) -> Self {
        let head = format!("/{datacenter}/{}/", branch.as_str());
        InventoryPath { datacenter: datacenter.len(), rest: head.len(), text: head + rest }
    }

    /// The datacenter, with the folders it lies in: `dc1` or `europe/dc1`.
    pub fn datacenter(&self) -> &str {
        &self.text[1..=self.datacenter]
    }

    /// What stands behind the branch: `cluster1/Resources/prod`.
    pub fn rest(&self) -> &str {
        &self.text[self.rest..]
    }

    pub fn name(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default()
    }

    /// A path below this one.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        InventoryPath { text: format!("{}/{name}", self.text), ..*self }
    }

    pub fn is_below(&self, other: &InventoryPath) -> bool {
        self.text.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/'))
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for InventoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A network as files name it: by a path, which begins with a slash, or else by a name. vSphere stores a slash in a name as
/// `%2f`, so that it separates nothing.
pub fn network_name(written: &str) -> String {
    if written.starts_with('/') { written.to_owned() } else { written.replace('/', "%2f") }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Branch, InventoryPath, network_name};

    #[rstest]
    #[case("/dc/host/c1", Some(("dc", "c1")))]
    #[case("//dc//host/c1/", Some(("dc", "c1")))]
    #[case("/eu/dc/host/f/c1", Some(("eu/dc", "f/c1")))]
    #[case("/host/host/host", Some(("host", "host")))]
    #[case("/dc%2fx/host/ä b", Some(("dc%2fx", "ä b")))]
    #[case("/dc/host/../c1", None)]
    #[case("/dc/host/c\n1", None)]
    #[case("/dc/host/", None)]
    #[case("/dc/datastore/x", None)]
    #[case("dc/host/c1", None)]
    #[case("/host/c1", None)]
    #[case("", None)]
    fn parses_host_paths(#[case] text: &str, #[case] expected: Option<(&str, &str)>) {
        let path = InventoryPath::parse(text, Branch::Host);
        assert_eq!(path.as_ref().map(|path| (path.datacenter(), path.rest())), expected);
    }

    #[rstest]
    #[case("cluster-net", "cluster-net")]
    #[case("VLAN 10/20", "VLAN 10%2f20")]
    #[case("VLAN 10%2f20", "VLAN 10%2f20")]
    #[case("/dc/network/VLAN 10", "/dc/network/VLAN 10")]
    fn a_slash_in_the_name_of_a_network_is_part_of_it(#[case] written: &str, #[case] expected: &str) {
        assert_eq!(network_name(written), expected);
    }
}
