//! What is known of the world: there, not there, or unknown. Unknown is not "not there".

use std::collections::BTreeMap;

use serde::Serialize;

use crate::reason::{Cause, Reason};
use crate::resource::Id;

/// What a look at one resource found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sight<S> {
    /// It is there like this, or surely not there.
    Known(Option<S>),
    /// It could not be looked at, and why.
    Unknown(Cause),
}

impl<S> Sight<S> {
    pub(crate) fn map<T>(self, change: impl FnOnce(S) -> T) -> Sight<T> {
        match self {
            Sight::Known(state) => Sight::Known(state.map(change)),
            Sight::Unknown(cause) => Sight::Unknown(cause),
        }
    }

    /// How it is, if it is known to be there.
    pub fn state(&self) -> Option<&S> {
        match self {
            Sight::Known(state) => state.as_ref(),
            Sight::Unknown(_) => None,
        }
    }
}

/// What is known, by resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World<S> {
    sights: BTreeMap<Id, Sight<S>>,
}

impl<S> Default for World<S> {
    fn default() -> Self {
        World { sights: BTreeMap::new() }
    }
}

impl<S: Clone> World<S> {
    pub fn set(&mut self, id: Id, sight: Sight<S>) {
        self.sights.insert(id, sight);
    }

    /// What has not been looked at is unknown.
    pub fn get(&self, id: &Id) -> Sight<S> {
        let unseen = || Sight::Unknown(Cause::new(Reason::NOT_OBSERVED, "it has not been looked at"));
        self.sights.get(id).cloned().unwrap_or_else(unseen)
    }

    /// Adds what is known from elsewhere.
    pub fn extend(&mut self, other: World<S>) {
        self.sights.extend(other.sights);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Id, &Sight<S>)> {
        self.sights.iter()
    }

    /// A resource and what it needs, as they are.
    pub(crate) fn seen(&self, id: &Id, needs: &[Id]) -> Seen<S> {
        let state = |id: &Id| self.sights.get(id).and_then(Sight::state).cloned();
        Seen {
            own: state(id),
            needs: needs.iter().filter_map(|need| Some((need.clone(), state(need)?))).collect(),
        }
    }
}

/// A resource and what it needs, as they are.
#[derive(Debug, Clone)]
pub struct Seen<S> {
    pub own: Option<S>,
    pub needs: BTreeMap<Id, S>,
}

impl<S> Seen<S> {
    /// One of the resource's needs, by kind.
    pub fn need(&self, kind: &str) -> Option<&S> {
        self.needs.iter().find(|(id, _)| &*id.kind == kind).map(|(_, state)| state)
    }
}
