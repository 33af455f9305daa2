//! The kinds of resources, as ids, plans and journals name them.

use std::fmt;

use slipway_engine::{Endpoint, Id};

/// A kind of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Tag,
    AffinityGroup,
    Machine,
    Power,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Tag => "tag",
            Kind::AffinityGroup => "affinity-group",
            Kind::Machine => "machine",
            Kind::Power => "power",
        }
    }

    /// Whether a resource is of this kind.
    pub fn is(self, id: &Id) -> bool {
        *id.kind == *self.as_str()
    }

    /// The id of a resource of this kind.
    pub fn id(self, endpoint: &Endpoint, name: &str) -> Id {
        Id::new(endpoint, self.as_str(), name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::AffinityGroup => "affinity group",
            other => other.as_str(),
        })
    }
}
