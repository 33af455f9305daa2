//! The kinds of resources, as ids, plans and journals name them.

use std::fmt;

use kube::api::ApiResource;
use slipway_engine::{Endpoint, Id};

use crate::cluster::resource;

/// A kind of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Image,
    Secret,
    Machine,
    Power,
    Disk,
    Instance,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Image => "image",
            Kind::Secret => "secret",
            Kind::Machine => "machine",
            Kind::Power => "power",
            Kind::Disk => "disk",
            Kind::Instance => "instance",
        }
    }

    /// The objects it is read from.
    pub fn resource(self) -> ApiResource {
        match self {
            Kind::Image | Kind::Disk => resource("cdi.kubevirt.io/v1beta1", "DataVolume", "datavolumes"),
            Kind::Secret => resource("v1", "Secret", "secrets"),
            Kind::Machine | Kind::Power => resource("kubevirt.io/v1", "VirtualMachine", "virtualmachines"),
            Kind::Instance => resource("kubevirt.io/v1", "VirtualMachineInstance", "virtualmachineinstances"),
        }
    }

    /// Its objects as rules of a Role name them.
    pub fn plural(self) -> String {
        let ApiResource { group, plural, .. } = self.resource();
        if group.is_empty() { plural } else { format!("{plural}.{group}") }
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
        f.write_str(self.as_str())
    }
}
