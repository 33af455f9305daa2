//! References to managed objects.

use std::fmt;
use std::sync::Arc;

use super::soap::Element;

/// A managed object as messages name it. The same id means another object on another vCenter: outside of
/// messages, see [`MoRef`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    pub kind: Box<str>,
    pub id: Box<str>,
}

impl Reference {
    pub fn new(kind: &str, id: &str) -> Self {
        Reference { kind: kind.into(), id: id.into() }
    }

    /// A reference in a reply.
    pub fn of(element: &Element) -> Self {
        Reference::new(element.kind(), &element.text)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.id)
    }
}

/// A managed object of one vCenter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoRef {
    /// The server's name, as the configuration has it.
    pub vcenter: Arc<str>,
    pub reference: Reference,
}

impl fmt::Display for MoRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.reference, self.vcenter)
    }
}
