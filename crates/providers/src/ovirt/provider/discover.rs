//! What a cluster has left on its engine. Its directory is not needed for it: names, marks and the tag say what is its.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::Value;
use slipway_config::ids::InfraId;
use slipway_engine::{Endpoint, Goal, Id, Resource};
use uuid::Uuid;

use super::missing::missing;
use crate::ovirt::kinds::{Desired, Kind, KindError, Ovirt, State};
use crate::ovirt::look::by_id;
use crate::ovirt::read::{id, items, marks_in, name, text};
use crate::ovirt::scope::Scope;
use crate::provider::{Discovery, EndpointsUnreadable, Memory, Remembered, Scanned, Search};

pub(super) async fn resources(
    platform: &Ovirt,
    search: &Search<'_, Ovirt>,
) -> Result<Discovery<Desired>, EndpointsUnreadable> {
    let scans = platform.scopes.iter().map(|(endpoint, scope)| async move {
        (endpoint, scan(scope, endpoint, search.infra_id, search.memory).await)
    });
    Discovery::of_all(join_all(scans).await)
}

async fn scan(
    scope: &Scope,
    endpoint: &Endpoint,
    infra_id: &InfraId,
    memory: &Memory<State>,
) -> Result<Scanned<Desired>, KindError> {
    let mut machines = scope.machines("name", &format!("{infra_id}-*")).await?;
    machines.extend(scope.machines("tag", infra_id.as_str()).await?);
    let mut notes = Vec::new();
    let mut found = Vec::new();
    for machine in by_id(machines).values() {
        match judge(infra_id, machine) {
            Verdict::Ours(desired) => found.push(desired),
            Verdict::Others => {}
            Verdict::Doubtful(reason) => {
                notes.push(format!("machine `{}` on {endpoint} {reason}: it stays", name(machine)));
            }
        }
    }
    let shared = [(Kind::Tag, scope.tags().await?), (Kind::AffinityGroup, scope.groups().await?)];
    for (kind, objects) in &shared {
        found.extend(objects.iter().filter_map(|object| of_marks(*kind, infra_id, object, "/description")));
    }
    let records = memory.get(endpoint).map(Vec::as_slice).unwrap_or_default();
    let ids: BTreeSet<Id> = found.iter().map(|one| one.kind.id(endpoint, &one.name)).collect();
    let lost: Vec<Remembered<State>> = records.iter().filter(|one| !ids.contains(&one.id)).cloned().collect();
    let missing = missing(scope, &lost).await?;
    let resources = going(endpoint, &found);
    Ok((Discovery { resources, unseen: missing.unseen, notes }, missing.hidden))
}

/// Whether a machine is the cluster's.
pub(super) enum Verdict {
    Ours(Desired),
    /// It only has a name that begins alike.
    Others,
    /// Something says that it is, and something else does not.
    Doubtful(String),
}

pub(super) fn judge(infra_id: &InfraId, machine: &Value) -> Verdict {
    let has_name = is_named(infra_id, &name(machine));
    let has_tag = items(machine, "/tags/tag").iter().any(|tag| name(tag) == infra_id.as_str());
    if let Some(desired) = of_marks(Kind::Machine, infra_id, machine, "/comment") {
        return Verdict::Ours(desired);
    }
    match (has_name, has_tag) {
        // Made by the cluster itself, which tags its machines.
        (true, true) => Verdict::Ours(Desired {
            kind: Kind::Machine,
            name: name(machine),
            infra_id: infra_id.clone(),
            mark: id(machine).parse().unwrap_or(Uuid::nil()),
            spec: None,
            found: Some(id(machine)),
        }),
        (false, true) => Verdict::Doubtful(format!(
            "carries the tag {infra_id}, and has not the name of a machine of this cluster"
        )),
        (true, false) => Verdict::Doubtful(format!(
            "is named like a machine of {infra_id}, and carries neither its tag nor its marks"
        )),
        (false, false) => Verdict::Others,
    }
}

fn is_named(infra_id: &InfraId, name: &str) -> bool {
    name.strip_prefix(infra_id.as_str()).is_some_and(|rest| rest.starts_with('-'))
}

/// An object of the cluster: its marks may have been copied with it, its name tells.
fn of_marks(kind: Kind, infra_id: &InfraId, object: &Value, field: &str) -> Option<Desired> {
    let (marked, mark) = marks_in(&text(object, field))?;
    let name = name(object);
    let is_named = if kind == Kind::Tag { name == infra_id.as_str() } else { is_named(infra_id, &name) };
    let infra_id = infra_id.clone();
    (marked == infra_id && is_named).then(|| Desired { kind, name, infra_id, mark, spec: None, found: None })
}

/// Machines are powered off, then removed, then what they share.
fn going(endpoint: &Endpoint, found: &[Desired]) -> Vec<Resource<Desired>> {
    let shared = found.iter().filter(|one| one.kind != Kind::Machine);
    let ground: Vec<Id> = shared.map(|one| one.kind.id(endpoint, &one.name)).collect();
    let resource = |desired: &Desired, depends_on: Vec<Id>| Resource {
        id: desired.kind.id(endpoint, &desired.name),
        goal: Goal::Absent,
        desired: desired.clone(),
        depends_on,
        rank: 1,
        hold: None,
    };
    let mut resources = Vec::new();
    for desired in found {
        if desired.kind != Kind::Machine {
            resources.push(resource(desired, Vec::new()));
            continue;
        }
        resources.push(resource(desired, ground.clone()));
        let power = Desired { kind: Kind::Power, ..desired.clone() };
        resources.push(resource(&power, vec![Kind::Machine.id(endpoint, &desired.name)]));
    }
    resources
}
