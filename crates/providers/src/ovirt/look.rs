//! Reading resources: a few lists for all of a cluster, however many there are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use slipway_engine::platform::Query as Asked;
use slipway_engine::{Cause, Observation};

use super::client::Query;
use super::error::Error;
use super::kinds::{
    BootDisk, Desired, GuestDisk, Kind, KindError, MachineState, ObjectState, PowerState, State, boot_disk,
    disk_name, disk_size, group_state, members, reason,
};
use super::read::{addresses, id, items, name, text, truth};
use super::scope::Scope;

/// What is read of machines in the same call.
pub(super) const VM_LINKS: &str = "disk_attachments.disk,nics,tags,reported_devices";

/// What was listed for some resources.
#[derive(Debug, Default)]
struct Listed {
    machines: Vec<Value>,
    tags: Vec<Value>,
    groups: Vec<Value>,
}

impl Scope {
    /// Machines by what a field of theirs is like.
    pub(super) async fn machines(&self, field: &str, text: &str) -> Result<Vec<Value>, Error> {
        let query = Query::like("vms", "vm", field, text).follow(VM_LINKS);
        self.client.list("listing machines", &query).await
    }

    pub(super) async fn observe(
        &self,
        queries: &[Asked<'_, Desired, State>],
    ) -> Result<Vec<Observation<State>>, KindError> {
        let cluster = self.cluster().await?.id.clone();
        let kinds: BTreeSet<Kind> = queries.iter().map(|query| query.resource.desired.kind).collect();
        let has = |kind: Kind| kinds.contains(&kind);
        let mut listed = Listed::default();
        if has(Kind::Machine) || has(Kind::Power) {
            let infra_ids: BTreeSet<&str> =
                queries.iter().map(|query| query.resource.desired.infra_id.as_str()).collect();
            for infra_id in infra_ids {
                listed.machines.extend(self.machines("name", &format!("{infra_id}-*")).await?);
            }
        }
        if has(Kind::Tag) {
            listed.tags = self.tags().await?;
        }
        if has(Kind::AffinityGroup) || has(Kind::Machine) {
            listed.groups = self.groups().await?;
        }
        let mut observations = Vec::with_capacity(queries.len());
        for Asked { resource, made } in queries {
            let desired = &resource.desired;
            let made_machine = match made {
                Some(State::Machine(machine)) => Some(machine),
                _ => None,
            };
            let of = |objects: &[Value]| objects.iter().find(|object| desired.is(object)).cloned();
            let object = |object: &Value| ObjectState { cluster: cluster.clone(), id: id(object) };
            let seen = match desired.kind {
                Kind::Tag => of(&listed.tags).map(|tag| State::Tag(object(&tag))),
                Kind::AffinityGroup => {
                    of(&listed.groups).map(|group| State::Group(group_state(&cluster, &group)))
                }
                Kind::Power => of(&listed.machines).map(|machine| State::Power(power_state(&machine))),
                Kind::Machine => match of(&listed.machines) {
                    Some(machine) => Some(State::Machine(
                        self.machine_seen(desired, &machine, &listed.groups, made_machine).await?,
                    )),
                    None => None,
                },
            };
            observations.push(match (seen, made.and_then(State::object)) {
                (Some(state), _) => Observation::Known(Some(state)),
                (None, Some(made)) => self.proof(desired, made, &listed, &cluster).await?,
                (None, None) => Observation::Known(None),
            });
        }
        Ok(observations)
    }

    /// Whether something that was made is gone, or only out of the lists: it may have been renamed, or the user may not see
    /// it any more. That it is gone is proven when the cluster it was made in is seen, and the thing itself is not.
    async fn proof(
        &self,
        desired: &Desired,
        made: &ObjectState,
        listed: &Listed,
        cluster: &str,
    ) -> Result<Observation<State>, KindError> {
        if made.cluster != cluster {
            let message = "the cluster is another one than when it was created";
            return Ok(Observation::Unknown(Cause::new(reason::ANOTHER_CLUSTER, message)));
        }
        let is_there = match desired.kind {
            Kind::Tag => listed.tags.iter().any(|tag| id(tag) == made.id),
            Kind::AffinityGroup => listed.groups.iter().any(|group| id(group) == made.id),
            _ => self.is_machine_there(&made.id).await?,
        };
        if is_there {
            let message = format!(
                "it is there under another name or without its marks; rename it to `{}` and put these into its comment (of a \
                 tag or affinity group, its description): {}",
                desired.name,
                desired.marks()
            );
            return Ok(Observation::Unknown(Cause::new(reason::MARKS_LOST, message)));
        }
        if self.is_visible(cluster).await? {
            return Ok(Observation::Known(None));
        }
        let message =
            "the user does not see the cluster any more, so that what is in it cannot be said to be gone";
        Ok(Observation::Unknown(Cause::new(reason::NOT_VISIBLE, message)))
    }

    /// Whether the very machine is there.
    pub(super) async fn is_machine_there(&self, machine: &str) -> Result<bool, Error> {
        match self.client.get("looking for a machine", &format!("vms/{machine}")).await {
            Err(error) if error.is_not_found() => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// A machine as it is, beside how it should be.
    pub(super) async fn machine_seen(
        &self,
        desired: &Desired,
        machine: &Value,
        groups: &[Value],
        made: Option<&MachineState>,
    ) -> Result<MachineState, Error> {
        let machine_id = id(machine);
        let (own, others) = boot_disk(machine, made);
        let disk = own.map(|attachment| BootDisk {
            id: id(attachment),
            bytes: disk_size(attachment),
            locked: text(attachment, "/disk/status") == "locked",
        });
        let guest = |attachment: &&Value| GuestDisk { id: id(attachment), name: disk_name(attachment) };
        let is_in = |group: &&Value| members(group).any(|member| member == machine_id);
        Ok(MachineState {
            object: ObjectState { cluster: self.cluster().await?.id.clone(), id: machine_id.clone() },
            status: text(machine, "/status"),
            tagged: items(machine, "/tags/tag").iter().any(|tag| name(tag) == desired.infra_id.as_str()),
            connected: self.is_connected(desired, machine).await?,
            disk,
            guests: others.iter().map(guest).collect(),
            groups: groups.iter().filter(is_in).map(name).collect(),
            protected: truth(machine, "/delete_protected"),
        })
    }

    /// Whether its cards are on the networks that are wanted, in that order.
    async fn is_connected(&self, desired: &Desired, machine: &Value) -> Result<bool, Error> {
        let Some(spec) = desired.machine() else { return Ok(true) };
        let there: Vec<String> =
            items(machine, "/nics/nic").iter().map(|nic| text(nic, "/vnic_profile/id")).collect();
        let mut wanted = Vec::new();
        for card in &spec.cards {
            wanted.push(self.profile(card.network.as_deref(), &card.profile).await?);
        }
        Ok(there == wanted)
    }
}

/// Whether a machine runs.
pub(super) fn power_state(machine: &Value) -> PowerState {
    PowerState {
        machine: id(machine),
        status: text(machine, "/status"),
        addresses: addresses(machine),
        host: Some(text(machine, "/host/id")).filter(|host| !host.is_empty()),
    }
}

/// Machines by id: two searches may find the same ones.
pub(super) fn by_id(machines: impl IntoIterator<Item = Value>) -> BTreeMap<String, Value> {
    machines.into_iter().map(|machine| (id(&machine), machine)).collect()
}
