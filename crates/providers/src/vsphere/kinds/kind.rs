//! The kinds of resources, as ids, plans and journals name them.

use slipway_engine::{Endpoint, Id};

/// A kind of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Tag,
    Folder,
    Template,
    Machine,
    AntiAffinityRule,
    VmGroup,
    Power,
    Volumes,
    Policy,
}

impl Kind {
    /// Names of kinds that earlier builds wrote into journals, and the names they have now.
    pub const RENAMED: &[(&str, &str)] = &[("apart", "anti-affinity-rule"), ("zone", "vm-group")];

    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Tag => "tag",
            Kind::Folder => "folder",
            Kind::Template => "template",
            Kind::Machine => "machine",
            Kind::AntiAffinityRule => "anti-affinity-rule",
            Kind::VmGroup => "vm-group",
            Kind::Power => "power",
            Kind::Volumes => "volumes",
            Kind::Policy => "policy",
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

    /// The id of a rule or a group, which belongs to a compute cluster.
    pub fn id_in(self, endpoint: &Endpoint, compute_cluster: &str, name: &str) -> Id {
        self.id(endpoint, &format!("{compute_cluster}: {name}"))
    }

    /// The id of a template, by its path, or by its name in a datacenter.
    pub fn template_id(endpoint: &Endpoint, datacenter: &str, name: &str) -> Id {
        if name.starts_with('/') {
            return Kind::Template.id(endpoint, name);
        }
        Kind::Template.id(endpoint, &format!("/{datacenter}/{name}"))
    }
}
