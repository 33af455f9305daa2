//! Machines of a cluster that its files do not know, or not any more.

use std::collections::{BTreeMap, BTreeSet};

use slipway_config::ids::InfraId;
use slipway_engine::{Endpoint, Graph};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::discover::tagged;
use super::missing::Known;
use crate::provider::{Memory, Surplus};
use crate::vsphere::kinds::{Kind, State, VSphere, Wanted};
use crate::vsphere::paths::unescape;
use crate::vsphere::properties::Wanted as PropertySpec;
use crate::vsphere::{Client, Error as CallError, MoRef};

const MACHINE: [&str; 4] = ["name", "config.instanceUuid", "config.template", "runtime.powerState"];

/// A vCenter that cannot be asked says nothing: that is told elsewhere.
pub(super) async fn find(
    platform: &VSphere,
    infra_id: &InfraId,
    graph: &Graph<Wanted>,
    memory: &Memory<State>,
) -> Vec<Surplus> {
    let wanted: BTreeSet<Uuid> = graph
        .iter()
        .filter_map(|resource| match &resource.wanted {
            Wanted::Machine(machine) => Some(machine.uuid),
            _ => None,
        })
        .collect();
    // What was made here and is not wanted now, by id: its vCenter and its name.
    let mut made: BTreeMap<Uuid, (Endpoint, String)> = BTreeMap::new();
    for one in memory.values().flatten().filter(|one| Kind::Machine.is(&one.id)) {
        if let Known::Machine(_, Some(uuid)) = Known::of(one) {
            made.insert(uuid, (one.id.endpoint.clone(), one.id.name.to_string()));
        }
    }
    let mut looks = JoinSet::new();
    for endpoint in platform.endpoints() {
        let Some(client) = platform.client(&endpoint).cloned() else { continue };
        let (infra_id, made) = (infra_id.clone(), made.keys().copied().collect::<Vec<_>>());
        looks.spawn(async move { (endpoint, machines(&client, &infra_id, &made).await) });
    }
    let mut found = BTreeSet::new();
    for (endpoint, machines) in looks.join_all().await {
        for (name, uuid, on) in machines.unwrap_or_default() {
            let made_here = made.remove(&uuid).is_some();
            if !wanted.contains(&uuid) {
                found.insert(Surplus { endpoint: endpoint.clone(), name, on: Some(on), made_here });
            }
        }
    }
    made.retain(|uuid, _| !wanted.contains(uuid));
    let unseen = made.into_values();
    found.extend(unseen.map(|(endpoint, name)| Surplus { endpoint, name, on: None, made_here: true }));
    found.into_iter().collect()
}

async fn machines(
    client: &Client,
    infra_id: &InfraId,
    made: &[Uuid],
) -> Result<Vec<(String, Uuid, bool)>, CallError> {
    let carry = tagged(client, infra_id).await?.objects.into_iter();
    let carry = carry.filter(|moref| &*moref.reference.kind == "VirtualMachine");
    let known = client.machines_by_uuid(made).await?.into_values();
    let morefs: BTreeSet<MoRef> = carry.chain(known).collect();
    let wanted = [PropertySpec { kind: "VirtualMachine", properties: &MACHINE }];
    let objects = client.retrieve(&morefs.into_iter().collect::<Vec<_>>(), &wanted).await?;
    let machine = objects.iter().filter(|object| object.text("config.template") != "true");
    let machine = machine.filter_map(|object| {
        let name = unescape(object.text("name")).into_owned();
        let uuid = object.text("config.instanceUuid").parse().ok()?;
        Some((name, uuid, object.text("runtime.powerState") != "poweredOff"))
    });
    Ok(machine.collect())
}
