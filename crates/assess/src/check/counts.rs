//! What is counted in a round, whether it is good or bad.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

/// Counts and versions, as metrics show them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub vcenters: Vec<VCenterInfo>,
    /// Hosts that nodes run on, by version and API version.
    #[serde(serialize_with = "as_list")]
    pub hosts: BTreeMap<(String, String), usize>,
    /// Nodes by the version of their virtual hardware.
    pub hardware: BTreeMap<String, usize>,
    /// Nodes with changed block tracking, and without.
    pub change_tracking: BlockTracking,
    /// Datastores of failure domains, by type.
    pub datastores: BTreeMap<String, usize>,
    /// Volumes that several nodes can write to.
    pub shared_volumes: usize,
    /// Volumes that are bound to a zone.
    pub zonal_volumes: usize,
    pub domains: DomainCounts,
}

/// How many nodes have changed block tracking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct BlockTracking {
    pub on: usize,
    pub off: usize,
}

/// A pair cannot be a key in JSON.
fn as_list<S: Serializer>(
    hosts: &BTreeMap<(String, String), usize>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Host<'a> {
        version: &'a str,
        api_version: &'a str,
        count: usize,
    }
    serializer.collect_seq(hosts.iter().map(|((version, api_version), count)| Host {
        version,
        api_version,
        count: *count,
    }))
}

/// What a vCenter says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VCenterInfo {
    pub server: String,
    pub version: String,
    pub api_version: String,
    pub uuid: String,
    pub build: String,
}

/// How many of each the failure domains have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainCounts {
    pub regions: usize,
    pub zones: usize,
    pub vcenters: usize,
    pub datacenters: usize,
    pub datastores: usize,
    pub failure_domains: usize,
}
