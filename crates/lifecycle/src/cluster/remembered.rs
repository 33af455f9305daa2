//! What the journal says was made, beside what is seen now. Not seen is not gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use slipway_engine::journal::Written;
use slipway_engine::{Endpoint, Id};
use slipway_providers::vsphere::kinds::{MachineState, State, VSphere};
use slipway_providers::vsphere::properties::Wanted as Properties;
use slipway_providers::vsphere::{Client, Error as CallError, MoRef, Reference};
use uuid::Uuid;

use super::FileJournal;

/// Something that was made and is not seen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    pub resource: Id,
    /// When it was made, or last changed.
    pub at: Timestamp,
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, made at {}, is not seen now", self.resource, self.at.strftime("%Y-%m-%d %H:%M UTC"))
    }
}

/// Something the journal says was made.
#[derive(Debug, Clone)]
pub(super) struct Remembered {
    pub(super) id: Id,
    pub(super) at: Timestamp,
    /// Its removal was begun: if it is not seen, that came true.
    pub(super) removal: bool,
    pub(super) what: Object,
}

impl Remembered {
    pub(super) fn unseen(&self) -> Unseen {
        Unseen { resource: self.id.clone(), at: self.at }
    }
}

/// How it is recognised.
#[derive(Debug, Clone)]
pub(super) enum Object {
    Tag,
    Folder(Reference),
    Machine(Reference, Option<Uuid>),
    /// A rule or a group of a compute cluster: known by its name.
    Rule,
    /// It may have been made.
    Begun,
    /// It was made; how is written in a form that this build cannot read.
    Unreadable,
}

/// By endpoint. Whether a machine runs is nothing of its own.
pub(super) fn remembered(journal: &FileJournal) -> BTreeMap<Endpoint, Vec<Remembered>> {
    let mut all: BTreeMap<Endpoint, Vec<Remembered>> = BTreeMap::new();
    for (id, record) in journal.records() {
        let what = match &record.state {
            None => Object::Begun,
            Some(Written::Unreadable(_)) => Object::Unreadable,
            Some(Written::State(state)) => match state {
                State::Tag { tag: Some(_), .. } => Object::Tag,
                State::Folder { moref, .. } => Object::Folder(reference(moref)),
                State::Machine(MachineState { moref, uuid, .. }) => {
                    Object::Machine(reference(moref), uuid.parse().ok())
                }
                State::Rule { .. } => Object::Rule,
                _ => continue,
            },
        };
        let one = Remembered { id: id.clone(), at: record.at, removal: record.removal, what };
        all.entry(id.endpoint.clone()).or_default().push(one);
    }
    all
}

fn reference(text: &str) -> Reference {
    let (kind, id) = text.split_once(':').unwrap_or(("", text));
    Reference::new(kind, id)
}

/// vCenters that have another name now: the old one and the new one. They are known by their own ids.
pub(super) async fn renamed(platform: &VSphere, journal: &FileJournal) -> Vec<(Endpoint, Endpoint)> {
    let all = platform.endpoints();
    let mut renamed = Vec::new();
    for (id, record) in journal.records().filter(|(id, _)| !all.contains(&id.endpoint)) {
        let Some(Written::State(State::Tag { vcenter, .. })) = &record.state else { continue };
        for endpoint in &all {
            if !vcenter.is_empty() && platform.instance(endpoint).await.as_ref() == Some(vcenter) {
                renamed.push((id.endpoint.clone(), endpoint.clone()));
            }
        }
    }
    renamed
}

/// vCenters at whose address another one answers now, and why that is believed.
pub(super) async fn exchanged(platform: &VSphere, journal: &FileJournal) -> BTreeMap<Endpoint, String> {
    let mut exchanged = BTreeMap::new();
    for (id, record) in journal.records() {
        let Some(Written::State(State::Tag { vcenter, .. })) = &record.state else { continue };
        let Some(instance) = platform.instance(&id.endpoint).await else { continue };
        if !vcenter.is_empty() && *vcenter != instance {
            let reason = format!(
                "another vCenter answers here than when the cluster was made: it was {vcenter}, it is {instance}"
            );
            exchanged.insert(id.endpoint.clone(), reason);
        }
    }
    exchanged
}

/// What was made on a vCenter and was not found there.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// It cannot be said to be gone.
    pub(super) unseen: Vec<Unseen>,
    /// It is there, and cannot be looked at.
    pub(super) hidden: Vec<String>,
}

/// Judges each record by itself: that a vCenter shows one thing says nothing about another, which may be in a folder
/// that the user may not see. `found` is what was
/// found of the cluster.
pub(super) async fn missing(
    client: &Client,
    remembered: &[Remembered],
    found: &BTreeSet<Reference>,
    knows_tag: bool,
) -> Result<Missing, CallError> {
    let lost = |one: &&Remembered| match &one.what {
        Object::Tag => !knows_tag,
        Object::Folder(reference) | Object::Machine(reference, _) => !found.contains(reference),
        // A rule without its machines does no harm, and of what was only begun nothing may have come.
        Object::Rule | Object::Begun => false,
        // It cannot be told from what is found.
        Object::Unreadable => true,
    };
    let lost: Vec<&Remembered> = remembered.iter().filter(lost).collect();
    let machines: Vec<MoRef> = lost
        .iter()
        .filter_map(|one| match &one.what {
            Object::Machine(reference, _) => Some(client.moref(reference.clone())),
            _ => None,
        })
        .collect();
    let wanted = [Properties { kind: "VirtualMachine", properties: &["config.instanceUuid"] }];
    let objects = client.retrieve(&machines, &wanted).await?;
    // One that answers and may not be read is there. One that can be read is another machine, with the same short id.
    let is_hidden = |reference: &Reference| {
        let object = objects.iter().find(|object| object.moref.reference == *reference);
        object.is_some_and(|object| object.text("config.instanceUuid").is_empty())
    };
    let mut missing = Missing::default();
    for one in lost {
        match &one.what {
            Object::Machine(reference, _) if is_hidden(reference) => {
                missing.hidden.push(format!("{} `{}` is there and cannot be read", one.id.kind, one.id.name));
            }
            _ if one.removal => {}
            _ => missing.unseen.push(one.unseen()),
        }
    }
    Ok(missing)
}
