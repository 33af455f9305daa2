//! The change stream of a vCenter's machines: one list on the server, one call that waits for news of any of them.
//!
//! However many machines are followed, nothing is asked about them one by one, and one that does not change costs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use tokio::sync::watch;

use super::client::Client;
use super::error::Error;
use super::kinds::guest_addresses;
use super::moref::{MoRef, Reference};
use super::properties::{PropertySpec, property_sets};
use super::soap::{Body, Element};

/// How long the server holds a call in which nothing happens, at most: shorter than what proxies and firewalls bear.
const HOLD: Duration = Duration::from_mins(1);
/// Machines that are added within this time share a call.
const GATHER_TIME: Duration = Duration::from_millis(50);

const PROPERTIES: [&str; 6] = [
    "config.uuid",
    "config.instanceUuid",
    "guest.net",
    "runtime.powerState",
    "runtime.connectionState",
    "runtime.host",
];

/// A machine as its vCenter shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// In lower case; the node's providerID has it.
    pub bios_uuid: String,
    pub instance_uuid: String,
    /// As vCenter says: `poweredOn`.
    pub power: String,
    /// Whether vCenter hears of it: `connected`.
    pub connection: String,
    pub addresses: Vec<IpAddr>,
    /// The host it runs on, by its id.
    pub host: Option<String>,
}

/// What is new about a machine, by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineNews {
    Facts(String, MachineFacts),
    /// It left the inventory, or is out of sight. That is no proof that it is gone.
    Left(String),
}

/// What one stream has read so far.
struct Stream<'a> {
    client: &'a Client,
    list: MoRef,
    collector: MoRef,
    version: String,
    listed: BTreeSet<Reference>,
    machines: BTreeMap<Reference, MachineFacts>,
}

/// Follows machines, by their ids, until it fails. The set may change at any time. Whatever is known of a machine is told
/// once it is followed, and again whenever it changes.
pub async fn follow(
    client: &Client,
    followed: &mut watch::Receiver<BTreeSet<String>>,
    tell: &(impl Fn(MachineNews) + Sync),
) -> Result<(), Error> {
    let mut stream = Stream::open(client).await?;
    loop {
        let wanted: BTreeSet<Reference> =
            followed.borrow_and_update().iter().filter_map(|id| reference(id)).collect();
        stream.list(&wanted).await?.into_iter().for_each(tell);
        if wanted.is_empty() {
            if followed.changed().await.is_err() {
                return Ok(());
            }
            continue;
        }
        // A call that waits is not cut off: its answer would be lost. New machines are listed beside it.
        let (hold, deadline) = stream.patience();
        let options = Body::new().text("maxWaitSeconds", hold.as_secs());
        let body = Body::new().text("version", &stream.version).object("options", &options);
        let collector = stream.collector.clone();
        let wait = client.call_within(&collector, "WaitForUpdatesEx", &body, deadline);
        tokio::pin!(wait);
        let reply = loop {
            tokio::select! {
                biased;
                () = client.closed() => return Ok(()),
                reply = &mut wait => break reply?,
                changed = followed.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    tokio::time::sleep(GATHER_TIME).await;
                    let wanted = followed.borrow_and_update().iter().filter_map(|id| reference(id)).collect();
                    stream.list(&wanted).await?.into_iter().for_each(tell);
                }
            }
        };
        stream.learn(&reply).into_iter().for_each(tell);
    }
}

fn reference(id: &str) -> Option<Reference> {
    let (kind, id) = id.split_once(':')?;
    Some(Reference::new(kind, id))
}

impl<'a> Stream<'a> {
    /// A list and a collector of its own: filters of others would answer as well.
    async fn open(client: &'a Client) -> Result<Self, Error> {
        let returned = |method: &'static str, reply: &Element| {
            let made = reply.need("returnval").map_err(|cause| client.error(method, cause))?;
            Ok::<_, Error>(client.moref(Reference::of(made)))
        };
        let views = client.manager("viewManager").await?;
        let list = returned("CreateListView", &client.call(&views, "CreateListView", &Body::new()).await?)?;
        let parent = client.manager("propertyCollector").await?;
        let reply = client.call(&parent, "CreatePropertyCollector", &Body::new()).await?;
        let collector = returned("CreatePropertyCollector", &reply)?;
        let traversal = Body::new()
            .text("name", "machines")
            .text("type", "ListView")
            .text("path", "view")
            .text("skip", false);
        let set = Body::new().reference("obj", &list.reference).text("skip", true).typed(
            "selectSet",
            "TraversalSpec",
            &traversal,
        );
        let specs = [PropertySpec { kind: "VirtualMachine", properties: &PROPERTIES }];
        let spec = property_sets(&specs).object("objectSet", &set);
        // Whole values: a part of a list could not be put together again.
        let body = Body::new().object("spec", &spec).text("partialUpdates", false);
        client.call(&collector, "CreateFilter", &body).await?;
        let (listed, machines) = (BTreeSet::new(), BTreeMap::new());
        Ok(Stream { client, list, collector, version: String::new(), listed, machines })
    }

    /// How long the server holds a call, and how long an answer is waited for.
    fn patience(&self) -> (Duration, Duration) {
        let timeout = self.client.parts().0.timeout;
        let hold = HOLD.min(timeout).max(Duration::from_secs(1));
        (hold, hold + timeout.min(Duration::from_secs(30)))
    }

    /// Makes the server's list the wanted one, in one call. Says which machines the server does not know.
    async fn list(&mut self, wanted: &BTreeSet<Reference>) -> Result<Vec<MachineNews>, Error> {
        let added: Vec<&Reference> = wanted.difference(&self.listed).collect();
        let removed: Vec<&Reference> = self.listed.difference(wanted).collect();
        if added.is_empty() && removed.is_empty() {
            return Ok(Vec::new());
        }
        let body = Body::new()
            .each(&added, |body, machine| body.reference("add", machine))
            .each(&removed, |body, machine| body.reference("remove", machine));
        let reply = self.client.call(&self.list, "ModifyListView", &body).await?;
        let unknown: BTreeSet<Reference> = reply.all("returnval").map(Reference::of).collect();
        if !unknown.is_empty() {
            let body = Body::new().each(&unknown, |body, machine| body.reference("remove", machine));
            self.client.call(&self.list, "ModifyListView", &body).await?;
        }
        for machine in removed {
            self.machines.remove(machine);
        }
        self.listed.clone_from(wanted);
        Ok(unknown
            .iter()
            .filter(|one| wanted.contains(one))
            .map(|one| MachineNews::Left(one.to_string()))
            .collect())
    }

    fn learn(&mut self, reply: &Element) -> Vec<MachineNews> {
        let Some(set) = reply.child("returnval") else { return Vec::new() };
        set.text_of("version").clone_into(&mut self.version);
        let updates = set.all("filterSet").flat_map(|filter| filter.all("objectSet"));
        let mut changed = BTreeSet::new();
        let mut news = Vec::new();
        for update in updates {
            let Some(machine) = update.child("obj").map(Reference::of) else { continue };
            // What was taken out of the list leaves, too.
            if !self.listed.contains(&machine) {
                continue;
            }
            if update.text_of("kind") == "leave" {
                self.machines.remove(&machine);
                changed.remove(&machine);
                news.push(MachineNews::Left(machine.to_string()));
                continue;
            }
            let known = self.machines.entry(machine.clone()).or_default();
            for change in update.all("changeSet") {
                let value = change.child("val").filter(|_| change.text_of("op") == "assign");
                known.learn(change.text_of("name"), value);
            }
            changed.insert(machine);
        }
        let facts = |machine: &Reference| {
            Some(MachineNews::Facts(machine.to_string(), self.machines.get(machine)?.clone()))
        };
        news.extend(changed.iter().filter_map(facts));
        news
    }
}

impl MachineFacts {
    /// A property has this value now, or none.
    fn learn(&mut self, property: &str, value: Option<&Element>) {
        let text = || value.map(|value| value.text.to_string()).unwrap_or_default();
        match property {
            "config.uuid" => self.bios_uuid = text().to_lowercase(),
            "config.instanceUuid" => self.instance_uuid = text().to_lowercase(),
            "runtime.powerState" => self.power = text(),
            "runtime.connectionState" => self.connection = text(),
            "runtime.host" => self.host = Some(text()).filter(|host| !host.is_empty()),
            "guest.net" => self.addresses = guest_addresses(value),
            _ => {}
        }
    }
}
