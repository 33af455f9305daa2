//! What can be done about a resource.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::reason::{Cause, Reason};
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
pub struct RequiredPrivilege {
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
    #[serde(skip_serializing_if = "Vec::is_empty", default, rename = "needs")]
    pub privileges: Vec<RequiredPrivilege>,
    /// What is stamped on what the step makes, so that every later run recognises it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mark: Option<Uuid>,
    /// How long it may take. Then its outcome is looked at.
    #[serde(with = "crate::seconds")]
    pub limit: Duration,
}

/// Something that happens by itself. It is no step: nothing is called, and nothing is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub reason: Reason,
    /// For people, the end of a sentence that begins with "wait": ``until `m` has an address``.
    pub sentence: String,
    /// After how long to look again, where no feed of changes says so earlier.
    pub look_again: Duration,
    /// How long it may take, from when it is waited for. Then the resource fails.
    pub limit: Duration,
    /// For people: what is wrong when it takes longer.
    pub overdue: String,
    /// What can be done about it then.
    pub remedy: Option<String>,
}

/// What comes next for a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<A> {
    /// It is in sync.
    Done,
    Step(Box<Step<A>>),
    /// Nothing can be done: it happens by itself.
    Wait(Box<Wait>),
    /// It cannot go on by itself: a person has to decide or act.
    Stop(Cause),
}
