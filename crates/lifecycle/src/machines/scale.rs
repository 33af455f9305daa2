//! Another number of machines of a set, and what that does.

use jiff::Timestamp;
use kube::{Client, ResourceExt};
use serde::Serialize;
use serde_json::json;
use slipway_api::openshift::{Machine, MachineSet};
use slipway_assess::machines::deletion::{DeletePolicy, order};
use slipway_assess::machines::disruption::BlockedEviction;
use slipway_assess::machines::names::is_kept;
use slipway_providers::cluster::merge;

use super::blocked_evictions::blocked_evictions;
use super::{MachinesError, all_machines, members, node_of, set_named, sets_of};

/// What scaling a set does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub set: String,
    pub from: u32,
    pub to: u32,
    /// How many are made.
    pub create: usize,
    /// Which are deleted, by name, those first that go first.
    pub delete: Vec<String>,
    /// Which leave the set and stay.
    pub retain: Vec<String>,
    /// Pods that would hold a drain up.
    pub blocked: Vec<BlockedEviction>,
    /// The set as it was looked at: another version is another plan.
    #[serde(skip)]
    version: Option<String>,
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.from == self.to && self.create == 0 && self.delete.is_empty() && self.retain.is_empty()
    }
}

/// Looks, and changes nothing.
pub async fn plan(client: &Client, set: &str, to: u32) -> Result<Plan, MachinesError> {
    let set = set_named(client, set).await?;
    let machines = all_machines(client).await?;
    let mut plan = foresee(&set, &machines, to, Timestamp::now());
    let nodes: Vec<&str> =
        machines.iter().filter(|one| plan.delete.contains(&one.name_any())).filter_map(node_of).collect();
    plan.blocked = blocked_evictions(client, &nodes).await?;
    Ok(plan)
}

/// What the controller would do. A policy that it does not understand stops it.
fn foresee(set: &MachineSet, machines: &[Machine], to: u32, now: Timestamp) -> Plan {
    let own: Vec<&Machine> = members(set, machines)
        .into_iter()
        .filter(|machine| machine.metadata.deletion_timestamp.is_none())
        .collect();
    let wanted = usize::try_from(to).unwrap_or(usize::MAX);
    let policy = DeletePolicy::of(set.spec.delete_policy.as_deref()).unwrap_or(DeletePolicy::Random);
    let surplus = own.len().saturating_sub(wanted);
    let going: Vec<&Machine> = order(&own, policy, now).into_iter().take(surplus).collect();
    let names = |kept: bool| -> Vec<String> {
        let some = going.iter().filter(|machine| is_kept(&machine.metadata) == kept);
        some.map(|machine| machine.name_any()).collect()
    };
    Plan {
        set: set.name_any(),
        from: set.spec.replicas,
        to,
        create: wanted.saturating_sub(own.len()),
        delete: names(false),
        retain: names(true),
        blocked: Vec::new(),
        version: set.resource_version(),
    }
}

/// Carries a plan out, if the set is still what it was.
pub async fn apply(client: &Client, plan: &Plan) -> Result<(), MachinesError> {
    let change = json!({"metadata": {"resourceVersion": plan.version}, "spec": {"replicas": plan.to}});
    let doing = format!("scaling the MachineSet `{}`", plan.set);
    Ok(merge(&sets_of(client), &plan.set, &doing, &change).await?)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;
    use serde_json::json;
    use slipway_api::openshift::{Machine, MachineSet};

    use super::foresee;

    fn set() -> MachineSet {
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
            "metadata": {"name": "worker-0", "uid": "1"}, "spec": {"replicas": 3, "deletePolicy": "Oldest"},
        }))
        .unwrap()
    }

    fn machine(name: &str, day: u8, kept: bool) -> Machine {
        let owner = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "worker-0", "uid": "1",
            "controller": true,
        });
        let annotations = if kept { json!({"slipway.dev/delete-policy": "Retain"}) } else { json!({}) };
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "spec": {},
            "metadata": {
                "name": name, "uid": name, "ownerReferences": [owner], "annotations": annotations,
                "creationTimestamp": format!("2026-01-0{day}T00:00:00Z"),
            },
        }))
        .unwrap()
    }

    #[rstest]
    #[case::up(5, 2, &[], &[])]
    #[case::same(3, 0, &[], &[])]
    #[case::down(2, 0, &["a"], &[])]
    #[case::to_nothing(0, 0, &["a", "c"], &["b"])]
    fn what_would_be_done(
        #[case] to: u32,
        #[case] create: usize,
        #[case] delete: &[&str],
        #[case] retain: &[&str],
    ) {
        let machines = [machine("c", 3, false), machine("b", 2, true), machine("a", 1, false)];
        let plan = foresee(&set(), &machines, to, Timestamp::from_second(1_800_000_000).unwrap());
        assert_eq!((plan.create, plan.is_empty()), (create, to == 3));
        assert_eq!((plan.delete, plan.retain), (strings(delete), strings(retain)));
    }

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }
}
