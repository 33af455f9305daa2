//! Reading a vCenter once per round: few calls, however many nodes live there.
//!
//! | call | what for |
//! |---|---|
//! | service content, login, logout | only where there is no session yet, or the caller does not keep it |
//! | managers together | who we are, sessions, tasks, privileges there are, counters |
//! | current time | |
//! | one pass over the inventory: view, pages, end of view | hosts, clusters, pools, datastores, and machines with all that is asked of nodes |
//! | privileges | one call for all objects |
//! | tags | one call for all objects, one per region and zone, up to three per category |
//! | storage policies, volumes, latencies | three, one, one |

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use slipway_providers::vsphere::inventory::{self, Facet, Inventory, Item, Scope};
use slipway_providers::vsphere::pool::Lease;
use slipway_providers::vsphere::{Client, Error, MoRef, Reference};
use tokio::time::timeout;

use super::cluster::{Cluster, DRIVER, Node};
use super::judge::{permissions, tags};
use super::matching::Ids;
use super::snapshot::{Machine, Part, Privileges, VCenterSnapshot};
use super::target::{CheckTarget, VCenter, Zone};
use crate::runner::Clock;
use crate::text::reason;
use crate::vsphere::managers::{self, Counter, Extent};
use crate::vsphere::{by_reference, clock};

/// The newest measurements: with one every 20 seconds, those of 100 minutes.
pub(super) const SAMPLES: u32 = 300;

const EVERYTHING: [Facet; 8] = [
    Facet::Datacenters,
    Facet::Folders,
    Facet::Clusters,
    Facet::ClusterNetworks,
    Facet::ResourcePools,
    Facet::Datastores,
    Facet::Networks,
    Facet::Hosts,
];

/// What a round asks of all vCenters.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) subject: CheckTarget,
    pub(super) ids: Ids,
    pub(super) nodes: Arc<Vec<Node>>,
    /// Whether any storage class names a policy.
    pub(super) policies: bool,
    /// Whether the cluster has volumes that a vCenter should know.
    pub(super) volumes: bool,
}

impl Question {
    pub(super) fn of(subject: CheckTarget, cluster: Option<&Cluster>) -> Self {
        let nodes = cluster.map(|cluster| cluster.nodes.clone()).unwrap_or_default();
        let of_driver = |cluster: &Cluster| {
            let mut classes = cluster.storage_classes.iter();
            classes.any(|class| class.provisioner == DRIVER && class.policy().is_some())
        };
        Question {
            subject,
            ids: Ids::of(&nodes),
            nodes,
            policies: cluster.is_some_and(of_driver),
            volumes: cluster.is_some(),
        }
    }

    fn is_control_plane(&self, machine: &Machine) -> bool {
        let mut nodes = self.ids.nodes(machine.uuid).iter().filter_map(|index| self.nodes.get(*index));
        nodes.any(Node::is_control_plane)
    }
}

/// What is kept of a vCenter from round to round.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    pub(super) lease: Lease,
    pub(super) counter: Counter,
}

/// Everything that is asked of one vCenter. Parts that are services of their own may take `patience` each.
pub(super) async fn observe(
    connection: &mut Connection,
    vcenter: &VCenter,
    question: &Question,
    clock: &Clock,
    patience: Duration,
) -> Result<VCenterSnapshot, Error> {
    let client = connection.lease.client().clone();
    let about = client.content().await?.about.clone();
    let extent = Extent::Activity { counters: connection.counter == Counter::NotRead };
    let managers = managers::read(&client, extent).await?;
    if managers.counter != Counter::NotRead {
        connection.counter = managers.counter;
    }
    let clocks = clock::read(&client, clock).await?;
    let (inventory, machines) = everything(&client, vcenter, question).await?;
    let mut snapshot = VCenterSnapshot {
        server: vcenter.server.clone(),
        version: about.version,
        api_version: about.api_version,
        build: about.build,
        uuid: about.instance_uuid,
        clocks,
        sessions: managers.sessions,
        tasks: managers.tasks,
        inventory,
        machines,
        privileges: Privileges::of(managers.user, managers.privileges),
        tags: Ok(BTreeMap::new()),
        policies: Ok(None),
        volumes: Ok(None),
        latencies: Ok(BTreeMap::new()),
        expires: Err("it was not checked".to_owned()),
    };
    let morefs =
        |ids: BTreeSet<Reference>| -> Vec<MoRef> { ids.into_iter().map(|id| client.moref(id)).collect() };
    let entities = morefs(permissions::entities(&question.subject, vcenter, &snapshot));
    let tagged = morefs(tags::objects(question, &snapshot));
    let masters = snapshot.machines.iter().filter(|machine| question.is_control_plane(machine));
    let masters: Vec<MoRef> = masters.map(|machine| client.moref(machine.id.clone())).collect();

    // Each is a service of its own; when one is down the rest is known all the same.
    let privileges = part(patience, client.privileges(&snapshot.privileges.user, &entities));
    let tags = part(patience, async {
        if tagged.is_empty() {
            return Ok(BTreeMap::new());
        }
        let categories = tags::categories(&question.subject);
        let categories: Vec<&str> = categories.iter().map(String::as_str).collect();
        client.named_tags_of(&tagged, &categories).await
    });
    let policies = part(patience, async {
        if !question.policies {
            return Ok(None);
        }
        let names = client.policies().await?.into_iter().map(|policy| policy.name);
        Ok(Some(names.collect()))
    });
    let volumes = part(patience, async {
        match &question.subject.cluster_id {
            Some(id) if question.volumes => client.first_volumes(id).await.map(Some),
            _ => Ok(None),
        }
    });
    let latencies = part(patience, async {
        match connection.counter {
            Counter::Number(counter) => client.measured(counter, &masters, SAMPLES).await,
            Counter::Missing | Counter::NotRead => Ok(BTreeMap::new()),
        }
    });
    let (privileges, tags, policies, volumes, latencies) =
        tokio::join!(privileges, tags, policies, volumes, latencies);
    snapshot.privileges.held = privileges.map(by_reference);
    snapshot.tags = tags.map(by_reference);
    snapshot.policies = policies;
    snapshot.volumes = volumes;
    snapshot.latencies = latencies.map(by_reference);
    Ok(snapshot)
}

async fn part<T>(patience: Duration, ask: impl Future<Output = Result<T, Error>>) -> Part<T> {
    match timeout(patience, ask).await {
        Ok(answer) => answer.map_err(|error| reason(&error)),
        Err(_) => Err(format!("no answer within {patience:?}")),
    }
}

/// Everything that has a place, and the machines that are nodes.
async fn everything(
    client: &Client,
    vcenter: &VCenter,
    question: &Question,
) -> Result<(Inventory, Vec<Machine>), Error> {
    let mut domains = question.subject.domains_on(&vcenter.server);
    let grouped = domains.any(|domain| matches!(domain.zone_kind, Zone::HostGroup { .. }));
    let scope = Scope::of(EVERYTHING)
        .with(Facet::ClusterSettings, grouped)
        .with(Facet::NodeMachines, !question.nodes.is_empty());
    let mut inventory = inventory::read(client, &scope).await?;
    let machines = inventory.machines().filter_map(|(item, facts)| node(item, facts, &question.ids));
    let machines = machines.collect();
    inventory.retain(|item| item.machine().is_none());
    Ok((inventory, machines))
}

/// None for templates, and for machines that are no nodes or whose id is not known yet.
fn node(item: &Item, facts: &inventory::Machine, ids: &Ids) -> Option<Machine> {
    let uuid = facts.uuid.filter(|uuid| !facts.template && !ids.nodes(*uuid).is_empty())?;
    Some(Machine { id: item.id.clone(), path: item.path.clone(), uuid, facts: facts.clone() })
}
