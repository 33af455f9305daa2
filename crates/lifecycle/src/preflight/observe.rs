//! Reading a vCenter: few calls, however many failure domains it has.
//!
//! | call | what for |
//! |---|---|
//! | service content, login, logout | |
//! | one pass over the inventory: view, pages, end of view | where everything is |
//! | one read of the objects that matter | hosts, groups, what is in the folders |
//! | two reads of machines, or one where all were in the pass | which names are taken, and what templates are like |
//! | session and authorization manager together | who we are, which privileges there are |
//! | current time | |
//! | tags: one call for all objects, one per region and zone, up to three per category | |

mod machines;
mod parse;
mod tags;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use slipway_providers::vsphere::inventory::Paths;
use slipway_providers::vsphere::properties::{Object, Wanted as Kind};
use slipway_providers::vsphere::soap::Body;
use slipway_providers::vsphere::{Client, Error, MoRef, Reference};
use tokio::time::timeout;

use super::Clock;
use super::estate::{Clocks, Depth, Estate, Facts, Item, Tags, ancestry};
use super::wanted::{Site, Wanted};

const PLACED: [&str; 2] = ["name", "parent"];

const EVERYTHING: [Kind<'static>; 6] = [
    Kind { kind: "Datacenter", properties: &PLACED },
    Kind { kind: "Folder", properties: &PLACED },
    Kind { kind: "ComputeResource", properties: &["name", "parent", "host", "datastore", "network"] },
    Kind { kind: "ResourcePool", properties: &PLACED },
    Kind { kind: "Datastore", properties: &["name", "parent", "summary"] },
    Kind { kind: "Network", properties: &PLACED },
];

const DETAILS: [Kind<'static>; 3] = [
    Kind { kind: "ComputeResource", properties: &["configurationEx"] },
    Kind {
        kind: "HostSystem",
        properties: &[
            "name",
            "parent",
            "runtime.connectionState",
            "runtime.inMaintenanceMode",
            "summary.config.product",
            "summary.hardware",
            "summary.quickStats",
        ],
    },
    Kind { kind: "Folder", properties: &["childEntity"] },
];

const MANAGERS: [Kind<'static>; 2] = [
    Kind { kind: "SessionManager", properties: &["currentSession"] },
    Kind { kind: "AuthorizationManager", properties: &["privilegeList"] },
];

/// Everything but the user's privileges, which depend on what is found. What was read stays in `seen` when the rest
/// fails, or takes too long. Tags may take `tagging` at most.
pub(super) async fn observe<'a>(
    client: &Client,
    wanted: &Wanted,
    clock: &Clock,
    tagging: Duration,
    seen: &'a mut Option<Estate>,
) -> Result<&'a mut Estate, Error> {
    let about = client.content().await?.about.clone();
    // The first call logs in, which takes its time; the clock is asked afterwards.
    let (user, known_privileges) = session(client).await?;
    let estate = seen.insert(Estate {
        depth: Depth::Server,
        user,
        version: about.version,
        build: about.build,
        clock: None,
        items: Vec::new(),
        tags: Ok(Tags::default()),
        known_privileges,
        privileges: Ok(BTreeMap::new()),
    });
    estate.clock = clocks(client, clock).await?;
    estate.depth = Depth::Clock;
    let root = client.manager("rootFolder").await?;
    let mut kinds = EVERYTHING.to_vec();
    if machines::are_anywhere(wanted) {
        kinds.extend(machines::NAMES);
    }
    let objects = client.retrieve_below(&root, &kinds).await?;
    let (machines, objects): (Vec<Object>, Vec<Object>) =
        objects.into_iter().partition(|object| &*object.moref.reference.kind == "VirtualMachine");
    let mut inventory = Inventory::new(&root.reference, &mut estate.items);
    inventory.add(&objects);
    estate.depth = Depth::Inventory;

    let details = client.retrieve(&inventory.worth_a_look(wanted, client), &DETAILS).await?;
    let children = inventory.learn(&details);
    estate.depth = Depth::Hosts;
    let machines = machines::read(client, &inventory, wanted, machines, children).await?;
    inventory.add_items(machines);
    estate.depth = Depth::Machines;
    // Tags are another service of the vCenter; when it is down the rest is known all the same.
    estate.tags = match timeout(tagging, tags::read(client, wanted, estate)).await {
        Ok(read) => read.map_err(|error| reason(&error)),
        Err(_) => Err(format!("no answer within {tagging:?}")),
    };
    estate.depth = Depth::Tags;
    Ok(estate)
}

/// An error with everything below it.
pub(crate) fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// What time it is there, and here.
pub(crate) async fn clocks(client: &Client, clock: &Clock) -> Result<Option<Clocks>, Error> {
    let instance = client.moref(Reference::new("ServiceInstance", "ServiceInstance"));
    let before = clock();
    let reply = client.read(&instance, "CurrentTime", &Body::new()).await?;
    let after = clock();
    let theirs: Option<Timestamp> = reply.text_of("returnval").parse().ok();
    let ours = before.checked_add(after.duration_since(before) / 2).unwrap_or(after);
    Ok(theirs.map(|theirs| Clocks { theirs, ours }))
}

async fn session(client: &Client) -> Result<(String, BTreeSet<String>), Error> {
    let managers = [client.manager("sessionManager").await?, client.manager("authorizationManager").await?];
    let mut user = String::new();
    let mut privileges = BTreeSet::new();
    for object in client.retrieve(&managers, &MANAGERS).await? {
        if let Some(session) = object.properties.get("currentSession") {
            session.text_of("userName").clone_into(&mut user);
        }
        let list = object.properties.get("privilegeList").into_iter().flat_map(|list| &list.children);
        privileges.extend(list.map(|privilege| privilege.text_of("privId").to_owned()));
    }
    Ok((user, privileges))
}

/// What is known so far, and where.
pub(super) struct Inventory<'a> {
    items: &'a mut Vec<Item>,
    paths: Paths,
}

impl<'a> Inventory<'a> {
    fn new(root: &Reference, items: &'a mut Vec<Item>) -> Self {
        items.push(Item { id: root.clone(), path: "/".to_owned(), facts: Facts::Nothing });
        Inventory { items, paths: Paths::new(root) }
    }

    /// Objects in any order. One whose way to the root cannot be seen has no path and is left out.
    fn add(&mut self, objects: &[Object]) {
        self.paths.add(objects);
        self.items.extend(objects.iter().filter_map(|object| {
            let id = object.moref.reference.clone();
            let path = self.paths.get(&id)?.to_owned();
            Some(Item { id, path, facts: parse::facts(object) })
        }));
    }

    fn add_items(&mut self, items: Vec<Item>) {
        self.items.extend(items);
    }

    /// Where an object is, if it is known where its parent is.
    pub(super) fn path(&self, object: &Object) -> Option<String> {
        self.paths.of(object)
    }

    fn at(&self, path: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.path == path)
    }

    /// The objects of failure domains, as far as they are there: clusters, their hosts, and folders of machines.
    fn worth_a_look(&self, wanted: &Wanted, client: &Client) -> Vec<MoRef> {
        let mut ids = BTreeSet::new();
        for site in &wanted.sites {
            for cluster in self.items.iter().filter(|item| is_cluster_of(site, item)) {
                ids.insert(&cluster.id);
                ids.extend(cluster.cluster().map(|facts| &facts.hosts).into_iter().flatten());
            }
            let folders = machines::folders(site);
            ids.extend(folders.iter().filter_map(|path| self.at(path)).map(|item| &item.id));
        }
        ids.into_iter().map(|id| client.moref(id.clone())).collect()
    }

    /// Takes in what was read of single objects; returns what is in the folders.
    fn learn(&mut self, details: &[Object]) -> Vec<MoRef> {
        let mut children = Vec::new();
        let mut hosts = Vec::new();
        for object in details {
            match &*object.moref.reference.kind {
                "HostSystem" => hosts.push(object.clone()),
                "Folder" | "StoragePod" => children.extend(object.references("childEntity")),
                _ => {
                    let id = &object.moref.reference;
                    let item = self.items.iter_mut().find(|item| item.id == *id);
                    if let Some(Facts::Cluster(cluster)) = item.map(|item| &mut item.facts)
                        && let Some(settings) = object.properties.get("configurationEx")
                    {
                        *cluster = parse::settings(settings, std::mem::take(cluster));
                    }
                }
            }
        }
        self.add(&hosts);
        children
    }
}

/// Whether an item is the cluster of a failure domain, or one of that name somewhere in its datacenter: names of
/// old configurations are not paths yet.
fn is_cluster_of(site: &Site, item: &Item) -> bool {
    let Some(path) = &site.cluster else { return false };
    let name = path.rsplit('/').next().unwrap_or_default();
    let within = item.path.strip_prefix(&site.datacenter).is_some_and(|rest| rest.starts_with('/'));
    item.is_cluster() && within && item.is_called(name)
}

/// Items whose tags matter for a failure domain, from the bottom up.
fn tagged<'a>(site: &Site, estate: &'a Estate) -> Vec<&'a Item> {
    let clusters = estate.items.iter().filter(|item| is_cluster_of(site, item));
    let mut tagged: Vec<&Item> = Vec::new();
    for cluster in clusters {
        if let (Some(facts), true) = (cluster.cluster(), site.vm_group.is_some()) {
            tagged.extend(facts.hosts.iter().filter_map(|id| estate.item(id)));
        }
        tagged.extend(ancestry(&cluster.path).filter_map(|path| estate.at(path)));
    }
    tagged.extend(ancestry(&site.datacenter).filter_map(|path| estate.at(path)));
    tagged
}
