//! What a cluster has left in its namespace. Its directory is not needed for it: the marks say what is its.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use kube::ResourceExt;
use kube::api::DynamicObject;
use slipway_config::ids::{CLUSTER_MARK, InfraId, OBJECT_MARK};
use slipway_engine::{Endpoint, Goal, Id, Resource};

use super::missing::missing;
use crate::kubevirt::KindError;
use crate::kubevirt::infra::Infra;
use crate::kubevirt::kinds::{Desired, Kind, KubeVirt, State};
use crate::provider::{Discovery, EndpointsUnreadable, Memory, Remembered, Scanned, Search};

pub(super) async fn resources(
    platform: &KubeVirt,
    search: &Search<'_, KubeVirt>,
) -> Result<Discovery<Desired>, EndpointsUnreadable> {
    let scans = platform.infra.iter().map(|(endpoint, infra)| async move {
        (endpoint, scan(infra, endpoint, search.infra_id, search.memory).await)
    });
    Discovery::of_all(join_all(scans).await)
}

async fn scan(
    infra: &Infra,
    endpoint: &Endpoint,
    infra_id: &InfraId,
    memory: &Memory<State>,
) -> Result<Scanned<Desired>, KindError> {
    let kinds = BTreeSet::from([Kind::Image, Kind::Secret, Kind::Machine, Kind::Instance]);
    let listed = infra.list_all(&kinds, &format!("{CLUSTER_MARK}={infra_id}")).await?;
    let mut notes = Vec::new();
    let mut found: BTreeMap<Kind, Vec<Desired>> = BTreeMap::new();
    let machines: BTreeSet<String> =
        listed.get(&Kind::Machine).into_iter().flatten().map(ResourceExt::name_any).collect();
    for (kind, object) in listed.iter().flat_map(|(kind, all)| all.iter().map(|one| (*kind, one))) {
        let kind = match kind {
            // Of a machine that is there the instance goes when it is stopped.
            Kind::Instance if machines.contains(&object.name_any()) => continue,
            Kind::Image if !is_image(infra_id, object) => Kind::Disk,
            kind => kind,
        };
        match desired(kind, infra_id, object) {
            Some(desired) => found.entry(kind).or_default().push(desired),
            None => notes.push(format!(
                "{kind} `{}` on {endpoint} carries the label {CLUSTER_MARK}={infra_id}, and not the name or the label \
                 {OBJECT_MARK} of something of this cluster: it stays",
                object.name_any()
            )),
        }
    }
    let records = memory.get(endpoint).map(Vec::as_slice).unwrap_or_default();
    let is_found = |one: &&Remembered<State>| {
        let mut all = found.iter().flat_map(|(kind, all)| all.iter().map(|desired| (*kind, desired)));
        all.any(|(kind, desired)| kind.id(endpoint, &desired.name) == one.id)
    };
    let lost: Vec<Remembered<State>> = records.iter().filter(|one| !is_found(one)).cloned().collect();
    let missing = missing(infra, &lost).await?;
    let resources = going(endpoint, &found);
    Ok((Discovery { resources, unseen: missing.unseen, notes }, missing.hidden))
}

/// The volume that disks are cloned from, by its name.
fn is_image(infra_id: &InfraId, volume: &DynamicObject) -> bool {
    volume.name_any() == format!("{infra_id}-source-pvc")
}

/// An object of the cluster: its labels may have been copied with it, its name tells.
fn desired(kind: Kind, infra_id: &InfraId, object: &DynamicObject) -> Option<Desired> {
    let name = object.name_any();
    let mark = object.labels().get(OBJECT_MARK)?.parse().ok()?;
    name.strip_prefix(infra_id.as_str())?.strip_prefix('-')?;
    Some(Desired { kind, name, infra_id: infra_id.clone(), mark, manifest: None })
}

/// Machines are stopped, then removed, then what they stood on.
fn going(endpoint: &Endpoint, found: &BTreeMap<Kind, Vec<Desired>>) -> Vec<Resource<Desired>> {
    let of = |kind: Kind| found.get(&kind).map(Vec::as_slice).unwrap_or_default();
    let ids = |kind: Kind| of(kind).iter().map(move |one| kind.id(endpoint, &one.name));
    let ground: Vec<Id> = [Kind::Image, Kind::Secret, Kind::Disk].into_iter().flat_map(ids).collect();
    let resource = |desired: &Desired, depends_on: Vec<Id>| Resource {
        id: desired.kind.id(endpoint, &desired.name),
        goal: Goal::Absent,
        desired: desired.clone(),
        depends_on,
        rank: 1,
        hold: None,
    };
    let mut resources = Vec::new();
    for machine in of(Kind::Machine) {
        resources.push(resource(machine, ground.clone()));
        let power = Desired { kind: Kind::Power, ..machine.clone() };
        resources.push(resource(&power, vec![Kind::Machine.id(endpoint, &machine.name)]));
    }
    for instance in of(Kind::Instance) {
        resources.push(resource(instance, ground.clone()));
    }
    for desired in [Kind::Image, Kind::Secret, Kind::Disk].into_iter().flat_map(of) {
        resources.push(resource(desired, Vec::new()));
    }
    resources
}
