//! The bootstrap machine, to go.

use slipway_engine::{Cause, Endpoint, FileJournal};
use slipway_providers::provider::{Missing, NotVisible, Provider, Remembered, UNCLEAR, Unreachable};

use super::remembered::{exchanged, memory};
use super::{Error, refused};
use crate::platform::{ClusterSpec, DesiredOf, PlannedMachine, StateOf};

/// Where it is, or what is known of it otherwise.
#[derive(Debug)]
pub(super) struct Found<S: ClusterSpec> {
    pub(super) resources: Vec<DesiredOf<S>>,
    pub(super) unseen: Vec<NotVisible>,
}

/// Looks for the machine on every endpoint. That it is nowhere can only be said when all of them were asked.
pub(super) async fn find<S: ClusterSpec>(
    spec: &S,
    platform: &S::Provider,
    machine: &PlannedMachine,
    journal: &FileJournal<StateOf<S>>,
    silent: &Unreachable,
) -> Result<Found<S>, Error> {
    let mut blind = exchanged(platform, journal).await;
    let asked: Vec<Endpoint> =
        platform.endpoints().into_iter().filter(|endpoint| !silent.contains_key(endpoint)).collect();
    let mut places = Vec::new();
    for (endpoint, answer) in platform.locate(&asked, &[machine.uuid]).await {
        match answer {
            Ok(found) if !found.is_empty() => places.push(endpoint),
            Ok(_) => {}
            Err(reason) => {
                blind.insert(endpoint, reason);
            }
        }
    }
    let resources = match &places[..] {
        [] => Vec::new(),
        [only] if !blind.contains_key(only) => spec.departing(&machine.name, only, None),
        several => {
            let names: Vec<&str> = several.iter().map(Endpoint::as_str).collect();
            let message = format!(
                "it is on {} at the same time. Find out which one the cluster uses, and remove the other one in {}",
                names.join(" and "),
                S::Provider::WORDS.endpoint
            );
            let hold = Some(Cause::new(UNCLEAR, message));
            let held = |endpoint| spec.departing(&machine.name, endpoint, hold.clone());
            several.iter().flat_map(held).collect()
        }
    };
    if !resources.is_empty() && blind.is_empty() {
        return Ok(Found { resources, unseen: Vec::new() });
    }
    blind.extend(silent.clone());
    let known = platform.endpoints();
    let mut unseen = Vec::new();
    for (endpoint, mut records) in memory::<S::Provider>(journal) {
        records.retain(|one| one.id == S::Provider::machine_id(&endpoint, &machine.name));
        if records.is_empty() || blind.contains_key(&endpoint) {
            continue;
        }
        if known.contains(&endpoint) {
            let Missing { unseen: missed, hidden } =
                platform.missing(&endpoint, &records).await.map_err(refused)?;
            unseen.extend(missed);
            blind.extend(hidden.into_iter().map(|reason| (endpoint.clone(), reason)));
        } else {
            unseen.extend(records.iter().map(Remembered::unseen));
        }
    }
    if blind.is_empty() { Ok(Found { resources, unseen }) } else { Err(Error::blind(&blind)) }
}
