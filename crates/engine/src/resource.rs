//! What is wanted: resources with stable ids, and what they need.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::reason::{Cause, Reason};
use crate::world::World;

/// Where resources live: a vCenter, an engine, a cluster. Each has its own queue, budgets and breaker.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Box<str>", into = "String")]
pub struct Endpoint(Arc<str>);

impl Endpoint {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Endpoint {
    fn from(name: &str) -> Self {
        Endpoint(name.into())
    }
}

impl From<Box<str>> for Endpoint {
    fn from(name: Box<str>) -> Self {
        Endpoint(name.into())
    }
}

impl From<Endpoint> for String {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.0.as_ref().to_owned()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The same in every run: what it is about can be named before it exists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id {
    pub endpoint: Endpoint,
    pub kind: Box<str>,
    pub name: Box<str>,
}

impl Id {
    pub fn new(endpoint: &Endpoint, kind: &str, name: &str) -> Self {
        Id { endpoint: endpoint.clone(), kind: kind.into(), name: name.into() }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` on {}", self.kind, self.name, self.endpoint)
    }
}

/// Whether something should be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    Present,
    Absent,
}

/// One thing that should be there, or should not. `wanted` says how it should look, and how to recognise it.
#[derive(Debug, Clone)]
pub struct Resource<W> {
    pub id: Id,
    pub goal: Goal,
    pub desired: W,
    /// What must be there before this one can be made, and must not go before this one is gone.
    pub depends_on: Vec<Id>,
    /// Of those that could start, the lowest rank goes first.
    pub rank: u8,
    /// Why it must be left alone, whatever it looks like.
    pub hold: Option<Cause>,
}

impl<W> Resource<W> {
    /// The same resource, wanted otherwise.
    pub(crate) fn with_desired<V>(&self, desired: V) -> Resource<V> {
        let Resource { id, goal, depends_on: needs, rank, hold, .. } = self;
        let (id, needs, hold) = (id.clone(), needs.clone(), hold.clone());
        Resource { id, goal: *goal, desired, depends_on: needs, rank: *rank, hold }
    }
}

/// Why resources do not make a graph.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GraphError {
    #[error("there are two of {0}")]
    Twice(Id),
    #[error("{0} needs {1}, which is not among the resources")]
    Unknown(Id, Id),
    #[error("{0} needs itself, by way of others")]
    Circle(Id),
}

/// Resources in an order in which each comes after what it waits for.
#[derive(Debug, Clone)]
pub struct Graph<W> {
    resources: BTreeMap<Id, Arc<Resource<W>>>,
    /// For each, what has to be settled before it may move.
    waits_for: BTreeMap<Id, Vec<Id>>,
    /// What is settled elsewhere, and needed here.
    given: BTreeSet<Id>,
    order: Vec<Id>,
}

impl<W> Graph<W> {
    /// What is to be made waits for what it needs; what is to go waits for those that need it.
    pub fn new(resources: Vec<Resource<W>>) -> Result<Self, GraphError> {
        Self::with_given(resources, [])
    }

    /// The same, where some of what they need is settled elsewhere, by another run. It is not looked at and never touched: how
    /// it is, the world has to say, or what needs it stays where it is.
    pub fn with_given(
        resources: Vec<Resource<W>>,
        given: impl IntoIterator<Item = Id>,
    ) -> Result<Self, GraphError> {
        let given: BTreeSet<Id> = given.into_iter().collect();
        let mut map = BTreeMap::new();
        for resource in resources {
            let id = resource.id.clone();
            if map.insert(id.clone(), Arc::new(resource)).is_some() {
                return Err(GraphError::Twice(id));
            }
        }
        let mut waits_for: BTreeMap<Id, Vec<Id>> = map.keys().map(|id| (id.clone(), Vec::new())).collect();
        for (id, resource) in &map {
            for need in &resource.depends_on {
                let Some(needed) = map.get(need) else {
                    if given.contains(need) {
                        continue;
                    }
                    return Err(GraphError::Unknown(id.clone(), need.clone()));
                };
                let (waiting, first) = match needed.goal {
                    Goal::Present => (id, need),
                    Goal::Absent => (need, id),
                };
                if let Some(list) = waits_for.get_mut(waiting) {
                    list.push(first.clone());
                }
            }
        }
        let order = sorted(&map, &waits_for)?;
        Ok(Graph { resources: map, waits_for, given, order })
    }

    /// In an order in which each comes after what it waits for.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource<W>>> {
        self.order.iter().filter_map(|id| self.resources.get(id))
    }

    pub fn get(&self, id: &Id) -> Option<&Arc<Resource<W>>> {
        self.resources.get(id)
    }

    pub fn waits_for(&self, id: &Id) -> &[Id] {
        self.waits_for.get(id).map_or(&[], Vec::as_slice)
    }

    /// Something a resource needs that is settled elsewhere and is not there. What is to go needs nothing.
    pub(crate) fn missing_given<'r, S: Clone>(
        &self,
        resource: &'r Resource<W>,
        world: &World<S>,
    ) -> Option<&'r Id> {
        let mut given = resource.depends_on.iter().filter(|need| self.given.contains(*need));
        given.find(|need| resource.goal == Goal::Present && world.get(need).state().is_none())
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The same resources, some of which must be left alone.
    #[must_use]
    pub fn with_holds(self, reason: &Reason, holds: &BTreeMap<Id, String>) -> Self
    where
        W: Clone,
    {
        let mut resources = self.resources;
        for (id, message) in holds {
            if let Some(resource) = resources.get_mut(id) {
                Arc::make_mut(resource).hold = Some(Cause::new(reason.clone(), message));
            }
        }
        Graph { resources, ..self }
    }

    pub fn endpoints(&self) -> BTreeSet<Endpoint> {
        self.resources.keys().map(|id| id.endpoint.clone()).collect()
    }
}

/// Topological, and by rank and id among those that could go next.
fn sorted<W>(
    resources: &BTreeMap<Id, Arc<Resource<W>>>,
    waits_for: &BTreeMap<Id, Vec<Id>>,
) -> Result<Vec<Id>, GraphError> {
    let mut open: BTreeMap<&Id, usize> = waits_for.iter().map(|(id, list)| (id, list.len())).collect();
    let mut followers: BTreeMap<&Id, Vec<&Id>> = BTreeMap::new();
    for (id, list) in waits_for {
        for first in list {
            followers.entry(first).or_default().push(id);
        }
    }
    let rank = |id: &Id| resources.get(id).map_or(u8::MAX, |resource| resource.rank);
    let mut ready: BTreeSet<(u8, &Id)> =
        open.iter().filter(|(_, count)| **count == 0).map(|(id, _)| (rank(id), *id)).collect();
    let mut order = Vec::with_capacity(resources.len());
    while let Some((_, id)) = ready.pop_first() {
        open.remove(id);
        order.push(id.clone());
        for follower in followers.get(id).into_iter().flatten() {
            if let Some(count) = open.get_mut(*follower) {
                *count -= 1;
                if *count == 0 {
                    ready.insert((rank(follower), *follower));
                }
            }
        }
    }
    match open.keys().next() {
        Some(id) => Err(GraphError::Circle((*id).clone())),
        None => Ok(order),
    }
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, Goal, Graph, GraphError, Id, Resource};

    fn id(name: &str) -> Id {
        Id::new(&Endpoint::from("vc"), "thing", name)
    }

    fn resource(name: &str, needs: &[&str], goal: Goal, rank: u8) -> Resource<()> {
        let needs = needs.iter().map(|need| id(need)).collect();
        Resource { id: id(name), goal, desired: (), depends_on: needs, rank, hold: None }
    }

    fn order(resources: Vec<Resource<()>>) -> Vec<String> {
        Graph::new(resources).unwrap().iter().map(|resource| resource.id.name.to_string()).collect()
    }

    #[test]
    fn what_is_needed_comes_first_and_goes_last() {
        let made = [("folder", &[][..]), ("vm", &["folder"][..]), ("tag", &[][..])];
        let all = |goal| made.iter().map(|(name, needs)| resource(name, needs, goal, 1)).collect();
        assert_eq!(order(all(Goal::Present)), ["folder", "tag", "vm"]);
        assert_eq!(order(all(Goal::Absent)), ["tag", "vm", "folder"]);
    }

    #[test]
    fn rank_decides_among_equals() {
        let ranked = [("a-worker", 2), ("b-control", 1)];
        let all = ranked.iter().map(|(name, rank)| resource(name, &[], Goal::Present, *rank)).collect();
        assert_eq!(order(all), ["b-control", "a-worker"]);
    }

    #[test]
    fn refuses_what_is_no_graph() {
        let (one, other) = (resource("a", &["b"], Goal::Present, 1), resource("b", &["a"], Goal::Present, 1));
        assert!(matches!(Graph::new(vec![one.clone(), other]), Err(GraphError::Circle(_))));
        assert_eq!(Graph::new(vec![one.clone()]).unwrap_err(), GraphError::Unknown(id("a"), id("b")));
        assert_eq!(Graph::new(vec![one.clone(), one]).unwrap_err(), GraphError::Twice(id("a")));
    }
}
