//! Machines of a cluster that its files do not know, not any more, or not there.

use std::collections::{BTreeMap, BTreeSet};

use slipway_config::ids::InfraId;
use slipway_engine::{Endpoint, Graph};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::discover::tagged;
use super::missing::Recognized;
use crate::provider::{Memory, Origin, Surplus};
use crate::vsphere::kinds::{Desired, Kind, State, VSphere};
use crate::vsphere::paths::unescape;
use crate::vsphere::properties::PropertySpec;
use crate::vsphere::{Client, Error as CallError, MoRef};

const MACHINE: [&str; 4] = ["name", "config.instanceUuid", "config.template", "runtime.powerState"];

/// A vCenter that cannot be asked says nothing: that is told elsewhere.
pub(super) async fn find(
    platform: &VSphere,
    infra_id: &InfraId,
    graph: &Graph<Desired>,
    memory: &Memory<State>,
) -> Vec<Surplus> {
    let desired: BTreeMap<Uuid, &Endpoint> = graph
        .iter()
        .filter_map(|resource| match &resource.desired {
            Desired::Machine(machine) => Some((machine.uuid, &resource.id.endpoint)),
            _ => None,
        })
        .collect();
    // What was made here and is not wanted now, by id: its vCenter and its name.
    let mut made: BTreeMap<Uuid, (Endpoint, String)> = BTreeMap::new();
    for one in memory.values().flatten().filter(|one| Kind::Machine.is(&one.id)) {
        if let Recognized::Machine(_, Some(uuid)) = Recognized::of(one) {
            made.insert(uuid, (one.id.endpoint.clone(), one.id.name.to_string()));
        }
    }
    let mut looks = JoinSet::new();
    for endpoint in platform.endpoints() {
        let Some(client) = platform.client(&endpoint).cloned() else { continue };
        let known: BTreeSet<Uuid> = made.keys().chain(desired.keys()).copied().collect();
        let (infra_id, known) = (infra_id.clone(), known.into_iter().collect::<Vec<_>>());
        looks.spawn(async move { (endpoint, machines(&client, &infra_id, &known).await) });
    }
    let mut found = BTreeSet::new();
    for (endpoint, machines) in looks.join_all().await {
        for (name, uuid, on) in machines.unwrap_or_default() {
            let was_made = made.remove(&uuid).is_some();
            let origin = match desired.get(&uuid) {
                Some(home) if **home == endpoint => continue,
                Some(_) => Origin::SameId,
                None if was_made => Origin::Made,
                None => Origin::Tagged,
            };
            let (endpoint, id) = (endpoint.clone(), uuid.to_string());
            found.insert(Surplus { endpoint, name, on: Some(on), origin, id });
        }
    }
    made.retain(|uuid, _| !desired.contains_key(uuid));
    found.extend(made.into_iter().map(|(uuid, (endpoint, name))| Surplus {
        endpoint,
        name,
        on: None,
        origin: Origin::Made,
        id: uuid.to_string(),
    }));
    found.into_iter().collect()
}

async fn machines(
    client: &Client,
    infra_id: &InfraId,
    known: &[Uuid],
) -> Result<Vec<(String, Uuid, bool)>, CallError> {
    let carry = tagged(client, infra_id).await?.objects.into_iter();
    let carry = carry.filter(|moref| &*moref.reference.kind == "VirtualMachine");
    let known = client.machines_by_uuid(known).await?.into_values();
    let morefs: BTreeSet<MoRef> = carry.chain(known).collect();
    let desired = [PropertySpec { kind: "VirtualMachine", properties: &MACHINE }];
    let objects = client.retrieve(&morefs.into_iter().collect::<Vec<_>>(), &desired).await?;
    let machine = objects.iter().filter(|object| object.text("config.template") != "true");
    let machine = machine.filter_map(|object| {
        let name = unescape(object.text("name")).into_owned();
        let uuid = object.text("config.instanceUuid").parse().ok()?;
        Some((name, uuid, object.text("runtime.powerState") != "poweredOff"))
    });
    Ok(machine.collect())
}
