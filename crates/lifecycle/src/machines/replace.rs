//! A machine of the control plane, replaced by a new one. An etcd member goes with the old one, and comes with the new one.
//!
//! Here Machines are made and deleted. What a new one joins with is made in the cluster, and so is the decision whether a member may
//! leave etcd: by the DaemonSet `slipway-control-plane`, however the Machine is deleted.
//!
//! What was begun is written on the new Machine, so that a replacement that was cut off goes on where it was.

mod decide;

use std::time::Duration;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde::Serialize;
use serde_json::json;
use slipway_api::openshift::{LifecycleHook, LifecycleHooks, Machine};
use slipway_api::well_known::{CONTROL_PLANE, SYSTEM_NAMESPACE};
use slipway_assess::machines::disruption::BlockedEviction;
use slipway_assess::machines::names::{ETCD_HOOK, PAUSED, REPLACES, UNTIL_PREPARED, annotation};
use slipway_config::ids::OBJECT_MARK;
use slipway_providers::cluster::{call, merge, or_absent};
use tokio::time::{Instant, sleep};

pub use self::decide::{Health, Order};
use self::decide::{Observed, Step, fresh_name, next, refusal};
use super::blocked_evictions::blocked_evictions;
use super::list::{Row, State, overview};
use super::{MachinesError, all_machines, is_control_plane, machines_of, node_of};

/// Between two looks.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// The static pods of a machine that has its part in the control plane.
const PODS: [&str; 2] = ["etcd", "kube-apiserver"];

/// What a replacement would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub machine: String,
    /// The machine that takes its place.
    pub replacement: String,
    pub order: Order,
    /// The other machines of the control plane, and how they are.
    pub others: Vec<Health>,
    /// A replacement that was cut off goes on.
    pub goes_on: bool,
    /// Whether the new machine needs an address from a pool.
    pub needs_address: bool,
    /// Pods that would hold a drain up now.
    pub blocked: Vec<BlockedEviction>,
}

/// What there is of a cluster.
struct Sight {
    machines: Vec<Machine>,
    rows: Vec<Row>,
    pods: Vec<Pod>,
}

impl Sight {
    async fn of(client: &Client) -> Result<Self, MachinesError> {
        let machines = all_machines(client).await?;
        let nodes: Api<Node> = Api::all(client.clone());
        let nodes = call("listing nodes", nodes.list(&ListParams::default())).await?.items;
        let pods: Api<Pod> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
        let of_control_plane = ListParams::default().labels("tier=control-plane");
        let pods = call("listing the pods of the control plane", pods.list(&of_control_plane)).await?.items;
        let rows = overview(&machines, &nodes).machines;
        Ok(Sight { machines, rows, pods })
    }

    fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().find(|machine| machine.name_any() == name)
    }

    fn replacement_of(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().find(|machine| annotation(&machine.metadata, REPLACES) == Some(name))
    }

    fn row(&self, machine: &Machine) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == machine.name_any())
    }

    /// What a machine lacks to have its part in the control plane; `None` if it has it.
    fn lacks(&self, machine: &Machine) -> Option<String> {
        let row = self.row(machine)?;
        if row.state != State::Running {
            let why = row.reason.as_ref().map(|reason| format!(", {reason}")).unwrap_or_default();
            return Some(format!("{}{why}", row.state.as_str()));
        }
        let node = node_of(machine)?;
        let is_ready = |pod: &&str| {
            let name = format!("{pod}-{node}");
            self.pods.iter().any(|pod| pod.name_any() == name && is_ready(pod))
        };
        PODS.iter().find(|pod| !is_ready(pod)).map(|pod| format!("{pod} is not ready"))
    }

    fn observe(&self, plan: &Plan) -> Observed {
        let new = self.replacement_of(&plan.machine);
        Observed {
            machine: plan.machine.clone(),
            replacement: plan.replacement.clone(),
            order: plan.order,
            is_leaving: self.machine(&plan.machine).map(|old| old.metadata.deletion_timestamp.is_some()),
            why_leaving: self.machine(&plan.machine).and_then(|old| self.row(old)?.reason.clone()),
            new: new.map(|new| decide::New {
                waits: annotation(&new.metadata, PAUSED).is_some_and(|value| value != UNTIL_PREPARED),
                has_failed: self.row(new).is_some_and(|row| row.state == State::Failed),
                lacks: self.lacks(new),
            }),
        }
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Looks, and changes nothing. `None` if it is no machine of the control plane.
pub async fn plan(client: &Client, name: &str) -> Result<Option<Plan>, MachinesError> {
    let sight = Sight::of(client).await?;
    let (old, new) = (sight.machine(name), sight.replacement_of(name));
    if new.is_none() && old.is_none_or(|old| !is_control_plane(old)) {
        return Ok(None);
    }
    let agents: Api<DaemonSet> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    if call(&format!("looking for the DaemonSet `{CONTROL_PLANE}`"), agents.get_opt(CONTROL_PLANE))
        .await?
        .is_none()
    {
        return Err(MachinesError::ControlPlaneUnmanaged(name.to_owned()));
    }
    let masters = sight.machines.iter().filter(|machine| is_control_plane(machine));
    let another = masters.clone().filter(|one| one.name_any() != name).find_map(|one| {
        annotation(&one.metadata, REPLACES).filter(|other| *other != name).map(str::to_owned)
    });
    if let Some(other) = another {
        return Err(MachinesError::OtherReplacement(other));
    }
    let others: Vec<Health> = masters
        .clone()
        .filter(|one| one.name_any() != name && new.is_none_or(|new| new.uid() != one.uid()))
        .map(|one| Health { machine: one.name_any(), lacks: sight.lacks(one) })
        .collect();
    let lacks = old.and_then(|old| sight.lacks(old));
    let waits =
        |new: &Machine| annotation(&new.metadata, PAUSED).is_some_and(|value| value != UNTIL_PREPARED);
    let order = match new {
        Some(new) if waits(new) => Order::OldFirst,
        None if lacks.is_some() => Order::OldFirst,
        Some(_) | None => Order::NewFirst,
    };
    // What was begun was judged then; whether the member may leave is judged in the cluster, again.
    if new.is_none()
        && let Some(why) = refusal(lacks.is_none(), &others)
    {
        return Err(MachinesError::QuorumAtRisk { machine: name.to_owned(), why });
    }
    let names: Vec<String> = sight.machines.iter().map(ResourceExt::name_any).collect();
    let replacement = new.map_or_else(|| fresh_name(name, &names), ResourceExt::name_any);
    let nodes: Vec<&str> = old.into_iter().filter_map(node_of).collect();
    let devices = old.or(new).map(|one| one.spec.provider_spec.value["network"]["devices"].clone());
    let devices = devices.as_ref().and_then(|devices| devices.as_array()).cloned().unwrap_or_default();
    let has_pool = |device: &serde_json::Value| {
        device["addressesFromPools"].as_array().is_some_and(|pools| !pools.is_empty())
    };
    Ok(Some(Plan {
        machine: name.to_owned(),
        replacement,
        order,
        others,
        goes_on: new.is_some(),
        needs_address: devices.iter().any(has_pool),
        blocked: blocked_evictions(client, &nodes).await?,
    }))
}

/// Carries it out, and tells of every step. Run again it goes on.
pub async fn apply(
    client: &Client,
    plan: &Plan,
    timeout: Duration,
    mut told: impl FnMut(&str),
) -> Result<(), MachinesError> {
    let deadline = Instant::now() + timeout;
    let mut last = String::new();
    loop {
        let sight = Sight::of(client).await?;
        let step = next(&sight.observe(plan))?;
        let sentence = step.sentence(&plan.machine, &plan.replacement);
        if sentence != last {
            told(&sentence);
            last = sentence;
        }
        let api = machines_of(client);
        let mark = |key: &str, value: Option<&str>| json!({"metadata": {"annotations": {key: value}}});
        match step {
            Step::Create { waits } => {
                let Some(old) = sight.machine(&plan.machine) else {
                    return Err(MachinesError::NoMachine { name: plan.machine.clone() });
                };
                let doing = format!("making the Machine `{}`", plan.replacement);
                let new = replacement(old, &plan.replacement, waits);
                call(&doing, api.create(&PostParams::default(), &new)).await?;
            }
            Step::Begin => {
                let doing = format!("having the Machine `{}` made", plan.replacement);
                merge(&api, &plan.replacement, &doing, &mark(PAUSED, Some(UNTIL_PREPARED))).await?;
            }
            Step::Delete => {
                let Some(old) = sight.machine(&plan.machine) else { continue };
                let exactly = Preconditions { uid: old.uid(), resource_version: None };
                let exactly = DeleteParams::default().preconditions(exactly);
                let doing = format!("deleting the Machine `{}`", plan.machine);
                or_absent(call(&doing, api.delete(&plan.machine, &exactly)).await.map(|_| ()))?;
            }
            Step::Wait { .. } => {}
            Step::Done => {
                let doing = format!("noting that `{}` has taken its place", plan.replacement);
                merge(&api, &plan.replacement, &doing, &mark(REPLACES, None)).await?;
                return Ok(());
            }
        }
        if Instant::now() >= deadline {
            return Err(MachinesError::Late(timeout.as_secs()));
        }
        sleep(LOOK_INTERVAL).await;
    }
}

/// A machine like another one. It is paused until what it joins with is there, or until the other has left.
fn replacement(old: &Machine, name: &str, waits: bool) -> Machine {
    let mut spec = old.spec.clone();
    let (hook, owner) = ETCD_HOOK;
    spec.provider_id = None;
    spec.lifecycle_hooks = Some(LifecycleHooks {
        pre_drain: vec![LifecycleHook { name: hook.to_owned(), owner: owner.to_owned() }],
        pre_terminate: Vec::new(),
    });
    let mut new = Machine::new(name, spec);
    let mut labels = old.labels().clone();
    labels.remove(OBJECT_MARK);
    let paused = if waits { format!("until {} has left", old.name_any()) } else { UNTIL_PREPARED.to_owned() };
    let annotations = [(REPLACES.to_owned(), old.name_any()), (PAUSED.to_owned(), paused)];
    new.metadata.namespace = old.namespace();
    new.metadata.labels = Some(labels);
    new.metadata.annotations = Some(annotations.into());
    new
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::replacement;

    #[test]
    fn the_new_machine_is_like_the_old_one_and_not_the_same() {
        let old = serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {
                "name": "a-master-1", "namespace": "openshift-machine-api", "uid": "1", "resourceVersion": "7",
                "labels": {"slipway.dev/id": "9c1b", "machine.openshift.io/cluster-api-machine-role": "master"},
                "annotations": {"machine.openshift.io/instance-state": "poweredOn"},
                "finalizers": ["machine.machine.openshift.io"],
            },
            "spec": {"providerID": "vsphere://1", "providerSpec": {"value": {"numCPUs": 4}}},
            "status": {"phase": "Running"},
        }))
        .unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&replacement(&old, "a-master-3", false)).unwrap(), @r#"
        {
          "apiVersion": "machine.openshift.io/v1beta1",
          "kind": "Machine",
          "metadata": {
            "annotations": {
              "cluster.x-k8s.io/paused": "slipway-control-plane",
              "slipway.dev/replaces": "a-master-1"
            },
            "labels": {
              "machine.openshift.io/cluster-api-machine-role": "master"
            },
            "name": "a-master-3",
            "namespace": "openshift-machine-api"
          },
          "spec": {
            "lifecycleHooks": {
              "preDrain": [
                {
                  "name": "EtcdMember",
                  "owner": "slipway-control-plane"
                }
              ]
            },
            "providerSpec": {
              "value": {
                "numCPUs": 4
              }
            }
          }
        }
        "#);
        let waits = replacement(&old, "a-master-3", true).metadata.annotations.unwrap();
        assert_eq!(waits["cluster.x-k8s.io/paused"], "until a-master-1 has left");
    }
}
