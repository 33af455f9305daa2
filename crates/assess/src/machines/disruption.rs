//! What disruption budgets would say if nodes were drained now.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::core::{Selector, SelectorExt};
use serde::Serialize;

use super::pods::{called, is_over, is_ready, stays};

/// A pod that would stay where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockedEviction {
    pub node: String,
    /// `namespace/name`.
    pub pod: String,
    /// The budgets that keep it, by name.
    pub budgets: Vec<String>,
    pub reason: Reason,
}

/// Why it would stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Reason {
    /// Its budget allows no disruption now.
    NoDisruptionAllowed,
    /// The API server evicts no pod that several budgets match.
    SeveralBudgets,
}

impl BlockedEviction {
    /// For people.
    pub fn sentence(&self) -> String {
        let BlockedEviction { node, pod, budgets, reason } = self;
        let budgets = budgets.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        match reason {
            Reason::NoDisruptionAllowed => {
                format!("pod `{pod}` on `{node}`: budget {budgets} allows no disruption now")
            }
            Reason::SeveralBudgets => {
                format!(
                    "pod `{pod}` on `{node}`: budgets {budgets} match it; Kubernetes never evicts a pod that several budgets match"
                )
            }
        }
    }
}

/// Those of the pods that would not leave, by node and name.
pub fn blocked_evictions(pods: &[Pod], budgets: &[PodDisruptionBudget]) -> Vec<BlockedEviction> {
    let mut blocked: Vec<BlockedEviction> = pods.iter().filter_map(|pod| blocks(pod, budgets)).collect();
    blocked.sort_by(|one, other| (&one.node, &one.pod).cmp(&(&other.node, &other.pod)));
    blocked
}

fn blocks(pod: &Pod, budgets: &[PodDisruptionBudget]) -> Option<BlockedEviction> {
    if stays(pod).is_some() || is_over(pod) || pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    let of_pod: Vec<&PodDisruptionBudget> = budgets
        .iter()
        .filter(|budget| budget.metadata.namespace == pod.metadata.namespace && matches(budget, &labels))
        .collect();
    let reason = match *of_pod {
        [] => return None,
        [budget] if allows(budget, pod) => return None,
        [_] => Reason::NoDisruptionAllowed,
        _ => Reason::SeveralBudgets,
    };
    Some(BlockedEviction {
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default(),
        pod: called(pod),
        budgets: of_pod.iter().filter_map(|budget| budget.metadata.name.clone()).collect(),
        reason,
    })
}

/// A budget without a selector matches nothing; one with an empty selector matches all.
fn matches(budget: &PodDisruptionBudget, labels: &BTreeMap<String, String>) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.clone());
    selector.and_then(|selector| Selector::try_from(selector).ok()).is_some_and(|one| one.matches(labels))
}

fn allows(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let status = budget.status.as_ref();
    if status.is_some_and(|status| status.disruptions_allowed > 0) {
        return true;
    }
    // A pod that is not ready may be evicted: by policy always, and by default if the others are enough without it.
    let policy = budget.spec.as_ref().and_then(|spec| spec.unhealthy_pod_eviction_policy.as_deref());
    let is_enough = status.is_some_and(|status| status.current_healthy >= status.desired_healthy);
    !is_ready(pod)
        && (policy == Some("AlwaysAllow") || is_enough && status.is_some_and(|one| one.desired_healthy > 0))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::{Reason, blocked_evictions};

    fn pod(name: &str, ready: bool) -> Pod {
        let status = if ready { "True" } else { "False" };
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "shop", "labels": {"app": "shop"}},
            "spec": {"nodeName": "worker-0", "containers": []},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]},
        }))
        .unwrap()
    }

    fn budget(name: &str, namespace: &str, allowed: i32, policy: Option<&str>) -> Value {
        json!({
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {"matchLabels": {"app": "shop"}}, "unhealthyPodEvictionPolicy": policy},
            "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 2, "expectedPods": 2},
        })
    }

    #[rstest]
    #[case::without(&[], true, None)]
    #[case::allowed(&[budget("a", "shop", 1, None)], true, None)]
    #[case::exhausted(&[budget("a", "shop", 0, None)], true, Some(Reason::NoDisruptionAllowed))]
    #[case::unhealthy(&[budget("a", "shop", 0, None)], false, Some(Reason::NoDisruptionAllowed))]
    #[case::unhealthy_may_go(&[budget("a", "shop", 0, Some("AlwaysAllow"))], false, None)]
    #[case::healthy_may_not(&[budget("a", "shop", 0, Some("AlwaysAllow"))], true, Some(Reason::NoDisruptionAllowed))]
    #[case::elsewhere(&[budget("a", "other", 0, None)], true, None)]
    #[case::several(
        &[budget("a", "shop", 1, None), budget("b", "shop", 1, None)], true, Some(Reason::SeveralBudgets)
    )]
    fn budgets_keep_pods(#[case] budgets: &[Value], #[case] ready: bool, #[case] expected: Option<Reason>) {
        let budgets: Vec<_> =
            budgets.iter().map(|budget| serde_json::from_value(budget.clone()).unwrap()).collect();
        let found = blocked_evictions(&[pod("shop-0", ready)], &budgets);
        assert_eq!(found.first().map(|blocked| blocked.reason), expected);
        assert!(found.iter().all(|blocked| blocked.pod == "shop/shop-0" && blocked.node == "worker-0"));
    }
}
