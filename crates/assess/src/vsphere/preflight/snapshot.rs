//! What a vCenter has, as a plain value: all that the rules look at.

use std::collections::BTreeSet;

use slipway_providers::vsphere::inventory::Inventory;

pub use crate::vsphere::clock::Clocks;
pub use crate::vsphere::privileges::Privileges;
pub use crate::vsphere::{ObjectTags, Part};

/// What was read of one vCenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VCenterSnapshot {
    pub depth: Depth,
    pub version: String,
    pub build: String,
    pub clock: Option<Clocks>,
    pub inventory: Inventory,
    /// Why tags are not known, if they should be.
    pub tags: Part<Tags>,
    pub privileges: Privileges,
}

/// How far reading came, in the order of reading: a vCenter may fall silent at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Its version, and who we are there.
    Server,
    Clock,
    /// Where everything is.
    Inventory,
    Hosts,
    /// Templates, and names that are taken.
    Machines,
    Tags,
    /// Everything.
    Privileges,
}

impl Depth {
    /// What comes behind it, as people call it.
    pub fn beyond(self) -> Vec<&'static str> {
        let stages = [
            (Depth::Clock, "the clock"),
            (Depth::Inventory, "the inventory"),
            (Depth::Hosts, "hosts"),
            (Depth::Machines, "templates and taken names"),
            (Depth::Tags, "tags"),
            (Depth::Privileges, "privileges"),
        ];
        stages.into_iter().filter(|(stage, _)| *stage > self).map(|(_, what)| what).collect()
    }
}

/// Tags, as far as they were asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags {
    pub attached: ObjectTags,
    /// The ids of all tags there are.
    pub ids: BTreeSet<String>,
}
