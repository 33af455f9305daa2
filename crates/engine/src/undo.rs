//! The way back: resources as they were before a run, by what the journal says.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::journal::{Before, Entry, Event, Written};
use crate::platform::Platform;
use crate::reason::{Cause, Reason};
use crate::resource::{Goal, Graph, GraphError, Id, Resource};

/// How resources were before they were touched for the first time since then. What an earlier build wrote does not say.
pub fn before<S: Clone>(entries: &[Entry<S>], since: Timestamp) -> BTreeMap<Id, Before<S>> {
    let mut first = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.at >= since) {
        if let Event::Intended { before: Some(before), .. } = &entry.event {
            first.entry(entry.resource.clone()).or_insert_with(|| before.clone());
        }
    }
    first
}

/// The resources of a graph that were touched since then, with what they were as their goal: planned and applied like
/// anything else, from a look at the whole graph. What was not there goes, what went is made again, what was changed is
/// changed back. What cannot be changed back is left alone, and why.
pub fn undo<P: Platform>(
    platform: &P,
    graph: &Graph<P::Desired>,
    entries: &[Entry<P::State>],
    since: Timestamp,
) -> Result<Graph<P::Desired>, GraphError>
where
    P::Desired: Clone,
{
    let before = before(entries, since);
    let back = |resource: &Resource<P::Desired>, before: &Before<P::State>| {
        let restored = match before {
            Before::Absent => return Resource { goal: Goal::Absent, ..resource.clone() },
            Before::State(Written::State(state)) => platform.restore(resource, state).ok_or_else(|| {
                let message = format!("the {} cannot be created as it was", resource.id.kind);
                Cause::new(Reason::NOT_RESTORABLE, message)
            }),
            Before::State(Written::Unreadable(value)) => {
                let message = format!("another version wrote how it was: {value}");
                Err(Cause::new(Reason::JOURNAL_UNREADABLE, message))
            }
        };
        let present = Resource { goal: Goal::Present, ..resource.clone() };
        match restored {
            Ok(desired) => Resource { desired, ..present },
            Err(hold) => Resource { hold: Some(hold), ..present },
        }
    };
    let touched = graph.iter().filter_map(|resource| Some(back(resource, before.get(&resource.id)?)));
    let touched: Vec<Resource<P::Desired>> = touched.collect();
    let ids: BTreeSet<&Id> = touched.iter().map(|resource| &resource.id).collect();
    // What was not touched is as it was.
    let needs = touched.iter().flat_map(|resource| &resource.depends_on);
    let given: BTreeSet<Id> = needs.filter(|need| !ids.contains(need)).cloned().collect();
    Graph::with_given(touched, given)
}
