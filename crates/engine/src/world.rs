//! What is known of the world: there, not there, or unknown. Unknown is not "not there".

use std::collections::BTreeMap;

use serde::Serialize;

use crate::reason::{Cause, Reason};
use crate::resource::Id;

/// What a look at one resource found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Observation<S> {
    /// It is there like this, or surely not there.
    Known(Option<S>),
    /// It could not be looked at, and why.
    Unknown(Cause),
}

impl<S> Observation<S> {
    pub(crate) fn map<T>(self, change: impl FnOnce(S) -> T) -> Observation<T> {
        match self {
            Observation::Known(state) => Observation::Known(state.map(change)),
            Observation::Unknown(cause) => Observation::Unknown(cause),
        }
    }

    /// How it is, if it is known to be there.
    pub fn state(&self) -> Option<&S> {
        match self {
            Observation::Known(state) => state.as_ref(),
            Observation::Unknown(_) => None,
        }
    }
}

/// What is known, by resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World<S> {
    observations: BTreeMap<Id, Observation<S>>,
}

impl<S> Default for World<S> {
    fn default() -> Self {
        World { observations: BTreeMap::new() }
    }
}

impl<S: Clone> World<S> {
    pub fn set(&mut self, id: Id, observation: Observation<S>) {
        self.observations.insert(id, observation);
    }

    /// What has not been looked at is unknown.
    pub fn get(&self, id: &Id) -> Observation<S> {
        let unseen = || Observation::Unknown(Cause::new(Reason::NOT_OBSERVED, "it has not been read"));
        self.observations.get(id).cloned().unwrap_or_else(unseen)
    }

    /// Adds what is known from elsewhere.
    pub fn extend(&mut self, other: World<S>) {
        self.observations.extend(other.observations);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Id, &Observation<S>)> {
        self.observations.iter()
    }

    /// A resource and what it needs, as they are.
    pub(crate) fn observed(&self, id: &Id, dependencies: &[Id]) -> Observed<S> {
        let state = |id: &Id| self.observations.get(id).and_then(Observation::state).cloned();
        Observed {
            own: state(id),
            dependencies: dependencies.iter().filter_map(|id| Some((id.clone(), state(id)?))).collect(),
        }
    }
}

/// A resource and what it needs, as they are.
#[derive(Debug, Clone)]
pub struct Observed<S> {
    pub own: Option<S>,
    pub dependencies: BTreeMap<Id, S>,
}

impl<S> Observed<S> {
    /// One of the resource's needs, by kind.
    pub fn dependency(&self, kind: &str) -> Option<&S> {
        self.dependencies.iter().find(|(id, _)| &*id.kind == kind).map(|(_, state)| state)
    }
}
