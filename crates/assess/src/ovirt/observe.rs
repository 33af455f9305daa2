//! What is read of the engine: as far as it answers, in about ten calls.

use std::collections::BTreeMap;

use serde_json::Value;
use slipway_config::names::EngineObject;
use slipway_providers::ovirt::client::Query;
use slipway_providers::ovirt::read::{id, items, marks_in, name, number, text};
use slipway_providers::ovirt::scope::{Collection, FoundCluster};
use slipway_providers::ovirt::{Error, Scope};

use super::Wanted;

/// An engine as it was read. What is none was not read, or is not there: the field says which.
#[derive(Debug, Default)]
pub struct EngineSnapshot {
    /// `4.5`, once it answered.
    pub(super) version: Option<(u64, u64)>,
    /// Read, and there or not.
    pub(super) cluster: Option<Lookup<ClusterFacts>>,
    pub(super) data_center_status: Option<String>,
    /// None where the user does not see hosts.
    pub(super) hosts: Option<Hosts>,
    pub(super) storage_domain: Option<Lookup<StorageFacts>>,
    /// By what was asked for: the networks of that data center that have a profile of that name or id.
    pub(super) profiles: Option<BTreeMap<String, Vec<String>>>,
    pub(super) templates: BTreeMap<String, Option<TemplateFacts>>,
    /// Machines whose names begin like those of this cluster, and are not its own.
    pub(super) machines: Option<Vec<String>>,
    /// All affinity groups of the cluster.
    pub(super) groups: Option<Vec<String>>,
    /// Those that this cluster has made already.
    pub(super) own_groups: Vec<String>,
    /// Something else has the name of the cluster's tag.
    pub(super) is_tag_taken: Option<bool>,
    pub(super) instance_types: BTreeMap<String, bool>,
}

/// Something that was looked for.
#[derive(Debug)]
pub(super) enum Lookup<T> {
    Absent,
    There(T),
}

impl<T> From<Option<T>> for Lookup<T> {
    fn from(found: Option<T>) -> Self {
        found.map_or(Lookup::Absent, Lookup::There)
    }
}

impl<T> Lookup<T> {
    pub(super) fn there(&self) -> Option<&T> {
        match self {
            Lookup::Absent => None,
            Lookup::There(found) => Some(found),
        }
    }
}

/// The cluster.
#[derive(Debug, Clone, Default)]
pub(super) struct ClusterFacts {
    pub(super) name: String,
    pub(super) architecture: String,
    pub(super) cpu_type: String,
}

/// Its hosts.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts {
    pub(super) up: usize,
    pub(super) all: usize,
    /// What machines may still be given, where hosts say it.
    pub(super) memory: Option<FreeMemory>,
}

/// Memory of hosts that are up, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FreeMemory {
    pub(super) all: u64,
    /// Of the host that has most.
    pub(super) most: u64,
}

/// The storage domain.
#[derive(Debug, Clone, Default)]
pub(super) struct StorageFacts {
    pub(super) name: String,
    pub(super) kind: String,
    /// Of that data center; none if it is not attached to it.
    pub(super) status: Option<String>,
    pub(super) available: u64,
}

/// A template.
#[derive(Debug, Clone, Default)]
pub(super) struct TemplateFacts {
    pub(super) status: String,
    pub(super) os: String,
    pub(super) has_boot_disk: bool,
}

pub(super) async fn read(scope: &Scope, wanted: &Wanted, read: &mut EngineSnapshot) -> Result<(), Error> {
    let root = scope.client.root().await?;
    let part = |path: &str| number(&root, path).unwrap_or_default();
    read.version = Some((part("/product_info/version/major"), part("/product_info/version/minor")));
    let Some(cluster) = there(scope.cluster().await)?.cloned() else {
        read.cluster = Some(Lookup::Absent);
        return Ok(());
    };
    let facts = scope.client.get("reading the cluster", &format!("clusters/{}", cluster.id)).await?;
    read.cluster = Some(Lookup::There(ClusterFacts {
        name: cluster.name.clone(),
        architecture: text(&facts, "/cpu/architecture"),
        cpu_type: text(&facts, "/cpu/type"),
    }));
    let path = format!("datacenters/{}", cluster.data_center);
    let data_center = scope.client.get("reading the data center", &path).await?;
    read.data_center_status = Some(text(&data_center, "/status"));
    read.hosts = hosts(scope, &cluster).await?;
    read.storage_domain = Some(storage_domain(scope, &cluster, &wanted.storage_domain).await?.into());
    read.profiles = Some(profiles(scope, &cluster, &wanted.profiles).await?);
    for wanted in &wanted.templates {
        let facts = template(scope, wanted).await?;
        read.templates.insert(wanted.to_string(), facts);
    }
    let query = Query::like("vms", "vm", "name", &format!("{}-*", wanted.infra_id));
    let machines = scope.client.list("listing machines", &query).await?;
    let is_ours = |object: &&Value, field: &str| {
        marks_in(&text(object, field)).is_some_and(|(infra_id, _)| infra_id.as_str() == wanted.infra_id)
    };
    read.machines = Some(machines.iter().filter(|one| !is_ours(one, "/comment")).map(name).collect());
    let path = format!("clusters/{}/affinitygroups", cluster.id);
    let groups = scope.client.list("listing affinity groups", &Query::all(&path, "affinity_group")).await?;
    read.own_groups = groups.iter().filter(|one| is_ours(one, "/description")).map(name).collect();
    read.groups = Some(groups.iter().map(name).collect());
    let tags = scope.client.list("listing tags", &Query::all("tags", "tag")).await?;
    let others = |tag: &Value| name(tag) == wanted.infra_id && !is_ours(&tag, "/description");
    read.is_tag_taken = Some(tags.iter().any(others));
    for wanted in &wanted.instance_types {
        let found =
            there(scope.client.get("reading an instance type", &format!("instancetypes/{wanted}")).await)?;
        read.instance_types.insert(wanted.clone(), found.is_some());
    }
    Ok(())
}

/// What is not there is an answer, too.
fn there<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Err(error) if error.is_not_found() => Ok(None),
        answer => answer.map(Some),
    }
}

/// A user without rights on hosts sees none: that says nothing about how many there are.
async fn hosts(scope: &Scope, cluster: &FoundCluster) -> Result<Option<Hosts>, Error> {
    let listed = match scope.client.list("listing hosts", &Query::all("hosts", "host")).await {
        Err(error) if error.is_forbidden() => return Ok(None),
        listed => listed?,
    };
    let ours: Vec<&Value> = listed.iter().filter(|host| text(host, "/cluster/id") == cluster.id).collect();
    if ours.is_empty() {
        return Ok(None);
    }
    let up: Vec<&&Value> = ours.iter().filter(|host| text(host, "/status") == "up").collect();
    let free: Vec<u64> = up.iter().filter_map(|host| number(host, "/max_scheduling_memory")).collect();
    let most = free.iter().max().copied();
    let memory = most.map(|most| FreeMemory { all: free.iter().sum(), most });
    Ok(Some(Hosts { up: up.len(), all: ours.len(), memory }))
}

async fn storage_domain(
    scope: &Scope,
    cluster: &FoundCluster,
    wanted: &EngineObject,
) -> Result<Option<StorageFacts>, Error> {
    let Some(found) = there(scope.find(Collection::StorageDomains, wanted).await)? else { return Ok(None) };
    // Only the data center it is attached to knows its status.
    let path = format!("datacenters/{}/storagedomains/{}", cluster.data_center, id(&found));
    let attached = there(scope.client.get("reading the storage domain", &path).await)?;
    Ok(Some(StorageFacts {
        name: name(&found),
        kind: text(&found, "/type"),
        status: attached.map(|domain| text(&domain, "/status")),
        available: number(&found, "/available").unwrap_or_default(),
    }))
}

async fn profiles(
    scope: &Scope,
    cluster: &FoundCluster,
    wanted: &[EngineObject],
) -> Result<BTreeMap<String, Vec<String>>, Error> {
    let query = Query::all("vnicprofiles", "vnic_profile").follow("network");
    let listed = scope.client.list("listing vNIC profiles", &query).await?;
    let here = |profile: &&Value| text(profile, "/network/data_center/id") == cluster.data_center;
    let networks = |wanted: &EngineObject| {
        let is_it = |profile: &&Value| {
            if wanted.is_id() { id(profile) == wanted.as_str() } else { name(profile) == wanted.as_str() }
        };
        let found = listed.iter().filter(here).filter(is_it).map(|profile| text(profile, "/network/name"));
        (wanted.to_string(), found.collect())
    };
    Ok(wanted.iter().map(networks).collect())
}

async fn template(scope: &Scope, wanted: &EngineObject) -> Result<Option<TemplateFacts>, Error> {
    let Some(found) = there(scope.find(Collection::Templates, wanted).await)? else { return Ok(None) };
    let path = format!("templates/{}?follow=disk_attachments", id(&found));
    let whole = scope.client.get("reading the template", &path).await?;
    let disks = items(&whole, "/disk_attachments/disk_attachment");
    Ok(Some(TemplateFacts {
        status: text(&found, "/status"),
        os: text(&found, "/os/type"),
        has_boot_disk: disks.iter().any(|disk| text(disk, "/bootable") == "true"),
    }))
}
