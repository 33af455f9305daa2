//! What a vCenter has, as a plain value: the rules look at this and ask nobody.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::inventory::Inventory;

/// What was read of one vCenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Estate {
    pub(super) depth: Depth,
    /// The user of the session, with its domain.
    pub(super) user: String,
    pub(super) version: String,
    pub(super) build: String,
    pub(super) clock: Option<Clocks>,
    pub(super) inventory: Inventory,
    /// Why tags are not known, if they should be.
    pub(super) tags: Result<Tags, String>,
    /// What this version knows.
    pub(super) known_privileges: BTreeSet<String>,
    pub(super) privileges: Result<BTreeMap<Reference, BTreeSet<String>>, String>,
}

/// How far reading came, in the order of reading: a vCenter may fall silent at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
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
    pub(super) fn beyond(self) -> Vec<&'static str> {
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

/// What two clocks said at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clocks {
    pub(crate) theirs: Timestamp,
    pub(crate) ours: Timestamp,
}

/// Tags, as far as they were asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tags {
    /// Category and name of each object's tags.
    pub(super) attached: BTreeMap<Reference, Vec<(String, String)>>,
    /// The ids of all tags there are.
    pub(super) ids: BTreeSet<String>,
}
