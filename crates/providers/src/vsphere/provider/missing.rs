//! What was made beside what is found. Not seen is not gone.

use std::collections::BTreeSet;

use slipway_engine::journal::Written;
use uuid::Uuid;

use crate::provider::{Missing, Remembered};
use crate::vsphere::kinds::{MachineState, State};
use crate::vsphere::properties::PropertySpec;
use crate::vsphere::{Client, Error as CallError, MoRef, Reference};

/// How something that was made is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Recognized {
    Tag,
    Folder(Reference),
    Machine(Reference, Option<Uuid>),
    /// A rule or a group of a compute cluster: known by its name.
    Rule,
    /// It may have been made.
    Begun,
    /// It was made; how is written in a form that this build cannot read.
    Unreadable,
    /// A property of another object.
    Property,
}

impl Recognized {
    pub(super) fn of(record: &Remembered<State>) -> Self {
        let state = match &record.state {
            None => return Recognized::Begun,
            Some(Written::Unreadable(_)) => return Recognized::Unreadable,
            Some(Written::State(state)) => state,
        };
        match state {
            State::Tag { tag: Some(_), .. } => Recognized::Tag,
            State::Folder { moref, .. } => Recognized::Folder(reference(moref)),
            State::Machine(MachineState { moref, uuid, .. }) => {
                Recognized::Machine(reference(moref), uuid.parse().ok())
            }
            State::Rule { .. } => Recognized::Rule,
            _ => Recognized::Property,
        }
    }
}

fn reference(text: &str) -> Reference {
    let (kind, id) = text.split_once(':').unwrap_or(("", text));
    Reference::new(kind, id)
}

/// `found` is what was found of the cluster, `knows_tag` whether its tag was.
pub(super) async fn missing(
    client: &Client,
    records: &[Remembered<State>],
    found: &BTreeSet<Reference>,
    knows_tag: bool,
) -> Result<Missing, CallError> {
    let lost = |one: &Remembered<State>| match Recognized::of(one) {
        Recognized::Tag => !knows_tag,
        Recognized::Folder(reference) | Recognized::Machine(reference, _) => !found.contains(&reference),
        // A rule without its machines does no harm, and of what was only begun nothing may have come.
        Recognized::Rule | Recognized::Begun | Recognized::Property => false,
        // It cannot be told from what is found.
        Recognized::Unreadable => true,
    };
    let lost: Vec<(&Remembered<State>, Recognized)> =
        records.iter().filter(|one| lost(one)).map(|one| (one, Recognized::of(one))).collect();
    let machines: Vec<MoRef> = lost
        .iter()
        .filter_map(|(_, known)| match known {
            Recognized::Machine(reference, _) => Some(client.moref(reference.clone())),
            _ => None,
        })
        .collect();
    let properties = [PropertySpec { kind: "VirtualMachine", properties: &["config.instanceUuid"] }];
    let objects = client.retrieve(&machines, &properties).await?;
    // One that answers and may not be read is there. One that can be read is another machine, with the same short id.
    let is_hidden = |reference: &Reference| {
        let object = objects.iter().find(|object| object.moref.reference == *reference);
        object.is_some_and(|object| object.text("config.instanceUuid").is_empty())
    };
    let mut missing = Missing::default();
    for (one, known) in lost {
        match known {
            Recognized::Machine(reference, _) if is_hidden(&reference) => {
                missing.hidden.push(format!("{} `{}` is there and cannot be read", one.id.kind, one.id.name));
            }
            _ if one.removal => {}
            _ => missing.unseen.push(one.unseen()),
        }
    }
    Ok(missing)
}
