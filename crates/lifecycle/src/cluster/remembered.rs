//! What the journal says was made, beside what is seen now. Not seen is not gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use slipway_engine::{Endpoint, FileJournal, Id};
use slipway_providers::vsphere::kinds::{State, VSphere};
use slipway_providers::vsphere::properties::Wanted as Properties;
use slipway_providers::vsphere::{Client, Error as CallError, MoRef, Reference};
use uuid::Uuid;

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
    Tag(String),
    Folder(Reference),
    Machine(Reference, Option<Uuid>),
    /// A rule or a group of a compute cluster: known by its name.
    Rule,
    /// It may have been made.
    Begun,
}

/// By endpoint. Whether a machine runs is nothing of its own.
pub(super) fn remembered(journal: &FileJournal) -> BTreeMap<Endpoint, Vec<Remembered>> {
    let mut all: BTreeMap<Endpoint, Vec<Remembered>> = BTreeMap::new();
    for (id, record) in journal.records() {
        let what = match record.state.clone().map(serde_json::from_value) {
            None => Object::Begun,
            Some(Ok(State::Tag { tag: Some(tag), .. })) => Object::Tag(tag),
            Some(Ok(State::Folder { moref, .. })) => Object::Folder(reference(&moref)),
            Some(Ok(State::Machine { moref, uuid, .. })) => {
                Object::Machine(reference(&moref), uuid.parse().ok())
            }
            Some(Ok(State::Rule { .. })) => Object::Rule,
            Some(_) => continue,
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
        let state = record.state.clone().map(serde_json::from_value);
        let Some(Ok(State::Tag { vcenter, .. })) = state else { continue };
        for endpoint in &all {
            if !vcenter.is_empty() && platform.instance(endpoint).await.as_ref() == Some(&vcenter) {
                renamed.push((id.endpoint.clone(), endpoint.clone()));
            }
        }
    }
    renamed
}

/// What of the remembered a vCenter does not show. It is believed when it shows anything of the cluster: one that shows
/// nothing at all may have been restored from a backup, or hide everything from this user.
pub(super) async fn unseen(
    client: &Client,
    remembered: &[Remembered],
    shows_something: bool,
    tags: &BTreeSet<String>,
) -> Result<Vec<Unseen>, CallError> {
    let morefs: Vec<MoRef> = remembered
        .iter()
        .filter_map(|one| match &one.what {
            Object::Folder(reference) | Object::Machine(reference, _) => {
                Some(client.moref(reference.clone()))
            }
            Object::Tag(_) | Object::Rule | Object::Begun => None,
        })
        .collect();
    let wanted = [
        Properties { kind: "VirtualMachine", properties: &["config.instanceUuid"] },
        Properties { kind: "Folder", properties: &["name"] },
    ];
    let objects = client.retrieve(&morefs, &wanted).await?;
    // An id may be another object's by now. One that may not be read is there.
    let is_there = |one: &Remembered| match &one.what {
        // Nobody misses these.
        Object::Rule | Object::Begun => true,
        Object::Tag(tag) => tags.contains(tag),
        Object::Folder(reference) => objects.iter().any(|object| object.moref.reference == *reference),
        Object::Machine(reference, uuid) => objects.iter().any(|object| {
            let found: Option<Uuid> = object.text("config.instanceUuid").parse().ok();
            object.moref.reference == *reference && (found.is_none() || uuid.is_none() || found == *uuid)
        }),
    };
    let there: Vec<bool> = remembered.iter().map(is_there).collect();
    let known =
        |(one, there): &(&Remembered, &bool)| **there && !matches!(one.what, Object::Rule | Object::Begun);
    if shows_something || remembered.iter().zip(&there).any(|pair| known(&pair)) {
        return Ok(Vec::new());
    }
    let missing = remembered.iter().zip(&there).filter(|(one, there)| !**there && !one.removal);
    Ok(missing.map(|(one, _)| one.unseen()).collect())
}
