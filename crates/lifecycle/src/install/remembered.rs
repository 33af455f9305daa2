//! What the journal says was made, and on which endpoints: they are known by their own ids, not by their names.

use std::collections::BTreeMap;

use slipway_engine::journal::{Record, Written};
use slipway_engine::{Endpoint, FileJournal, Id};
use slipway_providers::provider::{Memory, NotVisible, Provider, Remembered, Unreachable};

use super::Error;

/// Everything that was made, or may have been, by endpoint.
pub(super) fn memory<P: Provider>(journal: &FileJournal<P::State>) -> Memory<P::State> {
    let mut memory = Memory::<P::State>::new();
    for (id, record) in journal.records() {
        if matches!(&record.state, Some(Written::State(state)) if !P::is_object(state)) {
            continue;
        }
        let Record { state, at, removal } = record.clone();
        let one = Remembered { id: id.clone(), at, removal, state };
        memory.entry(id.endpoint.clone()).or_default().push(one);
    }
    memory
}

/// What was made on endpoints that the install-config does not name any more.
pub(super) fn strays<P: Provider>(platform: &P, journal: &FileJournal<P::State>) -> Vec<NotVisible> {
    let known = platform.endpoints();
    let elsewhere = memory::<P>(journal).into_iter().filter(|(endpoint, _)| !known.contains(endpoint));
    elsewhere.flat_map(|(_, all)| all).map(|one| one.unseen()).collect()
}

/// The ids of endpoints, as they were when something was made there.
fn instances<P: Provider>(journal: &FileJournal<P::State>) -> Vec<(Id, String)> {
    let instance = |(id, record): (&Id, &Record<P::State>)| match &record.state {
        Some(Written::State(state)) => Some((id.clone(), P::instance_in(state)?.to_owned())),
        _ => None,
    };
    journal.records().filter_map(instance).collect()
}

/// Endpoints that have another name now: the old one, the new one, and the resource that knows it.
pub(super) async fn renamed<P: Provider>(
    platform: &P,
    journal: &FileJournal<P::State>,
) -> Vec<(Endpoint, Endpoint, Id)> {
    let all = platform.endpoints();
    let mut renamed = Vec::new();
    for (id, was) in instances::<P>(journal).into_iter().filter(|(id, _)| !all.contains(&id.endpoint)) {
        for endpoint in &all {
            if platform.instance(endpoint).await.as_ref() == Some(&was) {
                renamed.push((id.endpoint.clone(), endpoint.clone(), id.clone()));
            }
        }
    }
    renamed
}

/// Endpoints at whose address another one answers now, and why that is believed.
pub(super) async fn exchanged<P: Provider>(platform: &P, journal: &FileJournal<P::State>) -> Unreachable {
    let mut exchanged = Unreachable::new();
    for (id, was) in instances::<P>(journal) {
        let Some(is) = platform.instance(&id.endpoint).await else { continue };
        if was != is {
            let reason = format!(
                "another {} answers here than when the cluster was created: it was {was}, it is {is}",
                P::WORDS.endpoint
            );
            exchanged.insert(id.endpoint.clone(), reason);
        }
    }
    exchanged
}

/// An endpoint under two names would have every machine twice.
pub(super) async fn check_twins<P: Provider>(platform: &P, silent: &Unreachable) -> Result<(), Error> {
    let mut instances = BTreeMap::new();
    for other in platform.endpoints().into_iter().filter(|endpoint| !silent.contains_key(endpoint)) {
        let Some(instance) = platform.instance(&other).await else { continue };
        if let Some(one) = instances.insert(instance, other.clone()) {
            return Err(Error::Twins { one, other, words: P::WORDS });
        }
    }
    Ok(())
}
