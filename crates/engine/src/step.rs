//! What can be done about a resource.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::resource::Id;

/// A part of an endpoint's budget that a step uses up while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// The name of a budget of the resource's endpoint.
    pub budget: Box<str>,
    pub units: u32,
}

/// A privilege a step needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Need {
    /// What the privilege is needed on, as its platform names objects: an inventory path on vSphere.
    pub object: Box<str>,
    pub privilege: Box<str>,
}

/// One thing to do: a call, or a few that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step<A> {
    pub resource: Id,
    pub action: A,
    /// One word, for tables and the journal: `clone`.
    pub verb: Box<str>,
    /// For people: what will happen, to what, where.
    pub sentence: String,
    /// For people: what makes it as if it had not happened. `None`: nothing has to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub undo: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub costs: Vec<Cost>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub needs: Vec<Need>,
    /// What is stamped on what the step makes, so that it is recognised whoever looks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mark: Option<Uuid>,
    /// How long it may take. Then its outcome is looked at.
    #[serde(with = "crate::seconds")]
    pub limit: Duration,
}

/// What comes next for a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<A> {
    /// It is as wanted.
    Done,
    Step(Box<Step<A>>),
    /// Somebody has to decide or act, and what they should know.
    Stop(String),
}
