//! The bootstrap machine, to go.

use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::{Cause, Endpoint, Resource};
use slipway_providers::vsphere::kinds::{Kind, VSphere, Wanted};

use super::blueprint::Planned;
use super::remembered::{self, Missing, Unseen, remembered};
use super::wanted::going;
use super::{Error, FileJournal, UNCLEAR};

/// Where it is, or what is known of it otherwise.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) resources: Vec<Resource<Wanted>>,
    pub(super) unseen: Vec<Unseen>,
}

/// Looks for the machine on every vCenter. That it is nowhere can only be said when all of them were asked.
pub(super) async fn find(
    platform: &VSphere,
    machine: &Planned,
    journal: &FileJournal,
    silent: &BTreeMap<Endpoint, String>,
) -> Result<Found, Error> {
    let mut blind = remembered::exchanged(platform, journal).await;
    let all = platform.endpoints();
    let asked = all.iter().filter(|endpoint| !silent.contains_key(*endpoint));
    let mut places = Vec::new();
    for (endpoint, answer) in platform.locate(asked, &[machine.uuid]).await {
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
        [only] if !blind.contains_key(only) => going(machine, only, None).into(),
        several => {
            let names: Vec<&str> = several.iter().map(Endpoint::as_str).collect();
            let message = format!(
                "it is on {} at the same time. Find out which one the cluster uses, and remove the other one in vCenter",
                names.join(" and ")
            );
            let hold = Some(Cause::new(UNCLEAR, message));
            several.iter().flat_map(|endpoint| going(machine, endpoint, hold.clone())).collect()
        }
    };
    if !resources.is_empty() && blind.is_empty() {
        return Ok(Found { resources, unseen: Vec::new() });
    }
    blind.extend(silent.clone());
    let mut unseen = Vec::new();
    for (endpoint, mut records) in remembered(journal) {
        records.retain(|one| Kind::Machine.is(&one.id) && *one.id.name == *machine.name);
        match platform.client(&endpoint) {
            _ if records.is_empty() || blind.contains_key(&endpoint) => {}
            Some(client) => {
                let Missing { unseen: missed, hidden } =
                    remembered::missing(client, &records, &BTreeSet::new(), false).await?;
                unseen.extend(missed);
                blind.extend(hidden.into_iter().map(|reason| (endpoint.clone(), reason)));
            }
            None => unseen.extend(records.iter().map(remembered::Remembered::unseen)),
        }
    }
    if blind.is_empty() { Ok(Found { resources, unseen }) } else { Err(Error::blind(&blind)) }
}
