//! What was read of a vCenter, as a plain value: all that the rules look at.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::inventory::{self, Inventory};
use slipway_providers::vsphere::storage::Volume;
use uuid::Uuid;

use crate::vsphere::ObjectTags;
pub(super) use crate::vsphere::Part;
pub(super) use crate::vsphere::clock::Clocks;
pub(super) use crate::vsphere::privileges::Privileges;

/// What was read of one vCenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VCenterSnapshot {
    pub(super) server: String,
    pub(super) version: String,
    pub(super) api_version: String,
    pub(super) build: String,
    pub(super) uuid: String,
    pub(super) clocks: Option<Clocks>,
    /// Sessions of this user; none where the user may not see it.
    pub(super) sessions: Option<usize>,
    /// Whether tasks can be seen.
    pub(super) tasks: Part<()>,
    pub(super) inventory: Inventory,
    /// Machines that may be nodes.
    pub(super) machines: Vec<Machine>,
    pub(super) privileges: Privileges,
    pub(super) tags: Part<ObjectTags>,
    /// Names of storage policies, if a check needs them.
    pub(super) policies: Part<Option<BTreeSet<String>>>,
    /// The first volumes of this cluster, and how many there are.
    pub(super) volumes: Part<Option<(Vec<Volume>, u64)>>,
    /// Milliseconds, measurement by measurement.
    pub(super) latencies: Part<BTreeMap<Reference, Vec<i64>>>,
    pub(super) expires: Part<Timestamp>,
}

/// A virtual machine whose id is that of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) id: Reference,
    pub(super) path: String,
    pub(super) uuid: Uuid,
    pub(super) facts: inventory::Machine,
}
